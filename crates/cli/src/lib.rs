//! The command line programs' language: options, arguments, screens, exit
//! codes, and the client that commands minions.
//!
//! What the programs print and how they end is what scripts depend on, so it is
//! Salt's; `docs/differences.md` lists where it is not, and why. Invariant:
//! only [`Screen`] writes to standard output and error.

pub mod args;
pub mod client;
pub mod command;
pub mod exit;
pub mod options;
pub mod screen;
pub mod version;

pub use exit::Exit;
pub use screen::Screen;
