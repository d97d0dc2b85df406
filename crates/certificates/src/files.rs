//! Files that functions write when they are given a path.
//!
//! Invariant: nobody else can read what is written, from the first byte.

use std::path::Path;

use halite_crypto::files::create_private;
use halite_modules::CallError;

/// Only its owner may read it.
const MODE: u32 = 0o600;

pub(crate) fn write_bytes(path: &Path, bytes: &[u8]) -> Result<(), CallError> {
    create_private(path, MODE, bytes).map_err(|error| {
        let cause = std::error::Error::source(&error);
        let cause = cause.map(|cause| format!(": {cause}")).unwrap_or_default();
        CallError::command(format!("{error}{cause}"))
    })
}

pub(crate) fn write(path: &Path, text: &str) -> Result<(), CallError> {
    write_bytes(path, text.as_bytes())
}
