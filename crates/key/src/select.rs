//! Which keys a command line selects.

use halite_proto::MinionId;
use halite_target::glob::Glob;

use crate::state::{KeyState, Listing};

/// Whether an id matches one of the globs in a comma separated list.
pub fn matches_any(globs: &str, id: &str) -> bool {
    globs.split(',').any(|glob| Glob::new(glob).matches(id))
}

impl Listing {
    /// The part of it whose ids match one of the globs in a comma separated
    /// list.
    #[must_use]
    pub fn matching(&self, globs: &str) -> Self {
        let globs: Vec<Glob> = globs.split(',').map(Glob::new).collect();
        let meant = |id: &&MinionId| globs.iter().any(|glob| glob.matches(id.as_str()));
        let mut part = Self::default();
        for (state, ids) in self.iter() {
            *part.of_mut(state) = ids.iter().filter(meant).cloned().collect();
        }
        part
    }

    /// Every id with its state, listed once per state it appears in.
    pub fn entries(&self) -> impl Iterator<Item = (KeyState, &MinionId)> {
        self.iter()
            .flat_map(|(state, ids)| ids.iter().map(move |id| (state, id)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(names: &[&str]) -> Vec<MinionId> {
        names
            .iter()
            .map(|name| MinionId::parse(*name).unwrap())
            .collect()
    }

    #[test]
    fn globs_select_within_every_state() {
        let listing = Listing {
            accepted: ids(&["db1", "web1", "web2"]),
            pending: ids(&["web3"]),
            ..Listing::default()
        };
        let web = listing.matching("web*");
        assert_eq!(web.accepted, ids(&["web1", "web2"]));
        assert_eq!(web.pending, ids(&["web3"]));
        assert_eq!(listing.matching("db1,web[3-9]").len(), 2);
        assert!(listing.matching("").is_empty());
        assert_eq!(web.only(&[KeyState::Pending]).len(), 1);
        assert!(matches_any("a,b*", "bc"));
        assert!(!matches_any("a, b*", "bc"));
    }
}
