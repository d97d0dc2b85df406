//! The pieces of one linked peer received over the bus: which come next, and
//! whether some are missing.
//!
//! Pure: time comes in. Invariant: messages are given out once and in order, and
//! only those that the peer has sealed since its current start.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use halite_crypto::BroadcastOpener;

use super::batch::{HEAD_BYTES, Head, decode};
use crate::limits::{BATCH_BYTES_MAX, BUS_KEYS_MAX, BUS_PIECE_BYTES_MAX, MESSAGE_BYTES_MAX};
use crate::peer::{Incarnation, PeerId};

/// A message that was heard.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct HeardMessage {
    pub(crate) number: u64,
    /// How long ago it was told.
    pub(crate) age: Duration,
    /// What it says; nothing if it is for another peer.
    pub(crate) message: Option<Vec<u8>>,
}

/// What a sealed piece brings.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Taken {
    /// Nothing: it is known already, or of somebody else.
    Nothing,
    /// Nothing yet: it is not the last piece of its batch.
    Part,
    /// The next messages.
    Messages(Vec<HeardMessage>),
    /// Some that stand before it are missing.
    Behind,
}

/// Where the peer's log stands on the engine, as the peer says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stored {
    /// The last message that the engine has.
    pub(crate) number: u64,
    /// Where in the engine's stream that follows which we have handled.
    pub(crate) sequence: u64,
}

/// The pieces of a batch that have come, in their order.
struct Parts {
    head: Head,
    next: u32,
    bytes: Vec<u8>,
}

/// See the module.
pub(crate) struct Book {
    own: PeerId,
    context: Vec<u8>,
    life: Incarnation,
    /// All up to this number was given out.
    taken: u64,
    keys: VecDeque<(u64, BroadcastOpener)>,
    parts: Option<Parts>,
    stored: Stored,
    /// The peer's clock, and when it was read.
    clock: Option<(u64, Instant)>,
}

/// What a piece is authenticated with besides its head.
pub(crate) fn context(cluster: &str, peer: &PeerId) -> Vec<u8> {
    let length = cluster.len() as u64;
    [
        b"halite bus 1",
        &length.to_be_bytes()[..],
        cluster.as_bytes(),
        peer.as_str().as_bytes(),
    ]
    .concat()
}

impl Book {
    /// Of a peer in a life, of which so much is handled.
    pub(crate) fn new(
        own: PeerId,
        (cluster, peer): (&str, &PeerId),
        life: Incarnation,
        taken: u64,
    ) -> Self {
        Self {
            own,
            context: context(cluster, peer),
            life,
            taken,
            keys: VecDeque::new(),
            parts: None,
            stored: Stored {
                number: taken,
                sequence: 1,
            },
            clock: None,
        }
    }

    /// The peer seals with another key from now on.
    pub(crate) fn add_key(&mut self, epoch: u64, key: BroadcastOpener) {
        self.keys.retain(|(known, _)| *known != epoch);
        self.keys.push_back((epoch, key));
        if self.keys.len() > BUS_KEYS_MAX {
            self.keys.pop_front();
        }
    }

    /// The peer says where its log stands, and what its clock shows.
    pub(crate) fn note_stored(&mut self, now: Instant, stored: Stored, clock_ms: u64) {
        self.stored = stored;
        self.clock = Some((clock_ms, now));
    }

    /// The peer has forgotten what stands before this number, and this.
    pub(crate) fn skip_to(&mut self, number: u64) {
        self.taken = self.taken.max(number);
        self.parts = None;
    }

    /// All up to this number was given out.
    pub(crate) fn taken(&self) -> u64 {
        self.taken
    }

    /// Whether the engine has messages that were not given out; from where on it is
    /// to be asked for them.
    pub(crate) fn behind(&self) -> Option<u64> {
        (self.stored.number > self.taken).then_some(self.stored.sequence)
    }

    /// From where on the engine is to be asked for what is missing.
    pub(crate) fn sequence(&self) -> u64 {
        self.stored.sequence
    }

    /// Takes what the engine hands out.
    pub(crate) fn take(&mut self, now: Instant, sealed: &[u8]) -> Taken {
        let Some((head, content)) = self.open(sealed) else {
            return Taken::Nothing;
        };
        if head.first > self.taken.saturating_add(1) {
            self.parts = None;
            return Taken::Behind;
        }
        let content = match self.put_together(head, content) {
            Ok(content) => content,
            Err(taken) => return taken,
        };
        let Some(entries) = decode(&content, head.first, head.last) else {
            return Taken::Nothing;
        };
        let new = entries.into_iter().filter(|of| of.number > self.taken);
        let clock_ms = self.clock_ms(now);
        let heard = new.map(|entry| HeardMessage {
            number: entry.number,
            age: Duration::from_millis(clock_ms.saturating_sub(entry.at_ms)),
            message: (entry.to.is_none_or(|to| to == self.own)).then_some(entry.message),
        });
        let heard = heard.collect();
        self.taken = head.last;
        Taken::Messages(heard)
    }

