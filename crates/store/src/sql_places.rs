//! Databases, as named by Salt's options: those of its returners and of its cache.
//!
//! Invariant: an option that is not supported is refused; an option is never
//! dropped, and no connection is less protected than its options say.

use std::time::Duration;

use halite_crypto::Secret;
use halite_store_servers::{Address, ServerKind, Tls};

use crate::backend::BackendOptions;
#[cfg(feature = "mysql")]
use crate::mysql::MysqlOptions;
#[cfg(feature = "postgres")]
use crate::postgres::{JobTables, PostgresOptions};

/// What asks PostgreSQL's clients to protect a connection.
#[cfg(feature = "postgres")]
const PROTECTIONS_OF_POSTGRES: [&str; 5] =
    ["sslmode", "sslrootcert", "sslcert", "sslkey", "sslcrl"];

/// What asks Python's clients of MySQL to protect a connection: Salt's cache hands
/// on whatever it does not know.
#[cfg(feature = "mysql")]
const PROTECTIONS_OF_MYSQL: [&str; 10] = [
    "ssl",
    "ssl_ca",
    "ssl_cert",
    "ssl_key",
    "ssl_mode",
    "ssl_key_password",
    "ssl_capath",
    "ssl_cipher",
    "ssl_verify_cert",
    "ssl_verify_identity",
];

/// The text of an option, if it is set.
pub(crate) type Lookup<'o> = &'o dyn Fn(&str) -> Option<String>;

/// Names of returners whose tables are kept here.
pub(crate) fn is_returner(name: &str) -> bool {
    (cfg!(feature = "postgres") && matches!(name, "pgjsonb" | "postgres"))
        || (cfg!(feature = "mysql") && name == "mysql")
}

/// The database of a returner; `None` for one that is not kept here. The error
/// says what is wrong.
pub(crate) fn of_returner(
    name: &str,
    option: Lookup<'_>,
) -> Result<Option<BackendOptions>, String> {
    let family = format!("returner.{name}");
    match name {
        #[cfg(feature = "postgres")]
        "pgjsonb" => postgres(&family, "pass", JobTables::Jsonb, option).map(Some),
        #[cfg(feature = "postgres")]
        "postgres" => postgres(&family, "passwd", JobTables::Text, option).map(Some),
        #[cfg(feature = "mysql")]
        "mysql" => {
            // Salt's returner has the names of its cache; its extension has these.
            let option: Lookup<'_> = &|name: &str| {
                let short = || option(name.strip_prefix("returner.")?);
                option(name).or_else(short)
            };
            let mut address = returner_address(ServerKind::Mysql, &family, "pass", option)?;
            let file = |name: &str| option(&format!("{family}.{name}")).map(Into::into);
            let (ca, certificate, key) = (file("ssl_ca"), file("ssl_cert"), file("ssl_key"));
            if ca.is_some() || certificate.is_some() || key.is_some() {
                address.tls = Some(Tls {
                    ca,
                    certificate,
                    key,
                    is_unverified: false,
                });
            }
            let options = MysqlOptions::new(address);
            Ok(Some(BackendOptions::Mysql(Box::new(options))))
        }
        _ => Ok(None),
    }
}

/// The database of Salt's cache `mysql`.
#[cfg(feature = "mysql")]
pub(crate) fn of_mysql_cache(option: Lookup<'_>) -> Result<BackendOptions, String> {
    let text = |name: &str| option(&format!("mysql.{name}"));
    refuse_unread("mysql", &PROTECTIONS_OF_MYSQL, option)?;
    let host = text("host").unwrap_or_else(|| "127.0.0.1".to_owned());
    let mut address = Address::new(ServerKind::Mysql, host);
    if let Some(number) = text("port") {
        address.port = port("mysql.port", &number)?;
    }
    address.user = text("user");
    address.password = text("password").map(Secret::new);
    address.database = Some(text("database").unwrap_or_else(|| "salt_cache".to_owned()));
    address.socket = text("unix_socket").map(Into::into);
    if let Some(seconds) = text("connect_timeout") {
        address.connect_limit = seconds_of("mysql.connect_timeout", &seconds)?;
    }
    let mut options = MysqlOptions::new(address);
    if let Some(table) = text("table_name") {
        options.cache_table = table;
    }
    Ok(BackendOptions::Mysql(Box::new(options)))
}

