//! Which remarks about single peers are worth a line in the log.
//!
//! Invariant: remarks that anybody can cause cost a bounded number of lines a
//! minute, and the same remark about the same peer comes once a minute. Remarks of
//! one kind never suppress another kind, and where the address is known, those of
//! one address never suppress another's.

use std::collections::HashMap;
use std::hash::Hash;

use super::budget::Budget;

/// How long a remark is not repeated, and what lines are counted over.
pub const INTERVAL_S: i64 = 60;

/// Lines of one kind in one interval. Further messages are counted, and their number is
/// logged with the next line of the kind.
pub const LINES_MAX: usize = 100;

/// The same for remarks that anybody can cause: of one address, and of all.
pub const LINES_OF_ONE_MAX: usize = 10;

/// See `LINES_OF_ONE_MAX`.
pub const LINES_OF_ALL_MAX: usize = 1000;

/// The recent messages. `K` identifies who causes a message.
#[derive(Debug)]
pub struct Complaints<K> {
    told: HashMap<(String, &'static str), i64>,
    since: i64,
    kinds: HashMap<&'static str, KindOfComplaint<K>>,
}

/// The remarks of one kind.
#[derive(Debug)]
struct KindOfComplaint<K> {
    lines: Budget<Option<K>>,
    suppressed: u64,
}

/// Whether a remark is to be logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Telling {
    /// Log it; this many others of its kind were left out before it.
    Now {
        /// Remarks that were left out for their number.
        suppressed: u64,
    },
    /// No.
    NotNow,
}

impl<K> Default for Complaints<K> {
    fn default() -> Self {
        Self {
            told: HashMap::new(),
            since: 0,
            kinds: HashMap::new(),
        }
    }
}

impl<K: Eq + Hash> Complaints<K> {
    /// Decides about the remark `what` about `peer`, caused by `from`.
    pub fn remark(&mut self, from: Option<K>, peer: &str, what: &'static str, now: i64) -> Telling {
        let Some(key) = self.untold(peer, what, now) else {
            return Telling::NotNow;
        };
        let (each, all) = match from {
            Some(_) => (LINES_OF_ONE_MAX, LINES_OF_ALL_MAX),
            None => (LINES_MAX, LINES_MAX),
        };
        let kind = self.kinds.entry(what).or_insert_with(|| KindOfComplaint {
            lines: Budget::new(each, all, INTERVAL_S),
            suppressed: 0,
        });
        if !kind.lines.take(from, now) {
            kind.suppressed += 1;
            return Telling::NotNow;
        }
        self.told.insert(key, now);
        Telling::Now {
            suppressed: std::mem::take(&mut kind.suppressed),
        }
    }

    /// Decides about the message `what` about `minion`, whose key an administrator has
    /// accepted: the number of such minions bounds the messages, so each may have its
    /// own.
    pub fn remark_accepted(&mut self, minion: &str, what: &'static str, now: i64) -> bool {
        let key = self.untold(minion, what, now);
        let is_told = key.is_some();
        self.told.extend(key.map(|key| (key, now)));
        is_told
    }

    /// The key of a remark that was not made within the interval.
    fn untold(
        &mut self,
        peer: &str,
        what: &'static str,
        now: i64,
    ) -> Option<(String, &'static str)> {
        let is_told = |at: &i64| (0..INTERVAL_S).contains(&now.saturating_sub(*at));
        if !is_told(&self.since) {
            self.since = now;
            // The budgets bound what was told, so the map is bounded as well.
            self.told.retain(|_, at| is_told(at));
        }
        let key = (peer.to_owned(), what);
        (!self.told.get(&key).is_some_and(is_told)).then_some(key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Telling = Telling::Now { suppressed: 0 };

    #[test]
    fn the_same_remark_comes_once_a_minute() {
        let mut complaints = Complaints::<u8>::default();
        assert_eq!(complaints.remark(None, "web1", "denied", 1000), NOW);
        assert_eq!(
            complaints.remark(None, "web1", "denied", 1059),
            Telling::NotNow
        );
        assert_eq!(complaints.remark(None, "web1", "full", 1059), NOW);
        assert_eq!(complaints.remark(None, "web2", "denied", 1059), NOW);
        assert_eq!(complaints.remark(None, "web1", "denied", 1060), NOW);
    }

    /// A herd that comes back is told of whole, and who sends one sign-in of it
    /// again and again once a minute.
    #[test]
    fn every_accepted_minion_is_told_of_once_a_minute() {
        let mut complaints = Complaints::<u8>::default();
        let mut told = |minion: usize, now| {
            complaints.remark_accepted(&format!("web{minion}"), "signed in", now)
        };
        assert_eq!((0..5_000).filter(|n| told(*n, 1000)).count(), 5_000);
        assert_eq!((0..5_000).filter(|_| told(7, 1030)).count(), 0);
        assert!(told(7, 1060));
    }

    #[test]
    fn a_flood_of_names_is_cut_off_and_counted() {
        let mut complaints = Complaints::<u8>::default();
        let mut lines = 0;
        for n in 0..10_000 {
            if complaints.remark(None, &format!("x{n}"), "denied", 1000) == NOW {
                lines += 1;
            }
        }
        assert_eq!(lines, LINES_MAX);
        assert_eq!(
            complaints.remark(None, "web1", "denied", 1060),
            Telling::Now { suppressed: 9_900 }
        );
    }

    #[test]
    fn what_one_address_causes_hides_nothing_of_others() {
        let mut complaints = Complaints::default();
        let mut remarks = |from: u8, what| {
            let lines = (0..1000).filter(|n| {
                let peer = format!("{from}-{n}");
                complaints.remark(Some(from), &peer, what, 1000) != Telling::NotNow
            });
            lines.count()
        };
        assert_eq!(remarks(1, "pending"), LINES_OF_ONE_MAX);
        assert_eq!(remarks(1, "denied"), LINES_OF_ONE_MAX);
        for from in 2..=21 {
            assert_eq!(remarks(from, "denied"), LINES_OF_ONE_MAX);
        }
        // Of another kind all is there.
        let other = complaints.remark(None, "web1", "event", 1000);
        assert_eq!(other, Telling::Now { suppressed: 0 });
        // What the others left out was told with the first line of the next one.
        let later = complaints.remark(Some(1), "web1", "denied", 1061);
        assert_eq!(later, Telling::Now { suppressed: 990 });
    }

    #[test]
    fn a_clock_that_goes_back_does_not_silence_for_long() {
        let mut complaints = Complaints::<u8>::default();
        complaints.remark(None, "web1", "denied", 100_000);
        assert_eq!(complaints.remark(None, "web1", "denied", 1000), NOW);
    }
}
