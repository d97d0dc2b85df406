//! The command line programs' language: options, arguments, screens, exit
//! codes.
//!
//! What the programs print and how they end is what scripts depend on, so it is
//! Salt's; `docs/differences.md` lists where it is not, and why. Invariant:
//! only [`Screen`] writes to standard output and error.

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
