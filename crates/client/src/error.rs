//! Why a command did not reach the minions.

use std::path::PathBuf;

use halite_proto::{Jid, MessageError, PackError, UnpackError};
use halite_range::RangeError;
use halite_transport::fleet::RequestError;
use halite_transport::ipc::ConnectError;
use thiserror::Error;

use super::NodegroupError;

/// What is said of a bus that cannot be reached: who lacks a right must not look
/// for a master that runs.
fn unconnected(why: &ConnectError) -> &'static str {
    match why {
        ConnectError::Denied { .. } => {
            "The salt master could not be contacted: its event bus is for its own user"
        }
        _ => "The salt master could not be contacted. Is master running?",
    }
}

/// Why a command did not reach the minions. The texts that Salt has are Salt's.
#[derive(Debug, Error)]
pub enum ClientError {
    /// There is no sign of a master on this machine.
    #[error("The salt master could not be contacted. Is master running?")]
    NotRunning {
        /// Where the sign should be.
        sock_dir: PathBuf,
    },
    /// Whether a master runs cannot be seen.
    #[error(
        "The salt master could not be contacted: user {user} has no access to {}. Give commands \
         as the user of the master, or as a user of publisher_acl who may enter that directory \
         and those above it",
        sock_dir.display()
    )]
    Hidden {
        /// Whose command it is.
        user: String,
        /// Where the sign of a master should be.
        sock_dir: PathBuf,
    },
    /// The master's event bus cannot be reached.
    #[error("{}", unconnected(source))]
    Bus {
        /// Why not.
        source: ConnectError,
    },
    /// The master did not answer.
    #[error("{}", unanswered(.0))]
    Unanswered(#[from] RequestError),
    /// The caller is not who they say, or may not do this.
    #[error("{0}")]
    Denied(String),
    /// The master could not do it.
    #[error("{0}")]
    Refused(String),
    /// The result is too large for an event, and nowhere else.
    #[error(
        "The result is larger than max_event_size and is not in the job cache (runner_returns): it \
         cannot be shown"
    )]
    TrimmedOnly,
    /// The master answered with nothing.
    #[error(
        "Failed to authenticate! This is most likely because this user is not permitted to \
         execute commands, but there is a small possibility that a disk error occurred (check \
         disk/inode usage)."
    )]
    Nothing,
    /// The target names a group that is not there.
    #[error(transparent)]
    Nodegroup(#[from] NodegroupError),
    /// The range server does not tell who is meant.
    #[error(transparent)]
    Range(#[from] RangeError),
    /// The same of an expression within a compound target.
    #[error("{0}")]
    RangeWithin(String),
    /// The command does not fit a message.
    #[error("the command is too large")]
    TooLarge(#[source] PackError),
    /// What came back is no message.
    #[error("the master's answer cannot be read")]
    Reply(#[source] UnpackError),
    /// What came back is not an answer to a command.
    #[error("the master's answer is not what this request expects")]
    ReplyFields(#[source] MessageError),
    /// The event bus was lost.
    #[error("the master went away before all minions had returned")]
    Lost,
    /// The master went away while returns were waited for, and stayed away.
    #[error(
        "The salt master went away before every minion had returned. The minions keep their \
         results until a master takes them; the following shows them then, on this master or \
         another one of theirs:\n\nsalt-run jobs.lookup_jid {jid}"
    )]
    Gone {
        /// The job.
        jid: Jid,
    },
    /// The master of a runner went away and stayed away.
    #[error("The salt master went away before the runner had ended")]
    RunnersMaster,
    /// A runner is not there any more, and has returned nothing.
    #[error(
        "The runner has ended without a return, or never began; the log of the master says why"
    )]
    RunnerLost,
}

fn unanswered(error: &RequestError) -> String {
    match error {
        RequestError::NoAnswer { .. } | RequestError::NotConnected { .. } => {
            "Salt request timed out. The master is not responding. You may need to run your \
             command with `--async` in order to bypass the congested event bus. With `--async`, \
             the CLI tool will print the job id (jid) and exit immediately without listening for \
             responses. You can then use `salt-run jobs.lookup_jid` to look up the results of the \
             job in the job cache later."
                .to_owned()
        }
        other => other.to_string(),
    }
}
