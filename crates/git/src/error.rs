//! What can go wrong with a remote.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use halite_crypto::files::FileError;

/// An option of a remote that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{option}: {why}", remote.as_deref().map(|remote| format!("remote {remote:?}: ")).unwrap_or_default())]
pub struct OptionsError {
    /// The remote as it is written, without a password; `None` for an option
    /// of all remotes.
    pub remote: Option<String>,
    /// Which entry of the list of remotes it is, from 0.
    pub index: Option<usize>,
    /// The option's name.
    pub option: String,
    /// What is wrong with it, and what it may be.
    pub why: String,
}

/// Why a remote was not fetched or could not be read.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// The program could not be started.
    #[error("could not run git, is it installed?")]
    Start(#[source] io::Error),
    /// The program has failed.
    #[error("git {doing} failed: {complaint}")]
    Failed {
        /// What it was asked for.
        doing: &'static str,
        /// What it wrote about that, without secrets.
        complaint: String,
    },
    /// It was killed: it took too long.
    #[error("git {doing} was killed after {} s", limit.as_secs())]
    Slow {
        /// What it was asked for.
        doing: &'static str,
        /// How long it may take.
        limit: Duration,
    },
    /// It was killed: the remote does not answer.
    #[error("git fetch was killed: the remote sent nothing for {} s", limit.as_secs())]
    Idle {
        /// How long it may do nothing.
        limit: Duration,
    },
    /// It was killed: there is too much to fetch.
    #[error("git fetch was killed: the repository is larger than {limit} bytes")]
    Large {
        /// What it may have on disk.
        limit: u64,
    },
    /// It was killed: whoever asked for it does not want it any more.
    #[error("git fetch was stopped")]
    Stopped,
    /// Somebody else fetches the remote.
    #[error("it is being updated by {holder}")]
    Locked {
        /// Who holds the lock.
        holder: String,
    },
    /// The lock was taken away while git ran.
    #[error("the lock of the update was lost")]
    LockLost,
    /// A commit is not one that an environment may be held at.
    #[error("{name} is not a branch, a tag or a reachable commit in the fetched data")]
    NoCommit {
        /// How it was named.
        name: String,
    },
    /// Whether a branch or tag reaches a commit is not known at the moment.
    #[error("could not find out whether a branch or tag reaches {id}: {why}")]
    Unknown {
        /// Its id, in hexadecimal.
        id: String,
        /// Why it is not.
        why: &'static str,
    },
    /// An environment cannot be held.
    #[error("this remote has no environment {saltenv}")]
    NoEnvironment {
        /// Its name.
        saltenv: String,
    },
    /// One more environment cannot be held.
    #[error(
        "{max} environments of this remote are held, which is the limit: release one by \
         promoting it to `latest`"
    )]
    HeldMany {
        /// How many may be.
        max: usize,
    },
    /// The file of the held environments is not understood.
    #[error("{}:{line}: {why}: correct or remove this line; nothing is served until then", file.display())]
    Promotions {
        /// The file.
        file: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        why: &'static str,
    },
    /// A file of `verify_signatures` is of another kind.
    #[error("{} holds no public key of OpenPGP (with its BEGIN line) or of ssh", file.display())]
    Signers {
        /// The file.
        file: PathBuf,
    },
    /// A file beside the repository could not be read or written.
    #[error("could not keep the repository")]
    Files(#[from] FileError),
    /// The same, at a lower level.
    #[error("could not keep the repository: {doing}")]
    Disk {
        /// What was attempted.
        doing: String,
        /// Why it failed.
        source: io::Error,
    },
    /// An object is missing or damaged.
    #[error("could not read the object {id}: {why}")]
    Object {
        /// Its id, in hexadecimal.
        id: String,
        /// What is wrong with it.
        why: String,
    },
    /// An object is whole, and too large or of a kind that is not expected.
    #[error("the object {id} is not used: {why}")]
    Unfit {
        /// Its id, in hexadecimal.
        id: String,
        /// Why it is not used.
        why: &'static str,
    },
}

impl GitError {
    pub(crate) fn disk(doing: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let doing = doing.into();
        move |source| Self::Disk { doing, source }
    }
}
