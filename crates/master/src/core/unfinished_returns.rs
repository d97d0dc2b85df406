//! Large returns that come piece by piece (`proto::request::ReturnPiece`).
//!
//! Pure and bounded. Invariant: a piece is only ever joined to pieces of the same
//! minion, each of which began where the one before it ended. The pieces of one
//! minion never displace another's.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use halite_proto::MinionId;
use halite_proto::limits::MESSAGE_BYTES_MAX;
use halite_proto::request::ReturnPiece;

/// How much may be kept.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Bytes of one return. A longer one has no room.
    pub return_bytes: usize,
    /// Bytes of the returns of one minion. Its oldest give way.
    pub minion_bytes: usize,
    /// Bytes in all. Those that stand still give way; without such the piece
    /// has no room.
    pub all_bytes: usize,
    /// Seconds without a piece after which a return gives way.
    pub idle_s: i64,
    /// Seconds without a piece after which a return is forgotten.
    pub age_s: i64,
    /// Names of returns that are remembered when they are done with; the oldest
    /// are forgotten.
    pub done: usize,
}

impl Limits {
    /// The limits of a master. If it has no room, a minion sends its return whole.
    pub const OF_A_MASTER: Self = Self {
        return_bytes: MESSAGE_BYTES_MAX,
        minion_bytes: MESSAGE_BYTES_MAX + 28 * 1024 * 1024,
        all_bytes: 256 * 1024 * 1024,
        idle_s: 30,
        age_s: 5 * 60,
        done: 4096,
    };
}

/// Memory of a return beside its bytes.
const OVERHEAD_BYTES: usize = 512;

/// What came of a piece.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kept {
    /// So much of the return is here.
    Has(u64),
    /// The limit is reached.
    NoRoom,
    /// All of it is here.
    Whole(Arc<Vec<u8>>),
    /// It was handled before.
    Done,
}

/// The returns of all minions.
#[derive(Debug)]
pub struct UnfinishedReturns {
    limits: Limits,
    minions: BTreeMap<MinionId, Vec<Unfinished>>,
    bytes: usize,
    done: VecDeque<(MinionId, String)>,
}

#[derive(Debug)]
struct Unfinished {
    parcel: String,
    /// How long it will be.
    length: u64,
    data: Arc<Vec<u8>>,
    touched_s: i64,
}

impl Unfinished {
    fn cost(&self) -> usize {
        self.data.len() + self.parcel.len() + OVERHEAD_BYTES
    }
}

