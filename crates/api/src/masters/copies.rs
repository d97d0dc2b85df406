//! Which events are copies of one that another master has sent already.
//!
//! Pure. In a cluster each master sends the events of all; with several masters in
//! a minion's list one return may reach two of them. Invariant: an event that one
//! master sends twice is passed on twice; one that two masters send once each is
//! passed on once.

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher, RandomState};
use std::time::{Duration, Instant};

use halite_proto::{Value, json};

use super::bit;
use crate::encode::to_json;

/// The field in which a master of a cluster says whose event it passes on.
const PEER: &str = "__peer_id";

/// What remembers events, by numbers of the streams that they came in.
#[derive(Debug)]
pub(super) struct Copies {
    hasher: RandomState,
    told: HashMap<u64, Senders>,
    /// The same in the order in which they came.
    order: VecDeque<(Instant, u64)>,
    number_max: usize,
    within: Duration,
}

#[derive(Debug, Default)]
struct Senders {
    /// How often each stream had it, and of which master it is.
    by: Vec<By>,
}

#[derive(Debug)]
struct By {
    stream: u64,
    master: usize,
    times: u32,
}

impl Copies {
    /// Remembers this many events for this time.
    pub(super) fn new(number_max: usize, within: Duration) -> Self {
        Self {
            hasher: RandomState::new(),
            told: HashMap::new(),
            order: VecDeque::new(),
            number_max,
            within,
        }
    }

    /// The masters, a bit for each, that have already sent an event of a master's stream
    /// in other streams; `json` is its tag and data.
    pub(super) fn told_by(
        &mut self,
        now: Instant,
        stream: u64,
        master: usize,
        tag: &str,
        json: &str,
    ) -> u64 {
        self.forget(now);
        let key = self.key(tag, json);
        let order = &mut self.order;
        let told = self.told.entry(key).or_insert_with(|| {
            order.push_back((now, key));
            Senders::default()
        });
        let times = match told.by.iter_mut().find(|by| by.stream == stream) {
            Some(own) => {
                own.times = own.times.saturating_add(1);
                own.times
            }
            None => {
                told.by.push(By {
                    stream,
                    master,
                    times: 1,
                });
                1
            }
        };
        let others = told.by.iter().filter(|by| by.stream != stream);
        others
            .filter(|by| by.times >= times)
            .fold(0, |bits, by| bits | bit(by.master))
    }

    fn forget(&mut self, now: Instant) {
        while let Some((at, key)) = self.order.front() {
            let is_old = now.saturating_duration_since(*at) > self.within;
            if !is_old && self.order.len() < self.number_max {
                return;
            }
            self.told.remove(key);
            self.order.pop_front();
        }
    }

    /// What copies have in common: of a return its tag, which has the job and the
    /// minion; of other events all but who passes them on.
    fn key(&self, tag: &str, json: &str) -> u64 {
        if is_return(tag) {
            return self.hasher.hash_one(tag);
        }
        match without_peer(json) {
            Some(json) => self.hasher.hash_one(json.as_str()),
            None => self.hasher.hash_one(json),
        }
    }
}

/// Whether a tag is `salt/job/JID/ret/MINION`.
fn is_return(tag: &str) -> bool {
    let parts: Vec<&str> = tag.splitn(6, '/').collect();
    matches!(parts.as_slice(), ["salt", "job", _, "ret", _])
}

/// An event passed on by a master, in the form in which its own master sent it.
fn without_peer(text: &str) -> Option<String> {
    if !text.contains(PEER) {
        return None;
    }
    let mut event = json::read(text).ok()?;
    if let Value::Map(fields) = &mut event
        && let Some(Value::Map(data)) = fields.get_mut("data")
    {
        data.remove(PEER);
    }
    to_json(&event)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    impl Copies {
        /// Whether a listener to all streams has not had it yet; each stream belongs to
        /// its own master.
        fn is_new(&mut self, now: Instant, stream: u64, tag: &str, json: &str) -> bool {
            let master = usize::try_from(stream).unwrap();
            self.told_by(now, stream, master, tag, json) == 0
        }
    }

    fn event(tag: &str, data: &str) -> String {
        format!("{{\"tag\": \"{tag}\", \"data\": {data}}}")
    }

    #[test]
    fn what_two_masters_tell_is_told_once() {
        let mut copies = Copies::new(100, MINUTE);
        let now = Instant::now();
        let key = event("salt/key", r#"{"id": "web1", "_stamp": "1"}"#);
        let passed = event(
            "salt/key",
            r#"{"id": "web1", "_stamp": "1", "__peer_id": "m1"}"#,
        );
        assert!(copies.is_new(now, 1, "salt/key", &key));
        assert!(!copies.is_new(now, 2, "salt/key", &passed));
        assert!(!copies.is_new(now, 3, "salt/key", &key));
        let later = event("salt/key", r#"{"id": "web1", "_stamp": "2"}"#);
        assert!(copies.is_new(now, 2, "salt/key", &later));
        // A return says with its tag which one it is.
        let tag = "salt/job/20260101000000000000/ret/web1";
        assert!(copies.is_new(now, 1, tag, &event(tag, r#"{"_stamp": "1"}"#)));
        assert!(!copies.is_new(now, 2, tag, &event(tag, r#"{"_stamp": "2"}"#)));
        let other = "salt/job/20260101000000000000/ret/web2";
        assert!(copies.is_new(now, 2, other, "{}"));
        let deeper = "salt/job/20260101000000000000/ret/web1/x";
        assert!(copies.is_new(now, 1, deeper, r#"{"a": 1}"#));
        assert!(copies.is_new(now, 2, deeper, r#"{"a": 2}"#));
    }

    #[test]
    fn what_one_master_tells_twice_is_told_twice() {
        let mut copies = Copies::new(100, MINUTE);
        let now = Instant::now();
        assert!(copies.is_new(now, 1, "t", "x"));
        assert!(copies.is_new(now, 1, "t", "x"));
        // The other one's two are those.
        assert!(!copies.is_new(now, 2, "t", "x"));
        assert!(!copies.is_new(now, 2, "t", "x"));
        assert!(copies.is_new(now, 2, "t", "x"));
        assert!(!copies.is_new(now, 1, "t", "x"));
    }

    #[test]
    fn who_has_told_it_is_said() {
        let mut copies = Copies::new(100, MINUTE);
        let now = Instant::now();
        assert_eq!(copies.told_by(now, 7, 1, "t", "x"), 0);
        assert_eq!(copies.told_by(now, 8, 0, "t", "x"), bit(1));
        assert_eq!(copies.told_by(now, 9, 2, "t", "x"), bit(0) | bit(1));
        // A later stream of a master's tells what the earlier one told.
        assert_eq!(copies.told_by(now, 10, 1, "t", "x") & bit(1), bit(1));
        assert_eq!(copies.told_by(now, 8, 0, "t", "x"), 0);
    }

    #[test]
    fn what_is_remembered_is_bounded_in_number_and_time() {
        let mut copies = Copies::new(10, MINUTE);
        let now = Instant::now();
        for number in 0..100 {
            assert!(copies.is_new(now, 1, "t", &number.to_string()));
        }
        assert!(copies.told.len() <= 10 && copies.order.len() <= 10);
        assert!(!copies.is_new(now, 2, "t", "99"));
        assert!(copies.is_new(now, 2, "t", "1"));
        let later = now + MINUTE + Duration::from_secs(1);
        assert!(copies.is_new(later, 2, "t", "98"));
        assert_eq!(copies.told.len(), 1);
    }
}
