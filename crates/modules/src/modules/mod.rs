//! The execution modules, one file or folder each.

use crate::registry::Module;

mod test;

/// All modules, sorted by name.
pub(crate) static MODULES: &[Module] = &[test::MODULE];
