//! Which master does what only one of a cluster is to do.
//!
//! The holder of a lease says so twice a second. When it has not been heard for
//! [`LEASE_HELD_FOR`], the others wait for each other in the order of their
//! names, and the first takes it. There is no vote: where a cluster is cut in
//! two, each half has a holder, and when they hear each other again the one
//! with the lower term gives way and both know of it.
//!
//! A holder that was stopped for a while finds by the clock that its lease has
//! run out, and does nothing until it has listened.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::{Duration, Instant};

use halite_proto::Value;

use crate::encoding::{DecodeError, Items};
use crate::limits::{LEASE_HELD_FOR, LEASE_SAID_EVERY, LEASE_STAGGER, LEASE_STAGGER_MAX};
use crate::peer::PeerId;

/// That a master holds the lease. Each takeover has a higher term.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Claim {
    /// Grows with each takeover.
    pub term: u64,
    /// Who holds it.
    pub holder: PeerId,
}

impl Claim {
    /// As it is sent.
    pub fn to_value(&self) -> Value {
        Value::List(vec![self.term.into(), (&self.holder).into()])
    }

    /// Reads what a master has sent.
    ///
    /// # Errors
    /// When it is not a claim.
    pub fn from_value(value: Value) -> Result<Self, DecodeError> {
        let mut items = Items::of(value)?;
        Ok(Self {
            term: items.number("term")?,
            holder: items.peer()?,
        })
    }

    /// Of two claims the higher term counts, then the lower name.
    fn beats(&self, other: &Self) -> bool {
        self.term > other.term || (self.term == other.term && self.holder < other.holder)
    }
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    /// Begin to do what the holder does.
    Begin,
    /// End that at once.
    End,
    /// Tell all members.
    Say(Claim),
    /// Another master has held the lease at the same time as this one; which of
    /// them goes on is in `goes_on`.
    Met {
        /// The other holder.
        other: PeerId,
        /// Who holds it from now on.
        goes_on: PeerId,
    },
}

/// The lease as one master sees it.
#[derive(Debug)]
pub struct Lease {
    me: PeerId,
    connected: BTreeSet<PeerId>,
    /// The claim that counts, and until when without another word.
    held: Option<(Claim, Instant)>,
    /// The highest term that was heard of.
    term: u64,
    /// When this master takes the lease if nobody says that they hold it.
    vacant_since: Instant,
    next_word: Instant,
    /// Other holders that were reported, until they are heard no more.
    met: BTreeMap<PeerId, Instant>,
    may_hold: bool,
    outputs: VecDeque<Output>,
}

impl Lease {
    /// The lease at the start of a master: it listens first.
    pub fn new(me: PeerId, now: Instant) -> Self {
        Self {
            me,
            connected: BTreeSet::new(),
            held: None,
            term: 0,
            vacant_since: now,
            next_word: now,
            met: BTreeMap::new(),
            may_hold: true,
            outputs: VecDeque::new(),
        }
    }

    /// Whether this master holds the lease now.
    pub fn is_mine(&self, now: Instant) -> bool {
        let holds = |(claim, until): &(Claim, Instant)| claim.holder == self.me && now < *until;
        self.held.as_ref().is_some_and(holds)
    }

    /// Who holds the lease, as far as this master knows.
    pub fn holder(&self, now: Instant) -> Option<&Claim> {
        let held = self.held.as_ref();
        held.filter(|(_, until)| now < *until)
            .map(|(claim, _)| claim)
    }

    /// There is a link to a member.
    pub fn connected(&mut self, peer: PeerId) {
        self.connected.insert(peer);
    }

    /// There is none any more.
    pub fn disconnected(&mut self, peer: &PeerId) {
        self.connected.remove(peer);
    }

    /// Whether this master may hold the lease: not while it drains, or cannot
    /// serve.
    pub fn allow(&mut self, now: Instant, may_hold: bool) {
        self.may_hold = may_hold;
        if !may_hold && self.is_mine(now) {
            self.give_up(now);
        }
    }

