//! The record of one name: a minion with its key, or a master of the cluster.
//!
//! An entry has revocations, the last one of each master that revoked, and at most
//! one grant. A grant was made with knowledge of exactly these revocations. When
//! two entries are merged, all revocations remain, and of the grants those that
//! know all of them. A grant that was made elsewhere without knowledge of a
//! revocation is void, however late its clock says it was.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use crate::clock::Stamp;
use crate::peer::PeerId;

/// A key was deleted or rejected, a master removed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Revocation {
    pub(crate) at: Stamp,
    /// The key's text where it was rejected, none where it was deleted.
    pub(crate) rejected: Option<String>,
    /// When this master last ended an accepted grant of the name; never, if it is
    /// the zero moment. Who was accepted may have the publish key.
    pub(crate) cut: Stamp,
}

/// What a grant allows. The order is that of precedence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum GrantKind {
    /// A minion waits for a decision.
    Pending,
    /// A minion may sign in; a master is a member.
    Accepted,
}

/// Somebody was accepted, or asks to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// What it allows.
    pub kind: GrantKind,
    /// When it was made.
    pub at: Stamp,
    /// The master that made it.
    pub by: PeerId,
    /// The public key, PEM.
    pub key: String,
    /// Where a member is reached; empty for a minion.
    pub address: String,
}

/// A key that came for an id that has another one; none where it was deleted.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Denied {
    pub(crate) at: Stamp,
    pub(crate) key: Option<String>,
}

/// What is known of one name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) revoked: BTreeMap<PeerId, Revocation>,
    pub(crate) grant: Option<Grant>,
    pub(crate) denied: Option<Denied>,
}

