//! When the master is asked about silent minions, and its answers.

use std::future::Future;
use std::pin::Pin;
use std::time::{Duration, Instant};

use halite_proto::Jid;

use super::silence::Silence;

/// How often the master is asked who is connected while minions are silent:
/// soon, since a minion that is gone need not be waited for, then less often.
const FIRST_LOOK: Duration = Duration::from_millis(250);
const NEXT_LOOK: Duration = Duration::from_secs(1);
const LATER_LOOK: Duration = Duration::from_secs(5);
const LOOKS_SOON: u32 = 10;

/// How often the master is asked for returns where the bus is not heard.
const POLL: Duration = Duration::from_millis(100);

/// What the master has said of the silent minions, and when it is asked again.
pub(super) struct Look<'a> {
    pub(super) known: Option<Silence>,
    /// `None` where there is nothing to ask.
    pub(super) next: Option<Instant>,
    looks: u32,
    pub(super) asking: Option<Pin<Box<dyn Future<Output = Option<Silence>> + Send + 'a>>>,
    /// The last question, when nobody is waited for any more.
    pub(super) is_final: bool,
    /// The jobs whose returns are asked for, where the bus is not heard.
    pub(super) polled: Vec<Jid>,
    /// Whether the master has said that it is one of Halite, which knows why
    /// minions are silent.
    pub(super) master_is_ours: bool,
}

impl Look<'_> {
    /// A master of Salt's would log the question as an error: one that has not
    /// said what it is, is asked only where nothing else brings the returns.
    pub(super) fn new(polled: Vec<Jid>, master_is_ours: bool) -> Self {
        let first = match (polled.is_empty(), master_is_ours) {
            (false, _) => Some(POLL),
            (true, true) => Some(FIRST_LOOK),
            (true, false) => None,
        };
        Self {
            polled,
            known: None,
            next: first.map(|pause| Instant::now() + pause),
            looks: 0,
            asking: None,
            is_final: false,
            master_is_ours,
        }
    }

    pub(super) fn taken(&mut self, answer: Option<Silence>) {
        self.asking = None;
        self.looks += 1;
        // Only such a master knows the answer.
        self.master_is_ours |= answer.is_some();
        // A busy master may give no answer, and is the only way to the returns.
        let is_asked_on = answer.is_some() || (self.master_is_ours && !self.polled.is_empty());
        self.next = is_asked_on.then(|| {
            let pause = match self.looks < LOOKS_SOON {
                _ if !self.polled.is_empty() => POLL,
                true => NEXT_LOOK,
                false => LATER_LOOK,
            };
            Instant::now() + pause
        });
        self.known = answer.or_else(|| self.known.take());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn returns_are_asked_for_whatever_is_known_of_the_master() {
        let polled = || vec![Jid::parse("20261120141841939742").unwrap()];
        for master_is_ours in [true, false] {
            let mut look = Look::new(polled(), master_is_ours);
            assert!(look.next.is_some());
            look.taken(Some(Silence::default()));
            assert!(look.next.is_some() && look.master_is_ours);
            // One that has no time is asked again.
            look.taken(None);
            assert!(look.next.is_some());
        }
        // A master of Salt's is asked once.
        let mut look = Look::new(polled(), false);
        look.taken(None);
        assert_eq!(look.next, None);
        // Why minions are silent only a Halite master is asked.
        assert!(Look::new(Vec::new(), true).next.is_some());
        assert_eq!(Look::new(Vec::new(), false).next, None);
    }
}
