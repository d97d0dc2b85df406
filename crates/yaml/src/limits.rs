//! Limits of reading a document.

/// Deepest nesting of lists and maps; deeper is an error. Reading, copying and
/// writing a document at this depth fits a stack of 1 MiB, even unoptimised.
pub const DEPTH_MAX: usize = 100;

/// Nodes that aliases may add to those that are written out; more is an
/// error. A handful of lines can otherwise mean billions of nodes.
pub const ALIASED_NODES_MAX: usize = 200_000;

/// Entries that merge keys may copy, counted over all merges; more is an
/// error.
pub const MERGED_ENTRIES_MAX: usize = 200_000;

/// Longest excerpt of a line shown in an error, in characters.
pub const EXCERPT_CHARS_MAX: usize = 100;

/// Longest text of a refused key shown in an error, in characters.
pub const KEY_CHARS_MAX: usize = 1000;
