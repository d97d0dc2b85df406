//! The masters of one history, and the messages between them.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use halite_cluster::{
    Decision, Delta, GrantKind, Message, Output, PeerId, Registers, Stamp, Standing, Sync,
};
use halite_crypto::SymmetricKey;
use halite_proto::MinionId;
use halite_proto::msgpack::{pack_modern, unpack_modern};

/// Where histories begin, in microseconds since 1970.
const BEGIN: u64 = 1_800_000_000_000_000;
const MINIONS: [&str; 3] = ["web1", "web2", "db"];
const KEYS: [&str; 2] = ["key a", "key b"];
/// Steps of the shortest history, and of the longest beyond it.
const STEPS: (u64, u64) = (30, 150);
/// Rounds after which masters that hear each other must agree.
const ROUNDS_MAX: usize = 30;

/// Numbers of the revocations of one minion.
type Heard = u128;

/// A small generator: the same numbers for the same seed everywhere.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % end
    }

    fn pick(&mut self, len: usize) -> usize {
        usize::try_from(self.below(len as u64)).unwrap()
    }
}

struct Master {
    id: PeerId,
    registers: Registers,
    sync: Sync,
    /// How far its clock is wrong, in microseconds.
    skew: i64,
    /// The revocations of each minion that it has heard of.
    heard: BTreeMap<MinionId, Heard>,
}

struct InFlight {
    from: usize,
    to: usize,
    message: Message,
    /// What the sender had heard of the minions in it.
    heard: BTreeMap<MinionId, Heard>,
}

/// What has happened in all histories.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) revocations: u64,
    pub(crate) lost: u64,
    pub(crate) restarts: u64,
    pub(crate) undone: u64,
    pub(crate) accepted: u64,
    pub(crate) forgotten: u64,
}

impl Seen {
    pub(crate) fn add(&mut self, world: &World) {
        self.revocations += world.seen.revocations;
        self.lost += world.seen.lost;
        self.restarts += world.seen.restarts;
        self.undone += world.seen.undone;
        self.accepted += world.seen.accepted;
        self.forgotten += world.seen.forgotten;
    }
}

/// One history.
pub(crate) struct World {
    seed: u64,
    dice: Dice,
    begin: Instant,
    passed: Duration,
    masters: Vec<Master>,
    cuts: BTreeSet<(usize, usize)>,
    in_flight: Vec<InFlight>,
    /// What was known to the maker of each grant.
    grants: BTreeMap<(MinionId, PeerId, Stamp), Heard>,
    numbers: BTreeMap<MinionId, u32>,
    seen: Seen,
}

impl World {
    pub(crate) fn new(seed: u64) -> Self {
        let mut dice = Dice(seed);
        let count = 2 + dice.below(3);
        let masters: Vec<Master> = (0..count).map(|number| master(number, &mut dice)).collect();
        let mut world = Self {
            seed,
            dice,
            begin: Instant::now(),
            passed: Duration::ZERO,
            masters,
            cuts: BTreeSet::new(),
            in_flight: Vec::new(),
            grants: BTreeMap::new(),
            numbers: BTreeMap::new(),
            seen: Seen::default(),
        };
        let ids: Vec<PeerId> = world
            .masters
            .iter()
            .map(|master| master.id.clone())
            .collect();
        let wall = world.wall(0);
        for id in &ids {
            world.masters[0]
                .registers
                .admit(id, "key", "", wall)
                .unwrap();
        }
        for number in 0..world.masters.len() {
            world.connect(number);
        }
        world
    }

    /// The part with faults.
    pub(crate) fn live(&mut self) {
        // In quiet histories masters agree now and then, and forget what was
        // deleted, while others are cut off.
        let quiet = self.dice.below(3) * 15;
        for _ in 0..STEPS.0 + self.dice.below(STEPS.1) {
            self.passed += Duration::from_millis(self.dice.below(2_000));
            match self.dice.below(20 + quiet) {
                0..=6 => self.decide(),
                7..=14 => self.talk(),
                15 | 16 => self.deliver_one(),
                17 => self.cut_or_mend(),
                18 => self.restart(),
                19 => self.set_clock(),
                _ => self.rest(),
            }
            self.check();
        }
    }

