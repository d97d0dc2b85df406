//! Lists that are remembered until a directory changes.
//!
//! Salt remembers lists for 20 seconds, in which new files are not seen. Here every
//! answer checks each directory's time stamp, which is far cheaper than reading it,
//! so a list is never out of date.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use halite_proto::SaltEnv;

use crate::Lists;
use crate::limits::LISTS_MAX;
use crate::walk::{Stamp, Walked};

#[derive(Debug, Default)]
pub(crate) struct ListCache {
    envs: Mutex<HashMap<SaltEnv, Arc<Known>>>,
}

#[derive(Debug)]
struct Known {
    lists: Arc<Lists>,
    directories: Vec<(PathBuf, Option<Stamp>)>,
}

impl ListCache {
    /// The remembered lists of an environment, or those that `walk` finds.
    pub(crate) fn get(&self, saltenv: &SaltEnv, walk: impl FnOnce() -> Walked) -> Arc<Lists> {
        let known = self.lock().get(saltenv).cloned();
        if let Some(known) = known
            && known.is_current()
        {
            return Arc::clone(&known.lists);
        }
        let walked = walk();
        let lists = Arc::new(walked.lists);
        let mut envs = self.lock();
        if walked.settled {
            if envs.len() >= LISTS_MAX && !envs.contains_key(saltenv) {
                envs.clear();
            }
            let known = Known {
                lists: Arc::clone(&lists),
                directories: walked.directories,
            };
            envs.insert(saltenv.clone(), Arc::new(known));
        } else {
            envs.remove(saltenv);
        }
        lists
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<SaltEnv, Arc<Known>>> {
        self.envs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    fn is_current(&self) -> bool {
        self.directories
            .iter()
            .all(|(path, stamp)| Stamp::of(path) == *stamp)
    }
}
