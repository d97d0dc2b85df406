//! The registers of one master: minion keys, the members of the cluster, and the
//! publish key.

mod decide;
mod merge;

use std::collections::BTreeMap;

use halite_proto::MinionId;
use thiserror::Error;

use crate::clock::{ClockAhead, HybridClock, Stamp};
use crate::delta::{Delta, Digest};
use crate::encoding::DecodeError;
use crate::entry::{Entry, Grant, GrantKind, Standing};
use crate::limits::{BUCKETS, DELTA_BYTES_SOFT_MAX, ENTRIES_MAX};
use crate::peer::PeerId;
use crate::publish_key::PublishKey;
use crate::table::{Table, weight};

pub use decide::Decision;
pub use merge::Merged;

/// Why a decision is not kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum RegisterError {
    /// There is no room for another name.
    #[error("the registers are full: they hold {max} {what}, including deleted ones")]
    Full {
        /// Names of what.
        what: &'static str,
        /// How many there may be.
        max: usize,
    },
    /// A text is longer than any that is used.
    #[error("the {what} is longer than {max} bytes")]
    TooLong {
        /// Which text.
        what: &'static str,
        /// How long it may be.
        max: usize,
    },
}

/// Why what another master says is not taken.
#[derive(Debug, Error)]
pub enum MergeError {
    /// It is from the future.
    #[error("its data is refused")]
    Ahead(#[from] ClockAhead),
    /// It is not what masters say.
    #[error("its data is unreadable")]
    Unreadable(#[from] DecodeError),
}

/// The registers of one master.
#[derive(Clone, Debug)]
pub struct Registers {
    me: PeerId,
    clock: HybridClock,
    keys: Table<MinionId>,
    members: Table<PeerId>,
    publish: Option<PublishKey>,
    /// Tombstones up to this moment are known to all members and forgotten.
    floor: Stamp,
}

impl Registers {
    /// The empty registers of the master `me`.
    pub fn new(me: PeerId) -> Self {
        Self {
            me,
            clock: HybridClock::default(),
            keys: Table::new(),
            members: Table::new(),
            publish: None,
            floor: Stamp::default(),
        }
    }

    /// The master they belong to.
    pub fn me(&self) -> &PeerId {
        &self.me
    }

    /// Where a minion's key stands.
    pub fn key(&self, id: &MinionId) -> Standing<'_> {
        self.keys.get(id).map_or(Standing::Absent, Entry::standing)
    }

    /// Who has granted what a minion has, if anybody has.
    pub fn grant(&self, id: &MinionId) -> Option<&Grant> {
        self.keys.get(id)?.grant.as_ref()
    }

    /// The key that came for a minion's id that has another one.
    pub fn denied_key(&self, id: &MinionId) -> Option<&str> {
        self.keys.get(id)?.denied_key()
    }

    /// All minions that are known, deleted ones included, by name.
    pub fn minions(&self) -> impl Iterator<Item = (&MinionId, Standing<'_>)> {
        self.keys.iter().map(|(id, entry)| (id, entry.standing()))
    }

    /// How many names of minions are kept, and how many of them are deleted.
    pub fn key_counts(&self) -> (usize, usize) {
        let tombstones = self.keys.iter().filter(|(_, entry)| entry.is_tombstone());
        (self.keys.len(), tombstones.count())
    }

    /// The members of the cluster by name: public key and address.
    pub fn members(&self) -> impl Iterator<Item = (&PeerId, &str, &str)> {
        self.members.iter().filter_map(|(id, entry)| {
            let grant = entry.grant.as_ref();
            let grant = grant.filter(|grant| grant.kind == GrantKind::Accepted)?;
            Some((id, grant.key.as_str(), grant.address.as_str()))
        })
    }

    /// Whether a master is a member.
    pub fn is_member(&self, id: &PeerId) -> bool {
        self.members().any(|(member, ..)| member == id)
    }

    /// Whether a master was a member and is none any more.
    pub fn was_removed(&self, id: &PeerId) -> bool {
        !self.is_member(id) && self.members.get(id).is_some()
    }

    /// The masters that were members and are none any more.
    pub fn removed(&self) -> impl Iterator<Item = &PeerId> {
        let members = self.members.iter();
        let gone = members.filter(|(_, entry)| entry.grant.is_none());
        gone.map(|(id, _)| id)
    }

    /// The publish key of the cluster.
    pub fn publish_key(&self) -> Option<&PublishKey> {
        self.publish.as_ref()
    }

    /// Whether somebody was revoked of whom the maker of the publish key had not
    /// heard, and who may have it.
    pub fn is_publish_key_stale(&self) -> bool {
        let covers = self.publish.as_ref().map(|publish| &publish.covers);
        let is_covered = |(peer, at): (&PeerId, &Stamp)| {
            covers.is_some_and(|covers| covers.get(peer).is_some_and(|covered| covered >= at))
        };
        self.publish.is_none() || !self.last_cuts().iter().all(is_covered)
    }

    /// Tombstones up to this moment are forgotten.
    pub fn floor(&self) -> Stamp {
        self.floor
    }

    /// The latest moment that is known.
    pub fn now(&self) -> Stamp {
        self.clock.last()
    }

    /// What these registers are compared by. It takes a moment of the clock.
    pub(crate) fn digest(&mut self, wall: u64, seen: BTreeMap<PeerId, Stamp>) -> Digest {
        let members = self.members.buckets().iter();
        let publish = self.publish.as_ref();
        Digest {
            keys: self.keys.buckets().to_vec(),
            members: members.fold(0, |all, bucket| all ^ bucket),
            publish: publish.map(|publish| (publish.epoch, publish.at, publish.by.clone())),
            floor: self.floor,
            at: self.clock.next(wall),
            seen,
        }
    }

    /// What a master with other registers lacks, or has to compare.
    pub(crate) fn lacking(&self, ours: &Digest, theirs: &Digest) -> Vec<Delta> {
        let differs = |bucket: &usize| ours.keys.get(*bucket) != theirs.keys.get(*bucket);
        let mut first = self.empty_delta();
        if ours.members != theirs.members {
            first.members = self.all_members();
        }
        if ours.publish != theirs.publish {
            first.publish.clone_from(&self.publish);
        }
        self.parts(first, (0..BUCKETS).filter(differs))
    }

    /// What was asked for: the same groups, and what else was sent.
    pub(crate) fn answer(&self, buckets: &[usize], (members, publish): (bool, bool)) -> Delta {
        let mut delta = self.empty_delta();
        if members {
            delta.members = self.all_members();
        }
        if publish {
            delta.publish.clone_from(&self.publish);
        }
        for bucket in buckets {
            let keys = self.keys.in_bucket(*bucket);
            delta
                .keys
                .extend(keys.map(|(id, entry)| (id.clone(), entry.clone())));
            delta.whole.push(*bucket);
        }
        delta
    }

    /// Everything, in parts of a bounded size, as it is kept on disk: the parts
    /// hold no whole groups.
    pub fn all(&self) -> impl Iterator<Item = Delta> {
        let mut first = self.empty_delta();
        first.members = self.all_members();
        first.publish.clone_from(&self.publish);
        self.pieces(first, self.keys.iter())
    }

    /// What [`some`](Self::some) says, in parts of a bounded size.
    pub fn some_in_parts<'a>(
        &'a self,
        minions: impl IntoIterator<Item = &'a MinionId>,
        masters: impl IntoIterator<Item = &'a PeerId>,
        with_publish_key: bool,
    ) -> impl Iterator<Item = Delta> {
        let first = self.some([], masters, with_publish_key);
        let minions = minions.into_iter();
        self.pieces(
            first,
            minions.filter_map(|id| Some((id, self.keys.get(id)?))),
        )
    }

