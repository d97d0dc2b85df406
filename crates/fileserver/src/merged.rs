//! The lists of several sources as one, remembered until one of them changes.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use halite_proto::SaltEnv;

use crate::Lists;
use crate::limits::LISTS_MAX;

#[derive(Debug, Default)]
pub(crate) struct MergedLists {
    envs: Mutex<HashMap<SaltEnv, Merged>>,
}

#[derive(Debug)]
struct Merged {
    parts: Vec<Arc<Lists>>,
    lists: Arc<Lists>,
}

impl MergedLists {
    /// The lists of an environment, from those of its sources in their order.
    pub(crate) fn get(&self, saltenv: &SaltEnv, parts: Vec<Arc<Lists>>) -> Arc<Lists> {
        if let Some(known) = self.lock().get(saltenv)
            && known.parts.len() == parts.len()
            && known
                .parts
                .iter()
                .zip(&parts)
                .all(|(a, b)| Arc::ptr_eq(a, b))
        {
            return Arc::clone(&known.lists);
        }
        let lists = Arc::new(merge(&parts));
        let mut envs = self.lock();
        if envs.len() >= LISTS_MAX && !envs.contains_key(saltenv) {
            envs.clear();
        }
        let merged = Merged {
            parts,
            lists: Arc::clone(&lists),
        };
        envs.insert(saltenv.clone(), merged);
        lists
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<SaltEnv, Merged>> {
        self.envs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Each name once. A link leads where the first source says.
///
/// Salt lists the links of the last source alone.
fn merge(parts: &[Arc<Lists>]) -> Lists {
    let names = |kind: fn(&Lists) -> &Vec<String>| {
        let all: BTreeSet<&String> = parts.iter().flat_map(|part| kind(part)).collect();
        all.into_iter().cloned().collect()
    };
    let mut links = BTreeMap::new();
    for (link, target) in parts.iter().flat_map(|part| &part.links) {
        links.entry(link).or_insert(target);
    }
    let links = links.into_iter();
    Lists {
        files: names(|lists| &lists.files),
        dirs: names(|lists| &lists.dirs),
        empty_dirs: names(|lists| &lists.empty_dirs),
        links: links
            .map(|(link, target)| (link.clone(), target.clone()))
            .collect(),
    }
}
