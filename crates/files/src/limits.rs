//! Every limit of the file functions, and what happens when it is reached.

use std::time::Duration;

/// Bytes of a file that is compared line by line; a larger one is only said
/// to be different.
pub(crate) const DIFF_BYTES_MAX: u64 = 64 << 20;

/// Bytes of a file whose text a function works on (`file.replace`, ...); a
/// larger one is refused.
pub(crate) const TEXT_BYTES_MAX: u64 = 512 << 20;

/// Steps a regular expression may take on one text; more is an error.
pub(crate) const REGEX_STEPS_MAX: usize = 10_000_000;

/// Bytes of a compiled regular expression; a larger one is an error.
pub(crate) const REGEX_BYTES_MAX: usize = 10 << 20;

/// How deep directories are walked; deeper is left alone.
pub(crate) const DEPTH_MAX: usize = 512;

/// Bytes of a list of checksums; a larger one is refused.
pub(crate) const SUMS_BYTES_MAX: u64 = 64 << 20;

/// Entries of an archive that are looked at; one with more is refused.
pub(crate) const ARCHIVE_ENTRIES_MAX: usize = 2_000_000;

/// Files and directories of an archive of states; one with more is refused.
pub(crate) const PACKAGE_ENTRIES_MAX: usize = 100_000;

/// Bytes of the name of an entry of a tar, which is the longest path there is;
/// an archive with a longer one is refused.
pub(crate) const ARCHIVE_NAME_BYTES_MAX: usize = 4096;

/// Bytes of the headers of an entry of a tar, with long names, other records
/// and the places of a sparse file; an archive with more is refused.
pub(crate) const HEADERS_BYTES_MAX: u64 = 16 << 20;

/// How long an extraction by a program may take. What lies where they extract to for
/// longer is of a process that was killed, and goes.
pub(crate) const STAGE_AGE_MAX: Duration = Duration::from_secs(24 * 60 * 60);
