//! Limits of the process, and the limits it sets itself.

use std::time::Duration;

use nix::sys::resource::{Resource, getrlimit, setrlimit};

/// Output that is kept of one stream of a child; what follows is read, so that
/// the child is not blocked, and dropped. A return could not carry more: a
/// request has 100 MiB, of which some is around the return.
pub const OUTPUT_BYTES_MAX: usize = 98 << 20;

/// How long a child has after SIGTERM before SIGKILL.
pub const TERM_GRACE_MS: u64 = 2_000;

/// How deep directories may be nested that are given to another user; deeper
/// ones are refused.
pub(crate) const HAND_OVER_DEPTH_MAX: usize = 64;

/// How much a starting daemon may say to its parent about its failure.
pub(crate) const START_REPORT_BYTES_MAX: u64 = 64 << 10;

/// Passwords that are checked at once. Further ones are refused: whoever logs
/// in tries again.
pub const PASSWORD_CHECKS_MAX: usize = 32;

/// How long the check of a password may take; then it failed.
pub const PASSWORD_CHECK_TIME_MAX: Duration = Duration::from_secs(30);

/// Raises the number of files that may be open to `wanted`, as far as the hard
/// limit (or root) allows. Returns the limit that holds now.
///
/// # Errors
/// When the limits cannot be read.
pub fn raise_open_files(wanted: u64) -> std::io::Result<u64> {
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE)?;
    if soft >= wanted {
        return Ok(soft);
    }
    if wanted > hard && setrlimit(Resource::RLIMIT_NOFILE, wanted, wanted).is_ok() {
        return Ok(wanted);
    }
    let reachable = wanted.min(hard);
    setrlimit(Resource::RLIMIT_NOFILE, reachable, hard)?;
    Ok(reachable)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_never_lowered() {
        let (soft, _) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
        assert_eq!(raise_open_files(1).unwrap(), soft);
    }
}
