//! What the compiler needs from the fetched repositories of pillars (`ext_pillar:
//! git`).
//!
//! Invariant: a tree never changes. The pillar of a minion that has begun with a
//! commit is finished with it, whatever is fetched meanwhile.

use std::fmt::Debug;
use std::sync::Arc;

use halite_proto::Value;

/// The files of one commit, below the root directory of its remote.
///
/// Paths have single slashes, no `.` and no `..`.
pub trait FileTree: Debug + Send + Sync {
    /// How the tree is called where a file of it is named.
    fn name(&self) -> String;

    /// Whether there is a file of that path.
    ///
    /// # Errors
    /// When that cannot be read; the text says why.
    fn has_file(&self, path: &str) -> Result<bool, String>;

    /// What a file holds.
    ///
    /// # Errors
    /// When there is none, it has more than `bytes_max` bytes, or it cannot be
    /// read; the text says why.
    fn read(&self, path: &str, bytes_max: u64) -> Result<Vec<u8>, String>;

    /// The paths of all files, of `max` at most.
    fn files(&self, max: usize) -> Vec<String>;
}

/// Where a remote's files go, as its options say it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RemotePlace {
    /// The entry as it is written, without a password.
    pub name: String,
    /// The branch or tag in front of the address, or `__env__`.
    pub branch: String,
    /// `base`: what is the environment `base`.
    pub base: String,
    /// `env`: the environment, where it is not that of the branch.
    pub env: Option<String>,
    /// `all_saltenvs`: with `__env__`, the one branch or tag of all
    /// environments.
    pub all_saltenvs: Option<String>,
    /// `mountpoint`: the directory in which the files appear, without slashes
    /// around it; empty if they appear as they are.
    pub mountpoint: String,
}

/// The repositories of all entries `git` of `ext_pillar`, as they were last
/// fetched.
pub trait Repositories: Debug + Send + Sync {
    /// The remotes of the `nth` entry, in their order. Where nobody else does
    /// it they are fetched first.
    ///
    /// # Errors
    /// When an option of one of them cannot be used.
    fn remotes(&self, nth: usize) -> Result<Vec<RemotePlace>, String>;

    /// The files of a remote of the `nth` entry, of the branch or tag
    /// `wanted` or of its fallback; `None` if it has neither, or not the root
    /// directory that it is to have.
    ///
    /// # Errors
    /// When the remote was never fetched, or its objects cannot be read.
    fn tree(
        &self,
        nth: usize,
        remote: usize,
        wanted: &str,
    ) -> Result<Option<Arc<dyn FileTree>>, String>;

    /// What a minion asks for (`pillar.ext`) as the only entry: repositories that the
    /// options name, with branches and places of its own. `None` if the options do not
    /// name one of them.
    ///
    /// # Errors
    /// When its options cannot be used.
    fn asked(&self, arguments: &Value) -> Result<Option<Arc<dyn Repositories>>, String> {
        let _ = arguments;
        Ok(None)
    }
}
