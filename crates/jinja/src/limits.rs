//! Limits of a template, so that a wrong one ends with an error and does not take
//! the daemon down. Exceeding one is always an error that names the limit.

/// Limits of one render; the defaults are far above what real trees need.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Evaluated expressions, statements and loop rounds.
    pub steps_max: u64,
    /// Characters written, kept or built by one operation.
    pub output_bytes_max: usize,
    /// Values that are seen in all walks through lists and maps in one another:
    /// to print, compare, convert or hash them.
    pub walk_values_max: u64,
    /// Macros, includes, imports and recursive loops inside one another.
    pub calls_depth_max: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            steps_max: 6_000_000,
            output_bytes_max: TEXT_BYTES_MAX,
            walk_values_max: 20_000_000,
            calls_depth_max: 120,
        }
    }
}

/// Bytes of a rendered text, and of one that an operation builds.
pub(crate) const TEXT_BYTES_MAX: usize = 32 * 1024 * 1024;
/// What expressions build counts as text that is written, in this proportion:
/// most of it is gone again at once, but a template may keep it.
pub(crate) const NEW_BYTES_PER_KEPT: usize = 8;
/// Bytes of one template's text.
pub const SOURCE_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Expressions inside one another in the text; what a chain of operators
/// nests counts as well.
pub(crate) const EXPRESSION_DEPTH_MAX: u32 = 120;
/// Operators in one chain such as `a + b + c`.
pub(crate) const CHAIN_MAX: u32 = 400;
/// Block statements inside one another.
pub(crate) const BLOCK_DEPTH_MAX: u32 = 60;
/// Numbers that `range` may yield: the sandbox of Jinja2.
pub(crate) const RANGE_MAX: i128 = 100_000;
/// Lists and maps inside one another, where one is printed, compared or
/// converted.
pub(crate) const NESTING_MAX: u32 = 200;
/// Items that one operation may build at once.
pub(crate) const ITEMS_MAX: usize = 10_000_000;
/// Bytes of text that count as a value more in such a walk.
pub(crate) const WALK_BYTES_PER_VALUE: usize = 16;
/// Steps of one regular expression.
pub(crate) const REGEX_STEPS_MAX: usize = 1_000_000;
/// Pieces of a text of which it is remembered where they came from; what
/// comes later is not known.
pub(crate) const MARKS_MAX: usize = 200_000;