#[cfg(feature = "postgres")]
fn postgres(
    family: &str,
    password: &str,
    tables: JobTables,
    option: Lookup<'_>,
) -> Result<BackendOptions, String> {
    let mut address = returner_address(ServerKind::Postgres, family, password, option)?;
    let text = |name: &str| option(&format!("{family}.{name}"));
    if tables == JobTables::Jsonb {
        address.tls = ssl(family, option)?;
        if let Some(seconds) = text("connect_timeout") {
            address.connect_limit = seconds_of(&format!("{family}.connect_timeout"), &seconds)?;
        }
    } else {
        refuse_unread(family, &PROTECTIONS_OF_POSTGRES, option)?;
    }
    let options = PostgresOptions { address, tables };
    Ok(BackendOptions::Postgres(Box::new(options)))
}

/// Refuses options that ask for a protection and are not read, so that nobody
/// takes the connection for protected.
#[cfg(any(feature = "mysql", feature = "postgres"))]
fn refuse_unread(family: &str, names: &[&str], option: Lookup<'_>) -> Result<(), String> {
    for name in names {
        let name = format!("{family}.{name}");
        if option(&name).is_some() {
            return Err(format!(
                "{name}: not supported, and without it the connection would not be encrypted; \
                 remove it, or configure the server with the option store"
            ));
        }
    }
    Ok(())
}

/// TLS as the words of PostgreSQL's own clients ask for it.
#[cfg(feature = "postgres")]
fn ssl(family: &str, option: Lookup<'_>) -> Result<Option<Tls>, String> {
    let text = |name: &str| option(&format!("{family}.{name}"));
    if text("sslcrl").is_some() {
        return Err(format!(
            "{family}.sslcrl: certificate revocation lists are not supported"
        ));
    }
    let ca = text("sslrootcert").map(Into::into);
    let is_unverified = match text("sslmode").as_deref() {
        None => {
            let files = ["sslrootcert", "sslcert", "sslkey"];
            return match files.into_iter().find(|name| text(name).is_some()) {
                Some(name) => Err(format!(
                    "{family}.{name}: connections are not encrypted without {family}.sslmode; set \
                     it to verify-full"
                )),
                None => Ok(None),
            };
        }
        Some("disable") => return Ok(None),
        // As PostgreSQL's clients: without a certificate to check against,
        // whoever answers will do.
        Some("require") => ca.is_none(),
        Some("verify-full") => false,
        Some(other) => {
            return Err(format!(
                "{family}.sslmode: {other} does not say whether the connection is encrypted; set \
                 verify-full, require or disable"
            ));
        }
    };
    Ok(Some(Tls {
        ca,
        certificate: text("sslcert").map(Into::into),
        key: text("sslkey").map(Into::into),
        is_unverified,
    }))
}

/// Where a returner's database is, with Salt's defaults: everything is `salt`.
fn returner_address(
    kind: ServerKind,
    family: &str,
    password: &str,
    option: Lookup<'_>,
) -> Result<Address, String> {
    const SALT: &str = "salt";
    // As the code has it, not as the page on the returner says.
    let host = match kind {
        ServerKind::Mysql => SALT,
        _ => "localhost",
    };
    let text = |name: &str| option(&format!("{family}.{name}"));
    let or_salt = |text: Option<String>| Some(text.unwrap_or_else(|| SALT.to_owned()));
    let mut address = Address::new(kind, text("host").unwrap_or_else(|| host.to_owned()));
    if let Some(number) = text("port") {
        address.port = port(&format!("{family}.port"), &number)?;
    }
    address.user = or_salt(text("user"));
    address.password = or_salt(text(password)).map(Secret::new);
    address.database = or_salt(text("db"));
    Ok(address)
}

fn port(option: &str, text: &str) -> Result<u16, String> {
    text.parse()
        .map_err(|_| format!("{option}: {text} is not a port"))
}

fn seconds_of(option: &str, text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok().filter(|seconds| *seconds > 0);
    seconds
        .map(Duration::from_secs)
        .ok_or_else(|| format!("{option}: {text} is not a number of seconds"))
}

