//! The hash of the archive that a state has extracted last.

use std::path::PathBuf;

use halite_call::{Call, paths};

use crate::sources::sums::Sum;

/// Whether another archive was extracted last (`source_hash_update`).
pub(super) fn is_new_sum(call: &Call<'_>, sum: Option<&Sum>) -> bool {
    let Some(sum) = sum.filter(|_| call.flag("source_hash_update")) else {
        return false;
    };
    paths::read_to_string(sum_file(call)).map_or(true, |old| old != sum.hsum)
}

/// Keeps the hash of what was extracted.
pub(super) fn remember_sum(call: &Call<'_>, sum: Option<&Sum>) {
    let Some(sum) = sum else { return };
    let file = sum_file(call);
    if let Some(directory) = file.parent() {
        let _ = paths::create_dir_all(directory);
    }
    if let Err(error) = paths::write(&file, &sum.hsum) {
        tracing::warn!(file = %file.display(), %error, "could not remember the hash of an archive");
    }
}

/// Where the hash is kept.
fn sum_file(call: &Call<'_>) -> PathBuf {
    let name = call.text("name");
    let name = halite_crypto::hash_hex(halite_crypto::HashType::Sha256, name.as_bytes());
    call.ctx.cachedir().join("archive_hash").join(name)
}
