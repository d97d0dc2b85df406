//! Waiting for something that happens in another process.
//!
//! Invariant: every wait has a deadline and says at the deadline what it
//! waited for. Tests wait for conditions, never for an amount of time.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};

/// Enough for anything that normally takes a moment, on a busy machine.
pub const SHORT: Duration = Duration::from_secs(60);

/// Enough for the start of the slowest daemon on a busy machine.
pub const START: Duration = Duration::from_secs(90);

/// How often a condition is looked at.
const INTERVAL: Duration = Duration::from_millis(2);

/// Looks at `condition` until it gives a value; an error after `deadline`
/// names `what` was waited for.
pub fn until<T>(
    what: &str,
    deadline: Duration,
    mut condition: impl FnMut() -> Result<Option<T>>,
) -> Result<T> {
    let begun = Instant::now();
    loop {
        if let Some(value) = condition()? {
            return Ok(value);
        }
        if begun.elapsed() >= deadline {
            bail!("gave up after {} s: {what}", deadline.as_secs());
        }
        std::thread::sleep(INTERVAL);
    }
}