    /// `first` with as many keys as a part may have, and the rest behind it.
    fn pieces<'a>(
        &self,
        first: Delta,
        keys: impl Iterator<Item = (&'a MinionId, &'a Entry)>,
    ) -> impl Iterator<Item = Delta> {
        let mut keys = keys.peekable();
        let mut first = Some(first);
        std::iter::from_fn(move || {
            if first.is_none() && keys.peek().is_none() {
                return None;
            }
            let mut piece = first.take().unwrap_or_else(|| self.empty_delta());
            let mut bytes = 0;
            while bytes < DELTA_BYTES_SOFT_MAX
                && let Some((id, entry)) = keys.next()
            {
                bytes += id.as_str().len() + weight(entry);
                piece.keys.push((id.clone(), entry.clone()));
            }
            Some(piece)
        })
    }

    /// What is known of some minions and masters, to tell others what is new.
    pub fn some<'a>(
        &self,
        minions: impl IntoIterator<Item = &'a MinionId>,
        masters: impl IntoIterator<Item = &'a PeerId>,
        with_publish_key: bool,
    ) -> Delta {
        let mut delta = self.empty_delta();
        let minions = minions.into_iter();
        delta
            .keys
            .extend(minions.filter_map(|id| Some((id.clone(), self.keys.get(id)?.clone()))));
        let masters = masters.into_iter();
        delta
            .members
            .extend(masters.filter_map(|id| Some((id.clone(), self.members.get(id)?.clone()))));
        if with_publish_key {
            delta.publish.clone_from(&self.publish);
        }
        delta
    }

    /// Takes in what was kept by [`all`](Self::all) and [`some`](Self::some) of
    /// this master itself, whatever the time of day is now.
    pub fn restore(&mut self, kept: Delta) {
        let kept = Delta {
            whole: Vec::new(),
            floor: Stamp::default(),
            ..kept
        };
        self.clock.restore(kept.latest());
        self.take(kept);
    }

    /// Ends a restoration: no moment up to `last` is given again, and what was
    /// forgotten up to `floor` remains so. They are what [`now`](Self::now) and
    /// [`floor`](Self::floor) said.
    pub fn restored(&mut self, last: Stamp, floor: Stamp) {
        self.clock.restore(last);
        self.raise_floor(floor);
    }

    fn empty_delta(&self) -> Delta {
        Delta {
            floor: self.floor,
            ..Delta::default()
        }
    }

    fn all_members(&self) -> Vec<(PeerId, Entry)> {
        let members = self.members.iter();
        members
            .map(|(id, entry)| (id.clone(), entry.clone()))
            .collect()
    }

    /// Whole groups of keys, after what `first` holds already.
    fn parts(&self, first: Delta, buckets: impl Iterator<Item = usize>) -> Vec<Delta> {
        let mut parts = Vec::new();
        let mut part = first;
        let mut bytes = 0;
        for bucket in buckets {
            for (id, entry) in self.keys.in_bucket(bucket) {
                bytes += id.as_str().len() + weight(entry);
                part.keys.push((id.clone(), entry.clone()));
            }
            part.whole.push(bucket);
            if bytes >= DELTA_BYTES_SOFT_MAX {
                bytes = 0;
                parts.push(std::mem::replace(&mut part, self.empty_delta()));
            }
        }
        if !part.is_empty() {
            parts.push(part);
        }
        parts
    }

    /// When each master last ended a grant of somebody who may have the publish
    /// key: a minion that was accepted, or a member.
    fn last_cuts(&self) -> BTreeMap<PeerId, Stamp> {
        let mut last = BTreeMap::new();
        let keys = self.keys.iter().map(|(_, entry)| entry);
        let members = self.members.iter().map(|(_, entry)| entry);
        for (peer, revocation) in keys.chain(members).flat_map(|entry| &entry.revoked) {
            if revocation.cut > Stamp::default() {
                let at: &mut Stamp = last.entry(peer.clone()).or_default();
                *at = revocation.cut.max(*at);
            }
        }
        last
    }

    /// Adopts the floor of a master whose registers are the same, or one that
    /// was found by comparing what all members have.
    pub(crate) fn raise_floor(&mut self, floor: Stamp) {
        if floor > self.floor {
            self.floor = floor;
            self.keys.forget(floor);
        }
    }

    pub(crate) fn hear(&mut self, stamp: Stamp, wall: u64) {
        self.clock.hear(stamp, wall);
    }

    fn has_room_for(&self, id: &MinionId) -> bool {
        self.keys.len() < ENTRIES_MAX || self.keys.get(id).is_some()
    }

    /// The packed size that [`all`](Self::all) has, about, in bytes.
    pub fn weight(&self) -> usize {
        self.keys.iter().map(|(_, entry)| weight(entry)).sum()
    }
}
