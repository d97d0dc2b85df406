use std::time::Duration;

use proptest::prelude::*;

use halite_proto::MinionId;

use super::*;
use crate::data::{DataKind, content_hash};
use crate::limits::CLOCK_LEAD_MAX;

const NOW: u64 = 1_800_000_000_000_000;

/// A master: the machine, and what it has stored.
struct Master {
    exchange: Exchange,
    stored: BTreeMap<DataName, Map>,
    /// How far its clock is ahead, in microseconds.
    ahead: u64,
}

/// Masters that are all linked, a moment, and messages on their way.
struct Fleet {
    masters: BTreeMap<PeerId, Master>,
    wire: VecDeque<(PeerId, PeerId, Message)>,
    now: Instant,
    wall: u64,
}

fn peer(n: usize) -> PeerId {
    PeerId::parse(&format!("m{n}")).unwrap()
}

fn grains_of(id: &str) -> DataName {
    DataName::new(DataKind::Grains, MinionId::parse(id).unwrap())
}

fn data(n: u64) -> Map {
    Map::from([("n", n)])
}

impl Fleet {
    fn new(count: usize) -> Self {
        let master = |n: usize| Master {
            exchange: Exchange::new(peer(n)),
            stored: BTreeMap::new(),
            ahead: n as u64 * 20_000_000,
        };
        let mut fleet = Self {
            masters: (0..count).map(|n| (peer(n), master(n))).collect(),
            wire: VecDeque::new(),
            now: Instant::now(),
            wall: NOW,
        };
        for one in 0..count {
            for other in 0..count {
                fleet.link(one, other);
            }
        }
        fleet
    }

    fn link(&mut self, one: usize, other: usize) {
        if one != other {
            let now = self.now;
            let exchange = &mut self.masters.get_mut(&peer(one)).unwrap().exchange;
            exchange.connected(now, peer(other));
        }
    }

    fn unlink(&mut self, one: usize, other: usize) {
        for (from, to) in [(one, other), (other, one)] {
            let exchange = &mut self.masters.get_mut(&peer(from)).unwrap().exchange;
            exchange.disconnected(&peer(to));
        }
    }

    fn store(&mut self, n: usize, name: &DataName, value: Option<u64>) {
        self.wall += 1;
        let wall = self.wall;
        let master = self.masters.get_mut(&peer(n)).unwrap();
        let content = match value {
            Some(value) => {
                master.stored.insert(name.clone(), data(value));
                Some(content_hash(&data(value)))
            }
            None => {
                master.stored.remove(name);
                None
            }
        };
        master.exchange.changed(name, content, wall + master.ahead);
    }

    /// Does what is due, without any message arriving.
    fn poll(&mut self) {
        for (me, master) in &mut self.masters {
            while let Some(output) = master.exchange.poll(self.now) {
                match output {
                    Output::Send(to, message) => self.wire.push_back((me.clone(), to, message)),
                    Output::Give(to, name) => {
                        let stored = master.stored.get(&name).cloned();
                        let content = master.exchange.content_of(&name, stored);
                        let message = Message::Data(name, content);
                        self.wire.push_back((me.clone(), to, message));
                    }
                    Output::Store(name, content) => {
                        let wall = self.wall + master.ahead;
                        let (version, data) = match content {
                            Content::Is(version, data) => (version, Some(data)),
                            Content::Removed(version) => (version, None),
                            Content::Unknown => panic!("nothing to store"),
                        };
                        // Something newer may have come since.
                        if master.exchange.is_news(&name, &version) {
                            match data {
                                Some(data) => master.stored.insert(name.clone(), data),
                                None => master.stored.remove(&name),
                            };
                            master.exchange.took(&name, &version, wall);
                        }
                    }
                }
            }
        }
    }

    fn arrive(&mut self) -> bool {
        let Some((from, to, message)) = self.wire.pop_front() else {
            return false;
        };
        let back = Message::from_value(message.to_value()).unwrap();
        assert_eq!(back, message);
        let master = self.masters.get_mut(&to).unwrap();
        let at = (self.now, self.wall + master.ahead);
        let heard = master.exchange.heard(&from, back, at, |_| true);
        heard.unwrap();
        true
    }

