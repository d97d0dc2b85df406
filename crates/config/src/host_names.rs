//! The names of a machine, as Salt finds them.
//!
//! Invariant: name servers are asked at most once, and only when a name is needed:
//! a dead one costs many seconds.

use std::net::{IpAddr, Ipv4Addr, ToSocketAddrs};
use std::path::Path;
use std::process::Stdio;

use halite_process::child;

/// The names and addresses of a machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostNames {
    host_name: String,
    hosts: Vec<(IpAddr, Vec<String>)>,
    /// Names from files, best first.
    written: Vec<String>,
    addresses: Vec<String>,
    /// Whether name servers may be asked.
    resolve: bool,
}

/// What a machine can be called.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Name {
    pub(crate) text: String,
    pub(crate) is_address: bool,
}

impl HostNames {
    /// Asks the kernel and reads `/etc/hostname` and `/etc/hosts` below
    /// `root`. Name servers are asked when a name is needed and these do not
    /// know the machine.
    pub fn gather(root: &Path) -> Self {
        let read = |path: &str| std::fs::read_to_string(root.join(path)).unwrap_or_default();
        let hosts = read("etc/hosts");
        let mut written = Vec::new();
        for text in [&read("etc/hostname"), &read("etc/nodename"), &hosts] {
            written.extend(names_of_this_host(text).map(str::to_owned));
        }
        let host_name = nix::unistd::gethostname()
            .ok()
            .and_then(|name| name.into_string().ok())
            .unwrap_or_default();
        Self {
            host_name,
            hosts: host_lines(&hosts),
            written,
            addresses: own_addresses(),
            resolve: true,
        }
    }

    /// The same, for a program that must not wait for name servers.
    #[must_use]
    pub fn without_name_servers(&self) -> Self {
        Self {
            resolve: false,
            ..self.clone()
        }
    }

    /// What the kernel calls the machine.
    pub fn host_name(&self) -> &str {
        &self.host_name
    }

    /// The best name: the full one, the host name, a name of this host in
    /// `/etc/hosts`, an address. Names of every machine, such as `localhost`,
    /// do not count unless there is nothing else.
    pub(crate) fn best(&self) -> Name {
        let full = self.full_name();
        let names = [full.as_str(), self.host_name.as_str()];
        let written = self.written.iter().map(String::as_str);
        let addresses = self.addresses.iter().map(String::as_str);
        let best = names
            .into_iter()
            .chain(written)
            .chain(addresses)
            .find(|name| !name.is_empty() && !is_local(name))
            .unwrap_or("localhost");
        Name {
            text: best.to_owned(),
            is_address: best.parse::<Ipv4Addr>().is_ok(),
        }
    }

    /// The full name, by way of the address, as Python's `getfqdn`; the host
    /// name if there is none.
    fn full_name(&self) -> String {
        let name = self.host_name.as_str();
        let from_files = self
            .hosts
            .iter()
            .find(|(_, names)| names.iter().any(|own| own == name))
            .map(|(address, _)| *address);
        let names = match from_files {
            Some(address) => self.names_in_files(address),
            None if self.resolve && !name.is_empty() => self.names_by_servers(name),
            None => None,
        };
        let Some(names) = names else {
            return name.to_owned();
        };
        let full = names.iter().find(|name| name.contains('.'));
        full.or_else(|| names.first())
            .cloned()
            .unwrap_or_else(|| name.to_owned())
    }

    fn names_in_files(&self, address: IpAddr) -> Option<Vec<String>> {
        let line = self.hosts.iter().find(|(own, _)| *own == address);
        line.map(|(_, names)| names.clone())
    }

    fn names_by_servers(&self, name: &str) -> Option<Vec<String>> {
        let address = (name, 0).to_socket_addrs().ok()?.next()?.ip();
        if let Some(names) = self.names_in_files(address) {
            return Some(names);
        }
        // The standard library does not go from an address to a name.
        let output = child::command("getent")
            .args(["hosts", &address.to_string()])
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .output()
            .ok()?;
        let text = String::from_utf8_lossy(&output.stdout);
        let names: Vec<String> = text
            .lines()
            .next()?
            .split_whitespace()
            .skip(1)
            .map(str::to_owned)
            .collect();
        (!names.is_empty()).then_some(names)
    }

