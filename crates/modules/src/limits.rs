//! Every limit of the modules, with what happens at it.

/// How deep functions may call each other; deeper is a `RecursionError`.
pub(crate) const CALL_DEPTH_MAX: u32 = 64;

/// Steps of `test.collatz`; a longer sequence is an error.
pub(crate) const COLLATZ_STEPS_MAX: usize = 100_000;

/// Seconds that a login shell has to say what environment it sets; slower
/// logins do without.
pub(crate) const LOGIN_ENV_SECONDS_MAX: u64 = 10;

/// Seconds that a function waits for grains or pillar to be made new.
pub(crate) const REFRESH_SECONDS_MAX: u64 = 30;
