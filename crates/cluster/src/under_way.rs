//! What masters do that somebody waits for, runners and jobs in batches: each tells the
//! others what it has begun, so that none of it ends without a word with its master.
//!
//! A table of who does what, and what is lost when a master is away. Invariant: a piece of
//! work is some master's at a time, of whoever said so last, and is given out as lost once.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Instant;

use halite_proto::msgpack::pack_modern;
use halite_proto::{Jid, Map, MinionId, Value};

use crate::encoding::{DecodeError, Items, expected};
use crate::limits::{
    WORK_AWAY_AFTER, WORK_BYTES_PER_MASTER_MAX, WORKS_OVER_KEPT_MAX, WORKS_PER_MASTER_MAX,
};
use crate::peer::PeerId;

/// Bytes of a job id.
const JID_BYTES_MAX: usize = 64;

/// What kind of work it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkKind {
    /// A function of the master: it ends with its master.
    Runner,
    /// A job in batches: another master can go on with it.
    Batch,
}

/// Something that a master does.
#[derive(Clone, Debug, PartialEq)]
pub struct Work {
    /// Its job.
    pub jid: Jid,
    /// What it is.
    pub kind: WorkKind,
    /// What another master needs, to go on with it or to tell of its end.
    pub data: Map,
}

/// A message.
#[derive(Clone, Debug, PartialEq)]
pub enum Message {
    /// The sender does this from now on.
    Begun(Work),
    /// It is over, and that was told of.
    Ended(Jid),
    /// The sender does this and nothing else.
    All(Vec<Jid>),
    /// The sender was doing this when it was ended, and is to hear what is over since.
    Left(Vec<Jid>),
}

impl Message {
    /// As it is sent.
    pub fn to_value(&self) -> Value {
        Value::List(match self {
            Self::Begun(Work { jid, kind, data }) => vec![
                0.into(),
                jid.into(),
                (*kind == WorkKind::Batch).into(),
                data.clone().into(),
            ],
            Self::Ended(jid) => vec![1.into(), jid.into()],
            Self::All(jids) => vec![2.into(), list(jids)],
            Self::Left(jids) => vec![3.into(), list(jids)],
        })
    }

    /// Reads what another master has sent.
    ///
    /// # Errors
    /// When it is nothing that masters say.
    pub fn from_value(value: Value) -> Result<Self, DecodeError> {
        let mut items = Items::of(value)?;
        Ok(match items.number("kind of message")? {
            0 => Self::Begun(Work {
                jid: jid(&items.text("job id", JID_BYTES_MAX)?)?,
                kind: match items.bool("kind of work")? {
                    true => WorkKind::Batch,
                    false => WorkKind::Runner,
                },
                data: match items.value("work")? {
                    Value::Map(data) => data,
                    _ => return Err(expected("work")),
                },
            }),
            1 => Self::Ended(jid(&items.text("job id", JID_BYTES_MAX)?)?),
            2 => Self::All(jids(items.value("jobs")?)?),
            3 => Self::Left(jids(items.value("jobs")?)?),
            _ => return Err(expected("kind of message")),
        })
    }
}

fn list(jids: &[Jid]) -> Value {
    Value::List(jids.iter().map(Value::from).collect())
}

fn jids(value: Value) -> Result<Vec<Jid>, DecodeError> {
    let jids = Items::at_most(value, "jobs", WORKS_PER_MASTER_MAX)?;
    let one = |item: Value| jid(item.as_str().ok_or_else(|| expected("job id"))?);
    jids.map(one).collect()
}

fn jid(text: &str) -> Result<Jid, DecodeError> {
    Ok(Jid::parse(text)?)
}

/// Work of a master that is away.
#[derive(Clone, Debug, PartialEq)]
pub struct Lost {
    /// The master.
    pub peer: PeerId,
    /// The work.
    pub work: Work,
    /// Who was sent the job since what the master has said of it last.
    pub sent: BTreeSet<MinionId>,
}

/// What is kept of one piece.
#[derive(Debug)]
struct Known {
    work: Work,
    sent: BTreeSet<MinionId>,
    bytes: usize,
}

/// What is known of one master.
#[derive(Debug, Default)]
struct Doing {
    away_since: Option<Instant>,
    works: BTreeMap<Jid, Known>,
}

impl Doing {
    fn bytes(&self) -> usize {
        self.works.values().map(|known| known.bytes).sum()
    }
}

/// What the other masters do.
#[derive(Debug, Default)]
pub struct Works {
    peers: BTreeMap<PeerId, Doing>,
    /// What was said to be over lately, the oldest first.
    over: VecDeque<Jid>,
}

/// A master does more than is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooMuch;

impl Works {
    /// A master is connected; what it does it says itself.
    pub fn connected(&mut self, peer: &PeerId) {
        self.peers.entry(peer.clone()).or_default().away_since = None;
    }

