//! The command line interface of the programs: options, arguments, screens, exit
//! codes.
//!
//! Scripts depend on the output and the exit codes of the programs, so these are
//! Salt's; `docs/differences.md` lists where they are not, and why. Invariant: only
//! [`Screen`] writes to standard output and error.

pub mod call;
pub mod command;
pub mod display;
pub mod environment;
pub mod events;
pub mod exit;
pub mod login;
pub mod minion_status;
pub mod options;
mod outputter;
pub mod salt;
pub mod salt_cp;
pub mod salt_key;
pub mod salt_run;
pub mod screen;
pub mod start;
mod unnamed;
pub mod version;

pub use environment::Environment;
pub use exit::Exit;
pub use halite_client::args;
pub use halite_proto::chain;
pub use screen::Screen;
