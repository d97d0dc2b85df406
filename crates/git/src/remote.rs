//! Options of remotes: what the master's files say about each repository.
//!
//! Mirrors `GitProvider` and `GitBase.init_remotes` of `salt/utils/gitfs.py`
//! (3008.5). Salt converts every value to the type that it needs; here a value of
//! another type is refused, with the option and its remote.

mod auth;
mod environments;
mod lookup;
mod read;
mod url;

pub use auth::Auth;
pub(crate) use environments::is_hex;
pub use environments::{PerSaltenv, is_commit_id};
pub(crate) use read::REFSPECS;
pub use url::{RemoteUrl, Scheme};

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use halite_crypto::{HashType, hash_hex};
use halite_proto::{Map, Value};
use halite_target::Exposure;

use crate::OptionsError;

/// What remotes are for: it decides where their options are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Files for minions: `gitfs_*`.
    Gitfs,
    /// Pillars: `git_pillar_*`.
    GitPillar,
}

impl Role {
    /// What the names of its options begin with, and its directory below
    /// `cachedir`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Gitfs => "gitfs",
            Self::GitPillar => "git_pillar",
        }
    }
}

/// What a name may be that stands where a reference is expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefType {
    /// A branch.
    Branch,
    /// A tag.
    Tag,
    /// The id of a commit.
    Sha,
}

/// A repository and how it is used.
#[derive(Clone)]
pub struct Remote {
    /// What it is for.
    pub role: Role,
    /// The entry as it is written, with a password if one is in its address.
    pub(crate) id: String,
    /// Where it is.
    pub url: RemoteUrl,
    /// The branch in front of the address; only of a pillar, where
    /// `__env__` stands for the environment.
    pub branch: String,
    /// `name`: its directory in the cache, and what people call it.
    pub name: Option<String>,
    /// `base`: the branch, tag or commit that is the environment `base`.
    pub base: String,
    /// `fallback`: what an environment is that the remote does not have.
    pub fallback: Option<String>,
    /// `ref_types`, in the order in which they are tried.
    pub ref_types: Vec<RefType>,
    /// `refspecs`: what is fetched, and what it is called here.
    pub refspecs: Vec<String>,
    /// `mountpoint`: the directory in which its files appear, without slashes
    /// around it.
    pub mountpoint: String,
    /// `root`: the directory whose files appear, without slashes around it.
    pub root: String,
    /// `env`: the environment of a pillar, if it is not its branch.
    pub env: Option<String>,
    /// `all_saltenvs`: the one reference of all environments.
    pub all_saltenvs: Option<String>,
    /// `disable_saltenv_mapping`: only environments that `saltenv` names.
    pub disable_saltenv_mapping: bool,
    /// `saltenv_whitelist` and `saltenv_blacklist`.
    pub exposed: Exposure,
    /// `saltenv`: what is different for an environment; that of the remote
    /// over that of all.
    pub saltenv: BTreeMap<String, PerSaltenv>,
    /// `ssl_verify`: certificates are checked.
    pub ssl_verify: bool,
    /// `proxy`: the proxy for http and https.
    pub proxy: Option<String>,
    /// `depth`: how many commits of each reference are fetched; `None` for
    /// all.
    pub depth: Option<u64>,
    /// `update_interval`: the time between two fetches.
    pub update_interval: Duration,
    /// `verify_signatures`: files with the public keys one of which must have
    /// signed what a branch or tag names; none for whatever comes.
    pub verify_signatures: Vec<PathBuf>,
    /// Who fetches it.
    pub auth: Auth,
    /// What its directory is called after without a name.
    hash_type: HashType,
}

impl Remote {
    /// The remotes of `gitfs_remotes`.
    ///
    /// # Errors
    /// When an option cannot be used.
    pub fn gitfs(opts: &Map) -> Result<Vec<Self>, OptionsError> {
        let remotes = opts.get("gitfs_remotes");
        let remotes = remotes.and_then(Value::as_list).unwrap_or_default();
        Self::all(Role::Gitfs, opts, remotes)
    }

    /// Remotes as they stand in a list: an address each, or a map of one to
    /// its options. `opts` have the options of all.
    ///
    /// # Errors
    /// When an option cannot be used, or two remotes have one directory.
    pub fn all(role: Role, opts: &Map, remotes: &[Value]) -> Result<Vec<Self>, OptionsError> {
        read::check_provider(role, opts)?;
        let remotes: Vec<Self> = remotes
            .iter()
            .enumerate()
            .map(|(index, entry)| {
                let read = read::remote(role, opts, entry);
                read.map_err(|error| OptionsError {
                    index: Some(index),
                    ..error
                })
            })
            .collect::<Result<_, _>>()?;
        for (index, remote) in remotes.iter().enumerate() {
            let earlier = remotes.iter().take(index);
            if let Some(same) = earlier.clone().find(|other| other.dir() == remote.dir()) {
                return Err(OptionsError {
                    remote: Some(remote.to_string()),
                    index: Some(index),
                    option: "name".to_owned(),
                    why: format!(
                        "the remote {same} has the same directory in the cache, give one of them a `name`"
                    ),
                });
            }
        }
        Ok(remotes)
    }

    /// The entry as it is written, without a password.
    pub fn id(&self) -> String {
        match self.role {
            Role::GitPillar if self.id.contains(char::is_whitespace) => {
                format!("{} {}", self.branch, self.url)
            }
            _ => self.url.to_string(),
        }
    }

    /// Its directory in the cache: its name, or the hash that Salt makes.
    pub fn dir(&self) -> String {
        if let Some(name) = &self.name {
            return name.clone();
        }
        let hex = hash_hex(self.hash_type, self.id.as_bytes());
        let digit = |at: usize| u8::from_str_radix(hex.get(at..at + 2)?, 16).ok();
        let bytes: Vec<u8> = (0..hex.len()).step_by(2).filter_map(digit).collect();
        base64::Engine::encode(&base64::engine::general_purpose::STANDARD, bytes).replace('/', "_")
    }
}

/// Its name, or its address without a password.
impl std::fmt::Display for Remote {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.id())
    }
}

/// Without what may have a password in it: the entry as it is written, and the
/// address of the proxy.
impl std::fmt::Debug for Remote {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Remote")
            .field("role", &self.role)
            .field("id", &self.id())
            .field("name", &self.name)
            .field("base", &self.base)
            .field("saltenv", &self.saltenv)
            .field("auth", &self.auth)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
