//! Remotes that a minion asks for (`pillar.ext`), where `on_demand_ext_pillar`
//! allows `git`.
//!
//! Invariant: only repositories that the master's own options name are read, as
//! they were fetched by those options. A minion chooses their branch or tag and
//! where the files go. It does not choose the server or the login, and it names no
//! commits.

use std::sync::Arc;

use halite_git::Remote;
use halite_git::remote::RefType;
use halite_proto::{Map, Value};

use super::{FetchedBy, GitPillars, GitRemote, fetch_now, place, remotes};
use crate::repository::{FileTree, RemotePlace, Repositories};

/// Options of all remotes that say who fetches them.
const LOGINS: [&str; 6] = [
    "git_pillar_insecure_auth",
    "git_pillar_passphrase",
    "git_pillar_password",
    "git_pillar_privkey",
    "git_pillar_pubkey",
    "git_pillar_user",
];

/// The options that remotes are read with which a minion asks for.
pub(super) fn options(opts: &Map) -> Map {
    let is_meant = |name: &Value| {
        let name = name.as_str().unwrap_or_default();
        name == "hash_type" || name.starts_with("git_pillar_") && !LOGINS.contains(&name)
    };
    let meant = opts.iter().filter(|(name, _)| is_meant(name));
    meant
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

/// The remotes of one entry.
#[derive(Debug)]
pub(super) struct Asked {
    remotes: Vec<(Remote, Arc<GitRemote>)>,
    fetched_by: FetchedBy,
}

impl Asked {
    /// `None` if one of them is in no option.
    pub(super) fn new(known: &GitPillars, arguments: &Value) -> Result<Option<Self>, String> {
        let asked = remotes(&known.opts, arguments).map_err(|error| error.to_string())?;
        let with_known = |remote: Remote| {
            let is_it = |it: &&Arc<GitRemote>| it.remote().url.address() == remote.url.address();
            let of_options = known.all().find(is_it).cloned()?;
            Some((remote, of_options))
        };
        let remotes: Option<Vec<_>> = asked.into_iter().map(with_known).collect();
        Ok(remotes.map(|remotes| Self {
            remotes,
            fetched_by: known.fetched_by,
        }))
    }
}

impl Repositories for Asked {
    fn remotes(&self, _nth: usize) -> Result<Vec<RemotePlace>, String> {
        if self.fetched_by == FetchedBy::Reader {
            let remotes = self.remotes.iter().map(|(_, known)| Arc::clone(known));
            fetch_now(&remotes.collect::<Vec<_>>());
        }
        Ok(self.remotes.iter().map(|(asked, _)| place(asked)).collect())
    }

    fn tree(
        &self,
        _nth: usize,
        remote: usize,
        wanted: &str,
    ) -> Result<Option<Arc<dyn FileTree>>, String> {
        let Some((asked, known)) = self.remotes.get(remote) else {
            return Ok(None);
        };
        let kinds = known.remote().ref_types.iter().copied();
        let kinds: Vec<RefType> = kinds.filter(|kind| *kind != RefType::Sha).collect();
        let named = [Some(wanted), asked.fallback.as_deref()];
        let tree = known.tree_of(named, |_| kinds.clone(), &asked.root, self.fetched_by)?;
        Ok(tree.map(|tree| Arc::new(tree) as Arc<dyn FileTree>))
    }
}