    /// A piece that the peer has sealed in this life, and that may be news.
    fn open(&self, sealed: &[u8]) -> Option<(Head, Vec<u8>)> {
        let head = Head::decode(sealed)?;
        if head.life != self.life || head.last <= self.taken {
            return None;
        }
        if sealed.len() > BUS_PIECE_BYTES_MAX {
            return None;
        }
        let (_, key) = self.keys.iter().find(|(epoch, _)| *epoch == head.epoch)?;
        let content = key.open(&self.context, HEAD_BYTES, sealed).ok()?;
        Some((head, content))
    }

    /// The content of a batch when its last piece has come; until then what this one
    /// brings.
    fn put_together(&mut self, head: Head, content: Vec<u8>) -> Result<Vec<u8>, Taken> {
        if head.pieces == 1 {
            self.parts = None;
            return Ok(content);
        }
        let same = |parts: &Parts| {
            let of = Head {
                piece: parts.head.piece,
                ..head
            };
            of == parts.head
        };
        match self.parts.as_mut() {
            Some(parts) if same(parts) && head.piece < parts.next => return Err(Taken::Nothing),
            Some(parts) if same(parts) && head.piece == parts.next => {
                parts.bytes.extend_from_slice(&content);
                parts.next += 1;
            }
            _ if head.piece == 0 => {
                self.parts = Some(Parts {
                    head,
                    next: 1,
                    bytes: content,
                });
            }
            _ => {
                self.parts = None;
                return Err(Taken::Behind);
            }
        }
        let is_whole = |parts: &mut Parts| {
            parts.next == parts.head.pieces
                || parts.bytes.len() > MESSAGE_BYTES_MAX + 2 * BATCH_BYTES_MAX
        };
        let whole = self.parts.take_if(is_whole);
        whole.map(|parts| parts.bytes).ok_or(Taken::Part)
    }

    /// What the peer's clock shows now.
    fn clock_ms(&self, now: Instant) -> u64 {
        self.clock.map_or(0, |(ms, read)| {
            let since = now.saturating_duration_since(read).as_millis();
            ms.saturating_add(u64::try_from(since).unwrap_or(u64::MAX))
        })
    }
}

#[cfg(test)]
mod tests {
    use halite_crypto::BroadcastKey;

    use super::super::batch::encode;
    use super::*;
    use crate::log::LoggedMessage;

    struct Sender {
        key: BroadcastKey,
        epoch: u64,
        life: Incarnation,
        begun: Instant,
    }

    impl Sender {
        fn new(life: u64) -> Self {
            Self {
                key: BroadcastKey::generate(),
                epoch: 1,
                life: Incarnation(life),
                begun: Instant::now(),
            }
        }

        fn opener(&self) -> BroadcastOpener {
            BroadcastOpener::from_shared(self.key.shared().expose()).unwrap()
        }

        /// Messages `first` to `last`, each its number, in pieces.
        fn batch(&self, first: u64, last: u64, pieces: u32) -> Vec<Vec<u8>> {
            let told = (first..=last).map(|number| LoggedMessage {
                number,
                at: self.begun + Duration::from_millis(number),
                to: (number % 10 == 0).then(|| PeerId::parse("other").unwrap()),
                message: number.to_string().into_bytes().into(),
            });
            let content = encode(&told.collect::<Vec<_>>(), self.begun);
            let size = content.len().div_ceil(pieces as usize);
            let cut = content.chunks(size).zip(0..);
            let sealed = cut.map(|(piece, n)| {
                let head = Head {
                    life: self.life,
                    epoch: self.epoch,
                    first,
                    last,
                    piece: n,
                    pieces,
                };
                let context = context("c", &PeerId::parse("m2").unwrap());
                self.key.seal(&context, &head.encode(), piece)
            });
            sealed.collect()
        }
    }

    fn book(sender: &Sender, taken: u64) -> Book {
        let [own, peer] = ["m1", "m2"].map(|name| PeerId::parse(name).unwrap());
        let mut book = Book::new(own, ("c", &peer), sender.life, taken);
        book.add_key(sender.epoch, sender.opener());
        book
    }

