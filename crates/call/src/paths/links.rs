//! The rule of links: which links may be followed.

use std::path::PathBuf;

use nix::unistd::{Uid, User};

/// A link on the way, as it was found.
#[derive(Debug)]
pub(super) struct Link {
    /// Where it is.
    pub(super) path: PathBuf,
    /// Whose it is.
    pub(super) owner: u32,
    /// Whose its directory is.
    pub(super) directory_owner: u32,
    /// Who may make names in its directory.
    pub(super) directory_mode: u32,
}

/// A link that leads to what its owner may not change.
#[derive(Debug, thiserror::Error)]
#[error("the link {path}, made by {owner}, leads to something of another owner")]
pub struct NotFollowed {
    path: PathBuf,
    owner: String,
}

impl Link {
    /// **The rule of links**: a link is followed if root made it, or if its
    /// owner owns what it leads to. What `target` owns is reached through this
    /// one; where nothing is there yet, it is the owner of the directory.
    ///
    /// Else a user's link would have root change what only root may. `us` is
    /// who works, usually root: who trusts himself. Root has also made what is
    /// in a directory where nobody else makes names, whoever was given it.
    pub(super) fn may_lead_to(&self, target: u32, us: u32) -> Result<(), NotFollowed> {
        let is_ours = |owner: u32| owner == 0 || owner == us;
        let is_kept = is_ours(self.directory_owner) && self.directory_mode & 0o022 == 0;
        if is_ours(self.owner) || is_kept || self.owner == target {
            return Ok(());
        }
        let user = User::from_uid(Uid::from_raw(self.owner)).ok().flatten();
        Err(NotFollowed {
            path: self.path.clone(),
            owner: user.map_or_else(|| self.owner.to_string(), |user| user.name),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_leads_to_what_its_owner_owns_unless_root_made_it() {
        const ROOT: u32 = 0;
        const USER: u32 = 1000;
        const OTHER: u32 = 1001;
        let link = |owner, directory_owner, directory_mode| Link {
            path: "/link".into(),
            owner,
            directory_owner,
            directory_mode,
        };
        let of_user = link(USER, USER, 0o40755);
        assert!(of_user.may_lead_to(USER, ROOT).is_ok());
        for target in [ROOT, OTHER] {
            assert!(of_user.may_lead_to(target, ROOT).is_err(), "{target}");
            assert!(link(ROOT, USER, 0o40755).may_lead_to(target, ROOT).is_ok());
            assert!(link(USER, ROOT, 0o40755).may_lead_to(target, ROOT).is_ok());
            // As /tmp, and as a directory of a group.
            for mode in [0o41777, 0o40775] {
                assert!(link(USER, ROOT, mode).may_lead_to(target, ROOT).is_err());
            }
        }
        // Who is not root trusts root and himself.
        assert!(of_user.may_lead_to(ROOT, USER).is_ok());
        assert!(of_user.may_lead_to(ROOT, OTHER).is_err());
        assert!(link(ROOT, ROOT, 0o40755).may_lead_to(OTHER, USER).is_ok());
    }
}
