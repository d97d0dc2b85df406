//! Every limit of the modules, with what happens at it.

/// How deep functions may call each other; deeper is a `RecursionError`.
pub const CALL_DEPTH_MAX: u32 = 64;
