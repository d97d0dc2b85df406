//! The options of a run.

use std::rc::Rc;

use halite_proto::Value;

/// How a run is to be done.
#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    /// Only say what would change.
    pub test: bool,
    /// End the run after the first failed state.
    pub failhard: bool,
    /// Call no state function; every state holds.
    pub mock: bool,
    /// The job, if the run has one: it names events and pauses.
    pub jid: Option<String>,
    /// The minion, for the tags of events.
    pub minion: String,
    /// Tell the master of every result (`state_events`).
    pub events: bool,
    /// Whether there is a master that gets events.
    pub has_master: bool,
    /// `global_state_conditions`: a state module, a function or `*`, and the
    /// expressions of which one must mean this minion.
    pub conditions: Vec<(String, Vec<String>)>,
    /// How many states run beside the run at most (`state_max_parallel`).
    pub parallel_max: Option<usize>,
    /// The shell of conditions (the grain `shell`).
    pub shell: Option<Value>,
}

/// What the machine must know of the functions there are. Nothing is called
/// through this.
pub trait Functions {
    /// The parameters of the state function `file.managed`, if it exists.
    fn state(&self, full: &str) -> Option<Rc<Parameters>>;

    /// Whether the state function exists.
    fn has_state(&self, full: &str) -> bool {
        self.state(full).is_some()
    }

    /// Whether the execution function exists.
    fn has_execution(&self, fun: &str) -> bool;

    /// Why there is no such state function.
    fn why_missing(&self, full: &str) -> String {
        format!("'{full}' is not available.")
    }
}

/// The parameters of a state function.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parameters {
    /// Those that must be given, in their order.
    pub required: Vec<String>,
    /// Those with a default.
    pub optional: Vec<String>,
    /// Whether it takes any keyword besides.
    pub any: bool,
}

impl Parameters {
    /// Whether a parameter has this name.
    pub fn names(&self, name: &str) -> bool {
        self.required
            .iter()
            .chain(&self.optional)
            .any(|known| known == name)
    }
}
