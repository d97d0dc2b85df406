//! The options of `rest_cherrypy`, one by one.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use halite_metrics::MetricsSettings;
use halite_proto::{Map, Value, python};

use crate::address::Address;
use crate::limits::OTHER_MASTERS_MAX;
use crate::pages::{FAVICON, FIXED};

use super::{HONOURED, LOGIN_FAILURES_OPTION, Mistake, TlsFiles, WITHOUT_EFFECT, mistake};

/// Options that name pages of an administrator's, with their defaults.
const OWN_PAGES: [(&str, &str); 4] = [
    ("webhook_url", "hook"),
    ("static_path", "static"),
    ("app_path", "app"),
    FLEET_PAGE,
];

/// The option that says where the page of the fleet is, and its default.
const FLEET_PAGE: (&str, &str) = ("page_path", "fleet");

/// The options under `rest_cherrypy`.
pub(super) struct Section<'a>(pub(super) &'a Map);

impl Section<'_> {
    pub(super) fn check_names(&self) -> Result<(), Mistake> {
        for name in self.0.keys() {
            let name = python::str(name);
            let is_known = HONOURED.contains(&name.as_str())
                || name == LOGIN_FAILURES_OPTION
                || WITHOUT_EFFECT.iter().any(|(known, _)| *known == name);
            if !is_known {
                let why = format!("{name} is not an option of rest_cherrypy: remove it");
                return Err(mistake("", why));
            }
        }
        Ok(())
    }

    pub(super) fn tls(&self) -> Result<Option<TlsFiles>, Mistake> {
        if self.flag("disable_ssl", false)? {
            return Ok(None);
        }
        match (self.file("ssl_crt")?, self.file("ssl_key")?) {
            (Some(certificate), Some(key)) => Ok(Some(TlsFiles {
                certificate,
                key,
                chain: self.file("ssl_chain")?,
            })),
            _ => Err(mistake(
                "",
                "ssl_crt and ssl_key are needed; behind a proxy on this machine write \
                 `disable_ssl: True`",
            )),
        }
    }

    /// The address to listen on. Without TLS it is that of this machine, unless another
    /// one is named.
    pub(super) fn listen(&self, has_tls: bool) -> Result<SocketAddr, Mistake> {
        let port = self.0.get("port");
        let number = port
            .and_then(whole)
            .and_then(|port| u16::try_from(port).ok());
        let Some(port) = number.filter(|port| *port > 0) else {
            return Err(mistake("port", "a port (1 to 65535) is required"));
        };
        let host = match self.0.get("host") {
            None | Some(Value::Nil) if has_tls => Ipv4Addr::UNSPECIFIED.into(),
            None | Some(Value::Nil) => Ipv4Addr::LOCALHOST.into(),
            Some(Value::Str(host)) if host == "localhost" => Ipv4Addr::LOCALHOST.into(),
            Some(host) => host
                .as_str()
                .and_then(|host| host.parse().ok())
                .ok_or_else(|| {
                    mistake(
                        "host",
                        "it must be an address of this machine, 0.0.0.0 or ::",
                    )
                })?,
        };
        Ok(SocketAddr::new(host, port))
    }

    pub(super) fn backlog(&self) -> Result<u32, Mistake> {
        // Salt documents one name and reads the other.
        let name = match self.0.contains_key("queue_size") {
            true => "queue_size",
            false => "socket_queue_size",
        };
        let backlog = self.count(name, 128, 65_535)?;
        Ok(u32::try_from(backlog).unwrap_or(u32::MAX))
    }

    pub(super) fn flag(&self, name: &'static str, default: bool) -> Result<bool, Mistake> {
        match self.0.get(name) {
            None | Some(Value::Nil) => Ok(default),
            Some(Value::Bool(flag)) => Ok(*flag),
            Some(_) => Err(mistake(name, "it must be True or False")),
        }
    }

    pub(super) fn count(
        &self,
        name: &'static str,
        default: u64,
        max: u64,
    ) -> Result<usize, Mistake> {
        let count = match self.0.get(name) {
            None | Some(Value::Nil) => Some(default),
            Some(value) => whole(value).and_then(|count| u64::try_from(count).ok()),
        };
        count
            .filter(|count| (1..=max).contains(count))
            .and_then(|count| usize::try_from(count).ok())
            .ok_or_else(|| mistake(name, format!("it must be a number from 1 to {max}")))
    }

    pub(super) fn path(&self, name: &'static str, default: &str) -> Result<String, Mistake> {
        match self.0.get(name) {
            None | Some(Value::Nil) => Ok(default.to_owned()),
            Some(Value::Str(path)) => Ok(path.trim_matches('/').to_owned()),
            Some(_) => {
                let why = format!("it must be a URL path, such as /{default}");
                Err(mistake(name, why))
            }
        }
    }

    /// A path of one part that no other page has.
    pub(super) fn page(&self, name: &'static str, default: &str) -> Result<String, Mistake> {
        let page = self.path(name, default)?;
        if page.is_empty() || page.contains(['/', '%', '?', '#']) {
            let why = format!("it must be a URL path of one part, such as /{default}");
            return Err(mistake(name, why));
        }
        if page == FAVICON || FIXED.iter().any(|(fixed, _)| *fixed == page) {
            let why = format!("/{page} is already used by a page: choose another path");
            return Err(mistake(name, why));
        }
        for (other, default) in OWN_PAGES {
            let is_off = other == FLEET_PAGE.0 && self.has_no_fleet_page();
            if other != name && !is_off && self.path(other, default)? == page {
                let why = format!("{other} has the same path: choose another one");
                return Err(mistake(name, why));
            }
        }
        Ok(page)
    }

    /// `page_path`: where the page of the fleet is, or `False` for none.
    pub(super) fn fleet_page(&self) -> Result<Option<String>, Mistake> {
        if self.has_no_fleet_page() {
            return Ok(None);
        }
        let (name, default) = FLEET_PAGE;
        self.page(name, default).map(Some)
    }

    fn has_no_fleet_page(&self) -> bool {
        self.0.get(FLEET_PAGE.0) == Some(&Value::Bool(false))
    }

    /// `cors_origins`, as browsers write origins.
    pub(super) fn origins(&self) -> Result<Vec<String>, Mistake> {
        let origins = self.texts("cors_origins")?;
        let is_origin = |origin: &String| {
            let host = origin.split_once("://").map(|(_, host)| host);
            host.is_some_and(|host| !host.is_empty() && !host.contains(['/', '*', ' ']))
                && !origin.chars().any(char::is_uppercase)
        };
        match origins.iter().find(|origin| !is_origin(origin)) {
            None => Ok(origins),
            Some(origin) => Err(mistake(
                "cors_origins",
                format!(
                    "{origin} is not an origin: write it as browsers send it, in lower case and \
                     without a path, such as https://portal.example"
                ),
            )),
        }
    }

    /// `other_masters`, a list of URLs.
    pub(super) fn other_masters(&self) -> Result<Vec<Address>, Mistake> {
        let urls = self.texts("other_masters")?;
        if urls.len() > OTHER_MASTERS_MAX {
            let why = format!("at most {OTHER_MASTERS_MAX} are allowed");
            return Err(mistake("other_masters", why));
        }
        let read = |url: &String| {
            Address::parse(url)
                .map_err(|why| mistake("other_masters", format!("{}: {why}", shown(url))))
        };
        urls.iter().map(read).collect()
    }

    /// `metrics`, as in the master's configuration.
    pub(super) fn metrics(&self) -> Result<Option<MetricsSettings>, Mistake> {
        let none = Map::new();
        let option = match self.0.get("metrics") {
            None | Some(Value::Nil) => &none,
            Some(Value::Map(option)) => option,
            Some(_) => return Err(mistake("metrics", "it must be a map")),
        };
        MetricsSettings::read(option, "salt-api")
            .map_err(|error| mistake("metrics", error.to_string()))
    }

    pub(super) fn file(&self, name: &'static str) -> Result<Option<PathBuf>, Mistake> {
        match self.0.get(name) {
            None | Some(Value::Nil) => Ok(None),
            Some(Value::Str(path)) if path.starts_with('/') => Ok(Some(path.into())),
            Some(_) => Err(mistake(name, "it must be an absolute path")),
        }
    }

    pub(super) fn texts(&self, name: &'static str) -> Result<Vec<String>, Mistake> {
        match self.0.get(name) {
            None | Some(Value::Nil) => Ok(Vec::new()),
            Some(Value::Str(one)) => Ok(vec![one.clone()]),
            Some(Value::List(items)) => Ok(items.iter().map(python::str).collect()),
            Some(_) => Err(mistake(name, "it must be a list")),
        }
    }

    /// A list of addresses, if there is one; it may be empty.
    pub(super) fn addresses(&self, name: &'static str) -> Result<Option<Vec<IpAddr>>, Mistake> {
        if matches!(self.0.get(name), None | Some(Value::Nil)) {
            return Ok(None);
        }
        let read = |text: &String| {
            let address = text.parse::<IpAddr>().map(|address| address.to_canonical());
            address.map_err(|_| mistake(name, format!("{text} is not an IP address")))
        };
        self.texts(name)?
            .iter()
            .map(read)
            .collect::<Result<_, _>>()
            .map(Some)
    }

    pub(super) fn acl(&self) -> Result<Option<Map>, Mistake> {
        match self.0.get("api_acl") {
            None | Some(Value::Nil) => Ok(None),
            Some(Value::Map(acl)) => Ok(Some(acl.clone())),
            Some(_) => Err(mistake("api_acl", "it must be a map with `users`")),
        }
    }
}

