//! Places on other machines to which connections are not encrypted: whoever is on the
//! network between can read passwords, pillars and results.
//!
//! Invariant: nobody is warned of what they have asked for in so many words (`tls=no`,
//! `sslmode: disable`).

use halite_proto::{Map, Value};

use super::{PlaceError, Reader, STORE, event_place};
use crate::backend::BackendOptions;

/// Salt's options that name places, in the order in which warnings about them come.
const OPTIONS: [&str; 6] = [
    "cache",
    "eauth_tokens.cache_driver",
    "keys.cache_driver",
    "master_job_cache",
    "ext_job_cache",
    "event_return",
];

/// An option that names such a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InTheClear {
    /// The option.
    pub option: &'static str,
    /// Which host it is, and what encrypts the connection.
    pub text: String,
}

/// The options of a master that name such places; each place once.
pub fn in_the_clear(opts: &Map) -> Vec<InTheClear> {
    let reader = Reader { opts };
    let mut seen: Vec<BackendOptions> = Vec::new();
    let mut found = Vec::new();
    let mut add = |option, name: &str, place: Result<Option<BackendOptions>, PlaceError>| {
        // What is wrong with an option is said elsewhere.
        let Ok(Some(place)) = place else { return };
        if seen.contains(&place) {
            return;
        }
        if let Some(host) = place
            .host_in_the_clear()
            .filter(|_| !reader.accepts_that(name))
        {
            let how = what_encrypts(name, &place);
            let text = format!(
                "the connection to {host} is not encrypted, and others on the network could read \
                 passwords, pillars and results: {how}"
            );
            found.push(InTheClear { option, text });
        }
        seen.push(place);
    };
    add(STORE, STORE, reader.url());
    for option in OPTIONS {
        for name in reader.names_of(option) {
            let place = match option {
                "master_job_cache" | "ext_job_cache" => reader.returner(option, &name),
                // That of the option itself is known already.
                "event_return" if name == STORE => continue,
                "event_return" => event_place(&name, opts),
                _ => reader.driver(option, &name),
            };
            add(option, &name, place);
        }
    }
    found
}

impl Reader<'_> {
    /// The names in an option, which may be a list of them.
    fn names_of(&self, option: &str) -> Vec<String> {
        match self.opts.get(option) {
            Some(Value::List(names)) => {
                let names = names.iter().filter_map(Value::as_str);
                names.map(str::to_owned).collect()
            }
            _ => self.text(option).into_iter().collect(),
        }
    }

    /// Whether the options of a place say that its connections are not to be encrypted.
    fn accepts_that(&self, name: &str) -> bool {
        match name {
            STORE => {
                let url = self.text(STORE).unwrap_or_default();
                let query = url.split_once('?').map_or("", |(_, query)| query);
                query.split('&').any(|pair| pair == "tls=no")
            }
            "pgjsonb" => self.text("returner.pgjsonb.sslmode").as_deref() == Some("disable"),
            _ => false,
        }
    }
}

fn what_encrypts(name: &str, place: &BackendOptions) -> &'static str {
    match (name, place) {
        (STORE, _) => "add tls=yes to the URL, or ca= with the file of your own authority",
        #[cfg(feature = "etcd")]
        (_, BackendOptions::Etcd(_)) => "set etcd.protocol: https",
        #[cfg(feature = "postgres")]
        ("pgjsonb", _) => "set returner.pgjsonb.sslmode: verify-full",
        #[cfg(feature = "postgres")]
        (_, BackendOptions::Postgres(_)) => {
            "use pgjsonb with returner.pgjsonb.sslmode: verify-full, or a store with tls=yes"
        }
        _ => "Salt's options for it have no TLS, use a store with tls=yes",
    }
}

#[cfg(all(
    test,
    feature = "etcd",
    feature = "mysql",
    feature = "postgres",
    feature = "redis"
))]
mod tests {
    use super::*;

    fn found(opts: &[(&str, &str)]) -> Vec<InTheClear> {
        let opts = opts.iter();
        let opts: Map = opts
            .map(|(name, text)| (Value::from(*name), Value::from(*text)))
            .collect();
        in_the_clear(&opts)
    }

    #[test]
    fn each_place_on_another_machine_is_named_with_what_encrypts_it() {
        const PG: &str = "returner.pgjsonb.host";
        for (opts, how) in [
            (vec![("store", "redis://db.example")], "tls=yes"),
            (vec![("cache", "redis"), ("cache.redis.host", "h")], "store"),
            (
                vec![("keys.cache_driver", "mysql"), ("mysql.host", "h")],
                "store",
            ),
            (
                vec![("eauth_tokens.cache_driver", "etcd"), ("etcd.host", "h")],
                "etcd.protocol: https",
            ),
            (
                vec![("master_job_cache", "pgjsonb"), (PG, "h")],
                "verify-full",
            ),
            (
                vec![
                    ("ext_job_cache", "postgres"),
                    ("returner.postgres.host", "h"),
                ],
                "pgjsonb",
            ),
            (vec![("event_return", "pgjsonb"), (PG, "h")], "verify-full"),
            // The host of this returner is not this machine by itself.
            (vec![("master_job_cache", "redis")], "store"),
        ] {
            let found = found(&opts);
            assert_eq!(found.len(), 1, "{opts:?} {found:?}");
            assert_eq!(found[0].option, opts[0].0);
            assert!(found[0].text.contains(how), "{found:?}");
        }
    }

    #[test]
    fn what_is_encrypted_or_near_or_asked_for_is_not_named() {
        const PG: &str = "returner.pgjsonb.host";
        for opts in [
            vec![],
            vec![("cache", "localfs"), ("master_job_cache", "local_cache")],
            vec![("cache", "redis"), ("master_job_cache", "pgjsonb")],
            vec![("store", "rediss://db.example")],
            vec![("store", "postgres://db.example/salt?user=x&tls=no")],
            vec![("store", "postgres://db.example/salt?connections=4&tls=no")],
            vec![
                ("master_job_cache", "pgjsonb"),
                (PG, "h"),
                ("returner.pgjsonb.sslmode", "disable"),
            ],
            vec![
                ("master_job_cache", "pgjsonb"),
                (PG, "h"),
                ("returner.pgjsonb.sslmode", "verify-full"),
            ],
            vec![
                ("cache", "etcd"),
                ("etcd.host", "h"),
                ("etcd.protocol", "https"),
            ],
        ] {
            assert_eq!(found(&opts), [], "{opts:?}");
        }
    }

    #[test]
    fn a_place_is_named_once() {
        let opts = [
            ("cache", "redis"),
            ("keys.cache_driver", "redis"),
            ("cache.redis.host", "h"),
            ("store", "redis://db.example"),
        ];
        let found = found(&opts);
        let options: Vec<_> = found.iter().map(|it| it.option).collect();
        assert_eq!(options, ["store", "cache"]);
        let list = Value::List(vec!["store".into(), "mysql".into()]);
        let mut opts: Map = Map::from([("store", Value::from("mysql://db.example/salt"))]);
        opts.insert("event_return", list);
        opts.insert("mysql.host", "h");
        let found = in_the_clear(&opts);
        let options: Vec<_> = found.iter().map(|it| it.option).collect();
        assert_eq!(options, ["store", "event_return"]);
    }
}
