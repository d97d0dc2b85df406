//! Who a minion is when its configuration does not say.

use std::path::Path;

use crate::error::ConfigError;

/// The names and addresses of a machine, gathered by the caller.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostNames {
    /// What the kernel calls it.
    pub host_name: String,
    /// Its names by the resolver and `/etc/hosts`, best first.
    pub full_names: Vec<String>,
    /// Its addresses, none of them loopback.
    pub addresses: Vec<String>,
}

impl HostNames {
    /// Asks the kernel and reads `/etc/hostname` and `/etc/hosts` below
    /// `root`. No name server is asked: it might not answer.
    pub fn gather(root: &Path) -> Self {
        let read = |path: &str| std::fs::read_to_string(root.join(path)).unwrap_or_default();
        let host_name = nix::unistd::gethostname()
            .ok()
            .and_then(|name| name.into_string().ok())
            .unwrap_or_default();
        let mut full_names = Vec::new();
        for line in read("etc/hosts").lines() {
            let line = line.split('#').next().unwrap_or_default();
            let mut words = line.split_whitespace();
            words.next();
            let names: Vec<&str> = words.collect();
            if names.contains(&host_name.as_str()) {
                full_names.extend(
                    names
                        .iter()
                        .filter(|n| n.contains('.'))
                        .map(|n| (*n).to_owned()),
                );
            }
        }
        full_names.push(host_name.clone());
        full_names.push(read("etc/hostname").trim().to_owned());
        full_names.retain(|name| !name.is_empty());
        Self {
            host_name,
            full_names,
            addresses: own_addresses(),
        }
    }

    /// The best name for a minion, as Salt chooses: a full name, else a name
    /// that is not the local one, else an address.
    pub(crate) fn best(&self) -> Option<String> {
        let local = |name: &str| name == "localhost" || name.starts_with("localhost.");
        self.full_names
            .iter()
            .find(|name| name.contains('.') && !local(name))
            .or_else(|| self.full_names.iter().find(|name| !local(name)))
            .or_else(|| self.addresses.first())
            .or_else(|| self.full_names.first())
            .cloned()
    }
}

/// How an id is made of a host name.
pub(crate) struct IdRules<'a> {
    /// `minion_id_lowercase`.
    pub(crate) lowercase: bool,
    /// `minion_id_remove_domain`: any domain, or this one.
    pub(crate) remove_domain: RemoveDomain<'a>,
}

/// Which domain is taken off a name.
pub(crate) enum RemoveDomain<'a> {
    None,
    Any,
    This(&'a str),
}

impl IdRules<'_> {
    pub(crate) fn apply(&self, name: &str) -> String {
        let mut id = if self.lowercase {
            name.to_lowercase()
        } else {
            name.to_owned()
        };
        let bare = match self.remove_domain {
            RemoveDomain::None => None,
            RemoveDomain::Any => id.split_once('.').map(|(host, _)| host),
            RemoveDomain::This(domain) => id.strip_suffix(domain).and_then(|h| h.strip_suffix('.')),
        };
        if let Some(bare) = bare.filter(|bare| !bare.is_empty()).map(str::to_owned) {
            id = bare;
        }
        id
    }
}

/// The id that an earlier start has found, from the file `minion_id`.
pub(crate) fn cached(config_dir: &Path) -> Option<String> {
    let text = std::fs::read_to_string(config_dir.join("minion_id")).ok()?;
    let id = text.trim();
    (!id.is_empty()).then(|| id.to_owned())
}

/// Keeps the id for the next start. One that cannot be kept is found anew.
pub(crate) fn cache(config_dir: &Path, id: &str) {
    let file = config_dir.join("minion_id");
    if let Err(error) = std::fs::write(&file, id) {
        tracing::debug!(file = %file.display(), %error, "the minion id is not cached");
    }
}

pub(crate) fn none_found() -> ConfigError {
    ConfigError::NoId {
        why: "the machine has no host name and no address".to_owned(),
    }
}

fn own_addresses() -> Vec<String> {
    let Ok(interfaces) = nix::ifaddrs::getifaddrs() else {
        return Vec::new();
    };
    interfaces
        .filter_map(|interface| {
            let address = interface.address?;
            let address = address.as_sockaddr_in()?.ip();
            (!address.is_loopback()).then(|| address.to_string())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(full: &[&str], addresses: &[&str]) -> HostNames {
        let owned = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect();
        HostNames {
            host_name: full.first().copied().unwrap_or_default().to_owned(),
            full_names: owned(full),
            addresses: owned(addresses),
        }
    }

    #[test]
    fn a_full_name_is_better_than_a_short_one_than_an_address() {
        for (full, addresses, best) in [
            (
                &["web1", "web1.example.com"][..],
                &[][..],
                Some("web1.example.com"),
            ),
            (&["localhost", "web1"], &["10.0.0.1"], Some("web1")),
            (
                &["localhost", "localhost.localdomain"],
                &["10.0.0.1"],
                Some("10.0.0.1"),
            ),
            (&["localhost"], &[], Some("localhost")),
            (&[], &[], None),
        ] {
            assert_eq!(names(full, addresses).best().as_deref(), best, "{full:?}");
        }
    }

    #[test]
    fn domains_and_capitals_go_where_that_is_asked_for() {
        let apply = |lowercase, remove_domain| {
            IdRules {
                lowercase,
                remove_domain,
            }
            .apply("Web1.Example.com")
        };
        assert_eq!(apply(false, RemoveDomain::None), "Web1.Example.com");
        assert_eq!(apply(true, RemoveDomain::Any), "web1");
        assert_eq!(apply(true, RemoveDomain::This("example.com")), "web1");
        assert_eq!(
            apply(true, RemoveDomain::This("other.com")),
            "web1.example.com"
        );
    }
}
