//! The names in trees, remembered as long as the trees are the same.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use halite_git::{Entry, GitError, Id, Tree};
use halite_proto::SaltEnv;
use tracing::warn;

use crate::Lists;
use crate::limits::{COMPLAINTS_MAX, LISTS_MAX};

/// Trees with their mount points, in the order of their remotes.
type Mounted = Vec<(String, Id)>;

#[derive(Debug, Default)]
pub(super) struct ListCache {
    envs: Mutex<HashMap<SaltEnv, (Mounted, Arc<Lists>)>>,
    /// What the log says already.
    told: Mutex<HashSet<String>>,
}

impl ListCache {
    /// The lists of an environment, which consists of these trees.
    pub(super) fn get(&self, saltenv: &SaltEnv, trees: &[(String, Tree)]) -> Arc<Lists> {
        let mounted = trees.iter().map(|(at, tree)| (at.clone(), tree.id()));
        let mounted: Mounted = mounted.collect();
        if let Some((known, lists)) = self.lock().get(saltenv)
            && *known == mounted
        {
            return Arc::clone(lists);
        }
        let lists = match list(trees) {
            Ok((lists, is_whole)) => {
                if !is_whole {
                    self.tell(format!(
                        "{saltenv} of git remotes holds more than can be listed"
                    ));
                }
                Arc::new(lists)
            }
            Err(error) => {
                self.tell(format!("could not list {saltenv} of git remotes: {error}"));
                return Arc::default();
            }
        };
        let mut envs = self.lock();
        if envs.len() >= LISTS_MAX && !envs.contains_key(saltenv) {
            envs.clear();
        }
        envs.insert(saltenv.clone(), (mounted, Arc::clone(&lists)));
        lists
    }

    /// Once, however many minions ask.
    fn tell(&self, text: String) {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if told.len() >= COMPLAINTS_MAX {
            told.clear();
        }
        if !told.contains(&text) {
            warn!("{text}");
            told.insert(text);
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<SaltEnv, (Mounted, Arc<Lists>)>> {
        self.envs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Walks through all trees, and says whether nothing was left out.
fn list(trees: &[(String, Tree)]) -> Result<(Lists, bool), GitError> {
    let mut is_whole = true;
    let mut files = BTreeSet::new();
    let mut dirs = BTreeSet::new();
    let mut links = BTreeMap::new();
    for (mountpoint, tree) in trees {
        if !mountpoint.is_empty() {
            dirs.insert(mountpoint.clone());
        }
        let walked = tree.walk(&mut |path, entry| {
            let path = match mountpoint.as_str() {
                "" => path.to_owned(),
                above => format!("{above}/{path}"),
            };
            match entry {
                Entry::Directory => {
                    dirs.insert(path);
                }
                Entry::File(_) => {
                    files.insert(path);
                }
                Entry::Link(target) => {
                    files.insert(path.clone());
                    // The first remote that has a file answers for it.
                    links.entry(path).or_insert_with(|| target.to_string());
                }
            }
        });
        is_whole &= walked?;
    }
    let lists = Lists {
        files: files.into_iter().collect(),
        dirs: dirs.into_iter().collect(),
        // Git has none.
        empty_dirs: Vec::new(),
        links: links.into_iter().collect(),
    };
    Ok((lists, is_whole))
}
