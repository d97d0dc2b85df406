//! Restores what programs on this machine need of a running master, if somebody has
//! removed it: the directories, the files that say that a master is up, the keys of
//! local users. The sockets restore themselves.
//!
//! Invariant: an existing file is left as it is, whatever it holds; a key is
//! restored only together with its directory.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::places::{make_dirs, private_dirs};
use crate::access::Access;
use crate::access::local_keys::let_others_enter;
use crate::error::chain;
use crate::master::Master;
use crate::settings::General;

/// Restores them.
#[derive(Debug)]
pub(crate) struct Upkeep {
    /// The empty file that says that a master is up.
    up_mark: PathBuf,
    /// A failure was logged.
    is_failing: bool,
}

impl Upkeep {
    /// For a master whose mark is there.
    pub(crate) fn new(up_mark: PathBuf) -> Self {
        Self {
            up_mark,
            is_failing: false,
        }
    }

    /// Checks them, and restores missing ones.
    pub(crate) fn look(&mut self, master: &Master) {
        let made = self.make(&master.general, &master.access);
        match made {
            Ok(made) => {
                self.is_failing = false;
                for path in made {
                    tracing::warn!("{} had been removed; created it again", path.display());
                }
            }
            Err(why) if !self.is_failing => {
                self.is_failing = true;
                tracing::error!("could not create a removed directory again: {why}");
            }
            Err(_) => {}
        }
    }

    fn make(&self, general: &General, access: &Access) -> Result<Vec<PathBuf>, String> {
        let mut made: Vec<PathBuf> = private_dirs(general)
            .into_iter()
            .chain([general.cachedir.clone(), general.sock_dir.clone()])
            .filter(|dir| is_gone(dir))
            .collect();
        if !made.is_empty() {
            make_dirs(general).map_err(|error| chain(&error))?;
        }
        // A key that was removed alone was meant: a restart makes a new one.
        if made.iter().any(|dir| dir.starts_with(&general.cachedir)) {
            let keys = access.local_keys.write_missing(&general.cachedir);
            made.extend(keys.map_err(|error| chain(&error))?);
            if !access.settings.publisher_acl.is_empty() {
                let_others_enter(&general.cachedir).map_err(|error| chain(&error))?;
            }
        }
        if is_gone(&self.up_mark) {
            fs::write(&self.up_mark, b"")
                .map_err(|error| format!("{}: {error}", self.up_mark.display()))?;
            made.push(self.up_mark.clone());
        }
        Ok(made)
    }
}

fn is_gone(path: &Path) -> bool {
    fs::symlink_metadata(path).is_err_and(|error| error.kind() == ErrorKind::NotFound)
}