impl UnfinishedReturns {
    /// Nothing yet.
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            minions: BTreeMap::new(),
            bytes: 0,
            done: VecDeque::new(),
        }
    }

    /// Takes a piece.
    pub fn add(&mut self, id: &MinionId, piece: &ReturnPiece, now_s: i64) -> Kept {
        let is_done = |known: &(MinionId, String)| known.0 == *id && known.1 == piece.parcel;
        if self.done.iter().any(is_done) {
            return Kept::Done;
        }
        let longest = u64::try_from(self.limits.return_bytes).unwrap_or(u64::MAX);
        if piece.bytes > longest {
            return Kept::NoRoom;
        }
        let has = self.position(id, piece).map_or(0, |known| known.data.len());
        if u64::try_from(has) != Ok(piece.at) || piece.data.is_empty() {
            return self.state(id, piece, now_s);
        }
        let more = piece.data.len();
        let is_too_long = u64::try_from(has + more).is_ok_and(|all| all > piece.bytes);
        if is_too_long || !self.make_room(id, piece, more, now_s) {
            return Kept::NoRoom;
        }
        self.append(id, piece, now_s);
        self.state(id, piece, now_s)
    }

    /// A return is stored or was invalid: its bytes are released. With `is_known` its
    /// name is remembered, and it is not accepted again.
    pub fn finish(&mut self, id: &MinionId, parcel: &str, is_known: bool) {
        self.forget(id, |known| known.parcel == parcel);
        if is_known {
            if self.done.len() >= self.limits.done {
                self.done.pop_front();
            }
            self.done.push_back((id.clone(), parcel.to_owned()));
        }
    }

    /// Forgets what nobody has sent a piece of for long.
    pub fn expire(&mut self, now_s: i64) {
        self.forget_idle(now_s, self.limits.age_s);
    }

    fn position(&self, id: &MinionId, piece: &ReturnPiece) -> Option<&Unfinished> {
        let known = self.minions.get(id)?;
        known.iter().find(|known| known.is(piece))
    }

    /// What there is of the return now.
    fn state(&mut self, id: &MinionId, piece: &ReturnPiece, now_s: i64) -> Kept {
        let mut known = self.minions.get_mut(id).into_iter().flatten();
        let Some(known) = known.find(|known| known.is(piece)) else {
            return Kept::Has(0);
        };
        known.touched_s = now_s;
        let has = u64::try_from(known.data.len()).unwrap_or(u64::MAX);
        match has == known.length {
            true => Kept::Whole(Arc::clone(&known.data)),
            false => Kept::Has(has),
        }
    }

    fn append(&mut self, id: &MinionId, piece: &ReturnPiece, now_s: i64) {
        let of_minion = self.minions.entry(id.clone()).or_default();
        let at = of_minion.iter().position(|known| known.is(piece));
        let at = at.unwrap_or_else(|| {
            let begun = Unfinished {
                parcel: piece.parcel.clone(),
                length: piece.bytes,
                data: Arc::default(),
                touched_s: now_s,
            };
            self.bytes += begun.cost();
            of_minion.push(begun);
            of_minion.len() - 1
        });
        if let Some(known) = of_minion.get_mut(at) {
            Arc::make_mut(&mut known.data).extend_from_slice(&piece.data);
            self.bytes += piece.data.len();
        }
    }

    /// Makes room for this many more bytes by dropping others; false if that is not
    /// possible.
    fn make_room(&mut self, id: &MinionId, piece: &ReturnPiece, more: usize, now_s: i64) -> bool {
        let needed = match self.position(id, piece) {
            Some(_) => more,
            None => more + piece.parcel.len() + OVERHEAD_BYTES,
        };
        while self.of_minion(id) + needed > self.limits.minion_bytes {
            let mut known = self.minions.get(id).into_iter().flatten();
            let Some(oldest) = known.find(|known| !known.is(piece)) else {
                return false;
            };
            let oldest = oldest.parcel.clone();
            self.forget(id, |known| known.parcel == oldest);
        }
        if self.bytes + needed > self.limits.all_bytes {
            self.forget_idle(now_s, self.limits.idle_s);
        }
        self.bytes + needed <= self.limits.all_bytes
    }

    fn of_minion(&self, id: &MinionId) -> usize {
        let known = self.minions.get(id).into_iter().flatten();
        known.map(Unfinished::cost).sum()
    }

    fn forget(&mut self, id: &MinionId, which: impl Fn(&Unfinished) -> bool) {
        if let Some(of_minion) = self.minions.get_mut(id) {
            let gone = of_minion.extract_if(.., |known| which(known));
            self.bytes -= gone.map(|known| known.cost()).sum::<usize>();
            if of_minion.is_empty() {
                self.minions.remove(id);
            }
        }
    }

    fn forget_idle(&mut self, now_s: i64, idle_s: i64) {
        let is_idle = |known: &Unfinished| now_s.saturating_sub(known.touched_s) > idle_s;
        let ids: Vec<MinionId> = self.minions.keys().cloned().collect();
        for id in ids {
            self.forget(&id, is_idle);
        }
    }
}

