//! Files that functions write when they are given a path.
//!
//! Invariant: nobody else can read what is written, from the first byte.

use std::io::{self, Write};
use std::path::Path;

use halite_call::replace::{Dress, replace_with};
use halite_call::{CallError, os_error};

/// Only its owner may read it.
const MODE: u32 = 0o600;

pub(crate) fn write_bytes(path: &Path, bytes: &[u8]) -> Result<(), CallError> {
    write_ours(path, MODE, bytes).map_err(|error| os_error(&error, path))
}

/// Replaces a file, which is ours whoever had the old one.
pub(crate) fn write_ours(path: &Path, mode: u32, bytes: &[u8]) -> io::Result<()> {
    replace_with(path, Dress::ours(mode), |file| {
        file.write_all(bytes)?;
        file.sync_all()
    })
}

pub(crate) fn write(path: &Path, text: &str) -> Result<(), CallError> {
    write_bytes(path, text.as_bytes())
}