    #[cfg(test)]
    pub(crate) fn of(host: &str, full: &str, written: &[&str], addresses: &[&str]) -> Self {
        let owned = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect();
        let address = IpAddr::from([127, 0, 1, 1]);
        Self {
            host_name: host.to_owned(),
            hosts: vec![(address, vec![full.to_owned(), host.to_owned()])],
            written: owned(written),
            addresses: owned(addresses),
            resolve: false,
        }
    }
}

/// The lines of `/etc/hosts`: an address and its names.
fn host_lines(text: &str) -> Vec<(IpAddr, Vec<String>)> {
    text.lines()
        .filter_map(|line| {
            let mut words = words(line);
            let address = words.next()?.parse().ok()?;
            Some((address, words.map(str::to_owned).collect()))
        })
        .collect()
}

/// The words of lines that are about this host: those of loopback addresses,
/// and single words.
fn names_of_this_host(text: &str) -> impl Iterator<Item = &str> {
    text.lines()
        .filter(|line| {
            let mut words = words(line);
            let first = words.next().unwrap_or_default();
            words.next().is_none() || first.starts_with("127.") || first == "::1"
        })
        .flat_map(words)
}

fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split('#')
        .next()
        .unwrap_or_default()
        .split_whitespace()
}

/// Whether a name is that of every machine.
fn is_local(name: &str) -> bool {
    const PREFIXES: [&str; 7] = [
        "localhost",
        "ip6-",
        "ipv6-",
        "0.0.0.0",
        "::1",
        "fe00::",
        "fe02::",
    ];
    let loopback = name
        .strip_prefix("127.")
        .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    loopback
        || PREFIXES.iter().any(|prefix| name.starts_with(prefix))
        || (name.starts_with("1.0.0") && name.contains(".ip6.arpa"))
}

/// The IPv4 addresses that are not loopback, in order.
fn own_addresses() -> Vec<String> {
    let Ok(interfaces) = nix::ifaddrs::getifaddrs() else {
        return Vec::new();
    };
    let mut addresses: Vec<Ipv4Addr> = interfaces
        .filter_map(|interface| Some(interface.address?.as_sockaddr_in()?.ip()))
        .filter(|address| !address.is_loopback())
        .collect();
    addresses.sort_unstable();
    addresses.dedup();
    addresses.iter().map(Ipv4Addr::to_string).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(names: &HostNames, expected: &str) {
        assert_eq!(names.best().text, expected, "{names:?}");
    }

    #[test]
    fn a_full_name_is_better_than_a_short_one_than_an_address() {
        check(
            &HostNames::of("web1", "web1.example.com", &[], &[]),
            "web1.example.com",
        );
        check(&HostNames::of("web1", "localhost", &["alias"], &[]), "web1");
        check(
            &HostNames::of(
                "localhost",
                "localhost",
                &["127.0.0.1", "localhost", "box"],
                &["10.0.0.1"],
            ),
            "box",
        );
        check(
            &HostNames::of("localhost", "localhost.localdomain", &[], &["10.0.0.1"]),
            "10.0.0.1",
        );
        check(
            &HostNames::of("localhost", "localhost", &[], &[]),
            "localhost",
        );
        let address = HostNames::of("", "", &[], &["10.0.0.1"]).best();
        assert!(address.is_address);
    }

    #[test]
    fn the_first_line_of_an_address_names_it() {
        // As resolvers do: the name leads to the address, the address to the
        // first line, whatever the line the name was on.
        let hosts = "127.0.0.1 localhost\n127.0.0.1 vm # me\n10.0.0.1 a a.example.com\n";
        let names = HostNames {
            host_name: "vm".to_owned(),
            hosts: host_lines(hosts),
            ..HostNames::default()
        };
        assert_eq!(names.full_name(), "localhost");
        check(&names, "vm");
        let names = HostNames {
            host_name: "a".to_owned(),
            ..names
        };
        check(&names, "a.example.com");
    }

    #[test]
    fn lines_about_this_host_give_names() {
        let text = "web1\n# x\n127.0.1.1 one two # three\n10.0.0.1 other\n::1 six\n";
        let names: Vec<_> = names_of_this_host(text).collect();
        assert_eq!(names, ["web1", "127.0.1.1", "one", "two", "::1", "six"]);
    }
}
