//! Tables of command lines that real Salt and Halite must answer alike.
//!
//! A chapter is a file of commands as one types them, each with notes on how its
//! answer is compared. Each chapter runs on a fleet of its own, whose files are
//! always the same ([`Stage`]). Real Salt's answers are kept beside the chapter
//! ([`Recorded`]), so that comparing needs no real Salt; running the chapter on
//! real Salt again shows whether they are still right.
//!
//! Invariant: a command whose answers differ has a reason in the table, and our own
//! answer is recorded too; a reason without a difference is an error.

mod answer;
mod bare;
mod exits;
mod recorded;
mod stage;
mod table;
mod words;

pub use answer::{Answer, Said};
pub use exits::exits;
pub use recorded::Recorded;
pub use stage::Stage;
pub use table::{Chapter, Compare, Row};
pub use words::words;
