//! Warns of configuration files that somebody other than root and `user` can write:
//! they decide what the daemon runs. Salt reads such files without a warning.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use nix::unistd::{User, geteuid};

use crate::error::Warning;
use crate::load::Loaded;

/// Modes by which others write.
const OTHERS_WRITE: u32 = 0o022;

impl<C> Loaded<C> {
    /// Adds a warning for each file that somebody else may write than root, who
    /// starts the daemon, and `user`, as whom it runs; and for its directory.
    pub fn warn_of_writers(&mut self, user: Option<&str>) {
        let user = user.and_then(|user| User::from_name(user).ok().flatten());
        let user = user.map(|user| user.uid.as_raw());
        let own = [Some(0), Some(geteuid().as_raw()), user];
        let mut places: Vec<&Path> = Vec::new();
        for file in self.files() {
            let dir = file.parent().filter(|dir| !places.contains(dir));
            places.extend(dir);
            places.push(file);
        }
        let warnings = places.into_iter().filter_map(|path| {
            let text = writer(path, &own)?;
            let path = path.to_owned();
            Some(Warning::Found { path, text })
        });
        let warnings: Vec<Warning> = warnings.collect();
        self.warnings.extend(warnings);
    }
}

/// Who else may write something.
fn writer(path: &Path, own: &[Option<u32>]) -> Option<String> {
    let about = fs::metadata(path).ok()?;
    let owner = about.uid();
    if !own.contains(&Some(owner)) {
        return Some(format!(
            "user {owner} owns it, and so decides what the daemon runs: `chown root` it"
        ));
    }
    let is_open = about.permissions().mode() & OTHERS_WRITE != 0;
    is_open.then(|| {
        "its group or others may write it, and so decide what the daemon runs: `chmod go-w` it"
            .to_owned()
    })
}