    /// No more faults: everybody comes to agree, and what was deleted is
    /// forgotten.
    pub(crate) fn mend_and_agree(&mut self) {
        self.cuts.clear();
        for number in 0..self.masters.len() {
            self.connect(number);
        }
        for _ in 0..ROUNDS_MAX {
            self.passed += Duration::from_secs(5);
            self.rest();
            let tombstones = |master: &Master| master.registers.key_counts().1;
            if self.agree() && self.masters.iter().all(|master| tombstones(master) == 0) {
                self.seen.forgotten += 1;
                let accepted = |(_, standing)| matches!(standing, Standing::Accepted(_));
                let is_one = self.masters[0].registers.minions().any(accepted);
                self.seen.accepted += u64::from(is_one);
                return;
            }
        }
        panic!(
            "history {} does not come to an end: {:#?}",
            self.seed,
            self.states()
        );
    }

    /// Nothing is decided for a while, and what is said arrives.
    fn rest(&mut self) {
        self.talk();
        while !self.in_flight.is_empty() {
            self.deliver(0);
            self.check();
        }
    }

    fn decide(&mut self) {
        let number = self.dice.pick(self.masters.len());
        let id = MinionId::parse(MINIONS[self.dice.pick(MINIONS.len())]).unwrap();
        let key = KEYS[self.dice.pick(KEYS.len())];
        let decision = match self.dice.below(9) {
            0..=2 => Decision::Accept(key),
            3 | 4 => Decision::Pend(key),
            5 => Decision::Reject(key),
            6 | 7 => Decision::Delete,
            _ => Decision::Deny(key),
        };
        let wall = self.wall(number);
        let master = &mut self.masters[number];
        let before = master.registers.grant(&id).cloned();
        let before_standing = format!("{:?}", master.registers.key(&id));
        master.registers.decide(&id, decision, wall).unwrap();
        let is_new = before_standing != format!("{:?}", master.registers.key(&id));
        if matches!(decision, Decision::Reject(_) | Decision::Delete) && is_new {
            let next = self.numbers.entry(id.clone()).or_default();
            *master.heard.entry(id.clone()).or_default() |= 1 << *next;
            *next += 1;
            self.seen.revocations += 1;
        }
        if let Some(grant) = master.registers.grant(&id)
            && Some(grant) != before.as_ref()
        {
            let known = master.heard.get(&id).copied().unwrap_or_default();
            self.grants
                .insert((id.clone(), grant.by.clone(), grant.at), known);
        }
        let delta = master.registers.some([&id], [], false);
        master.sync.tell(&delta);
        // It leaves at once, saying what is known now.
        self.talk();
        if self.dice.below(8) == 0 && self.masters[number].registers.is_publish_key_stale() {
            self.masters[number]
                .registers
                .rotate(SymmetricKey::generate(), wall);
        }
    }

    /// Everybody says what is due.
    fn talk(&mut self) {
        for number in 0..self.masters.len() {
            let (now, wall) = (self.begin + self.passed, self.wall(number));
            let master = &mut self.masters[number];
            while let Some(Output::Send(to, message)) =
                master.sync.poll(&mut master.registers, now, wall)
            {
                let heard = match &message {
                    Message::Digest(_) => BTreeMap::new(),
                    Message::Delta { delta, .. } => heard_of(&master.heard, delta),
                };
                self.in_flight.push(InFlight {
                    from: number,
                    to: to.as_str()[1..].parse().unwrap(),
                    message,
                    heard,
                });
            }
        }
    }

    /// One message arrives, whichever; or is lost, or comes again later.
    fn deliver_one(&mut self) {
        for _ in 0..1 + self.dice.below(6) {
            if self.in_flight.is_empty() {
                return;
            }
            let which = self.dice.pick(self.in_flight.len());
            match self.dice.below(10) {
                0 | 1 => {
                    self.in_flight.swap_remove(which);
                    self.seen.lost += 1;
                }
                2 => {
                    let again = &self.in_flight[which];
                    let again = InFlight {
                        from: again.from,
                        to: again.to,
                        message: again.message.clone(),
                        heard: again.heard.clone(),
                    };
                    self.in_flight.push(again);
                    self.deliver(which);
                }
                _ => self.deliver(which),
            }
            self.check();
        }
    }

    fn deliver(&mut self, which: usize) {
        let sent = self.in_flight.remove(which);
        let ends = (sent.from.min(sent.to), sent.from.max(sent.to));
        if self.cuts.contains(&ends) {
            self.seen.lost += 1;
            return;
        }
        let message = match self.dice.below(8) {
            0 => over_the_wire(&sent.message),
            _ => sent.message,
        };
        let wall = self.wall(sent.to);
        let from = self.masters[sent.from].id.clone();
        let master = &mut self.masters[sent.to];
        let merged = master
            .sync
            .heard(&mut master.registers, &from, message, wall)
            .unwrap();
        self.seen.undone += merged.undone.len() as u64;
        for (id, heard) in sent.heard {
            *master.heard.entry(id).or_default() |= heard;
        }
        // Answers leave at once.
        self.talk();
    }

