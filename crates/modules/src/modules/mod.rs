//! The execution modules, one file or folder each.

use crate::registry::Module;

mod cmd;
mod test;
mod versions;

/// All modules, sorted by name.
pub(crate) static MODULES: &[Module] = &[cmd::MODULE, test::MODULE];