    /// Lets everything arrive, and the digests after it.
    fn settle(&mut self) {
        for _ in 0..4 {
            self.poll();
            while self.arrive() {
                self.poll();
            }
            self.now += DATA_ANSWER_MAX + Duration::from_secs(1);
            self.wall += 21_000_000;
        }
    }

    fn all_have(&self, name: &DataName) -> Option<u64> {
        let mut all = self.masters.values().map(|master| {
            let stored = master.stored.get(name)?;
            u64::try_from(stored.get("n")?.as_int()?).ok()
        });
        let first = all.next().unwrap();
        assert!(all.all(|other| other == first), "{name:?} differs");
        first
    }
}

#[test]
fn what_one_master_takes_all_have_at_once() {
    let mut fleet = Fleet::new(3);
    fleet.settle();
    let web1 = grains_of("web1");
    fleet.store(0, &web1, Some(1));
    fleet.poll();
    while fleet.arrive() {
        fleet.poll();
    }
    assert_eq!(fleet.all_have(&web1), Some(1));
    // Whoever takes it later has the last word, whatever the clocks say.
    for n in [2, 0, 1] {
        fleet.store(n, &web1, Some(10 + n as u64));
        fleet.settle();
        assert_eq!(fleet.all_have(&web1), Some(10 + n as u64));
    }
    fleet.store(1, &web1, None);
    fleet.settle();
    assert_eq!(fleet.all_have(&web1), None);
}

#[test]
fn a_master_that_was_away_gets_what_it_has_missed_a_few_at_a_time() {
    let mut fleet = Fleet::new(2);
    fleet.settle();
    fleet.unlink(0, 1);
    for n in 0..5000 {
        fleet.store(0, &grains_of(&format!("web{n}")), Some(n));
    }
    fleet.poll();
    fleet.link(0, 1);
    fleet.link(1, 0);
    fleet.poll();
    let mut most = 0;
    while fleet.arrive() {
        fleet.poll();
        let is_data = |(_, _, message): &&(_, _, Message)| matches!(message, Message::Data(..));
        most = most.max(fleet.wire.iter().filter(is_data).count());
    }
    assert_eq!(fleet.all_have(&grains_of("web4999")), Some(4999));
    assert_eq!(most, DATA_ASKED_AT_ONCE_MAX);
}

#[test]
fn versions_outlive_a_restart_and_what_has_not_changed_is_not_named_again() {
    let mut fleet = Fleet::new(2);
    let web1 = grains_of("web1");
    fleet.store(0, &web1, Some(1));
    fleet.settle();
    let master = fleet.masters.get_mut(&peer(0)).unwrap();
    let kept = master.exchange.to_value();
    master.exchange = Exchange::restore(peer(0), kept.clone()).unwrap();
    assert_eq!(master.exchange.to_value(), kept);
    fleet.link(0, 1);
    fleet.store(0, &web1, Some(1));
    assert!(fleet.masters[&peer(0)].exchange.changed.is_empty());
    fleet.store(0, &web1, Some(2));
    fleet.settle();
    assert_eq!(fleet.all_have(&web1), Some(2));
}

#[test]
fn what_was_stored_before_there_were_versions_is_had_by_all_and_gives_way() {
    let mut fleet = Fleet::new(2);
    let (web1, web2) = (grains_of("web1"), grains_of("web2"));
    for (n, name) in [(0, &web1), (1, &web1), (1, &web2)] {
        let master = fleet.masters.get_mut(&peer(n)).unwrap();
        master.stored.insert(name.clone(), data(n as u64));
        master.exchange.found(name);
    }
    fleet.settle();
    assert_eq!(fleet.all_have(&web1), Some(1));
    assert_eq!(fleet.all_have(&web2), Some(1));
    fleet.store(0, &web2, Some(5));
    fleet.settle();
    assert_eq!(fleet.all_have(&web2), Some(5));
}

