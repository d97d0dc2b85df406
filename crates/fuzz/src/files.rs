//! Targets that need a directory.

use std::sync::OnceLock;

use tempfile::TempDir;

/// An archive, listed and extracted.
pub(crate) fn archive(bytes: &[u8]) {
    thread_local! {
        static DIR: OnceLock<TempDir> = const { OnceLock::new() };
    }
    DIR.with(|dir| {
        let dir = dir.get_or_init(|| tempfile::tempdir().expect("a directory for archives"));
        halite_files::fuzzing::archive(bytes, dir.path());
    });
}
