//! Every limit of the file functions, with what happens at it.

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
