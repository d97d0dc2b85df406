//! Bounds on what a target from a request may cost.

/// Longest target expression that is parsed, in bytes; a longer one is an
/// error.
pub const EXPRESSION_BYTES_MAX: usize = 1024 * 1024;

/// Steps that matching one regular expression against one text may take; past
/// it the match is an error and nobody is meant.
pub const REGEX_STEPS_MAX: usize = 200_000;

/// Memory of one compiled regular expression, in bytes; a larger one is an
/// error.
pub const REGEX_BYTES_MAX: usize = 2 * 1024 * 1024;

/// Deepest nesting of parentheses in a compound target, and of node groups;
/// deeper is an error.
pub const NESTING_MAX: usize = 64;

/// Most words of a compound target once its node groups are written out; more
/// is an error.
pub const WORDS_MAX: usize = 100_000;

/// Most levels of a grain or pillar target; more is an error.
pub const LEVELS_MAX: usize = 64;

/// Steps that looking a grain or pillar target up may take; past it nothing
/// matches.
pub const LOOKUP_STEPS_MAX: usize = 100_000;
