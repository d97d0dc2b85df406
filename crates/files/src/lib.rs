//! The functions and states of files and archives: `file.*` and `archive.*`.
//!
//! `core` knows how a file is read, compared, owned and replaced; `sources`
//! where its content comes from; `manage` brings both together; `exec` and
//! `state` are the functions people call. Invariant: a file appears under its name only when it is complete;
//! what was there before stays until then.

mod archive;
mod core;
mod exec;
mod ini;
mod limits;
mod manage;
mod rsync;
mod sources;
mod state;

use halite_call::Module;

#[doc(hidden)]
pub use archive::fuzzing;
pub use archive::unpack_package;

/// The execution modules of this crate, sorted by name.
pub static MODULES: &[Module] = &[archive::MODULE, exec::MODULE, ini::MODULE, rsync::MODULE];

/// The state modules of this crate, sorted by name.
pub static STATES: &[Module] = &[
    archive::STATE,
    state::MODULE,
    ini::state::MODULE,
    rsync::state::MODULE,
];

/// The differences of two texts as Python's `difflib.unified_diff` writes them;
/// a last line without its end gets one.
pub fn unified_diff(old: &str, new: &str, from: &str, to: &str) -> String {
    let with_end = |text: &str| match text.is_empty() || text.ends_with('\n') {
        true => text.to_owned(),
        false => format!("{text}\n"),
    };
    let (old, new) = (with_end(old), with_end(new));
    let old: Vec<&str> = old.split_inclusive('\n').collect();
    let new: Vec<&str> = new.split_inclusive('\n').collect();
    core::diff::unified(&old, &new, from, to)
}
