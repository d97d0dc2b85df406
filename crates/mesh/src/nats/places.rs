//! How far a master's log is on the engine, and where in its stream.
//!
//! Pure: time comes in.

use std::collections::VecDeque;
use std::time::Instant;

use crate::limits::{BUS_AGAIN_EVERY, BUS_PLACES_MAX};

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Places {
    /// The last message that the engine has.
    stored: u64,
    /// Where what follows a number begins, both rising.
    places: VecDeque<(u64, u64)>,
    /// A peer lacks what follows this number, and the engine has it no more.
    again: Option<u64>,
    said_again: Option<Instant>,
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
    /// there again, which is done once in a while, for all that lack it.
    pub(crate) fn put_again(&mut self, now: Instant, number: u64) -> bool {
        let is_soon = self
            .said_again
            .is_some_and(|said| now.saturating_duration_since(said) < BUS_AGAIN_EVERY);
        if is_soon || number >= self.stored {
            return false;
        }
        self.said_again = Some(now);
        self.again = Some(number);
        true
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
        assert!(places.put_again(now + BUS_AGAIN_EVERY, 2));
        assert_eq!(places.next_after(), 2);
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
