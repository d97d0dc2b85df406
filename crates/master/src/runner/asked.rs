//! A request for a runner, and why one may be refused.

use std::time::Duration;

use halite_proto::{Jid, Map, Value};

use crate::core::owner::ProvenBy;
use crate::limits::{REACTION_RUNNER_WAIT_MAX, RUNNERS_MAX, RUNNERS_OF_REACTIONS_MAX};

/// A runner that is asked for.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    /// The function, `jobs.active`.
    pub(crate) fun: String,
    /// Its arguments by position.
    pub(crate) args: Vec<Value>,
    /// Its arguments by name.
    pub(crate) kwargs: Map,
    /// The user who asks.
    pub(crate) user: String,
    /// How they have proven who they are; nobody has for what the master runs by
    /// itself, or for a minion.
    pub(crate) proven_by: Option<ProvenBy>,
    /// What its events have among the arguments by name besides.
    pub(crate) told: Map,
    /// The job id to use instead of a new one.
    pub(crate) jid: Option<Jid>,
    /// How long it waits for minions, instead of `timeout` of the
    /// configuration.
    pub(crate) timeout: Option<Duration>,
    /// Whether the job cache keeps what it returns.
    pub(crate) is_kept: bool,
    /// Whether the master's own user asks at this machine, without a login.
    pub(crate) is_owner: bool,
    /// Whether what it returns goes into its event and the job cache, and nowhere else.
    pub(crate) takes_packed: bool,
}

impl Asked {
    /// A function without arguments.
    pub(crate) fn new(fun: &str, user: &str) -> Self {
        Self {
            fun: fun.to_owned(),
            args: Vec::new(),
            kwargs: Map::new(),
            user: user.to_owned(),
            proven_by: None,
            told: Map::new(),
            jid: None,
            timeout: None,
            is_kept: true,
            is_owner: false,
            takes_packed: false,
        }
    }
}

/// Why a runner was not started.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotStarted {
    /// Too many run.
    #[error(
        "{RUNNERS_MAX} runners are running already; list them with `salt-run jobs.master`, end one \
         with `salt-run jobs.kill <jid>`"
    )]
    TooMany,
    /// Reactions leave places to people, and none was free in time.
    #[error(
        "no place was free for it within {} s: {RUNNERS_OF_REACTIONS_MAX} or more runners were \
         running; list them with `salt-run jobs.master`, end one with `salt-run jobs.kill <jid>`",
        REACTION_RUNNER_WAIT_MAX.as_secs()
    )]
    NoPlace,
    /// The master does not run yet, or not any more.
    #[error("the master is starting or stopping")]
    Closed,
    /// Another master is to run it.
    #[error(
        "another master of the cluster now runs the schedule, engines and other tasks that run on \
         one master only"
    )]
    Elsewhere,
    /// No job id could be allocated.
    #[error("could not allocate a job id")]
    Jid(#[source] halite_store::StoreError),
    /// No thread could be started.
    #[error("could not start a thread")]
    Thread(#[source] std::io::Error),
}
