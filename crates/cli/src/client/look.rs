//! When the master is asked about silent minions, and what it has said.

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
    /// `None` where the master does not know the question.
    pub(super) next: Option<Instant>,
    looks: u32,
    pub(super) asking: Option<Pin<Box<dyn Future<Output = Option<Silence>> + 'a>>>,
    /// The last question, when nobody is waited for any more.
    pub(super) is_final: bool,
    /// The jobs whose returns are asked for, where the bus is not heard.
    pub(super) polled: Vec<Jid>,
}

impl Look<'_> {
    pub(super) fn new(polled: Vec<Jid>) -> Self {
        let first = match polled.is_empty() {
            true => FIRST_LOOK,
            false => POLL,
        };
        Self {
            polled,
            known: None,
            next: Some(Instant::now() + first),
            looks: 0,
            asking: None,
            is_final: false,
        }
    }

    /// Of a master that does not know the question: it would log it as an error.
    pub(super) fn none(polled: Vec<Jid>) -> Self {
        Self {
            next: None,
            ..Self::new(polled)
        }
    }

    pub(super) fn taken(&mut self, answer: Option<Silence>) {
        self.asking = None;
        self.looks += 1;
        self.next = answer.as_ref().map(|_| {
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
