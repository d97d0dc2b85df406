//! The options of the programs, in Salt's groups (`salt/utils/parsers.py`, 3008.5).
//!
//! Options may be anywhere among the words; after `--` there are only words.
//! Invariant: an option that is known but not honoured ends the program with a line
//! that says so; none is silently ignored.

mod call;
mod cp;
mod daemon;
mod groups;
mod key;
mod run;
mod salt;
mod sources;
mod usage;

pub use call::CallOptions;
pub use cp::CpOptions;
pub use daemon::{ApiOptions, DaemonOptions, MasterOptions, MinionOptions};
pub use groups::{
    CommonOptions, ConsoleOptions, EauthOptions, ExecutorOptions, LogLevel, LoggingOptions,
    LoginOptions, OutputOptions, ParseOptions,
};
pub use key::{KeyAction, KeyOptions, ListedState};
pub use run::RunOptions;
pub use salt::{SaltOptions, TargetOptions};
pub use sources::parse_everything;
pub use usage::{Program, Stop, parse};