    /// The connection to a master has ended.
    pub fn disconnected(&mut self, peer: &PeerId, now: Instant) {
        if let Some(doing) = self.peers.get_mut(peer) {
            doing.away_since.get_or_insert(now);
        }
    }

    /// Takes what a master says; what it did in an earlier life and does no more.
    ///
    /// # Errors
    /// When it does more than is kept of one master.
    pub fn heard(&mut self, peer: &PeerId, message: Message) -> Result<Vec<Lost>, TooMuch> {
        match message {
            Message::Begun(work) => self.begun(peer, work).map(|()| Vec::new()),
            Message::Ended(jid) => {
                self.forget(&jid);
                self.over.push_back(jid);
                while self.over.len() > WORKS_OVER_KEPT_MAX {
                    self.over.pop_front();
                }
                Ok(Vec::new())
            }
            Message::All(jids) => Ok(self.does_only(peer, &jids)),
            Message::Left(_) => Ok(Vec::new()),
        }
    }

    fn begun(&mut self, peer: &PeerId, work: Work) -> Result<(), TooMuch> {
        // Whoever had it before has it no more.
        self.forget(&work.jid);
        let bytes = pack_modern(&Value::from(work.data.clone())).map_or(usize::MAX, |it| it.len());
        let doing = self.peers.entry(peer.clone()).or_default();
        let has_room = doing.works.len() < WORKS_PER_MASTER_MAX
            && doing.bytes().saturating_add(bytes) <= WORK_BYTES_PER_MASTER_MAX;
        if !has_room {
            return Err(TooMuch);
        }
        let known = Known {
            sent: BTreeSet::new(),
            bytes,
            work,
        };
        doing.works.insert(known.work.jid.clone(), known);
        Ok(())
    }

    /// A master that was started again has left its batches and goes on with them by itself
    /// a little later; a runner does not outlive it.
    fn does_only(&mut self, peer: &PeerId, jids: &[Jid]) -> Vec<Lost> {
        let doing = self.peers.entry(peer.clone()).or_default();
        let is_lost =
            |jid: &Jid, known: &Known| known.work.kind == WorkKind::Runner && !jids.contains(jid);
        take(peer, doing, is_lost)
    }

    /// A part of a job was sent to minions.
    pub fn sent(&mut self, peer: &PeerId, jid: &Jid, minions: &[MinionId]) {
        let known = self.peers.get_mut(peer);
        if let Some(known) = known.and_then(|doing| doing.works.get_mut(jid)) {
            known.sent.extend(minions.iter().cloned());
        }
    }

    /// Forgets a piece, whoever does it.
    pub fn forget(&mut self, jid: &Jid) {
        for doing in self.peers.values_mut() {
            doing.works.remove(jid);
        }
    }

    /// The other master that does this.
    pub fn whose(&self, jid: &Jid) -> Option<&PeerId> {
        let mut peers = self.peers.iter();
        peers.find_map(|(peer, doing)| doing.works.contains_key(jid).then_some(peer))
    }

    /// Whether a master has said lately that it is over.
    pub fn is_over(&self, jid: &Jid) -> bool {
        self.over.contains(jid)
    }

    /// What is lost with masters that are away: runners, and batches if this master is the
    /// one that goes on with them.
    pub fn lost(&mut self, now: Instant, takes_batches: bool) -> Vec<Lost> {
        let mut lost = Vec::new();
        for (peer, doing) in &mut self.peers {
            let since = doing.away_since;
            if since.is_none_or(|since| now.saturating_duration_since(since) < WORK_AWAY_AFTER) {
                continue;
            }
            let is_lost =
                |_: &Jid, known: &Known| known.work.kind == WorkKind::Runner || takes_batches;
            lost.extend(take(peer, doing, is_lost));
        }
        // Nothing is left to be said of those that are no members any more.
        self.peers
            .retain(|_, doing| doing.away_since.is_none() || !doing.works.is_empty());
        lost
    }
}