impl Unfinished {
    fn is(&self, piece: &ReturnPiece) -> bool {
        self.parcel == piece.parcel && self.length == piece.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits {
        return_bytes: 10_000,
        minion_bytes: 12_000,
        all_bytes: 24_000,
        idle_s: 30,
        age_s: 300,
        done: 2,
    };

    fn id(id: &str) -> MinionId {
        MinionId::parse(id).unwrap()
    }

    fn piece(parcel: &str, bytes: u64, at: u64, data: &[u8]) -> ReturnPiece {
        ReturnPiece {
            parcel: parcel.to_owned(),
            bytes,
            at,
            data: data.to_vec(),
        }
    }

    /// As much of a return as fits.
    fn most(parcel: &str) -> ReturnPiece {
        piece(parcel, 10_000, 0, &[0; 9000])
    }

    #[test]
    fn pieces_are_joined_in_order_and_go_on_where_they_stopped() {
        let mut returns = UnfinishedReturns::new(LIMITS);
        let web1 = id("web1");
        assert_eq!(returns.add(&web1, &piece("a", 6, 0, b""), 0), Kept::Has(0));
        assert_eq!(
            returns.add(&web1, &piece("a", 6, 0, b"ab"), 0),
            Kept::Has(2)
        );
        for odd in [piece("a", 6, 0, b"ab"), piece("a", 6, 5, b"f")] {
            assert_eq!(returns.add(&web1, &odd, 0), Kept::Has(2), "not the next");
        }
        assert_eq!(
            returns.add(&web1, &piece("a", 6, 2, b"cd"), 0),
            Kept::Has(4)
        );
        let too_long = piece("a", 6, 4, b"efg");
        assert_eq!(returns.add(&web1, &too_long, 0), Kept::NoRoom);
        let whole = Kept::Whole(Arc::new(b"abcdef".to_vec()));
        assert_eq!(returns.add(&web1, &piece("a", 6, 4, b"ef"), 0), whole);
        // It could not be stored: it is still here.
        assert_eq!(returns.add(&web1, &piece("a", 6, 0, b""), 0), whole);
        returns.finish(&web1, "a", true);
        assert_eq!(returns.add(&web1, &piece("a", 6, 0, b""), 0), Kept::Done);
        assert_eq!((returns.bytes, returns.minions.len()), (0, 0));
    }

    #[test]
    fn what_a_minion_sends_belongs_to_it_alone() {
        let mut returns = UnfinishedReturns::new(LIMITS);
        returns.add(&id("web1"), &piece("a", 6, 0, b"abc"), 0);
        let of_other = piece("a", 6, 3, b"xyz");
        assert_eq!(returns.add(&id("web2"), &of_other, 0), Kept::Has(0));
        returns.finish(&id("web2"), "a", true);
        let more = piece("a", 6, 3, b"def");
        let whole = Kept::Whole(Arc::new(b"abcdef".to_vec()));
        assert_eq!(returns.add(&id("web1"), &more, 0), whole);
    }

    #[test]
    fn a_minion_that_sends_too_much_pays_for_it_itself() {
        let mut returns = UnfinishedReturns::new(LIMITS);
        let (web1, web2) = (id("web1"), id("web2"));
        let long = piece("a", 10_001, 0, b"");
        assert_eq!(returns.add(&web1, &long, 0), Kept::NoRoom);
        assert_eq!(returns.add(&web2, &most("a"), 0), Kept::Has(9000));
        for parcel in ["a", "b", "c"] {
            assert_eq!(returns.add(&web1, &most(parcel), 0), Kept::Has(9000));
        }
        assert_eq!(
            returns.add(&web1, &piece("a", 10_000, 0, b""), 0),
            Kept::Has(0)
        );
        assert_eq!(
            returns.add(&web2, &piece("a", 10_000, 0, b""), 0),
            Kept::Has(9000)
        );
        // One byte each: what they cost beside that counts as well.
        for number in 0..100 {
            returns.add(&web1, &piece(&format!("{number}"), 9, 0, b"x"), 0);
        }
        assert!(returns.of_minion(&web1) <= LIMITS.minion_bytes);
    }

    #[test]
    fn what_stands_still_gives_way_and_what_moves_does_not() {
        let mut returns = UnfinishedReturns::new(LIMITS);
        assert_eq!(returns.add(&id("web1"), &most("a"), 0), Kept::Has(9000));
        assert_eq!(returns.add(&id("web2"), &most("a"), 20), Kept::Has(9000));
        assert_eq!(returns.add(&id("web3"), &most("a"), 30), Kept::NoRoom);
        assert_eq!(returns.add(&id("web3"), &most("a"), 40), Kept::Has(9000));
        let asked = piece("a", 10_000, 0, b"");
        assert_eq!(returns.add(&id("web1"), &asked, 40), Kept::Has(0));
        returns.expire(1000);
        assert_eq!((returns.bytes, returns.minions.len()), (0, 0));
    }

    #[test]
    fn what_is_done_with_is_remembered_within_a_bound() {
        let mut returns = UnfinishedReturns::new(LIMITS);
        let web1 = id("web1");
        for parcel in ["a", "b", "c"] {
            returns.finish(&web1, parcel, true);
        }
        assert_eq!(returns.add(&web1, &piece("a", 9, 0, b""), 0), Kept::Has(0));
        assert_eq!(returns.add(&web1, &piece("c", 9, 0, b""), 0), Kept::Done);
        returns.finish(&web1, "d", false);
        assert_eq!(returns.add(&web1, &piece("d", 9, 0, b""), 0), Kept::Has(0));
    }
}
