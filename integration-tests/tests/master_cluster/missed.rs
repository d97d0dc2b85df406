//! Which commands a minion of Salt may have missed: those that were published while its own
//! connection led through a cable that failed, as with Salt's masters. Nobody sends them
//! again, since a minion that the job itself has restarted looks the same.

use std::time::{Duration, Instant};

use anyhow::Result;

use crate::cabled::Cabled;

/// It may miss what was published so long before the fault, and until it is back after so
/// long.
const BEFORE: Duration = Duration::from_secs(2);
pub(crate) const AFTER: Duration = Duration::from_secs(20);

/// One minion and one fault of a cable.
struct Window {
    minion: usize,
    from: Instant,
    to: Instant,
}

/// The windows of a run.
#[derive(Default)]
pub(crate) struct Missed {
    windows: Vec<Window>,
    /// The cables that have a fault, and until when.
    failing: Vec<(usize, Instant)>,
}

impl Missed {
    /// A cable will fail until then. To be called before it does: afterwards the
    /// connections are gone.
    pub(crate) fn fails(
        &mut self,
        cabled: &Cabled,
        (front, now, until): (usize, Instant, Instant),
    ) -> Result<()> {
        self.failing.push((front, until));
        self.look(cabled, now)
    }

    /// Notes whose connection has come to lead through a cable that fails.
    pub(crate) fn look(&mut self, cabled: &Cabled, now: Instant) -> Result<()> {
        self.failing.retain(|(_, until)| *until > now);
        for (front, until) in &self.failing {
            let found = cabled.salts_on(*front)?.into_iter();
            self.windows.extend(found.map(|minion| Window {
                minion,
                from: now.checked_sub(BEFORE).unwrap_or(now),
                to: *until + AFTER,
            }));
        }
        Ok(())
    }

    /// Whether a minion may have missed what was published then.
    pub(crate) fn may_miss(&self, minion: usize, at: Instant) -> bool {
        let mut of = self.windows.iter().filter(|of| of.minion == minion);
        of.any(|of| of.from <= at && at <= of.to)
    }
}
