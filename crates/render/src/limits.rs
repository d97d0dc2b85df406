//! Every limit of rendering, and what happens when it is reached. Those of
//! templates and of YAML are in their own crates.

/// Bytes of a text that may be rendered, and of the data that comes out of a
/// template; more is an error.
pub const TEXT_BYTES_MAX: usize = 16 << 20;

/// Stages of one pipe; more is an error.
pub const STAGES_MAX: usize = 16;

/// Lines of a template that an error shows before and after its own.
pub(crate) const CONTEXT_LINES: usize = 5;

/// Templates that one renderer keeps parsed; more are parsed each time.
pub(crate) const TEMPLATES_MAX: usize = 4096;

/// Items of a list that a filter shuffles or samples, and characters of a
/// random text; more is an error.
pub(crate) const ITEMS_MAX: usize = 1_000_000;

/// Files that `list_files` finds; more is an error.
pub(crate) const FILES_MAX: usize = 200_000;

/// Seconds that `dns_check` waits for one address to answer.
pub(crate) const CONNECT_SECONDS: u64 = 2;

/// Characters of a JMESPath query; more is an error.
pub(crate) const QUERY_CHARS_MAX: usize = 16 << 10;

/// Expressions within one another in a JMESPath query; more is an error.
pub(crate) const QUERY_DEPTH_MAX: u32 = 100;

/// Operators - dots, brackets, comparisons - of a JMESPath query; more is an
/// error.
pub(crate) const QUERY_OPERATORS_MAX: u32 = 500;

/// Seconds that `gpg` has for one message; then it is ended, which is an error.
pub(crate) const GPG_SECONDS_MAX: u64 = 30;

/// Bytes that one message may hold; more are left out.
pub(crate) const GPG_OUTPUT_BYTES_MAX: u64 = 16 << 20;

/// Steps of a long way to an error that are shown of each of its ends.
pub(crate) const TRAIL_ENDS: usize = 3;

/// Words that one call of `lipsum` may give; more is an error.
pub(crate) const LIPSUM_WORDS_MAX: usize = 100_000;
