//! How far a master's log is on the engine, and where in its stream.
//!
//! Pure: time comes in.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use crate::limits::{BUS_AGAIN_MAX, BUS_AGAIN_MIN, BUS_PLACES_MAX};

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Places {
    /// The last message that the engine has.
    stored: u64,
    /// Where what follows a number begins, both rising.
    places: VecDeque<(u64, u64)>,
    /// A peer lacks what follows this number, and the engine has it no more.
    again: Option<u64>,
    /// When something was last put there again, and how soon it may be the next time.
    said_again: Option<(Instant, Duration)>,
}

impl Places {
    /// The last message that the engine has.
    pub(crate) fn stored(&self) -> u64 {
        self.stored
    }

    /// The engine has the messages up to `last`, and those after `after` from this
    /// place on.
    pub(crate) fn note_stored(&mut self, after: u64, last: u64, sequence: u64) {
        // What is put there again stands in a new place.
        while self.places.back().is_some_and(|(of, _)| *of >= after) {
            self.places.pop_back();
        }
        self.places.push_back((after, sequence));
        if self.places.len() > BUS_PLACES_MAX {
            self.places.pop_front();
        }
        self.stored = last;
    }

    /// All who are linked have the messages up to a number without the engine: the next
    /// ones are told. Whoever comes later does not find these, and says so.
    pub(crate) fn note_heard(&mut self, number: u64) {
        self.stored = self.stored.max(number);
    }

    /// Where a peer finds what follows a number.
    pub(crate) fn after(&self, number: u64) -> u64 {
        let at = self.places.partition_point(|(of, _)| *of <= number);
        let place = self.places.get(at.saturating_sub(1));
        match at {
            0 => 1,
            _ => place.map_or(1, |(_, sequence)| *sequence),
        }
    }

    /// A peer lacks what follows a number, and does not find it. Whether it is put
    /// there again, for all that lack it: ever more seldom while it is asked for, as a
    /// peer that says so without need would fill the engine with all that is kept.
    pub(crate) fn put_again(&mut self, now: Instant, number: u64) -> bool {
        if number >= self.stored {
            return false;
        }
        let pause = match self.said_again {
            None => BUS_AGAIN_MIN,
            Some((said, pause)) => {
                let since = now.saturating_duration_since(said);
                if since < pause {
                    return false;
                }
                let is_long_ago = since >= pause * 4;
                if is_long_ago {
                    BUS_AGAIN_MIN
                } else {
                    (pause * 2).min(BUS_AGAIN_MAX)
                }
            }
        };
        self.said_again = Some((now, pause));
        self.again = Some(number);
        true
    }

    /// What follows a number is put there once more.
    pub(crate) fn tell_again(&mut self, number: u64) {
        self.again = Some(self.again.map_or(number, |of| of.min(number)));
    }

    /// After which message the next is to be put on the engine.
    pub(crate) fn next_after(&mut self) -> u64 {
        if let Some(number) = self.again.take() {
            self.stored = self.stored.min(number);
        }
        self.stored
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_finds_what_it_has_not_heard() {
        let mut places = Places::default();
        assert_eq!((places.after(0), places.next_after()), (1, 0));
        places.note_stored(0, 3, 10);
        places.note_stored(3, 4, 12);
        places.note_stored(4, 9, 20);
        for (heard, at) in [(0, 10), (2, 10), (3, 12), (4, 20), (9, 20)] {
            assert_eq!(places.after(heard), at, "{heard}");
        }
        assert_eq!(places.next_after(), 9);
    }

    #[test]
    fn what_the_engine_has_lost_is_put_there_again_once() {
        let now = Instant::now();
        let mut places = Places::default();
        places.note_stored(0, 3, 10);
        places.note_stored(3, 9, 12);
        assert!(!places.put_again(now, 9));
        assert!(places.put_again(now, 4));
        assert!(!places.put_again(now, 2));
        assert_eq!(places.next_after(), 4);
        places.note_stored(4, 9, 1);
        assert_eq!((places.after(5), places.after(3)), (1, 12));
        assert!(places.put_again(now + BUS_AGAIN_MIN, 2));
        assert_eq!(places.next_after(), 2);
    }

    #[test]
    fn who_asks_again_and_again_is_served_ever_more_seldom() {
        let start = Instant::now();
        let mut places = Places::default();
        places.note_stored(0, 9, 1);
        let ask = |places: &mut Places, second| {
            places.put_again(start + Duration::from_secs(second), second % 8)
        };
        let served = (0..600).filter(|second| ask(&mut places, *second)).count();
        assert!((8..=16).contains(&served), "{served}");
        // Whoever loses something much later does not wait.
        assert!(ask(&mut places, 900));
        assert!(ask(&mut places, 901));
    }

    #[test]
    fn places_are_bounded() {
        let mut places = Places::default();
        for n in 0..2 * BUS_PLACES_MAX as u64 {
            places.note_stored(n, n + 1, n);
        }
        assert_eq!(places.places.len(), BUS_PLACES_MAX);
        assert_eq!(places.after(0), 1);
    }
}
