//! The effects that a run asks for, and their answers.
//!
//! Invariant: everything that the state machine does not decide by itself is one of
//! these effects; each has exactly one kind of answer.

use halite_proto::{Map, Value};

/// A point in time: the machine has no clock of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moment {
    /// Microseconds since the epoch.
    pub unix_micros: u64,
    /// How far local time is ahead of UTC.
    pub utc_offset_seconds: i32,
}

impl Moment {
    /// The local time of day as results show it: `HH:MM:SS.ffffff`.
    pub fn time_of_day(self) -> String {
        const DAY: i64 = 86_400;
        let seconds = i64::try_from(self.unix_micros / 1_000_000).unwrap_or_default();
        let of_day = (seconds + i64::from(self.utc_offset_seconds)).rem_euclid(DAY);
        let (hours, minutes) = (of_day / 3600, of_day / 60 % 60);
        let (seconds, micros) = (of_day % 60, self.unix_micros % 1_000_000);
        format!("{hours:02}:{minutes:02}:{seconds:02}.{micros:06}")
    }

    /// Microseconds from `earlier` to here; 0 if the clock was set back.
    pub fn micros_since(self, earlier: Self) -> u64 {
        self.unix_micros.saturating_sub(earlier.unix_micros)
    }
}

/// What happens next.
#[derive(Debug)]
pub enum Step {
    /// This is to be done and answered.
    Do(Effect),
    /// The effect that was asked for has no answer yet; or the run is over and
    /// the results are with the caller.
    Waiting,
    /// The run is over: results by tag, in the order in which they came.
    Done(Map),
}

/// Something that only the world can do.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// Call a state function and wait for its result. → [`Reply::State`]
    Call(Box<StateCall>),
    /// Call a state function beside the run. → [`Reply::Done`]
    Start(Box<StateCall>),
    /// Give the results of functions that were started. → [`Reply::Collected`]
    Collect {
        /// Which, by tag.
        tags: Vec<String>,
        /// How many to wait for.
        patience: Patience,
    },
    /// Call a function of a state module that serves the run itself:
    /// `mod_init`, `mod_aggregate`. → [`Reply::State`]
    Serve {
        /// Its full name.
        fun: String,
        /// Its arguments.
        args: Vec<Value>,
        /// The chunk it is called for.
        low: Map,
    },
    /// Call an execution function. → [`Reply::Salt`]
    Salt {
        /// Its full name.
        fun: String,
        /// Its arguments.
        args: Vec<Value>,
        /// Its arguments by name.
        kwargs: Map,
    },
    /// Say whether a path exists. → [`Reply::Yes`]
    Exists(String),
    /// Say whether a compound expression means this minion. → [`Reply::Yes`]
    Matches(String),
    /// Wait. → [`Reply::Waited`]
    Sleep {
        /// How long at least.
        seconds: u64,
        /// How much more at most; the world draws.
        splay: u64,
    },
    /// Make things new. → [`Reply::Done`]
    Refresh(Renew),
    /// Tell the master. → [`Reply::Done`]
    Fire {
        /// The tag of the event.
        tag: String,
        /// Its data.
        data: Map,
    },
    /// Say whether the run may go on with the state of this id; wait while it
    /// is paused. → [`Reply::Gate`]
    Gate(String),
}

/// How many of several results are waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Patience {
    /// Those that are there.
    None,
    /// At least one.
    One,
    /// All.
    All,
}

/// What is made new after a state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Renew {
    /// Grains.
    pub grains: bool,
    /// Pillar.
    pub pillar: bool,
    /// Modules.
    pub modules: bool,
}

/// A call of a state function.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StateCall {
    /// The tag of the result.
    pub tag: String,
    /// Its full name, `file.managed`.
    pub fun: String,
    /// Arguments by position.
    pub args: Vec<Value>,
    /// Arguments by name.
    pub kwargs: Map,
    /// The low chunk.
    pub low: Map,
    /// Whether it is only to say what it would change.
    pub test: bool,
    /// The file mode mask while it runs.
    pub umask: Option<u32>,
    /// The results of the states it watches, by tag.
    pub watched: Map,
    /// How often a started call is repeated, and until when.
    pub retry: Option<super::retry::Retry>,
    /// Its position in the run.
    pub position: Position,
}

/// The position of a state among all states of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Position {
    /// Its number, from 1.
    pub number: u64,
    /// How many there are.
    pub total: usize,
}

/// The answer to an effect.
#[derive(Clone, Debug, PartialEq)]
pub enum Reply {
    /// What a state function returned, or the traceback of its failure.
    State(Result<Value, String>),
    /// Results that have come since, by tag.
    Collected(Vec<(String, Map)>),
    /// What an execution function returned.
    Salt(Result<Returned, Fault>),
    /// Yes or no.
    Yes(bool),
    /// How many seconds were waited.
    Waited(u64),
    /// Whether the run goes on.
    Gate(Gate),
    /// It is done.
    Done,
}

/// What an execution function returned.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Returned {
    /// The value.
    pub value: Value,
    /// The return code it set.
    pub retcode: i64,
}

/// How an execution function failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Whether a command could not be run (`CommandExecutionError`), as
    /// opposed to any other exception.
    pub command: bool,
    /// The traceback.
    pub trace: String,
}

/// Whether a run goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gate {
    /// It does.
    Open,
    /// It ends here, softly: nothing more is started.
    Killed,
}