    /// A member says that it holds the lease.
    pub fn heard(&mut self, now: Instant, claim: Claim) {
        self.lapse(now);
        self.term = self.term.max(claim.term);
        let until = now + LEASE_HELD_FOR;
        let was_mine = self.is_mine(now) && claim.holder != self.me;
        let beaten = self
            .holder(now)
            .is_some_and(|ours| ours != &claim && !claim.beats(ours));
        if was_mine {
            let goes_on = if beaten { &self.me } else { &claim.holder };
            self.report(now, claim.holder.clone(), goes_on.clone());
        }
        if beaten {
            return;
        }
        if was_mine {
            self.outputs.push_back(Output::End);
        }
        self.held = Some((claim, until));
        self.vacant_since = until;
    }

    /// What is due now.
    pub fn poll(&mut self, now: Instant) -> Option<Output> {
        self.lapse(now);
        if let Some(output) = self.outputs.pop_front() {
            return Some(output);
        }
        if self.is_mine(now) {
            if now < self.next_word {
                return None;
            }
            return Some(self.say(now));
        }
        if self.may_hold && self.held.is_none() && now >= self.take_at() {
            self.term = self.term.saturating_add(1);
            self.held = Some((
                Claim {
                    term: self.term,
                    holder: self.me.clone(),
                },
                now + LEASE_HELD_FOR,
            ));
            self.outputs.push_back(self.claim());
            self.next_word = now + LEASE_SAID_EVERY;
            return Some(Output::Begin);
        }
        None
    }

    /// When to poll again.
    pub fn next_timeout(&self) -> Instant {
        match &self.held {
            Some((claim, until)) if claim.holder == self.me => self.next_word.min(*until),
            Some((_, until)) => *until,
            None => self.take_at(),
        }
    }

    /// A lease that has run out is nobody's; one of this master's own ran out
    /// because it was stopped, and it listens before it takes another.
    fn lapse(&mut self, now: Instant) {
        let Some((claim, until)) = &self.held else {
            return;
        };
        if now < *until {
            return;
        }
        let was_mine = claim.holder == self.me;
        self.vacant_since = if was_mine {
            now + LEASE_HELD_FOR
        } else {
            *until
        };
        self.held = None;
        if was_mine {
            self.outputs.push_back(Output::End);
        }
    }

    fn give_up(&mut self, now: Instant) {
        self.held = None;
        self.vacant_since = now;
        self.outputs.push_back(Output::End);
    }

    /// The members before this one in the order of names go first. One that has
    /// just begun, or has been away, listens as long as a lease is held.
    fn take_at(&self) -> Instant {
        let before = self.connected.range(..self.me.clone()).count();
        let before = u32::try_from(before).unwrap_or(u32::MAX);
        let stagger = LEASE_STAGGER.saturating_mul(before).min(LEASE_STAGGER_MAX);
        let listen = match self.term {
            0 => LEASE_HELD_FOR,
            _ => Duration::ZERO,
        };
        self.vacant_since + listen + stagger
    }

    fn claim(&self) -> Output {
        Output::Say(Claim {
            term: self.term,
            holder: self.me.clone(),
        })
    }

    fn say(&mut self, now: Instant) -> Output {
        self.next_word = now + LEASE_SAID_EVERY;
        if let Some((_, until)) = &mut self.held {
            *until = now + LEASE_HELD_FOR;
        }
        match &self.held {
            Some((claim, _)) => Output::Say(claim.clone()),
            None => self.claim(),
        }
    }

    fn report(&mut self, now: Instant, other: PeerId, goes_on: PeerId) {
        let is_new = self.met.get(&other).is_none_or(|until| now >= *until);
        self.met.insert(other.clone(), now + LEASE_HELD_FOR);
        self.met.retain(|_, until| now < *until);
        if is_new {
            self.outputs.push_back(Output::Met { other, goes_on });
        }
    }
}

#[cfg(test)]
mod tests;
