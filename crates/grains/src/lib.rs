//! The core grains of a Linux machine.

/// The version of Salt whose behaviour, grains and states this is compatible
/// with: what `saltversion` says, since state files decide by it.
pub const SALT_VERSION: &str = "3008.5";
