//! The named limits of this crate.

/// Fewest bits of an RSA key: below this the two keys that a sign-in reply
/// seals do not fit. A smaller key is refused when it is read.
pub const KEY_BITS_MIN: u32 = 1024;

/// Most bits of an RSA key. A stranger may send any public key, and the work
/// grows with its size; a larger one is refused when it is read.
pub const KEY_BITS_MAX: u32 = 16_384;

/// Most bits of the public exponent of an RSA key, as OpenSSL has it for large
/// keys. Everybody uses 65537.
pub const EXPONENT_BITS_MAX: i32 = 64;

/// Bits of a new key where the configuration names none, as in Salt.
pub const KEY_BITS_DEFAULT: u32 = 2048;

/// Most bytes of a PEM text that is read; a longer one is refused unparsed.
pub const PEM_BYTES_MAX: usize = 64 * 1024;
