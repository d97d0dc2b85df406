//! The id of a minion without one in its configuration.
//!
//! Invariant: the answer is that of a Python minion on the same machine, so that a
//! minion keeps its name, and with it its key, when its program changes.

use std::path::{Path, PathBuf};

use halite_proto::Value;

use crate::host_names::{HostNames, Name};

/// The options that make an id of a host name.
pub(crate) struct IdRules<'a> {
    /// `root_dir`, below which the file of the last id is.
    pub(crate) root_dir: &'a Path,
    /// `minion_id_caching`.
    pub(crate) caching: bool,
    /// `minion_id_lowercase`.
    pub(crate) lowercase: bool,
    /// `minion_id_remove_domain`.
    pub(crate) remove_domain: RemoveDomain<'a>,
    /// `append_domain`.
    pub(crate) append_domain: Option<&'a str>,
}

/// Which domain is taken off a name.
#[derive(Clone, Copy)]
pub(crate) enum RemoveDomain<'a> {
    None,
    Any,
    This(&'a str),
}

impl<'a> RemoveDomain<'a> {
    /// What the value of `minion_id_remove_domain` says.
    pub(crate) fn of(value: &'a Value) -> Self {
        match value {
            Value::Bool(true) => Self::Any,
            Value::Str(domain) if !domain.is_empty() => Self::This(domain),
            _ => Self::None,
        }
    }
}

/// An id, and whether it has just been made of the machine's name.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Id {
    pub(crate) text: String,
    /// What is to be kept for the next start, without `append_domain`.
    pub(crate) to_cache: Option<String>,
}

impl IdRules<'_> {
    /// The id: the configured one, the one of the last start, or one made of
    /// the machine's name.
    pub(crate) fn id(&self, configured: Option<&str>, names: &HostNames) -> Id {
        if let Some(id) = configured.filter(|id| !id.is_empty()) {
            return Id {
                text: self.with_domain(id),
                to_cache: None,
            };
        }
        if let Some(id) = self.cached() {
            return Id {
                text: self.with_domain(&id),
                to_cache: None,
            };
        }
        let Name { text, is_address } = names.best();
        let id = self.made_of(&text);
        Id {
            text: if is_address {
                id.clone()
            } else {
                self.with_domain(&id)
            },
            to_cache: self.caching.then_some(id),
        }
    }

    /// Keeps an id for the next start. One that cannot be kept is found anew.
    pub(crate) fn cache(&self, id: &Id) {
        let Some(text) = &id.to_cache else {
            return;
        };
        let file = self.file();
        let written = file
            .parent()
            .map_or(Ok(()), std::fs::create_dir_all)
            .and_then(|()| std::fs::write(&file, text));
        if let Err(error) = written {
            tracing::debug!(file = %file.display(), %error, "the minion id is not cached");
        }
    }

    /// Salt keeps the id beside the default configuration, whatever directory
    /// is configured.
    fn file(&self) -> PathBuf {
        self.root_dir.join("etc/salt/minion_id")
    }

    fn cached(&self) -> Option<String> {
        if !self.caching {
            return None;
        }
        let text = std::fs::read_to_string(self.file()).ok()?;
        let id = text.trim_start_matches('\u{feff}').lines().next()?.trim();
        (!id.is_empty() && id != "localhost").then(|| id.to_owned())
    }

    fn made_of(&self, name: &str) -> String {
        let id = if self.lowercase {
            name.to_lowercase()
        } else {
            name.to_owned()
        };
        let bare = match self.remove_domain {
            RemoveDomain::None => None,
            RemoveDomain::Any => id.split_once('.').map(|(host, _)| host),
            RemoveDomain::This(domain) => id
                .len()
                .checked_sub(domain.len() + 1)
                .and_then(|at| id.split_at_checked(at))
                .filter(|(_, tail)| {
                    let tail = tail.strip_prefix('.');
                    tail.is_some_and(|tail| tail.eq_ignore_ascii_case(domain))
                })
                .map(|(host, _)| host),
        };
        match bare {
            Some(bare) if !bare.is_empty() => bare.to_owned(),
            _ => id,
        }
    }

    fn with_domain(&self, id: &str) -> String {
        match self.append_domain {
            Some(domain) if !domain.is_empty() && !id.ends_with(domain) && !id.ends_with('.') => {
                format!("{id}.{domain}")
            }
            _ => id.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(root_dir: &Path) -> IdRules<'_> {
        IdRules {
            root_dir,
            caching: true,
            lowercase: false,
            remove_domain: RemoveDomain::None,
            append_domain: None,
        }
    }

    #[test]
    fn an_id_is_configured_remembered_or_found() {
        let dir = tempfile::tempdir().unwrap();
        let names = HostNames::of("web1", "web1.example.com", &[], &[]);
        let rules = rules(dir.path());
        assert_eq!(rules.id(Some("own"), &names).text, "own");
        let found = rules.id(None, &names);
        assert_eq!(found.text, "web1.example.com");
        rules.cache(&found);
        let file = dir.path().join("etc/salt/minion_id");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "web1.example.com");
        std::fs::write(&file, "old\nsecond\n").unwrap();
        let remembered = Id {
            text: "old".to_owned(),
            to_cache: None,
        };
        assert_eq!(rules.id(None, &names), remembered);
        std::fs::write(&file, "localhost\n").unwrap();
        assert_eq!(rules.id(None, &names).text, "web1.example.com");
        let forgetful = IdRules {
            caching: false,
            ..rules
        };
        std::fs::write(&file, "old").unwrap();
        assert_eq!(forgetful.id(None, &names).to_cache, None);
        assert_eq!(forgetful.id(None, &names).text, "web1.example.com");
    }

    #[test]
    fn domains_and_capitals_go_where_that_is_asked_for() {
        let check = |lowercase, remove_domain, expected: &str| {
            let rules = IdRules {
                lowercase,
                remove_domain,
                ..rules(Path::new("/nowhere"))
            };
            assert_eq!(rules.made_of("Web1.Example.com"), expected);
        };
        check(false, RemoveDomain::None, "Web1.Example.com");
        check(true, RemoveDomain::Any, "web1");
        check(false, RemoveDomain::This("example.COM"), "Web1");
        check(true, RemoveDomain::This("other.com"), "web1.example.com");
        check(true, RemoveDomain::This("com"), "web1.example");
    }

    #[test]
    fn a_domain_is_appended_once_and_not_to_addresses() {
        let rules = IdRules {
            append_domain: Some("example.com"),
            ..rules(Path::new("/nowhere"))
        };
        let names = HostNames::of("localhost", "localhost", &[], &["192.0.2.7"]);
        for (configured, expected) in [
            (Some("web1"), "web1.example.com"),
            (Some("web1.example.com"), "web1.example.com"),
            (Some("web1."), "web1."),
            (None, "192.0.2.7"),
        ] {
            assert_eq!(rules.id(configured, &names).text, expected);
        }
    }
}