fn take(peer: &PeerId, doing: &mut Doing, is_lost: impl Fn(&Jid, &Known) -> bool) -> Vec<Lost> {
    let taken = doing.works.extract_if(.., |jid, known| is_lost(jid, known));
    let lost = |(_, known): (Jid, Known)| Lost {
        peer: peer.clone(),
        work: known.work,
        sent: known.sent,
    };
    taken.map(lost).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::WorkKind::{Batch, Runner};
    use super::*;

    fn peer(name: &str) -> PeerId {
        PeerId::parse(name).unwrap()
    }

    fn job(n: usize) -> Jid {
        Jid::parse(format!("20261128{n:012}")).unwrap()
    }

    fn work(n: usize, kind: WorkKind) -> Work {
        Work {
            jid: job(n),
            kind,
            data: Map::from([("fun", "test.ping")]),
        }
    }

    fn begun(n: usize, kind: WorkKind) -> Message {
        Message::Begun(work(n, kind))
    }

    fn jids(lost: &[Lost]) -> Vec<Jid> {
        lost.iter().map(|lost| lost.work.jid.clone()).collect()
    }

    #[test]
    fn messages_are_read_as_they_were_sent() {
        for message in [
            begun(1, Batch),
            begun(2, Runner),
            Message::Ended(job(1)),
            Message::All(vec![job(1), job(2)]),
            Message::All(Vec::new()),
            Message::Left(vec![job(3)]),
        ] {
            assert_eq!(Message::from_value(message.to_value()).unwrap(), message);
        }
        for rubbish in [
            Value::Nil,
            Value::List(vec![4.into()]),
            Value::List(vec![1.into(), "../x".into()]),
            Value::List(vec![0.into(), "20261128000000000001".into(), true.into()]),
        ] {
            assert!(Message::from_value(rubbish.clone()).is_err(), "{rubbish:?}");
        }
        let many = (0..=WORKS_PER_MASTER_MAX).map(job).collect();
        assert!(Message::from_value(Message::All(many).to_value()).is_err());
    }

    #[test]
    fn what_a_master_did_is_lost_once_it_is_away_for_a_while() {
        let (m1, now) = (peer("m1"), Instant::now());
        let mut works = Works::default();
        works.connected(&m1);
        works.heard(&m1, begun(1, Runner)).unwrap();
        works.heard(&m1, begun(2, Batch)).unwrap();
        works.sent(&m1, &job(2), &[MinionId::parse("web1").unwrap()]);
        works.heard(&m1, begun(3, Runner)).unwrap();
        works.heard(&m1, Message::Ended(job(3))).unwrap();
        assert!(works.is_over(&job(3)) && !works.is_over(&job(1)));
        assert_eq!(works.lost(now + 9 * WORK_AWAY_AFTER, true), []);
        works.disconnected(&m1, now);
        let later = now + WORK_AWAY_AFTER;
        assert_eq!(works.lost(later - Duration::from_millis(1), true), []);
        // Another master goes on with batches.
        assert_eq!(jids(&works.lost(later, false)), [job(1)]);
        assert_eq!(works.whose(&job(2)), Some(&m1));
        let lost = works.lost(later, true);
        assert_eq!(jids(&lost), [job(2)]);
        assert_eq!(lost[0].sent.len(), 1);
        assert_eq!(works.lost(later, true), []);
        assert!(works.peers.is_empty());
    }

    #[test]
    fn what_another_master_goes_on_with_is_its_own() {
        let (m1, m2, now) = (peer("m1"), peer("m2"), Instant::now());
        let mut works = Works::default();
        works.heard(&m1, begun(1, Batch)).unwrap();
        works.disconnected(&m1, now);
        works.heard(&m2, begun(1, Batch)).unwrap();
        assert_eq!(works.whose(&job(1)), Some(&m2));
        assert_eq!(works.lost(now + WORK_AWAY_AFTER, true), []);
        works.forget(&job(1));
        assert_eq!(works.whose(&job(1)), None);
    }

    #[test]
    fn a_master_that_was_started_again_has_lost_its_runners_and_not_its_batches() {
        let m1 = peer("m1");
        let mut works = Works::default();
        for (n, kind) in [(1, Runner), (2, Runner), (3, Batch)] {
            works.heard(&m1, begun(n, kind)).unwrap();
        }
        let lost = works.heard(&m1, Message::All(vec![job(2)])).unwrap();
        assert_eq!(jids(&lost), [job(1)]);
        assert_eq!(works.whose(&job(3)), Some(&m1));
    }

    #[test]
    fn one_master_takes_no_more_than_its_room() {
        let (m1, m2) = (peer("m1"), peer("m2"));
        let mut works = Works::default();
        for n in 0..WORKS_PER_MASTER_MAX {
            works.heard(&m1, begun(n, Runner)).unwrap();
        }
        let further = begun(WORKS_PER_MASTER_MAX, Runner);
        assert_eq!(works.heard(&m1, further.clone()), Err(TooMuch));
        // Said again it takes no further room, and others have their own.
        works.heard(&m1, begun(0, Runner)).unwrap();
        works.heard(&m2, further).unwrap();
        let large = Work {
            data: Map::from([("arg", "x".repeat(WORK_BYTES_PER_MASTER_MAX))]),
            ..work(0, Batch)
        };
        assert_eq!(works.heard(&m2, Message::Begun(large)), Err(TooMuch));
        for n in 0..2 * WORKS_OVER_KEPT_MAX {
            works.heard(&m1, Message::Ended(job(n))).unwrap();
        }
        assert_eq!(works.over.len(), WORKS_OVER_KEPT_MAX);
    }
}