/// A URL without what somebody may have written in front of the host.
fn shown(url: &str) -> &str {
    url.rsplit('@').next().unwrap_or_default()
}

fn whole(value: &Value) -> Option<i128> {
    value
        .as_int()
        .or_else(|| value.as_str()?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_as_they_are_compared() {
        let read = |value: Value| {
            let section = Map::from([("trusted_proxies", value)]);
            Section(&section).addresses("trusted_proxies")
        };
        assert_eq!(read(Value::Nil), Ok(None));
        assert_eq!(read(Value::List(Vec::new())), Ok(Some(Vec::new())));
        let one = IpAddr::from([10, 0, 0, 5]);
        assert_eq!(read("10.0.0.5".into()), Ok(Some(vec![one])));
        assert_eq!(read("::ffff:10.0.0.5".into()), Ok(Some(vec![one])));
        assert!(read("10.0.0.0/24".into()).is_err());
    }

    #[test]
    fn what_could_never_match_is_a_mistake() {
        let page = |name: &'static str, path: &str| {
            let default = OWN_PAGES.iter().find(|(own, _)| *own == name).unwrap().1;
            Section(&Map::from([(name, path)])).page(name, default)
        };
        assert_eq!(page("webhook_url", "/in/").as_deref(), Ok("in"));
        for (name, path) in [
            ("webhook_url", "/a/b"),
            ("webhook_url", "/"),
            ("static_path", "/keys"),
            ("app_path", "static"),
            ("app_path", "favicon.ico"),
        ] {
            assert!(page(name, path).is_err(), "{name}: {path}");
        }
        for (fixed, _) in FIXED {
            assert!(page("webhook_url", fixed).is_err(), "{fixed}");
        }
        let off = Map::from([
            ("page_path", Value::from(false)),
            ("static_path", "/fleet".into()),
        ]);
        assert_eq!(Section(&off).fleet_page(), Ok(None));
        assert_eq!(
            Section(&off).page("static_path", "static").as_deref(),
            Ok("fleet")
        );
        assert!(page("static_path", "/fleet").is_err());
        let fleet = |value: Value| Section(&Map::from([("page_path", value)])).fleet_page();
        assert_eq!(fleet(Value::Nil), Ok(Some("fleet".to_owned())));
        assert_eq!(fleet("/salt/".into()), Ok(Some("salt".to_owned())));
        assert!(fleet(true.into()).is_err() && fleet("/keys".into()).is_err());
        let origins = |origin: &str| Section(&Map::from([("cors_origins", origin)])).origins();
        assert!(origins("https://portal.example:8443").is_ok());
        for origin in ["*", "https://portal.example/", "portal.example", "https://"] {
            assert!(origins(origin).is_err(), "{origin}");
        }
    }
}
