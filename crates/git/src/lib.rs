//! Git repositories: remotes that are fetched and read, and recovery after a git
//! that was killed.
//!
//! A [`Remote`] holds the options of a repository, a [`Repository`] its copy on
//! this machine. [`Repository::update`] fetches it by the git program; a
//! [`Snapshot`] names its branches and tags, and a [`Tree`] reads the files of a
//! commit without a work tree. All of it blocks: call it from threads that may.
//!
//! While git runs in a repository, its caller keeps a record of it on disk
//! ([`TrackedRun`] for a single run, [`Pending`] for a clone or an update of
//! several). A record without a holder is of an interrupted run.
//!
//! Invariant: a lock file of git is removed from a repository only with such a
//! record or the held lock of its remote, and nothing that a user other than git's
//! own could have put there is removed.

pub mod limits;
pub mod remote;

mod content;
mod error;
mod fetching;
mod interrupted;
mod lock;
mod objects;
mod program;
mod promotion;
mod record;
mod repository;
mod signatures;
mod snapshot;
mod tree;
mod watch;

pub use content::Content;
pub use error::{GitError, OptionsError};
pub use fetching::{Fetch, Fetching, all_at_once};
pub use interrupted::{TrackedRun, is_left_alone, running_gits, user_id, wait_until_ended};
pub use limits::Limits;
pub use lock::machine;
pub use objects::Id;
pub use record::{Pending, Record};
pub use remote::{Remote, Role};
pub use repository::{Repository, Status, Updated, remove_unused};
pub use snapshot::{Commit, Snapshot};
pub use tree::{Entry, Tree, TreeFile};
