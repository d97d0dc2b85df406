//! The lease on what one master of a cluster does, if an arbiter keeps it: a
//! register that the arbiter changes for a caller that names its current serial
//! number.
//!
//! Pure: time comes in. Invariant: two processes never hold it at once, as long as
//! the register keeps its numbers and the clocks of masters run at about the same
//! pace. The holder stops [`LEASE_HELD_FOR`] after its last successful *request*,
//! and nobody else takes it before it was seen unchanged for [`LEASE_STALE_AFTER`].

use std::time::Instant;

use crate::limits::{LEASE_HELD_FOR, LEASE_STALE_AFTER};

const _: () = assert!(LEASE_HELD_FOR.as_millis() < LEASE_STALE_AFTER.as_millis());

/// The register kept by the arbiter: without a number before it was first set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Register {
    pub(crate) serial: u64,
    /// The life that holds it; empty if nobody does.
    pub(crate) holder: String,
}

/// The next request to the arbiter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Read,
    /// Set the register to this process, if it has this value.
    Take(Register),
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Lease {
    /// This life of this master.
    own: String,
    /// The register as last seen, and since when.
    seen: Option<(Register, Instant)>,
    held_until: Option<Instant>,
}

impl Lease {
    pub(crate) fn new(own: String) -> Self {
        Self {
            own,
            seen: None,
            held_until: None,
        }
    }

    /// Whether this master holds it.
    pub(crate) fn is_held(&self, now: Instant) -> bool {
        self.held_until.is_some_and(|until| now < until)
    }

    /// The holder as far as is known; empty if there is none.
    pub(crate) fn holder(&self, now: Instant) -> &str {
        match &self.seen {
            Some((of, _)) if of.holder != self.own || self.is_held(now) => &of.holder,
            _ => "",
        }
    }

    pub(crate) fn next_step(&self, now: Instant) -> Step {
        let Some((register, since)) = &self.seen else {
            return Step::Read;
        };
        let is_own = register.holder == self.own;
        let is_given_up = register.serial > 0 && register.holder.is_empty();
        let is_stale = now.saturating_duration_since(*since) >= LEASE_STALE_AFTER;
        if is_own || is_given_up || is_stale {
            return Step::Take(register.clone());
        }
        Step::Read
    }

    /// The arbiter has said what the register is.
    pub(crate) fn note_read(&mut self, now: Instant, register: Register) {
        if register.holder != self.own {
            self.held_until = None;
        }
        let is_same = self.seen.as_ref().is_some_and(|(of, _)| *of == register);
        if !is_same {
            self.seen = Some((register, now));
        }
    }

    /// The register was set to our own life, and has this number; asked for at this time.
    pub(crate) fn note_taken(&mut self, asked: Instant, serial: u64) {
        let holder = self.own.clone();
        self.seen = Some((Register { serial, holder }, asked));
        self.held_until = Some(asked + LEASE_HELD_FOR);
    }

    /// The register has another number by now: somebody else was faster.
    pub(crate) fn note_refused(&mut self) {
        self.seen = None;
        self.held_until = None;
    }

    /// No answer: it is no longer certain that another master's register is unchanged. A
    /// lease held by this master expires by itself.
    pub(crate) fn note_failed(&mut self) {
        if self
            .seen
            .as_ref()
            .is_some_and(|(of, _)| of.holder != self.own)
        {
            self.seen = None;
        }
    }

