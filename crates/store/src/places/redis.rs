//! A Redis as the options of Salt's cache and of its returner name it.

use halite_crypto::Secret;
use halite_proto::Value;
use halite_store_servers::{Address, ServerKind};

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
        let is_cluster = self.opts.get(format!("{family}.cluster_mode").as_str());
        if is_cluster.is_some_and(Value::is_true) {
            return Err(wrong(
                option,
                format!("{family}.cluster_mode: a Redis cluster is not spoken to; use one server"),
            ));
        }
        let mut address = Address::new(
            ServerKind::Redis,
            text("host").unwrap_or_else(|| host.to_owned()),
        );
        if let Some(port) = text("port") {
            let number = port.parse();
            address.port =
                number.map_err(|_| wrong(option, format!("{family}.port: {port} is no port")))?;
        }
        address.socket = text("unix_socket_path").map(Into::into);
        address.database = text("db");
        address.password = text("password").map(Secret::new);
        Ok(address)
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
