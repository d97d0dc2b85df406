//! What happens to the files for minions.

pub(crate) mod file_changes;
