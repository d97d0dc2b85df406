//! A Redis, as named by the options of Salt's cache and of its returner.

use halite_crypto::Secret;
use halite_proto::{Value, python};
use halite_store_servers::limits::MEMBERS_MAX;
use halite_store_servers::{Address, Coverage, ServerKind};

use super::{PlaceError, Reader, wrong};
#[cfg(feature = "redis")]
use crate::cache::CacheNames;

impl Reader<'_> {
    pub(super) fn redis(
        &self,
        option: &'static str,
        family: &str,
        host: &str,
    ) -> Result<Address, PlaceError> {
        let text = |name: &str| self.text(&format!("{family}.{name}"));
        let mut address = Address::new(
            ServerKind::Redis,
            text("host").unwrap_or_else(|| host.to_owned()),
        );
        if let Some(port) = text("port") {
            let number = port.parse();
            address.port = number
                .map_err(|_| wrong(option, format!("{family}.port: {port} is not a port")))?;
        }
        address.socket = text("unix_socket_path").map(Into::into);
        address.database = text("db");
        address.password = text("password").map(Secret::new);
        self.add_cluster(option, family, &mut address)?;
        Ok(address)
    }

    /// The servers of a cluster, where the options say that it is one. Without a list
    /// of them it is found by the host.
    fn add_cluster(
        &self,
        option: &'static str,
        family: &str,
        address: &mut Address,
    ) -> Result<(), PlaceError> {
        let named = |name: &str| self.opts.get(format!("{family}.{name}").as_str());
        if !named("cluster_mode").is_some_and(Value::is_true) {
            return Ok(());
        }
        let may_have_gaps = named("cluster.skip_full_coverage_check").is_some_and(Value::is_true);
        address.cluster = Some(match may_have_gaps {
            true => Coverage::Partial,
            false => Coverage::Full,
        });
        if let Some(nodes) = named("cluster.startup_nodes").filter(|nodes| nodes.is_true()) {
            let nodes = startup_nodes(nodes, address.port);
            let mut nodes = nodes.ok_or_else(|| {
                let why = format!(
                    "{family}.cluster.startup_nodes: it must be a list of at most {MEMBERS_MAX} \
                     servers, each with host and port"
                );
                wrong(option, why)
            })?;
            (address.host, address.port) = nodes.remove(0);
            address.members = nodes;
        }
        let checked = address.check_cluster();
        checked.map_err(|error| wrong(option, format!("{family}.cluster_mode: {error}")))
    }

    #[cfg(feature = "redis")]
    pub(super) fn names(&self, option: &'static str) -> Result<CacheNames, PlaceError> {
        let own = |name: &str, by_itself: &str| {
            let text = self.text(name).unwrap_or_else(|| by_itself.to_owned());
            match text.contains('/') {
                true => Err(wrong(
                    option,
                    format!("{name}: it must not contain a slash"),
                )),
                false => Ok(text),
            }
        };
        let separator = own("cache.redis.separator", "_")?;
        let names = CacheNames {
            banks: own("cache.redis.banks_prefix", "$BANKS")? + &separator,
            keys: own("cache.redis.keys_prefix", "$KEYS")? + &separator,
            stamps: own("cache.redis.timestamp_prefix", "$TSTAMP")? + &separator,
        };
        match names.keys == names.stamps {
            true => Err(wrong(
                option,
                "cache.redis.timestamp_prefix: it must differ from cache.redis.keys_prefix"
                    .to_owned(),
            )),
            false => Ok(names),
        }
    }
}

/// Hosts with their ports, of which there is one at least.
fn startup_nodes(nodes: &Value, port: u16) -> Option<Vec<(String, u16)>> {
    let node = |node: &Value| {
        let host = node.get("host").and_then(Value::as_str)?;
        let port = match node.get("port") {
            Some(port) => python::str(port).parse().ok()?,
            None => port,
        };
        (!host.is_empty()).then(|| (host.to_owned(), port))
    };
    let nodes = nodes.as_list()?.iter().map(node);
    let nodes: Vec<_> = nodes.collect::<Option<_>>()?;
    (1..=MEMBERS_MAX).contains(&nodes.len()).then_some(nodes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use halite_proto::Map;

    /// The address that options name, or why they name none.
    fn address(opts: &[(&str, Value)]) -> Result<Address, String> {
        let named = opts
            .iter()
            .map(|(name, value)| (Value::from(*name), value.clone()));
        let opts: Map = named.collect();
        let found = Reader { opts: &opts }.redis("cache", "cache.redis", "localhost");
        found.map_err(|error| error.why)
    }

    fn node(host: &str, port: impl Into<Value>) -> Value {
        Map::from([("host", host.into()), ("port", port.into())]).into()
    }

    const MODE: &str = "cache.redis.cluster_mode";
    const NODES: &str = "cache.redis.cluster.startup_nodes";

    #[test]
    fn a_cluster_is_found_by_the_nodes_that_are_named() {
        let nodes = Value::List(vec![node("r1", 7000), node("r2", "7001")]);
        let found = address(&[(MODE, true.into()), (NODES, nodes.clone())]).unwrap();
        assert_eq!((found.host.as_str(), found.port), ("r1", 7000));
        assert_eq!(found.members, [("r2".to_owned(), 7001)]);
        assert_eq!(found.cluster, Some(Coverage::Full));
        let skip = ("cache.redis.cluster.skip_full_coverage_check", true.into());
        let found = address(&[(MODE, true.into()), skip]).unwrap();
        assert_eq!(found.cluster, Some(Coverage::Partial));
        assert_eq!((found.host.as_str(), found.port), ("localhost", 6379));
        // Without the mode they say nothing, in Salt too.
        let found = address(&[(NODES, nodes)]).unwrap();
        assert_eq!((found.cluster, found.host.as_str()), (None, "localhost"));
    }

    #[test]
    fn what_a_cluster_has_not_is_refused() {
        let nodes = |nodes: Vec<Value>| (NODES, Value::List(nodes));
        let many = vec![node("r", 1); MEMBERS_MAX + 1];
        for (other, why) in [
            (nodes(vec![node("", 1)]), "startup_nodes"),
            (nodes(vec![node("r1", "x")]), "startup_nodes"),
            (nodes(vec!["r1".into()]), "startup_nodes"),
            (nodes(many), "startup_nodes"),
            (("cache.redis.db", 3.into()), "one database"),
            (("cache.redis.unix_socket_path", "/run/r".into()), "socket"),
        ] {
            let error = address(&[(MODE, true.into()), other]).unwrap_err();
            assert!(error.contains(why), "{error}");
        }
    }
}
