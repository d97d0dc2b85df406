//! The caller's address, and which parts of a request are logged.

use std::net::IpAddr;

use axum::http::HeaderMap;
use halite_transport::fleet::Origin;
use percent_encoding::percent_decode_str;

use crate::masters::RELAYED;

/// The client at the other end of a connection.
#[derive(Clone, Copy, Debug)]
pub struct Peer {
    /// The address of the connection.
    pub address: IpAddr,
    /// The address of the client: behind a trusted proxy the one that it names.
    pub caller: IpAddr,
    /// Whether a trusted proxy has connected.
    pub is_proxy: bool,
    /// Whether the connection is.
    pub is_encrypted: bool,
    /// Whether the API of another master asks: it wants to know what the master of
    /// this machine says, and no other.
    pub is_relayed: bool,
}

/// Whom a proxy has the request from; the last address is the proxy's own word.
const FORWARDED_FOR: &str = "x-forwarded-for";

impl Peer {
    /// The other end of a connection.
    pub fn new(address: IpAddr, is_encrypted: bool, is_proxy: bool) -> Self {
        // An IPv4 address is one at a socket of IPv6, too.
        let address = address.to_canonical();
        Self {
            address,
            caller: address,
            is_proxy,
            is_encrypted,
            is_relayed: false,
        }
    }

    /// The same with what the request says: whether another API asks, and the caller
    /// that a trusted proxy names; no other proxy is believed.
    pub(super) fn behind_proxy(self, headers: &HeaderMap) -> Self {
        let named = headers.get_all(FORWARDED_FOR).iter().next_back();
        let last = named
            .and_then(|named| named.to_str().ok())
            .and_then(|named| named.rsplit(',').next())
            .and_then(|last| last.trim().parse::<IpAddr>().ok());
        let caller = last.filter(|_| self.is_proxy);
        Self {
            caller: caller.map_or(self.address, |caller| caller.to_canonical()),
            is_relayed: headers.contains_key(RELAYED),
            ..self
        }
    }

    /// Whether it has no share of its own: a proxy that names no client asks for all, and
    /// programs of this machine are not limited as strangers.
    pub(super) fn is_near(&self) -> bool {
        self.is_proxy && self.caller == self.address
    }

    /// Whom its shares are reckoned to.
    pub(super) fn origin(self) -> Origin {
        Origin::of(Some(self.caller))
    }
}

/// The path for the log. The rest behind pages that take credentials in the path (a
/// session, or the secret of a hook) is left out.
pub(super) fn shown(path: &str, root_prefix: &str, webhook_url: &str) -> String {
    let inner = path.strip_prefix(root_prefix).unwrap_or(path);
    let mut parts = inner.split('/').filter(|part| !part.is_empty());
    let first = percent_decode_str(parts.next().unwrap_or_default()).decode_utf8_lossy();
    let is_secret = first == "ws" || first == webhook_url;
    match is_secret && parts.next().is_some() {
        true => format!("{root_prefix}/{first}/…"),
        false => path.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::{HeaderValue, header};

    #[test]
    fn the_log_has_no_proofs() {
        let shown = |path| shown(path, "/salt", "hook");
        assert_eq!(shown("/salt/ws/abcd"), "/salt/ws/…");
        assert_eq!(shown("/salt//w%73/abcd"), "/salt/ws/…");
        assert_eq!(shown("/salt/hook/secret/x"), "/salt/hook/…");
        assert_eq!(shown("/salt/ws"), "/salt/ws");
        assert_eq!(shown("/salt/jobs/1"), "/salt/jobs/1");
    }

    #[test]
    fn only_a_trusted_proxy_says_who_asks() {
        let caller = |address: &str, named: &[&'static str]| {
            let named = named.iter().map(|named| {
                let name = header::HeaderName::from_static(FORWARDED_FOR);
                (name, HeaderValue::from_static(named))
            });
            let address: IpAddr = address.parse().unwrap();
            let is_proxy = address.to_canonical().is_loopback();
            let peer = Peer::new(address, false, is_proxy);
            let mut headers = HeaderMap::new();
            for (name, value) in named {
                headers.append(name, value);
            }
            peer.behind_proxy(&headers).caller.to_string()
        };
        assert_eq!(caller("127.0.0.1", &[]), "127.0.0.1");
        assert_eq!(caller("::ffff:127.0.0.1", &["10.0.0.5"]), "10.0.0.5");
        // What came with the request stands in front.
        assert_eq!(caller("::1", &["1.1.1.1", "2.2.2.2, 10.0.0.5"]), "10.0.0.5");
        assert_eq!(caller("127.0.0.1", &["nonsense"]), "127.0.0.1");
        assert_eq!(caller("10.0.0.1", &["10.0.0.5"]), "10.0.0.1");
        assert_eq!(caller("::ffff:10.0.0.1", &[]), "10.0.0.1");
    }
}