/// Where a name stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing<'a> {
    /// Unknown, or deleted.
    Absent,
    /// This key waits for a decision.
    Pending(&'a str),
    /// This key may sign in.
    Accepted(&'a str),
    /// This key may not.
    Rejected(&'a str),
}

impl Grant {
    /// Which of two grants counts that know the same revocations: the accepted
    /// one, so that nobody unsigns a minion by asking to be it elsewhere. Of two
    /// accepted keys the last one, of two pending ones the first, as on one
    /// master.
    fn precedence(&self, other: &Self) -> Ordering {
        let by_time = match self.kind {
            GrantKind::Accepted => self.at.cmp(&other.at),
            GrantKind::Pending => other.at.cmp(&self.at),
        };
        let by_kind = self.kind.cmp(&other.kind);
        by_kind.then(by_time).then_with(|| {
            let rest = |grant: &Self| (grant.by.clone(), grant.key.clone(), grant.address.clone());
            rest(self).cmp(&rest(other))
        })
    }
}

impl Entry {
    /// Where the name stands. Without a grant the last revocation says it, the
    /// stricter of two at the same moment.
    pub(crate) fn standing(&self) -> Standing<'_> {
        match &self.grant {
            Some(grant) => match grant.kind {
                GrantKind::Pending => Standing::Pending(&grant.key),
                GrantKind::Accepted => Standing::Accepted(&grant.key),
            },
            None => match self.revoked.values().max().map(|last| &last.rejected) {
                Some(Some(key)) => Standing::Rejected(key),
                Some(None) | None => Standing::Absent,
            },
        }
    }

    /// The text of the denied key, if there is one.
    pub(crate) fn denied_key(&self) -> Option<&str> {
        self.denied.as_ref()?.key.as_deref()
    }

    /// Whether nothing but the memory of a deletion is left.
    pub(crate) fn is_tombstone(&self) -> bool {
        self.standing() == Standing::Absent && self.denied_key().is_none()
    }

    /// The latest moment in it.
    pub(crate) fn latest(&self) -> Stamp {
        let revoked = self.revoked.values().map(|revocation| revocation.at);
        let grant = self.grant.iter().map(|grant| grant.at);
        let denied = self.denied.iter().map(|denied| denied.at);
        revoked.chain(grant).chain(denied).max().unwrap_or_default()
    }

    /// Takes in what another master knows of the name. Whether anything is new.
    pub(crate) fn merge(&mut self, other: &Self) -> bool {
        let mut revoked = self.revoked.clone();
        for (peer, revocation) in &other.revoked {
            let ours = revoked
                .entry(peer.clone())
                .or_insert_with(|| revocation.clone());
            if revocation > ours {
                *ours = revocation.clone();
            }
        }
        let knows_all = |entry: &Self| entry.revoked == revoked;
        let ours = self.grant.clone().filter(|_| knows_all(self));
        let theirs = other.grant.clone().filter(|_| knows_all(other));
        let grant = match (ours, theirs) {
            (Some(ours), Some(theirs)) => Some(match ours.precedence(&theirs) {
                Ordering::Less => theirs,
                Ordering::Equal | Ordering::Greater => ours,
            }),
            (ours, theirs) => ours.or(theirs),
        };
        let denied = self.denied.clone().max(other.denied.clone());
        let merged = Self {
            revoked,
            grant,
            denied,
        };
        let is_new = merged != *self;
        *self = merged;
        is_new
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn peer(number: u8) -> PeerId {
        PeerId::parse(&format!("m{number}")).unwrap()
    }

    fn at(micros: u64) -> Stamp {
        Stamp { micros, count: 0 }
    }

    fn grant(kind: GrantKind, micros: u64, by: u8, key: &str) -> Grant {
        Grant {
            kind,
            at: at(micros),
            by: peer(by),
            key: key.to_owned(),
            address: String::new(),
        }
    }

    /// Any entry, those included that no history leads to. What one master
    /// says at one moment is one thing.
    fn entries() -> impl Strategy<Value = Entry> {
        let rejected = prop::option::of(prop::sample::select(vec!["a".to_owned(), "b".to_owned()]));
        let revocation = (0..4_u64, rejected.clone()).prop_map(|(micros, rejected)| Revocation {
            at: at(micros),
            rejected,
            cut: at(micros),
        });
        let revoked = prop::collection::btree_map((0..3_u8).prop_map(peer), revocation, 0..3);
        let kind = prop::sample::select(vec![GrantKind::Pending, GrantKind::Accepted]);
        let key = prop::sample::select(vec!["a", "b"]);
        let grant = (kind, 0..4_u64, 0..3_u8, key)
            .prop_map(|(kind, micros, by, key)| grant(kind, micros, by, key));
        let denied = (0..4_u64, rejected).prop_map(|(micros, key)| Denied {
            at: at(micros),
            key,
        });
        (revoked, prop::option::of(grant), prop::option::of(denied)).prop_map(
            |(revoked, grant, denied)| Entry {
                revoked,
                grant,
                denied,
            },
        )
    }

    fn merged(one: &Entry, other: &Entry) -> Entry {
        let mut one = one.clone();
        one.merge(other);
        one
    }

    proptest! {
        #[test]
        fn entries_merge_alike_in_any_order_and_however_often(
            a in entries(), b in entries(), c in entries()
        ) {
            prop_assert_eq!(merged(&a, &b), merged(&b, &a));
            prop_assert_eq!(merged(&merged(&a, &b), &c), merged(&a, &merged(&b, &c)));
            prop_assert_eq!(merged(&a, &a), a.clone());
            prop_assert!(!merged(&a, &b).merge(&b));
        }
    }

    #[test]
    fn a_grant_that_has_not_heard_of_a_revocation_is_void_however_late() {
        let accepted = Entry {
            grant: Some(grant(GrantKind::Accepted, 900, 1, "a")),
            ..Entry::default()
        };
        let revoked = Entry {
            revoked: BTreeMap::from([(
                peer(2),
                Revocation {
                    at: at(5),
                    rejected: None,
                    cut: at(5),
                },
            )]),
            ..Entry::default()
        };
        assert_eq!(merged(&accepted, &revoked).standing(), Standing::Absent);
        let again = Entry {
            grant: accepted.grant.clone(),
            ..revoked.clone()
        };
        assert_eq!(merged(&again, &revoked).standing(), Standing::Accepted("a"));
    }

    #[test]
    fn of_two_revocations_the_last_says_what_is_left_the_stricter_on_a_tie() {
        let revoked = |by: u8, micros: u64, rejected: Option<&str>| Entry {
            revoked: BTreeMap::from([(
                peer(by),
                Revocation {
                    at: at(micros),
                    rejected: rejected.map(str::to_owned),
                    cut: at(micros),
                },
            )]),
            ..Entry::default()
        };
        let standing = |one: &Entry, other: &Entry| match merged(one, other).standing() {
            Standing::Rejected(_) => "rejected",
            _ => "absent",
        };
        let rejected = revoked(1, 5, Some("a"));
        assert_eq!(standing(&rejected, &revoked(2, 4, None)), "rejected");
        assert_eq!(standing(&rejected, &revoked(2, 5, None)), "rejected");
        assert_eq!(standing(&rejected, &revoked(2, 6, None)), "absent");
    }

    #[test]
    fn who_asks_elsewhere_does_not_unsign_a_minion() {
        let entry = |grant| Entry {
            grant: Some(grant),
            ..Entry::default()
        };
        let accepted = entry(grant(GrantKind::Accepted, 1, 1, "right"));
        let asks = entry(grant(GrantKind::Pending, 9, 2, "other"));
        assert_eq!(
            merged(&accepted, &asks).standing(),
            Standing::Accepted("right")
        );
        let first = entry(grant(GrantKind::Pending, 3, 1, "first"));
        assert_eq!(merged(&asks, &first).standing(), Standing::Pending("first"));
    }
}
