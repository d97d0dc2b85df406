//! Symbolic links.

use std::fs;
use std::path::Path;

use halite_call::paths;

/// Makes the link; with `replace` in the place of a file or link, in one step.
pub(crate) fn link_in_place(at: &Path, target: &str, replace: bool) -> std::io::Result<()> {
    match paths::symlink(target, at) {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists && replace => {}
        done => return done,
    }
    let data = fs::symlink_metadata(at)?;
    if data.is_dir() {
        return Err(std::io::Error::from_raw_os_error(nix::libc::EISDIR));
    }
    let random: String = halite_crypto::random_bytes::<6>()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let beside = at.with_file_name(format!(".halite-{random}"));
    paths::symlink(target, &beside)?;
    paths::rename(&beside, at).inspect_err(|_| {
        let _ = paths::remove_file(&beside);
    })
}
