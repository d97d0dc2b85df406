//! Decisions of other masters.

use halite_proto::MinionId;

use super::{MergeError, Registers};
use crate::clock::{Stamp, check};
use crate::delta::Delta;
use crate::entry::{Entry, GrantKind, Standing};
use crate::limits::{ENTRIES_MAX, MEMBERS_MAX};
use crate::peer::PeerId;
use crate::table::{Table, bucket_of};

/// What has changed by what another master has said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Merged {
    /// Minions of whose keys something is new here.
    pub keys: Vec<MinionId>,
    /// Those of them that this master had accepted, unaware that another one
    /// had rejected or deleted them: they are not accepted any more.
    pub undone: Vec<MinionId>,
    /// Masters of whom something is new here.
    pub members: Vec<PeerId>,
    /// There is another publish key.
    pub publish_key: bool,
    /// Names for which there was no room.
    pub without_room: usize,
}

impl Merged {
    /// Whether nothing is new.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl Registers {
    /// Takes in what another master knows.
    ///
    /// # Errors
    /// When it is stamped further ahead of the time of day than clocks may
    /// differ; nothing of it is taken then.
    pub fn merge(&mut self, delta: Delta, wall: u64) -> Result<Merged, MergeError> {
        let latest = delta.latest();
        check(latest, wall)?;
        self.clock.hear(latest, wall);
        Ok(self.take(delta))
    }

    pub(super) fn take(&mut self, delta: Delta) -> Merged {
        let mut merged = Merged::default();
        self.drop_forgotten(&delta, &mut merged);
        for (id, theirs) in delta.keys {
            if theirs.is_tombstone() && theirs.latest() <= self.floor {
                continue;
            }
            let is_done = |ours: &Entry| ours.is_tombstone() && ours.latest() <= delta.floor;
            if self.keys.get(&id).is_some_and(is_done) {
                self.keys.remove(&id);
            }
            self.take_key(id, &theirs, &mut merged);
        }
        for (id, theirs) in delta.members {
            if self.members.len() >= MEMBERS_MAX && self.members.get(&id).is_none() {
                merged.without_room += 1;
            } else if merge_into(&mut self.members, &id, &theirs) {
                merged.members.push(id);
            }
        }
        if let Some(publish) = delta.publish
            && publish.is_after(self.publish.as_ref())
        {
            self.publish = Some(publish);
            merged.publish_key = true;
        }
        merged
    }

    fn take_key(&mut self, id: MinionId, theirs: &Entry, merged: &mut Merged) {
        match self.keys.get(&id) {
            // All members had it, and it was deleted and forgotten since.
            None if theirs.latest() <= self.floor => return,
            None if self.keys.len() >= ENTRIES_MAX => {
                merged.without_room += 1;
                return;
            }
            _ => {}
        }
        let was_ours = self.keys.get(&id).is_some_and(|ours| {
            let grant = ours.grant.as_ref();
            grant.is_some_and(|grant| grant.kind == GrantKind::Accepted && grant.by == self.me)
        });
        if !merge_into(&mut self.keys, &id, theirs) {
            return;
        }
        if was_ours && !matches!(self.key(&id), Standing::Accepted(_)) {
            merged.undone.push(id.clone());
        }
        merged.keys.push(id);
    }

    /// In groups that were sent whole: what the sender lacks and all members had
    /// was deleted and forgotten.
    fn drop_forgotten(&mut self, delta: &Delta, merged: &mut Merged) {
        if delta.floor == Stamp::default() {
            return;
        }
        let mut sent: Vec<&MinionId> = delta.keys.iter().map(|(id, _)| id).collect();
        sent.sort_unstable();
        for bucket in &delta.whole {
            let gone = self.keys.in_bucket(*bucket).filter(|(id, entry)| {
                entry.latest() <= delta.floor && sent.binary_search(id).is_err()
            });
            let gone: Vec<(MinionId, bool)> = gone
                .map(|(id, entry)| (id.clone(), entry.is_tombstone()))
                .collect();
            for (id, was_tombstone) in gone {
                debug_assert_eq!(bucket_of(id.as_str()), *bucket);
                self.keys.remove(&id);
                if !was_tombstone {
                    merged.keys.push(id);
                }
            }
        }
    }
}

fn merge_into<N: Ord + Clone + AsRef<str>>(table: &mut Table<N>, name: &N, theirs: &Entry) -> bool {
    let mut ours = table.get(name).cloned().unwrap_or_default();
    let is_new = ours.merge(theirs);
    if is_new {
        table.set(name, ours);
    }
    is_new
}