    fn numbers(taken: &Taken) -> Vec<u64> {
        match taken {
            Taken::Messages(messages) => messages.iter().map(|of| of.number).collect(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn messages_come_once_and_in_order_however_they_are_handed_out() {
        let (now, sender) = (Instant::now(), Sender::new(1));
        let mut book = book(&sender, 0);
        let one = &sender.batch(1, 3, 1)[0];
        assert_eq!(numbers(&book.take(now, one)), [1, 2, 3]);
        assert_eq!(book.take(now, one), Taken::Nothing);
        // One is missing before it: asked for again, it comes with what is known.
        assert_eq!(book.take(now, &sender.batch(6, 7, 1)[0]), Taken::Behind);
        assert_eq!(numbers(&book.take(now, &sender.batch(2, 5, 1)[0])), [4, 5]);
        assert_eq!(numbers(&book.take(now, &sender.batch(6, 7, 1)[0])), [6, 7]);
        assert_eq!(book.taken(), 7);
    }

    #[test]
    fn a_batch_in_pieces_is_given_out_whole() {
        let (now, sender) = (Instant::now(), Sender::new(1));
        let mut book = book(&sender, 0);
        let pieces = sender.batch(1, 9, 3);
        assert_eq!(pieces.len(), 3);
        assert_eq!(book.take(now, &pieces[0]), Taken::Part);
        assert_eq!(book.take(now, &pieces[2]), Taken::Behind);
        assert_eq!(book.take(now, &pieces[1]), Taken::Behind);
        // What is said again brings nothing, and is no sign of life.
        for (piece, taken) in [
            (0, Taken::Part),
            (0, Taken::Nothing),
            (1, Taken::Part),
            (0, Taken::Nothing),
            (1, Taken::Nothing),
        ] {
            assert_eq!(book.take(now, &pieces[piece]), taken, "{piece}");
        }
        assert_eq!(numbers(&book.take(now, &pieces[2])).len(), 9);
    }

    #[test]
    fn what_somebody_else_has_sealed_is_nothing() {
        let (now, sender) = (Instant::now(), Sender::new(1));
        let mut book = book(&sender, 0);
        let good = &sender.batch(1, 1, 1)[0];
        for at in 0..good.len() {
            let mut other = good.clone();
            other[at] ^= 1;
            assert_eq!(book.take(now, &other), Taken::Nothing, "{at}");
            assert_eq!(book.take(now, &good[..at]), Taken::Nothing, "{at}");
        }
        // Another life, another key, another peer under the same numbers.
        assert_eq!(
            book.take(now, &Sender::new(2).batch(1, 1, 1)[0]),
            Taken::Nothing
        );
        assert_eq!(
            book.take(now, &Sender::new(1).batch(1, 1, 1)[0]),
            Taken::Nothing
        );
        assert_eq!(numbers(&book.take(now, good)), [1]);
    }

    #[test]
    fn a_message_for_another_peer_counts_and_says_nothing() {
        let (now, sender) = (Instant::now(), Sender::new(1));
        let mut book = book(&sender, 8);
        let stored = Stored {
            number: 10,
            sequence: 5,
        };
        assert_eq!(book.behind(), None);
        book.note_stored(now, stored, 500);
        assert_eq!(book.behind(), Some(5));
        let later = now + Duration::from_millis(20);
        let taken = book.take(later, &sender.batch(9, 10, 1)[0]);
        let heard = |number, message| HeardMessage {
            number,
            age: Duration::from_millis(520 - number),
            message,
        };
        let wanted = [heard(9, Some(b"9".to_vec())), heard(10, None)];
        assert_eq!(taken, Taken::Messages(wanted.into()));
        assert_eq!(book.behind(), None);
    }

    #[test]
    fn a_new_key_holds_beside_the_last_ones() {
        let (now, mut sender) = (Instant::now(), Sender::new(1));
        let mut book = book(&sender, 0);
        let old = sender.batch(1, 1, 1);
        (sender.key, sender.epoch) = (BroadcastKey::generate(), 2);
        let new = sender.batch(2, 2, 1);
        assert_eq!(book.take(now, &new[0]), Taken::Nothing);
        book.add_key(2, sender.opener());
        assert_eq!(book.take(now, &new[0]), Taken::Behind);
        assert_eq!(numbers(&book.take(now, &old[0])), [1]);
        book.skip_to(1);
        assert_eq!(numbers(&book.take(now, &new[0])), [2]);
    }
}
