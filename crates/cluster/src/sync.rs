//! How two masters come to the same registers: each regularly sends digests of its
//! own; where they differ, both send their entries.
//!
//! A state machine without sockets. The next digest makes up for losses, and
//! repeated or late messages do no harm.

use std::collections::{BTreeMap, VecDeque};
use std::time::Instant;

use halite_proto::{MinionId, Value};

use crate::clock::{Stamp, check};
use crate::delta::{Delta, Digest};
use crate::encoding::{DecodeError, Items, expected};
use crate::limits::{DIGEST_EVERY, TOLD_AT_ONCE_MAX};
use crate::peer::PeerId;
use crate::registers::{MergeError, Merged, Registers};

/// What masters say to each other about their registers.
#[derive(Clone, Debug)]
pub enum Message {
    /// What the sender's registers are compared by.
    Digest(Box<Digest>),
    /// A part of them. With `answer`, the other one is to send its own part.
    Delta {
        /// The part.
        delta: Box<Delta>,
        /// Whether the sender wants the same groups back.
        answer: bool,
    },
}

impl Message {
    /// As it is sent.
    pub fn to_value(&self) -> Value {
        match self {
            Self::Digest(digest) => Value::List(vec![Value::from(0), digest.to_value()]),
            Self::Delta { delta, answer } => {
                Value::List(vec![Value::from(1), delta.to_value(), (*answer).into()])
            }
        }
    }

    /// Reads what another master has sent.
    ///
    /// # Errors
    /// When it is nothing that masters say.
    pub fn from_value(value: Value) -> Result<Self, DecodeError> {
        let mut items = Items::of(value)?;
        match items.number("kind of message")? {
            0 => Ok(Self::Digest(Box::new(Digest::from_value(
                items.value("digest")?,
            )?))),
            1 => Ok(Self::Delta {
                delta: Box::new(Delta::from_value(items.value("delta")?)?),
                answer: items.bool("answer")?,
            }),
            _ => Err(expected("kind of message")),
        }
    }
}

/// What is to be done.
#[derive(Clone, Debug)]
pub enum Output {
    /// Send a message to a master.
    Send(PeerId, Message),
}

/// What one connected master is known to have.
#[derive(Clone, Debug, Default)]
struct Link {
    next_digest: Option<Instant>,
}

/// The machine of one master.
#[derive(Debug, Default)]
pub struct Sync {
    links: BTreeMap<PeerId, Link>,
    /// For each master: up to which moment it has what each other one had.
    seen: BTreeMap<PeerId, BTreeMap<PeerId, Stamp>>,
    outputs: VecDeque<Output>,
}

impl Sync {
    /// A machine without connections.
    pub fn new() -> Self {
        Self::default()
    }

    /// There is a link to a master.
    pub fn connected(&mut self, now: Instant, peer: PeerId) {
        let link = Link {
            next_digest: Some(now),
        };
        self.links.insert(peer, link);
    }

    /// There is none any more.
    pub fn disconnected(&mut self, peer: &PeerId) {
        self.links.remove(peer);
    }

    /// Something was decided here: all that are connected are told.
    pub fn tell(&mut self, delta: &Delta) {
        for peer in self.links.keys() {
            let message = Message::Delta {
                delta: Box::new(delta.clone()),
                answer: false,
            };
            self.outputs.push_back(Output::Send(peer.clone(), message));
        }
    }

    /// Takes what a master has said, at `wall` microseconds since 1970.
    ///
    /// # Errors
    /// When that master's clock is too far ahead.
    pub fn heard(
        &mut self,
        registers: &mut Registers,
        from: &PeerId,
        message: Message,
        wall: u64,
    ) -> Result<Merged, MergeError> {
        match message {
            Message::Digest(digest) => {
                check(digest.latest(), wall)?;
                self.compare(registers, from, &digest, wall);
                Ok(Merged::default())
            }
            Message::Delta { delta, answer } => {
                let whole = delta.whole.clone();
                let asked = (!delta.members.is_empty(), delta.publish.is_some());
                let merged = registers.merge(*delta, wall)?;
                if answer {
                    let delta = registers.answer(&whole, asked);
                    self.send(from, delta, false);
                }
                Ok(merged)
            }
        }
    }

    /// What is due now.
    pub fn poll(&mut self, registers: &mut Registers, now: Instant, wall: u64) -> Option<Output> {
        if let Some(output) = self.outputs.pop_front() {
            return Some(output);
        }
        let is_due = |link: &Link| link.next_digest.is_some_and(|next| next <= now);
        let (peer, link) = self.links.iter_mut().find(|(_, link)| is_due(link))?;
        link.next_digest = Some(now + DIGEST_EVERY);
        let peer = peer.clone();
        let digest = self.digest(registers, wall);
        Some(Output::Send(peer, Message::Digest(Box::new(digest))))
    }

    /// When to poll again.
    pub fn next_timeout(&self) -> Option<Instant> {
        self.links
            .values()
            .filter_map(|link| link.next_digest)
            .min()
    }

    /// Whether these registers were the same as another master's since the
    /// machine began.
    pub fn has_agreed(&self, registers: &Registers) -> bool {
        let seen = self.seen.get(registers.me());
        seen.is_some_and(|seen| !seen.is_empty())
    }

    fn digest(&self, registers: &mut Registers, wall: u64) -> Digest {
        let seen = self.seen.get(registers.me()).cloned().unwrap_or_default();
        registers.digest(wall, seen)
    }

    fn compare(&mut self, registers: &mut Registers, from: &PeerId, theirs: &Digest, wall: u64) {
        registers.hear(theirs.latest(), wall);
        self.seen.insert(from.clone(), theirs.seen.clone());
        let ours = self.digest(registers, wall);
        if !ours.is_same(theirs) {
            for delta in registers.lacking(&ours, theirs) {
                self.send(from, delta, true);
            }
            return;
        }
        let me = registers.me().clone();
        let seen = self.seen.entry(me).or_default();
        seen.insert(from.clone(), theirs.at);
        registers.raise_floor(theirs.floor);
        if let Some(floor) = self.common(registers) {
            registers.raise_floor(floor);
        }
    }

    /// Up to which moment each member has what every other one had.
    fn common(&self, registers: &Registers) -> Option<Stamp> {
        let members: Vec<&PeerId> = registers.members().map(|(id, ..)| id).collect();
        let mut common: Option<Stamp> = None;
        for one in &members {
            for other in members.iter().filter(|other| other != &one) {
                let seen = *self.seen.get(*one)?.get(*other)?;
                common = Some(common.map_or(seen, |common| common.min(seen)));
            }
        }
        common
    }

    fn send(&mut self, to: &PeerId, delta: Delta, answer: bool) {
        let delta = Box::new(delta);
        let message = Message::Delta { delta, answer };
        self.outputs.push_back(Output::Send(to.clone(), message));
    }

    /// Tells what is new of these ids at once. More than [`TOLD_AT_ONCE_MAX`] are
    /// left to the next digest, which sends them in parts.
    pub fn tell_keys(&mut self, registers: &Registers, ids: &[MinionId]) {
        if ids.len() > TOLD_AT_ONCE_MAX {
            return;
        }
        let delta = registers.some(ids, [], false);
        if !delta.is_empty() {
            self.tell(&delta);
        }
    }
}
