//! The file server: the files that a master serves to its minions, from one or
//! several sources, and the place of those that they push.
//!
//! Everything here blocks on the disk; call it from threads that may. Invariant: a
//! path that a minion names reaches the file system only after every part of it was
//! checked and it cannot leave its root; a file is served from the descriptor that
//! was checked, not from a second look at its name.

pub mod limits;

mod answers;
mod backends;
mod changes;
mod error;
mod file;
mod gitfs;
mod hash;
mod ignore;
mod list;
mod list_cache;
#[cfg(test)]
mod memoryfs;
mod merged;
mod minionfs;
mod pieces;
mod receive;
mod requested_path;
mod room;
mod roots;
mod roots_changes;
mod serve;
mod server;
mod source;
mod walk;
mod wish;

pub use backends::Backends;
pub use changes::{Changes, MovedEnvs};
pub use error::{OptionsError, ReadError, ReceiveError, UpdateError};
pub use file::Stat;
pub use gitfs::GitfsOptions;
pub use hash::FileHash;
pub use list::Lists;
pub use minionfs::MinionFsOptions;
pub use receive::{Inbox, InboxOptions};
pub use roots::RootsOptions;
pub use serve::Chunk;
pub use server::{FileServer, FileServerOptions, Updated};
pub use source::Found;
pub use wish::UpdateWish;
