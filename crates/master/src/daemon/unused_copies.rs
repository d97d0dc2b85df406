//! Removes, at the start of a master, copies of git remotes that no option names
//! any more and that nobody has updated for long.

use halite_git::limits::UNUSED_FOR;
use halite_git::{Role, remove_unused};

use crate::error::chain;
use crate::master::Master;

/// Removes them. Blocks.
pub(super) fn remove_unused_copies(master: &Master) {
    let cachedir = &master.general.cachedir;
    let files = master.files.server.repositories();
    let files = files.iter().map(|repository| repository.remote());
    let mut removed = remove_unused(cachedir, Role::Gitfs, files, UNUSED_FOR);
    // Of an entry that cannot be read nobody knows which remotes it names.
    if !master.pillars.git.has_faults() {
        let pillars = master.pillars.git.all().map(|remote| remote.remote());
        removed.extend(remove_unused(
            cachedir,
            Role::GitPillar,
            pillars,
            UNUSED_FOR,
        ));
    }
    for (dir, removed) in removed {
        match removed {
            Ok(()) => tracing::info!(dir, "removed the copy of a git remote that no option names"),
            Err(error) => {
                let why = chain(&error);
                tracing::warn!(
                    dir,
                    "could not remove the copy of a git remote that no option names: {why}"
                );
            }
        }
    }
}
