//! The option `metrics`, as Salt 3008 has it.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use halite_proto::{Map, Value, python};

use crate::limits::BOUNDARIES_MAX;

/// The port that exporters of OpenTelemetry have.
const PORT: u16 = 9464;

/// What only exporters read that push.
const OF_OTHER_EXPORTERS: [&str; 4] =
    ["endpoint", "insecure", "headers", "export_interval_seconds"];

/// Where metrics are served, and how they are named.
#[derive(Clone, Debug, PartialEq)]
pub struct MetricsSettings {
    /// Where monitoring asks for them.
    pub address: SocketAddr,
    service_name: String,
    attributes: BTreeMap<String, String>,
    pub(crate) boundaries: BTreeMap<String, Vec<f64>>,
}

/// Why the option cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}: {why}")]
pub struct Mistake {
    /// Which part of it.
    pub what: String,
    why: String,
}

impl MetricsSettings {
    /// Reads the option; `None` where nothing is to be served. `service` is the
    /// name of the program.
    ///
    /// # Errors
    /// When a part has the wrong type, or asks for an exporter that pushes.
    pub fn read(option: &Map, service: &str) -> Result<Option<Self>, Mistake> {
        let known = [
            "enabled",
            "exporter",
            "service_name",
            "resource_attributes",
            "prometheus",
            "histogram_boundaries",
        ];
        for name in option.keys().map(python::str) {
            if !known.contains(&name.as_str()) && !OF_OTHER_EXPORTERS.contains(&name.as_str()) {
                return Err(mistake(&name, "there is no such option: remove it"));
            }
        }
        match option.get("enabled") {
            None | Some(Value::Nil | Value::Bool(false)) => return Ok(None),
            Some(Value::Bool(true)) => {}
            Some(_) => return Err(mistake("enabled", "it is True or False")),
        }
        // What Salt takes without the option pushes, which is not built.
        if option.get("exporter").and_then(Value::as_str) != Some("prometheus") {
            return Err(mistake(
                "exporter",
                "only `prometheus` is there, which is asked and pushes nothing",
            ));
        }
        let named = option.get("service_name").and_then(Value::as_str);
        let named = named.filter(|name| !name.is_empty());
        Ok(Some(Self {
            address: address(section(option, "prometheus")?)?,
            service_name: named.unwrap_or(service).to_owned(),
            attributes: attributes(section(option, "resource_attributes")?)?,
            boundaries: boundaries(section(option, "histogram_boundaries")?)?,
        }))
    }

    /// What says which daemon it is.
    pub(crate) fn info(&self) -> Vec<(&'static str, String)> {
        let version = env!("CARGO_PKG_VERSION").to_owned();
        let mut info = vec![
            ("service_name", self.service_name.clone()),
            ("service_version", version),
        ];
        let more = self.attributes.iter();
        let more: Vec<String> = more
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        if !more.is_empty() {
            info.push(("resource_attributes", more.join(",")));
        }
        info
    }

    #[cfg(test)]
    pub(crate) fn for_test() -> Self {
        Self {
            address: SocketAddr::from((Ipv4Addr::LOCALHOST, PORT)),
            service_name: "salt-test".to_owned(),
            attributes: BTreeMap::new(),
            boundaries: BTreeMap::new(),
        }
    }
}

fn mistake(what: &str, why: &str) -> Mistake {
    Mistake {
        what: what.to_owned(),
        why: why.to_owned(),
    }
}

fn section<'m>(option: &'m Map, name: &str) -> Result<Option<&'m Map>, Mistake> {
    match option.get(name) {
        None | Some(Value::Nil) => Ok(None),
        Some(Value::Map(section)) => Ok(Some(section)),
        Some(_) => Err(mistake(name, "it is a map")),
    }
}

fn address(section: Option<&Map>) -> Result<SocketAddr, Mistake> {
    let host = match section.and_then(|section| section.get("host")) {
        None | Some(Value::Nil) => IpAddr::V4(Ipv4Addr::LOCALHOST),
        Some(Value::Str(host)) if host == "localhost" => IpAddr::V4(Ipv4Addr::LOCALHOST),
        Some(host) => {
            let address = host.as_str().and_then(|host| host.parse().ok());
            let why = "it is an address of this machine, 0.0.0.0 or ::";
            address.ok_or_else(|| mistake("prometheus: host", why))?
        }
    };
    let port = match section.and_then(|section| section.get("port")) {
        None | Some(Value::Nil) => PORT,
        Some(port) => {
            let number = port.as_i64().and_then(|port| u16::try_from(port).ok());
            let number = number.filter(|port| *port > 0);
            number.ok_or_else(|| mistake("prometheus: port", "it is a port (1 to 65535)"))?
        }
    };
    Ok(SocketAddr::new(host, port))
}

fn attributes(section: Option<&Map>) -> Result<BTreeMap<String, String>, Mistake> {
    let pairs = section.into_iter().flatten();
    Ok(pairs
        .map(|(name, value)| (python::str(name), python::str(value)))
        .collect())
}

fn boundaries(section: Option<&Map>) -> Result<BTreeMap<String, Vec<f64>>, Mistake> {
    let mut all = BTreeMap::new();
    for (name, value) in section.into_iter().flatten() {
        let name = python::str(name);
        let what = format!("histogram_boundaries: {name}");
        let numbers = value.as_list().unwrap_or_default();
        let numbers: Vec<f64> = numbers.iter().filter_map(Value::as_f64).collect();
        let grows = numbers.windows(2).all(|pair| pair[0] < pair[1]);
        let is_whole = value
            .as_list()
            .is_some_and(|list| list.len() == numbers.len());
        if numbers.is_empty() || numbers.len() > BOUNDARIES_MAX || !grows || !is_whole {
            return Err(mistake(
                &what,
                "it is a list of numbers, each above the last",
            ));
        }
        all.insert(name, numbers);
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on(more: impl IntoIterator<Item = (&'static str, Value)>) -> Map {
        let mut option = Map::from([
            ("enabled", Value::Bool(true)),
            ("exporter", "prometheus".into()),
        ]);
        for (name, value) in more {
            option.insert(name, value);
        }
        option
    }

    #[test]
    fn nothing_is_served_until_it_is_enabled() {
        assert_eq!(MetricsSettings::read(&Map::new(), "salt-master"), Ok(None));
        let off = Map::from([("enabled", Value::Bool(false))]);
        assert_eq!(MetricsSettings::read(&off, "salt-master"), Ok(None));
        let settings = MetricsSettings::read(&on([]), "salt-master").unwrap();
        let address = settings.map(|settings| settings.address.to_string());
        assert_eq!(address.as_deref(), Some("127.0.0.1:9464"));
    }

    #[test]
    fn what_cannot_be_honoured_is_refused_by_name() {
        let fault = |option: Map| match MetricsSettings::read(&option, "salt-master") {
            Err(mistake) => mistake.to_string(),
            Ok(settings) => panic!("{settings:?}"),
        };
        let pushes = Map::from([("enabled", Value::Bool(true))]);
        assert!(fault(pushes).starts_with("exporter: only `prometheus`"));
        let port = Map::from([("port", 70_000)]);
        assert!(fault(on([("prometheus", port.into())])).starts_with("prometheus: port"));
        let falling = Map::from([("x", Value::List(vec![2.into(), 1.into()]))]);
        let falling = on([("histogram_boundaries", falling.into())]);
        assert!(fault(falling).starts_with("histogram_boundaries: x"));
        assert!(fault(on([("exporters", Value::Nil)])).starts_with("exporters: there is no"));
    }
}
