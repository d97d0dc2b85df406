//! An etcd, as named by the options of Salt's cache `etcd`.
//!
//! Invariant: an option that is not supported is refused; no connection is less
//! protected than its options say.

use halite_crypto::Secret;
use halite_store_servers::{Address, ServerKind, Tls};

use crate::backend::BackendOptions;
use crate::etcd::{EtcdOptions, EtcdVersion};
use crate::sql_places::Lookup;

/// The etcd of Salt's cache, in version 2 of its interface unless
/// `etcd.require_v2` is false.
pub(super) fn of_cache(option: Lookup<'_>) -> Result<BackendOptions, String> {
    let text = |name: &str| option(&format!("etcd.{name}"));
    if let Some(domain) = text("srv_domain") {
        return Err(format!(
            "etcd.srv_domain: {domain}: looking up servers in the DNS is not supported; set \
             etcd.host, or store with members="
        ));
    }
    let host = text("host").unwrap_or_else(|| "127.0.0.1".to_owned());
    let mut address = Address::new(ServerKind::Etcd, host);
    if let Some(port) = text("port") {
        address.port = port
            .parse()
            .map_err(|_| format!("etcd.port: {port} is not a port"))?;
    }
    address.user = text("username");
    address.password = text("password").map(Secret::new);
    let prefix = text("path_prefix");
    address.database = prefix.map(|prefix| prefix.trim_matches('/').to_owned());
    address.tls = tls(&text)?;
    if let Some(seconds) = text("read_timeout") {
        let limit = seconds.parse().ok().filter(|seconds| *seconds > 0);
        let limit = limit.map(std::time::Duration::from_secs);
        address.limit = limit
            .ok_or_else(|| format!("etcd.read_timeout: {seconds} is not a number of seconds"))?;
    }
    let version = match text("require_v2").as_deref() {
        None | Some("True") => match text("timestamp_suffix") {
            Some(stamp_suffix) if stamp_suffix.contains('/') => {
                return Err("etcd.timestamp_suffix: it must not contain a slash".to_owned());
            }
            Some(stamp_suffix) => EtcdVersion::V2 { stamp_suffix },
            None => EtcdVersion::salts(),
        },
        Some("False") => EtcdVersion::V3,
        Some(other) => return Err(format!("etcd.require_v2: {other} is not True or False")),
    };
    let options = EtcdOptions { address, version };
    Ok(BackendOptions::Etcd(Box::new(options)))
}

fn tls(text: &impl Fn(&str) -> Option<String>) -> Result<Option<Tls>, String> {
    let (ca, certificate) = (text("ca_cert"), text("cert"));
    match text("protocol").as_deref() {
        None | Some("http") => {
            let set = [("ca_cert", ca), ("cert", certificate)];
            match set.into_iter().find(|(_, file)| file.is_some()) {
                Some((name, _)) => Err(format!(
                    "etcd.{name}: connections are not encrypted without etcd.protocol: https"
                )),
                None => Ok(None),
            }
        }
        // One file has the certificate and its key.
        Some("https") => Ok(Some(Tls {
            ca: ca.map(Into::into),
            key: certificate.clone().map(Into::into),
            certificate: certificate.map(Into::into),
            is_unverified: false,
        })),
        Some(other) => Err(format!("etcd.protocol: {other} is neither http nor https")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cache(opts: &[(&str, &str)]) -> Result<EtcdOptions, String> {
        let found = |wanted: &str| {
            let set = opts.iter().find(|(name, _)| *name == wanted);
            set.map(|(_, text)| (*text).to_owned())
        };
        match of_cache(&found)? {
            BackendOptions::Etcd(options) => Ok(*options),
            _ => panic!(),
        }
    }

    #[test]
    fn salts_defaults_are_those_of_its_code() {
        let options = cache(&[]).unwrap();
        assert_eq!(options.to_string(), "etcd://127.0.0.1:2379 (version 2)");
        assert_eq!(options.version, EtcdVersion::salts());
        assert_eq!(options.address.tls, None);
    }

    #[test]
    fn each_option_has_its_place() {
        let options = cache(&[
            ("etcd.host", "one"),
            ("etcd.port", "4001"),
            ("etcd.protocol", "https"),
            ("etcd.ca_cert", "/ca.pem"),
            ("etcd.username", "salt"),
            ("etcd.password", "secret"),
            ("etcd.path_prefix", "/fleet/"),
            ("etcd.read_timeout", "3"),
            ("etcd.require_v2", "False"),
        ])
        .unwrap();
        let address = &options.address;
        assert_eq!(options.version, EtcdVersion::V3);
        assert_eq!(address.to_string(), "etcds://one:4001/fleet");
        assert_eq!(address.limit.as_secs(), 3);
        assert_eq!(address.user.as_deref(), Some("salt"));
        let tls = address.tls.as_ref().unwrap();
        assert_eq!(tls.ca, Some("/ca.pem".into()));
        assert!(!tls.is_unverified);
        let suffix = cache(&[("etcd.timestamp_suffix", ".time")]).unwrap();
        let stamp_suffix = ".time".to_owned();
        assert_eq!(suffix.version, EtcdVersion::V2 { stamp_suffix });
    }

    #[test]
    fn what_is_not_done_is_refused() {
        for (name, text) in [
            ("etcd.srv_domain", "example.com"),
            ("etcd.port", "x"),
            ("etcd.protocol", "ftp"),
            ("etcd.ca_cert", "/ca.pem"),
            ("etcd.cert", "/cert.pem"),
            ("etcd.read_timeout", "soon"),
            ("etcd.require_v2", "maybe"),
            ("etcd.timestamp_suffix", "/x"),
        ] {
            let error = cache(&[(name, text)]).unwrap_err();
            assert!(error.starts_with(&format!("{name}: ")), "{error}");
        }
    }
}
