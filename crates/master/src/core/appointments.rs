//! Appointments of sign-ins that were asked to come again: which were given, and whether
//! somebody who comes has one now.
//!
//! Invariant: an appointment is kept once, neither before its time nor long after it.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use crate::limits::{APPOINTMENT_LATE_MAX, APPOINTMENTS_MAX};

/// What somebody with an appointment finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Visit {
    /// It is time.
    InTime,
    /// It is time after so long.
    Early(Duration),
    /// There is no such appointment any more.
    Over,
}

/// The appointments of a process, by their numbers.
#[derive(Debug, Default)]
pub struct Appointments {
    /// The number of the first of those that are not over.
    first: u64,
    given: VecDeque<Given>,
}

#[derive(Debug)]
struct Given {
    at: Instant,
    is_kept: bool,
}

impl Appointments {
    /// Gives the one at this time, which no earlier one is after; its number. `None` if
    /// there are too many.
    pub fn give(&mut self, now: Instant, at: Instant) -> Option<u64> {
        self.forget(now);
        if self.given.len() >= APPOINTMENTS_MAX {
            return None;
        }
        let number = self.first + u64::try_from(self.given.len()).ok()?;
        let is_kept = false;
        self.given.push_back(Given { at, is_kept });
        Some(number)
    }

    /// Somebody comes with the appointment of this number.
    pub fn visit(&mut self, now: Instant, number: u64) -> Visit {
        self.forget(now);
        let index = number.checked_sub(self.first);
        let index = index.and_then(|index| usize::try_from(index).ok());
        match index.and_then(|index| self.given.get_mut(index)) {
            None | Some(Given { is_kept: true, .. }) => Visit::Over,
            Some(given) if now < given.at => Visit::Early(given.at - now),
            Some(given) => {
                given.is_kept = true;
                Visit::InTime
            }
        }
    }

    /// Forgets those that are over.
    pub fn forget(&mut self, now: Instant) {
        let is_over = |given: &Given| given.at + APPOINTMENT_LATE_MAX < now;
        while self.given.front().is_some_and(is_over) {
            self.given.pop_front();
            self.first += 1;
        }
        if self.given.is_empty() {
            // The memory of an overload is not kept.
            self.given = VecDeque::new();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: fn(u64) -> Duration = Duration::from_secs;

    #[test]
    fn an_appointment_is_kept_once_and_at_its_time() {
        let now = Instant::now();
        let mut appointments = Appointments::default();
        let given = [5, 6, 7].map(|at| appointments.give(now, now + S(at)));
        assert_eq!(given, [Some(0), Some(1), Some(2)]);
        assert_eq!(appointments.visit(now + S(2), 1), Visit::Early(S(4)));
        assert_eq!(appointments.visit(now + S(6), 1), Visit::InTime);
        assert_eq!(appointments.visit(now + S(6), 1), Visit::Over);
        for unknown in [3, u64::MAX] {
            assert_eq!(appointments.visit(now + S(6), unknown), Visit::Over);
        }
        let last = now + S(7) + APPOINTMENT_LATE_MAX;
        assert_eq!(appointments.visit(last, 0), Visit::Over);
        assert_eq!(appointments.visit(last, 2), Visit::InTime);
        // The numbers go on where all are over.
        assert_eq!(appointments.give(last + S(1), last + S(9)), Some(3));
        assert_eq!(appointments.given.len(), 1);
        assert_eq!(appointments.visit(last + S(9), 3), Visit::InTime);
    }

    #[test]
    fn there_are_so_many_appointments_and_no_more() {
        let now = Instant::now();
        let mut appointments = Appointments::default();
        for _ in 0..APPOINTMENTS_MAX {
            assert!(appointments.give(now, now + S(5)).is_some());
        }
        assert_eq!(appointments.give(now, now + S(5)), None);
        appointments.forget(now + S(6) + APPOINTMENT_LATE_MAX);
        assert_eq!(appointments.given.capacity(), 0);
    }
}
