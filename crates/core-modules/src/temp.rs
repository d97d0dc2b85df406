//! `temp.*`: temporary files and directories.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use halite_crypto::random_bytes;

use halite_call::{Call, CallResult, Function, Module, os_error, paths};

/// Names that are tried before it is an error.
const TRIES: usize = 100;

const CHARACTERS: &[u8; 37] = b"abcdefghijklmnopqrstuvwxyz0123456789_";

pub(super) const MODULE: Module = Module {
    name: "temp",
    functions: &[
        Function::new(
            "temp.dir",
            "(suffix='', prefix='tmp', parent=None)",
            |call| made(call, |path| paths::create_dir(path, 0o700)),
            "Makes a directory that only its owner may use, and returns its path.",
        ),
        Function::new(
            "temp.file",
            "(suffix='', prefix='tmp', parent=None)",
            |call| made(call, create),
            "Makes an empty file that only its owner may use, and returns its path.",
        ),
    ],
};

fn create(path: &Path) -> io::Result<()> {
    paths::create_new(path, 0o600).map(drop)
}

/// A name that nobody can guess.
fn name(call: &Call<'_>) -> String {
    let middle = random_bytes::<8>().map(|byte| {
        let at = usize::from(byte) % CHARACTERS.len();
        char::from(CHARACTERS.get(at).copied().unwrap_or(b'_'))
    });
    let middle: String = middle.iter().collect();
    format!("{}{middle}{}", call.text("prefix"), call.text("suffix"))
}

fn made(call: &Call<'_>, make: fn(&Path) -> io::Result<()>) -> CallResult {
    let parent = match call.text_opt("parent") {
        Some(parent) => PathBuf::from(parent),
        None => std::env::temp_dir(),
    };
    let mut tries = 0;
    loop {
        let path = parent.join(name(call));
        tries += 1;
        match make(&path) {
            Ok(()) => return Ok(path.display().to_string().into()),
            Err(error) if error.kind() == ErrorKind::AlreadyExists && tries < TRIES => {}
            Err(error) => return Err(os_error(&error, path)),
        }
    }
}