#[cfg(all(test, feature = "mysql", feature = "postgres"))]
mod tests {
    use super::*;

    fn returner(name: &str, opts: &[(&str, &str)]) -> Result<Option<BackendOptions>, String> {
        let found = |wanted: &str| {
            let set = opts.iter().find(|(name, _)| *name == wanted);
            set.map(|(_, text)| (*text).to_owned())
        };
        of_returner(name, &found)
    }

    #[test]
    fn salts_defaults_are_those_of_its_code() {
        let Some(BackendOptions::Postgres(options)) = returner("pgjsonb", &[]).unwrap() else {
            panic!()
        };
        let address = &options.address;
        assert_eq!(address.to_string(), "postgres://localhost:5432/salt");
        assert_eq!(address.user.as_deref(), Some("salt"));
        assert_eq!(address.password.as_ref().unwrap().expose(), "salt");
        assert_eq!(address.tls, None);
        assert!(returner("elasticsearch", &[]).unwrap().is_none());
    }

    #[test]
    fn each_option_has_its_place() {
        let opts = [
            ("returner.postgres.host", "db1"),
            ("returner.postgres.port", "5433"),
            ("returner.postgres.passwd", "secret"),
            ("returner.postgres.db", "jobs"),
        ];
        let Some(BackendOptions::Postgres(options)) = returner("postgres", &opts).unwrap() else {
            panic!()
        };
        assert_eq!(options.address.to_string(), "postgres://db1:5433/jobs");
        assert_eq!(
            options.address.password.as_ref().unwrap().expose(),
            "secret"
        );
        assert_eq!(options.tables, JobTables::Text);
    }

    #[test]
    fn the_returner_mysql_has_the_names_of_the_cache_too() {
        let opts = [
            ("mysql.host", "db1"),
            ("mysql.pass", "short"),
            ("returner.mysql.host", "db2"),
        ];
        let Some(BackendOptions::Mysql(options)) = returner("mysql", &opts).unwrap() else {
            panic!()
        };
        assert_eq!(options.address.to_string(), "mysql://db2:3306/salt");
        assert_eq!(options.address.password.as_ref().unwrap().expose(), "short");
    }

    #[test]
    fn a_connection_is_protected_as_it_is_asked_for_or_refused() {
        let tls = |opts: &[(&str, &str)]| match returner("pgjsonb", opts) {
            Ok(Some(BackendOptions::Postgres(options))) => Ok(options.address.tls),
            Ok(_) => panic!(),
            Err(error) => Err(error),
        };
        let mode = "returner.pgjsonb.sslmode";
        assert_eq!(tls(&[(mode, "disable")]).unwrap(), None);
        assert!(
            !tls(&[(mode, "verify-full")])
                .unwrap()
                .unwrap()
                .is_unverified
        );
        assert!(tls(&[(mode, "require")]).unwrap().unwrap().is_unverified);
        let checked = [
            (mode, "require"),
            ("returner.pgjsonb.sslrootcert", "/ca.pem"),
        ];
        assert!(!tls(&checked).unwrap().unwrap().is_unverified);
        for wrong in [
            (mode, "prefer"),
            ("returner.pgjsonb.sslcrl", "/crl.pem"),
            ("returner.pgjsonb.sslrootcert", "/ca.pem"),
            ("returner.pgjsonb.sslcert", "/cert.pem"),
            ("returner.pgjsonb.sslkey", "/key.pem"),
        ] {
            let error = tls(&[wrong]).unwrap_err();
            assert!(error.starts_with(wrong.0), "{error}");
        }
        let plain = [("returner.postgres.sslmode", "verify-full")];
        let error = returner("postgres", &plain).unwrap_err();
        assert!(error.starts_with("returner.postgres.sslmode: "), "{error}");
        let cache = |wanted: &str| (wanted == "mysql.ssl_ca").then(|| "/ca.pem".to_owned());
        let error = of_mysql_cache(&cache).unwrap_err();
        assert!(error.starts_with("mysql.ssl_ca: "), "{error}");
        let error = tls(&[("returner.pgjsonb.port", "x")]).unwrap_err();
        assert_eq!(error, "returner.pgjsonb.port: x is not a port");
    }
}
