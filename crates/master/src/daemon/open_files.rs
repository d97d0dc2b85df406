//! Says for how many minions the limit of open files is enough.

use halite_transport::minions_with_open_files;
use nix::sys::resource::{Resource, getrlimit};

/// Logs the room for minions: as a warning if it is less than `max_open_files` asks for.
pub(super) fn say_room(max_open_files: u64) {
    let Ok((open_files, _)) = getrlimit(Resource::RLIMIT_NOFILE) else {
        return;
    };
    let minions = minions_with_open_files(open_files);
    match open_files < max_open_files {
        true => tracing::warn!(
            open_files,
            "at most {minions} minions can be connected at once: the limit of open files \
             could not be raised to max_open_files ({max_open_files})"
        ),
        false => tracing::info!(
            open_files,
            "at most {minions} minions can be connected at once"
        ),
    }
}
