//! What only a context on a master has: runners, wheel functions, commands for
//! minions, and the master's events.

use std::time::Duration;

use halite_proto::{Map, Value};

use super::ContextError;

/// Runs the runners of the master that this context belongs to.
pub trait Runners: Send + Sync {
    /// Runs a runner to its end and returns its value.
    ///
    /// # Errors
    /// When no more runners may run.
    fn run(&self, fun: &str, args: Vec<Value>, kwargs: Map) -> Result<Value, ContextError>;
}

impl<F> Runners for F
where
    F: Fn(&str, Vec<Value>, Map) -> Result<Value, ContextError> + Send + Sync,
{
    fn run(&self, fun: &str, args: Vec<Value>, kwargs: Map) -> Result<Value, ContextError> {
        self(fun, args, kwargs)
    }
}

/// What an orchestration does with the master and its fleet.
pub trait Commander: Send + Sync {
    /// Runs a runner or a wheel function to its end, and returns all that came
    /// of it.
    ///
    /// # Errors
    /// When no more runners may run.
    fn run_on_master(
        &self,
        kind: MasterFunction,
        fun: &str,
        args: Vec<Value>,
        kwargs: Map,
    ) -> Result<MasterAnswer, ContextError>;

    /// Sends a command to minions and waits for their returns.
    ///
    /// # Errors
    /// When the command could not be sent.
    fn command_minions(&self, command: &MinionsCommand) -> Result<MinionsAnswer, ContextError>;

    /// Shows the events of the master to `seen` until it has seen enough
    /// (`true`) or the time is over (`false`).
    ///
    /// # Errors
    /// When the master stops.
    fn watch_events(
        &self,
        wait: Duration,
        seen: &mut dyn FnMut(&str, &Map) -> bool,
    ) -> Result<bool, ContextError>;
}

/// The two kinds of functions that a master runs itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MasterFunction {
    /// `salt-run`.
    Runner,
    /// What changes the master, `key.*` above all.
    Wheel,
}

/// What came of a function of the master.
#[derive(Debug, Clone, Default)]
pub struct MasterAnswer {
    /// What it returned.
    pub ret: Value,
    /// Whether it went well.
    pub success: bool,
    /// The job it was.
    pub jid: Option<String>,
}

/// A command for minions.
#[derive(Debug, Clone, Default)]
pub struct MinionsCommand {
    /// Whom it is for.
    pub tgt: Value,
    /// How the target is meant, `glob`.
    pub tgt_type: String,
    /// The function.
    pub fun: String,
    /// Its arguments by position.
    pub arg: Vec<Value>,
    /// Its arguments by name.
    pub kwarg: Map,
    /// Returners, separated by commas.
    pub ret: String,
    /// How long to wait for minions that do not say that they work on it.
    pub timeout: Option<Duration>,
    /// How many minions at once: `3`, `10%`.
    pub batch: Option<String>,
    /// So many of them, chosen by chance.
    pub subset: Option<usize>,
    /// In batches: begin no other once one has failed.
    pub failhard: bool,
}

/// What minions returned, in the order in which they did.
#[derive(Debug, Clone, Default)]
pub struct MinionsAnswer {
    /// The job; none if nobody was meant.
    pub jid: Option<String>,
    /// Their returns.
    pub returns: Vec<MinionReturn>,
}

/// What one minion returned.
#[derive(Debug, Clone, Default)]
pub struct MinionReturn {
    /// The minion.
    pub id: String,
    /// What it returned; nothing if it did not.
    pub ret: Option<Value>,
    /// The return code.
    pub retcode: i64,
}
