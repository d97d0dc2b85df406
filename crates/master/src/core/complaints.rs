//! Which remarks about single peers are worth a line in the log.
//!
//! Invariant: what anybody can cause as often as they like, costs a bounded
//! number of lines a minute, and the same remark about the same peer comes once
//! a minute.

use std::collections::HashMap;

/// How long a remark is not repeated, and what lines are counted over.
pub const INTERVAL_S: i64 = 60;

/// Lines in one interval. Further remarks are counted, and their number is told
/// with the first line of the next interval.
pub const LINES_MAX: usize = 100;

/// What was remarked lately.
#[derive(Debug, Default)]
pub struct Complaints {
    told: HashMap<(String, &'static str), i64>,
    since: i64,
    suppressed: u64,
}

/// Whether a remark is to be logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Telling {
    /// Yes; so many others were left out before it.
    Now {
        /// Remarks that were left out for their number.
        suppressed: u64,
    },
    /// No.
    NotNow,
}

impl Complaints {
    /// Decides about the remark `what` about `peer`.
    pub fn remark(&mut self, peer: &str, what: &'static str, now: i64) -> Telling {
        if now < self.since || now - self.since >= INTERVAL_S {
            self.since = now;
            // Only this many were told, so the map is bounded as well.
            self.told
                .retain(|_, at| (0..INTERVAL_S).contains(&(now - *at)));
        }
        let key = (peer.to_owned(), what);
        let is_repeated = self
            .told
            .get(&key)
            .is_some_and(|at| (0..INTERVAL_S).contains(&(now - *at)));
        if is_repeated {
            return Telling::NotNow;
        }
        if self.told.len() >= LINES_MAX {
            self.suppressed += 1;
            return Telling::NotNow;
        }
        self.told.insert(key, now);
        Telling::Now {
            suppressed: std::mem::take(&mut self.suppressed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Telling = Telling::Now { suppressed: 0 };

    #[test]
    fn the_same_remark_comes_once_a_minute() {
        let mut complaints = Complaints::default();
        assert_eq!(complaints.remark("web1", "denied", 1000), NOW);
        assert_eq!(complaints.remark("web1", "denied", 1059), Telling::NotNow);
        assert_eq!(complaints.remark("web1", "full", 1059), NOW);
        assert_eq!(complaints.remark("web2", "denied", 1059), NOW);
        assert_eq!(complaints.remark("web1", "denied", 1060), NOW);
    }

    #[test]
    fn a_flood_of_names_is_cut_off_and_counted() {
        let mut complaints = Complaints::default();
        let mut lines = 0;
        for n in 0..10_000 {
            if complaints.remark(&format!("x{n}"), "denied", 1000) == NOW {
                lines += 1;
            }
        }
        assert_eq!(lines, LINES_MAX);
        assert_eq!(
            complaints.remark("web1", "denied", 1060),
            Telling::Now { suppressed: 9_900 }
        );
    }

    #[test]
    fn a_clock_that_goes_back_does_not_silence_for_long() {
        let mut complaints = Complaints::default();
        complaints.remark("web1", "denied", 100_000);
        assert_eq!(complaints.remark("web1", "denied", 1000), NOW);
    }
}
