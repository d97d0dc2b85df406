//! Every limit of rendering, with what happens at it. Those of templates and
//! of YAML are in their own crates.

/// Bytes of a text that may be rendered, and of the data that comes out of a
/// template; more is an error.
pub const TEXT_BYTES_MAX: usize = 16 << 20;

/// Stages of one pipe; more is an error.
pub const STAGES_MAX: usize = 16;

/// Lines of a template that an error shows before and after its own.
pub(crate) const CONTEXT_LINES: usize = 5;

/// Templates that one renderer keeps parsed; more are parsed each time.
pub(crate) const TEMPLATES_MAX: usize = 4096;