#[test]
fn a_version_from_the_future_and_data_that_nobody_asked_for_are_not_taken() {
    let mut exchange = Exchange::new(peer(0));
    let now = Instant::now();
    exchange.connected(now, peer(1));
    let web1 = grains_of("web1");
    let lead = u64::try_from(CLOCK_LEAD_MAX.as_micros()).unwrap();
    let version = |micros| Version {
        at: Stamp { micros, count: 0 },
        by: peer(1),
        content: Some(7),
    };
    let named = Message::Versions(vec![(web1.clone(), version(NOW + lead + 1))]);
    let heard = exchange.heard(&peer(1), named, (now, NOW), |_| true);
    assert!(heard.is_err());
    let given = Message::Data(web1.clone(), Content::Is(version(NOW), data(7)));
    exchange
        .heard(&peer(1), given, (now, NOW), |_| true)
        .unwrap();
    let named = Message::Versions(vec![(web1.clone(), version(NOW))]);
    // Of minions that are not known nothing is asked for.
    exchange
        .heard(&peer(1), named.clone(), (now, NOW), |_| false)
        .unwrap();
    let digest = |output| matches!(output, Some(Output::Send(_, Message::Digest(_))));
    assert!(digest(exchange.poll(now)));
    assert_eq!(exchange.poll(now), None);
    exchange
        .heard(&peer(1), named, (now, NOW), |_| true)
        .unwrap();
    let wants = Output::Send(peer(1), Message::Wants(vec![web1.clone()]));
    assert_eq!(exchange.poll(now), Some(wants));
    // A peer that never answers is given up, and asked again when it names it again.
    assert_eq!(exchange.counts(), (0, 1));
    let _ = exchange.poll(now + DATA_ANSWER_MAX);
    assert_eq!(exchange.counts(), (0, 0));
}

#[test]
fn what_is_not_stored_any_more_is_had_from_the_others() {
    let mut fleet = Fleet::new(2);
    let web1 = grains_of("web1");
    fleet.store(0, &web1, Some(1));
    fleet.settle();
    // Somebody has emptied the cache directory.
    let master = fleet.masters.get_mut(&peer(0)).unwrap();
    master.stored.clear();
    master.exchange.content_of(&web1, None);
    fleet.settle();
    assert_eq!(fleet.all_have(&web1), Some(1));
}

/// What may happen.
#[derive(Clone, Debug)]
enum Step {
    Store(usize, usize, Option<u64>),
    Cut(usize, usize),
    Link(usize, usize),
    Arrive(usize),
    Lose,
    Wait,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..3_usize, 0..4_usize, prop::option::weighted(0.8, 0..50_u64))
            .prop_map(|(master, name, value)| Step::Store(master, name, value)),
        1 => (0..3_usize, 0..3_usize).prop_map(|(one, other)| Step::Cut(one, other)),
        1 => (0..3_usize, 0..3_usize).prop_map(|(one, other)| Step::Link(one, other)),
        4 => (1..20_usize).prop_map(Step::Arrive),
        1 => Just(Step::Lose),
        1 => Just(Step::Wait),
    ]
}

proptest! {
    /// Whatever is cut, lost or late: when all are linked again, all have the same.
    #[test]
    fn all_end_with_the_same(steps in prop::collection::vec(step(), 1..120)) {
        let mut fleet = Fleet::new(3);
        let mut names = BTreeSet::new();
        for step in steps {
            match step {
                Step::Store(master, name, value) => {
                    let name = grains_of(&format!("web{name}"));
                    fleet.store(master, &name, value);
                    names.insert(name);
                }
                Step::Cut(one, other) => fleet.unlink(one, other),
                Step::Link(one, other) => {
                    fleet.link(one, other);
                    fleet.link(other, one);
                }
                Step::Arrive(count) => {
                    fleet.poll();
                    for _ in 0..count {
                        fleet.arrive();
                    }
                }
                Step::Lose => fleet.wire.clear(),
                Step::Wait => {
                    fleet.now += DATA_DIGEST_EVERY;
                    fleet.wall += 10_000_000;
                }
            }
        }
        for one in 0..3 {
            for other in 0..3 {
                fleet.link(one, other);
            }
        }
        fleet.settle();
        for name in &names {
            fleet.all_have(name);
        }
        let masters = fleet.masters.values();
        let digests: Vec<_> = masters.map(|of| of.exchange.versions.buckets()).collect();
        prop_assert!(digests.windows(2).all(|two| two[0] == two[1]));
    }
}
