//! The command line programs' language: options, arguments, screens, exit
//! codes, and the client that commands minions.
//!
//! What the programs print and how they end is what scripts depend on, so it is
//! Salt's; `docs/differences.md` lists where it is not, and why. Invariant:
//! only [`Screen`] writes to standard output and error.

pub mod args;
pub mod call;
pub mod client;
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
pub mod version;

pub use environment::Environment;
pub use exit::Exit;
pub use screen::Screen;

/// An error with all its causes, in one line.
pub fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}