    fn cut_or_mend(&mut self) {
        let (one, other) = (
            self.dice.pick(self.masters.len()),
            self.dice.pick(self.masters.len()),
        );
        let ends = (one.min(other), one.max(other));
        if one != other && !self.cuts.remove(&ends) {
            self.cuts.insert(ends);
        }
    }

    /// A master dies, and comes back with what it has on disk.
    fn restart(&mut self) {
        let number = self.dice.pick(self.masters.len());
        let master = &mut self.masters[number];
        let kept = master.registers.all();
        let (last, floor) = (master.registers.now(), master.registers.floor());
        let mut registers = Registers::new(master.id.clone());
        for part in kept {
            let packed = pack_modern(&part.to_value()).unwrap();
            registers.restore(Delta::from_value(unpack_modern(&packed).unwrap()).unwrap());
        }
        registers.restored(last, floor);
        master.registers = registers;
        master.sync = Sync::new();
        self.connect(number);
        self.seen.restarts += 1;
    }

    fn set_clock(&mut self) {
        let number = self.dice.pick(self.masters.len());
        self.masters[number].skew = skew(&mut self.dice);
    }

    fn connect(&mut self, number: usize) {
        let now = self.begin + self.passed;
        for other in 0..self.masters.len() {
            if other != number {
                let id = self.masters[other].id.clone();
                self.masters[number].sync.connected(now, id);
            }
        }
    }

    fn wall(&self, number: usize) -> u64 {
        let passed = u64::try_from(self.passed.as_micros()).unwrap();
        (BEGIN + passed).saturating_add_signed(self.masters[number].skew)
    }

    /// No master takes a key for accepted that it has heard to be revoked since.
    fn check(&self) {
        for master in &self.masters {
            for (id, heard) in &master.heard {
                let grant = master.registers.grant(id);
                let Some(grant) = grant.filter(|grant| grant.kind == GrantKind::Accepted) else {
                    continue;
                };
                let key = (id.clone(), grant.by.clone(), grant.at);
                let known = self.grants.get(&key).copied().unwrap_or_default();
                assert!(
                    heard & !known == 0,
                    "history {}: {} takes {id} for accepted, having heard {heard:b}, granted \
                     by {} with knowledge of {known:b}",
                    self.seed,
                    master.id,
                    grant.by
                );
            }
        }
    }

    fn states(&self) -> Vec<String> {
        let state = |master: &Master| {
            let registers = &master.registers;
            let minions: Vec<String> = registers
                .minions()
                .filter(|(_, standing)| *standing != Standing::Absent)
                .map(|(id, standing)| format!("{id} {standing:?} {:?}", registers.denied_key(id)))
                .collect();
            let members: Vec<PeerId> = registers.members().map(|(id, ..)| id.clone()).collect();
            let publish = registers.publish_key();
            let publish = publish.map(|key| (key.epoch, key.at, key.by.clone()));
            format!("{minions:?} {members:?} {publish:?}")
        };
        self.masters.iter().map(state).collect()
    }

    fn agree(&self) -> bool {
        let states = self.states();
        states.iter().all(|state| *state == states[0])
    }
}

fn master(number: u64, dice: &mut Dice) -> Master {
    let id = PeerId::parse(&format!("m{number}")).unwrap();
    Master {
        registers: Registers::new(id.clone()),
        id,
        sync: Sync::new(),
        skew: skew(dice),
        heard: BTreeMap::new(),
    }
}

/// Clocks differ by up to 50 s, which masters put up with.
fn skew(dice: &mut Dice) -> i64 {
    i64::try_from(dice.below(50_000_000)).unwrap() - 25_000_000
}

fn heard_of(heard: &BTreeMap<MinionId, Heard>, delta: &Delta) -> BTreeMap<MinionId, Heard> {
    delta
        .minions()
        .map(|id| (id.clone(), heard.get(id).copied().unwrap_or_default()))
        .collect()
}

fn over_the_wire(message: &Message) -> Message {
    let packed = pack_modern(&message.to_value()).unwrap();
    Message::from_value(unpack_modern(&packed).unwrap()).unwrap()
}