    /// Releases the lease; returns the register that is to be emptied.
    pub(crate) fn give_up(&mut self) -> Option<Register> {
        self.held_until = None;
        let (register, _) = self.seen.take()?;
        (register.holder == self.own).then_some(register)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;

    const TICK: Duration = Duration::from_millis(500);

    fn register(serial: u64, holder: &str) -> Register {
        Register {
            serial,
            holder: holder.to_owned(),
        }
    }

    #[test]
    fn it_is_taken_when_nobody_renews_it_and_kept_by_renewing() {
        let begun = Instant::now();
        let mut lease = Lease::new("m1".to_owned());
        assert_eq!(lease.next_step(begun), Step::Read);
        lease.note_read(begun, register(7, "m2"));
        assert_eq!(
            (lease.next_step(begun + TICK), lease.holder(begun)),
            (Step::Read, "m2")
        );
        // Its number goes on.
        lease.note_read(begun + 2 * TICK, register(8, "m2"));
        let stale = begun + 2 * TICK + LEASE_STALE_AFTER;
        assert_eq!(lease.next_step(stale - TICK), Step::Read);
        assert_eq!(lease.next_step(stale), Step::Take(register(8, "m2")));
        assert!(!lease.is_held(stale));
        lease.note_taken(stale, 9);
        assert!(lease.is_held(stale) && lease.holder(stale) == "m1");
        let own = Step::Take(register(9, "m1"));
        assert_eq!(lease.next_step(stale + TICK), own);
        lease.note_failed();
        assert!(lease.is_held(stale + LEASE_HELD_FOR - TICK));
        assert!(!lease.is_held(stale + LEASE_HELD_FOR));
        assert_eq!(lease.holder(stale + LEASE_HELD_FOR), "");
        // The answer was lost, and nobody has it.
        assert_eq!(lease.next_step(stale + LEASE_HELD_FOR), own);
    }

    #[test]
    fn what_was_not_looked_at_is_not_unchanged() {
        let begun = Instant::now();
        let mut lease = Lease::new("m1".to_owned());
        lease.note_read(begun, register(7, "m2"));
        lease.note_failed();
        assert_eq!(lease.next_step(begun + LEASE_STALE_AFTER), Step::Read);
        lease.note_read(begun + LEASE_STALE_AFTER, register(7, "m2"));
        assert_eq!(
            lease.next_step(begun + LEASE_STALE_AFTER + TICK),
            Step::Read
        );
    }

    #[test]
    fn what_is_given_up_is_taken_at_once_and_what_never_was_is_not() {
        let begun = Instant::now();
        let mut lease = Lease::new("m1".to_owned());
        lease.note_read(begun, register(0, ""));
        assert_eq!(lease.next_step(begun), Step::Read);
        lease.note_read(begun, register(3, ""));
        assert_eq!(lease.next_step(begun), Step::Take(register(3, "")));
        lease.note_taken(begun, 4);
        assert_eq!(lease.give_up(), Some(register(4, "m1")));
        assert!(!lease.is_held(begun));
        lease.note_read(begun, register(5, "m2"));
        assert_eq!(lease.give_up(), None);
    }

    #[test]
    fn who_is_overtaken_holds_nothing() {
        let begun = Instant::now();
        let mut lease = Lease::new("m1".to_owned());
        lease.note_taken(begun, 4);
        lease.note_refused();
        assert!(!lease.is_held(begun));
        lease.note_taken(begun, 6);
        lease.note_read(begun, register(7, "m2"));
        assert!(!lease.is_held(begun));
    }

    /// What becomes of a question.
    #[derive(Clone, Copy, Debug)]
    struct Question {
        /// From the master to the arbiter, and back: milliseconds; lost if there is none.
        there: Option<u64>,
        back: Option<u64>,
        /// Before the next question.
        pause: u64,
    }

    fn question() -> impl Strategy<Value = Question> {
        let way = || prop_oneof![12 => (0u64..300).prop_map(Some), 1 => Just(None)];
        (
            way(),
            way(),
            prop_oneof![12 => 400u64..700, 1 => 3000u64..8000],
        )
            .prop_map(|(there, back, pause)| Question { there, back, pause })
    }

    /// Something that happens.
    enum Event {
        Asks(usize),
        Arrives(usize, Instant, Step, Option<u64>),
        Answered(usize, Instant, Result<Register, Option<u64>>),
        Fails(usize),
    }

    /// How long a master waits for an answer.
    const PATIENCE: u64 = 1000;

    proptest! {
        /// However long messages take, whichever are lost, and whoever sleeps.
        #[test]
        fn no_two_hold_it_at_a_time(
            asked in prop::collection::vec(prop::collection::vec(question(), 150), 3),
        ) {
            let begun = Instant::now();
            let at = |ms: u64| begun + Duration::from_millis(ms);
            let mut leases: Vec<Lease> = (0..3).map(|n| Lease::new(format!("m{n}"))).collect();
            let mut next: Vec<_> = asked.into_iter().map(Vec::into_iter).collect();
            let mut kept = register(0, "");
            let mut events = std::collections::BTreeMap::new();
            let mut order = 0u64;
            let mut add = |events: &mut std::collections::BTreeMap<(u64, u64), Event>, ms, event| {
                order += 1;
                events.insert((ms, order), event);
            };
            for n in 0..3 {
                add(&mut events, 0, Event::Asks(n));
            }
            while let Some(((ms, _), event)) = events.pop_first() {
                match event {
                    Event::Asks(n) => {
                        let Some(question) = next[n].next() else { continue };
                        let step = leases[n].next_step(at(ms));
                        let there = question.there.unwrap_or(u64::MAX / 4);
                        let all = question.back.map_or(u64::MAX / 4, |back| there + back);
                        if question.there.is_some() {
                            let back = question.back.filter(|_| all <= PATIENCE);
                            add(&mut events, ms + there, Event::Arrives(n, at(ms), step, back));
                        }
                        if all > PATIENCE {
                            add(&mut events, ms + PATIENCE, Event::Fails(n));
                        }
                        add(&mut events, ms + all.min(PATIENCE) + question.pause, Event::Asks(n));
                    }
                    Event::Arrives(n, asked, step, back) => {
                        let answer = match step {
                            Step::Read => Ok(kept.clone()),
                            Step::Take(of) if of == kept => {
                                kept = register(of.serial + 1, &format!("m{n}"));
                                Err(Some(kept.serial))
                            }
                            Step::Take(_) => Err(None),
                        };
                        if let Some(back) = back {
                            add(&mut events, ms + back, Event::Answered(n, asked, answer));
                        }
                    }
                    Event::Answered(n, asked, answer) => match answer {
                        Ok(register) => leases[n].note_read(at(ms), register),
                        Err(Some(serial)) => leases[n].note_taken(asked, serial),
                        Err(None) => leases[n].note_refused(),
                    },
                    Event::Fails(n) => leases[n].note_failed(),
                }
                let held = leases.iter().filter(|lease| lease.is_held(at(ms))).count();
                prop_assert!(held <= 1, "{held} hold it after {ms} ms");
            }
        }
    }
}
