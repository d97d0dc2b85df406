//! Limits on the cost of a target from a request.

/// Longest target expression that is parsed, in bytes; a longer one is an
/// error.
pub const EXPRESSION_BYTES_MAX: usize = 1024 * 1024;

/// Steps that matching one regular expression against one text may take; past
/// it the match is an error and no minion matches.
pub const REGEX_STEPS_MAX: usize = 20_000;

/// Memory of one compiled regular expression, in bytes; a larger one is an
/// error.
pub const REGEX_BYTES_MAX: usize = 2 * 1024 * 1024;

/// Memory that matching one regular expression may keep for the next time, in
/// bytes; with less it matches more slowly.
pub const REGEX_CACHE_BYTES_MAX: usize = 256 * 1024;

/// Most regular expressions of one target, each end of a grain or pillar
/// target that may be one included; more is an error.
pub const REGEXES_MAX: usize = 128;

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

/// Bytes of a text in grains or pillar that cost a step of a lookup.
pub const LOOKUP_STEP_BYTES: usize = 64;

/// Longest text in grains or pillar that is compared with a pattern, in bytes;
/// a longer one does not match.
pub const LOOKUP_TEXT_BYTES_MAX: usize = 64 * 1024;
