//! Options of Salt's master that stop its start: they ask for something that Halite
//! lacks, and ignoring them would do harm.
//!
//! Invariant: an option may always be empty or have Salt's default.

use crate::entry::Entry;
use crate::error::{ConfigError, Faults};
use crate::known::{self, Side};
use crate::raw::Raw;

/// Options, and why they are refused.
const REFUSED: &[(&str, &str)] = &[
    (
        "order_masters",
        "returns that syndics bring are not accepted",
    ),
    (
        "eauth_tokens.cluster_id",
        "masters that share tokens need no name for it",
    ),
    ("winrepo_branch", WINREPO),
    ("winrepo_depth", WINREPO),
    ("winrepo_fallback", WINREPO),
    ("winrepo_insecure_auth", WINREPO),
    ("winrepo_passphrase", WINREPO),
    ("winrepo_password", WINREPO),
    ("winrepo_privkey", WINREPO),
    ("winrepo_proxy", WINREPO),
    ("winrepo_pubkey", WINREPO),
    ("winrepo_refspecs", WINREPO),
    ("winrepo_remotes", WINREPO),
    ("winrepo_remotes_ng", WINREPO),
    ("winrepo_ssl_verify", WINREPO),
    ("winrepo_user", WINREPO),
    (
        "client_acl_blacklist",
        "Salt has removed it; the option is publisher_acl_blacklist",
    ),
    (
        "client_acl",
        "Salt has removed it; the option is publisher_acl",
    ),
];

const WINREPO: &str =
    "definitions of Windows packages are not fetched from git; gitfs can serve them";

/// Why a master refuses an option whose value is not Salt's default.
pub(crate) fn why(name: &str) -> Option<&'static str> {
    let mut refused = REFUSED.iter();
    let (_, why) = refused.find(|(refused, _)| *refused == name)?;
    Some(why)
}

/// Adds what a master refuses to `faults`.
pub(crate) fn check(raw: &Raw, faults: &mut Faults) {
    for entry in raw.entries() {
        if let Some(why) = why(&entry.name)
            && !is_harmless(entry)
        {
            faults.add(ConfigError::Refused {
                place: entry
                    .source
                    .as_ref()
                    .map(|source| Box::new(source.place(entry.key))),
                option: entry.name.clone(),
                why,
            });
        }
    }
}

fn is_harmless(entry: &Entry) -> bool {
    let value = entry.value.to_value();
    let is_empty = value.as_list().is_some_and(<[_]>::is_empty);
    is_empty || value.is_nil() || known::default(Side::Master, &entry.name) == Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_refusal_is_of_an_option_that_is_there() {
        for (refused, _) in REFUSED {
            assert!(known::any(|name| name == *refused), "{refused}");
        }
        assert_eq!(why("cachedir"), None);
        assert_eq!(why("client_acl_verify"), None);
    }
}
