//! Whether others on the network can read what is sent to a server.

use std::net::IpAddr;

use super::Address;

impl Address {
    /// A host beyond this machine to which connections are not encrypted, if there is
    /// one.
    pub fn host_in_the_clear(&self) -> Option<&str> {
        if self.tls.is_some() || self.socket.is_some() {
            return None;
        }
        let others = self.members.iter().chain(&self.sentinels);
        let hosts = others.map(|(host, _)| host.as_str());
        let mut hosts = std::iter::once(self.host.as_str()).chain(hosts);
        hosts.find(|host| !is_this_machine(host))
    }
}

fn is_this_machine(host: &str) -> bool {
    match host.parse::<IpAddr>() {
        Ok(address) => address.to_canonical().is_loopback(),
        Err(_) => host.eq_ignore_ascii_case("localhost"),
    }
}

#[cfg(test)]
mod tests {
    use crate::address::Address;

    fn host(url: &str) -> Option<String> {
        let address = Address::parse(url).unwrap();
        address.host_in_the_clear().map(str::to_owned)
    }

    #[test]
    fn only_other_machines_without_tls_are_named() {
        for url in [
            "redis://localhost",
            "redis://LOCALHOST/1",
            "postgres://127.0.0.9/salt",
            "mysql://[::1]/salt",
            "mysql://[::ffff:127.0.0.1]/salt",
            "mysql://db.example/salt?socket=/run/mysqld.sock",
            "rediss://db.example",
            "etcd://db.example/salt?tls=yes",
            "postgres://db.example/salt?tls=unverified",
            "redis://localhost?cluster=yes&members=127.0.0.2",
        ] {
            assert_eq!(host(url), None, "{url}");
        }
        for (url, shown) in [
            ("redis://db.example", "db.example"),
            ("postgres://10.0.0.1/salt?tls=no", "10.0.0.1"),
            ("mysql://[2001:db8::1]/salt", "2001:db8::1"),
            ("etcd://localhost/salt?members=e2.example", "e2.example"),
            (
                "redis://localhost?sentinel=m&sentinels=s2.example",
                "s2.example",
            ),
            ("redis://localhost.example", "localhost.example"),
        ] {
            assert_eq!(host(url).as_deref(), Some(shown), "{url}");
        }
    }
}
