//! The address of another master's API, as `other_masters` names it.
//!
//! Pure. Invariant: a password or a token leaves this machine only over TLS.

use std::fmt;
use std::net::IpAddr;

use axum::http::Uri;

/// Where another master's API is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// Whether it is spoken to over TLS.
    pub is_encrypted: bool,
    /// A name or an IP address, without brackets.
    pub host: String,
    /// The port.
    pub port: u16,
    /// Its `root_prefix`: with a slash in front and none behind; empty for none.
    pub prefix: String,
}

impl Address {
    /// Reads a URL such as `https://master2.example:8000`.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(url: &str) -> Result<Self, &'static str> {
        let uri: Uri = url.parse().map_err(|_| "not a URL")?;
        let is_encrypted = match uri.scheme_str() {
            Some("https") => true,
            Some("http") => false,
            _ => return Err("the URL must begin with https://"),
        };
        let authority = uri.authority().ok_or("the URL has no host")?;
        if authority.as_str().contains('@') {
            return Err("the URL must not contain a user or password: callers log in themselves");
        }
        if uri.query().is_some() {
            return Err("the URL must not contain a query");
        }
        let host = authority.host().trim_matches(['[', ']']).to_owned();
        if host.is_empty() {
            return Err("the URL has no host");
        }
        if !is_encrypted && !is_this_machine(&host) {
            return Err("passwords and tokens would travel in the clear: write https://");
        }
        let port = match (authority.port_u16(), is_encrypted) {
            (Some(port), _) => port,
            (None, true) => 443,
            (None, false) => 80,
        };
        Ok(Self {
            is_encrypted,
            host,
            port,
            prefix: uri.path().trim_end_matches('/').to_owned(),
        })
    }

    /// The value of the header `Host`.
    pub(crate) fn authority(&self) -> String {
        match self.host.contains(':') {
            true => format!("[{}]:{}", self.host, self.port),
            false => format!("{}:{}", self.host, self.port),
        }
    }
}

/// The form in logs, headers and events.
impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.authority())
    }
}

fn is_this_machine(host: &str) -> bool {
    let address = host.parse::<IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_says_where_and_how() {
        let at = |url| Address::parse(url).unwrap();
        let far = at("https://m2.example:8000/salt/");
        assert_eq!(far.to_string(), "m2.example:8000");
        assert!(far.is_encrypted);
        assert_eq!(far.prefix, "/salt");
        assert_eq!(at("https://m2.example").port, 443);
        assert_eq!(at("https://[fd00::2]:8000").authority(), "[fd00::2]:8000");
        let near = at("http://127.0.0.2:8000");
        assert!(!near.is_encrypted);
        assert_eq!(near.prefix, "");
    }

    #[test]
    fn proofs_do_not_leave_the_machine_in_the_clear() {
        for bad in [
            "http://m2.example:8000",
            "http://10.0.0.2:8000",
            "m2.example",
            "ftp://127.0.0.1",
            "https://ali:secret@m2.example",
            "https://m2.example/?x=1",
            "https://",
            "https:// m2",
            "",
        ] {
            assert!(Address::parse(bad).is_err(), "{bad}");
        }
    }
}
