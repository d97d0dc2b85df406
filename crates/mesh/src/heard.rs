//! What was received from each peer: from which start of it, and up to which
//! number.
//!
//! Pure. Invariant: a number of one start is admitted once, and none below one that
//! was admitted.

use std::collections::BTreeMap;

use halite_proto::msgpack::{pack_modern, unpack_modern};
use halite_proto::{Map, Value};

use crate::limits::PEERS_MAX;
use crate::peer::{Incarnation, PeerId};

/// Where one peer was heard up to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct HeardUpTo {
    pub(crate) incarnation: Incarnation,
    pub(crate) number: u64,
}

/// All peers that were heard.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Heard(BTreeMap<PeerId, HeardUpTo>);

impl Heard {
    /// Where a peer was heard up to.
    pub(crate) fn up_to(&self, peer: &PeerId) -> Option<HeardUpTo> {
        self.0.get(peer).copied()
    }

    /// A peer says in which life it is; all of a new one is news. Where there is no
    /// room, those go that are not among `peers` any more.
    pub(crate) fn begin(
        &mut self,
        peer: &PeerId,
        incarnation: Incarnation,
        peers: impl FnOnce() -> Vec<PeerId>,
    ) {
        let is_same = self
            .up_to(peer)
            .is_some_and(|place| place.incarnation == incarnation);
        if is_same {
            return;
        }
        if self.0.len() >= PEERS_MAX && !self.0.contains_key(peer) {
            let peers = peers();
            self.0.retain(|peer, _| peers.contains(peer));
        }
        let place = HeardUpTo {
            incarnation,
            number: 0,
        };
        self.0.insert(peer.clone(), place);
    }

    /// Whether a message is new; it counts as heard from then on.
    pub(crate) fn admit(&mut self, peer: &PeerId, incarnation: Incarnation, number: u64) -> bool {
        match self.0.get_mut(peer) {
            Some(place) if place.incarnation == incarnation && place.number < number => {
                place.number = number;
                true
            }
            _ => false,
        }
    }

    /// The bytes of its file.
    pub(crate) fn pack(&self) -> Vec<u8> {
        let entries = self.0.iter().map(|(peer, place)| {
            let place = vec![
                Value::from(place.incarnation.to_string()),
                Value::from(place.number),
            ];
            (Value::from(peer.as_str()), Value::List(place))
        });
        pack_modern(&Value::Map(entries.collect::<Map>())).unwrap_or_default()
    }

    /// Reads such bytes; what is no entry is left out.
    pub(crate) fn unpack(bytes: &[u8]) -> Self {
        let Ok(Value::Map(map)) = unpack_modern(bytes) else {
            return Self::default();
        };
        let entry = |(peer, place): (&Value, &Value)| {
            let peer = PeerId::parse(peer.as_str()?).ok()?;
            let [incarnation, number] = place.as_list()? else {
                return None;
            };
            let incarnation = u64::from_str_radix(incarnation.as_str()?, 16).ok()?;
            let place = HeardUpTo {
                incarnation: Incarnation(incarnation),
                number: u64::try_from(number.as_i64()?).ok()?,
            };
            Some((peer, place))
        };
        Self(map.iter().filter_map(entry).take(PEERS_MAX).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_counts_once_in_each_life() {
        let m2 = PeerId::parse("m2").unwrap();
        let [first, second] = [1, 2].map(Incarnation);
        let mut heard = Heard::default();
        assert!(!heard.admit(&m2, first, 1));
        heard.begin(&m2, first, Vec::new);
        assert!(!heard.admit(&m2, first, 0) && heard.admit(&m2, first, 4));
        assert!(heard.admit(&m2, first, 5) && !heard.admit(&m2, first, 5));
        // The same life goes on where it was.
        heard.begin(&m2, first, Vec::new);
        assert!(!heard.admit(&m2, first, 5) && heard.admit(&m2, first, 9));
        assert_eq!(Heard::unpack(&heard.pack()), heard);
        heard.begin(&m2, second, Vec::new);
        assert!(!heard.admit(&m2, first, 10) && heard.admit(&m2, second, 1));
    }

    #[test]
    fn peers_that_are_gone_make_room() {
        let life = Incarnation(1);
        let peer = |n: usize| PeerId::parse(&format!("m{n}")).unwrap();
        let mut heard = Heard::default();
        for n in 0..PEERS_MAX {
            heard.begin(&peer(n), life, Vec::new);
        }
        assert!(heard.admit(&peer(7), life, 5));
        let new = peer(PEERS_MAX);
        heard.begin(&new, life, || vec![peer(7), new.clone()]);
        assert!(heard.admit(&new, life, 1));
        assert!(!heard.admit(&peer(7), life, 5) && heard.admit(&peer(7), life, 6));
        assert_eq!(heard.0.len(), 2);
    }

    #[test]
    fn a_damaged_file_is_no_file() {
        for bytes in [
            &b""[..],
            b"\x90",
            b"\x81\xa2..\x92\xa10\x01",
            b"\x81\xa1a\x91\x01",
        ] {
            assert_eq!(Heard::unpack(bytes), Heard::default());
        }
    }
}
