mod faults;
mod joining;

use std::fs;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use halite_cluster::Output;
use halite_crypto::PrivateKey;
use tempfile::TempDir;

use super::*;

const WALL: u64 = 1_800_000_000_000_000;

/// Keys of minions.
static KEYS: LazyLock<[String; 2]> = LazyLock::new(|| {
    [(); 2].map(|()| {
        let key = PrivateKey::generate(1024).unwrap();
        key.public().unwrap().clean_pem().unwrap()
    })
});

fn id(text: &str) -> MinionId {
    MinionId::parse(text).unwrap()
}

fn peer(number: usize) -> PeerId {
    PeerId::parse(&format!("m{number}")).unwrap()
}

struct Master {
    dir: TempDir,
    mirror: StoreMirror,
    sync: Sync,
}

impl Master {
    fn new(number: usize) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let mirror = open(&dir, number);
        Self {
            dir,
            mirror,
            sync: Sync::new(),
        }
    }

    fn store(&self) -> KeyStore {
        self.mirror.store.clone()
    }

    fn state(&self, minion: &str) -> Option<KeyState> {
        let key = self.mirror.store.lookup(&id(minion)).unwrap();
        key.map(|key| key.state)
    }
}

fn open(dir: &TempDir, number: usize) -> StoreMirror {
    let pki = dir.path().join("pki");
    let store = KeyStore::open(&pki, None).unwrap();
    let cluster = ClusterDir::open(pki.clone()).unwrap();
    // Fleets go on in time; the clock has tests of its own.
    StoreMirror::open(
        pki.join("registers"),
        &peer(number),
        store,
        cluster,
        u64::MAX,
    )
    .unwrap()
}

/// Masters with directories of their own.
struct Fleet {
    masters: Vec<Master>,
    down: Vec<usize>,
    begin: Instant,
    passed: Duration,
}

impl Fleet {
    fn new(count: usize) -> Self {
        let mut masters: Vec<Master> = (0..count).map(Master::new).collect();
        for master in &mut masters {
            for number in 0..count {
                let mirror = &mut master.mirror;
                mirror.admit(&peer(number), "key", "", WALL).unwrap();
            }
        }
        let mut fleet = Self {
            masters,
            down: Vec::new(),
            begin: Instant::now(),
            passed: Duration::ZERO,
        };
        fleet.meet();
        fleet
    }

    fn wall(&self) -> u64 {
        WALL + u64::try_from(self.passed.as_micros()).unwrap()
    }

    /// All that are up look at their stores and say what is to be said, until
    /// nobody has anything new.
    fn meet(&mut self) {
        for number in 0..self.masters.len() {
            for other in 0..self.masters.len() {
                let now = self.begin + self.passed;
                if number != other {
                    self.masters[number].sync.connected(now, peer(other));
                }
            }
        }
        for _ in 0..4 {
            self.passed += Duration::from_secs(5);
            self.look();
            self.talk();
        }
    }

    fn look(&mut self) {
        let wall = self.wall();
        for number in 0..self.masters.len() {
            if !self.down.contains(&number) {
                let Master { mirror, sync, .. } = &mut self.masters[number];
                let decided = mirror.look(wall).unwrap();
                sync.tell_keys(&mirror.registers, &decided);
            }
        }
    }

    fn talk(&mut self) {
        let mut is_quiet = false;
        while !is_quiet {
            is_quiet = true;
            for number in 0..self.masters.len() {
                let (now, wall) = (self.begin + self.passed, self.wall());
                if self.down.contains(&number) {
                    continue;
                }
                let Master { mirror, sync, .. } = &mut self.masters[number];
                let Some(Output::Send(to, message)) = sync.poll(&mut mirror.registers, now, wall)
                else {
                    continue;
                };
                is_quiet = false;
                let to: usize = to.as_str()[1..].parse().unwrap();
                if !self.down.contains(&to) {
                    let Master { mirror, sync, .. } = &mut self.masters[to];
                    let effects = &mut Effects::default();
                    mirror
                        .hear(sync, &peer(number), message, wall, effects)
                        .unwrap();
                }
            }
        }
    }

    fn states(&self, minion: &str) -> Vec<Option<KeyState>> {
        self.masters
            .iter()
            .map(|master| master.state(minion))
            .collect()
    }
}

#[test]
fn what_is_decided_in_one_store_is_shown_by_all() {
    let mut fleet = Fleet::new(3);
    let web = id("web1");
    fleet.masters[0]
        .store()
        .put(&web, KeyState::Pending, &KEYS[0])
        .unwrap();
    fleet.meet();
    assert_eq!(fleet.states("web1"), [Some(KeyState::Pending); 3]);
    let all = [KeyState::Pending];
    fleet.masters[1]
        .store()
        .accept(&web, &all)
        .unwrap()
        .unwrap();
    fleet.meet();
    assert_eq!(fleet.states("web1"), [Some(KeyState::Accepted); 3]);
    fleet.masters[2]
        .store()
        .put(&web, KeyState::Denied, &KEYS[1])
        .unwrap();
    fleet.meet();
    let denied = |master: &Master| master.store().get(KeyState::Denied, &web).unwrap();
    assert!(fleet.masters.iter().all(|master| denied(master).is_some()));
    fleet.masters[2]
        .store()
        .reject(&web, &KeyState::LOOKUP)
        .unwrap()
        .unwrap();
    fleet.meet();
    assert_eq!(fleet.states("web1"), [Some(KeyState::Rejected); 3]);
    fleet.masters[0].store().delete(&web).unwrap();
    fleet.meet();
    assert_eq!(fleet.states("web1"), [None; 3]);
    assert!(fleet.masters.iter().all(|master| denied(master).is_none()));
}

#[test]
fn a_key_that_was_deleted_while_a_master_was_down_stays_deleted() {
    let mut fleet = Fleet::new(3);
    let web = id("web1");
    fleet.masters[1]
        .store()
        .put(&web, KeyState::Accepted, &KEYS[0])
        .unwrap();
    fleet.meet();
    fleet.down = vec![0];
    fleet.masters[2].store().delete(&web).unwrap();
    fleet.meet();
    assert_eq!(fleet.states("web1"), [Some(KeyState::Accepted), None, None]);
    fleet.down.clear();
    let m0 = &mut fleet.masters[0];
    m0.mirror = open(&m0.dir, 0);
    m0.sync = Sync::new();
    fleet.meet();
    assert_eq!(fleet.states("web1"), [None; 3]);
    // It may ask again, everywhere.
    fleet.masters[0]
        .store()
        .put(&web, KeyState::Pending, &KEYS[0])
        .unwrap();
    fleet.meet();
    assert_eq!(fleet.states("web1"), [Some(KeyState::Pending); 3]);
}

#[test]
fn a_master_that_died_before_its_store_showed_what_was_heard_shows_it() {
    let mut fleet = Fleet::new(2);
    let web = id("web1");
    fleet.masters[0]
        .store()
        .put(&web, KeyState::Accepted, &KEYS[0])
        .unwrap();
    fleet.meet();
    fleet.masters[0].store().delete(&web).unwrap();
    fleet.look();
    let delta = fleet.masters[0].mirror.registers.some([&web], [], false);
    let wall = fleet.wall();
    let m1 = &mut fleet.masters[1];
    let merged = m1.mirror.registers.merge(delta, wall).unwrap();
    m1.mirror.take(merged, &mut Effects::default());
    m1.mirror.keep().unwrap();
    assert_eq!(m1.state("web1"), Some(KeyState::Accepted));
    m1.mirror = open(&m1.dir, 1);
    assert_eq!(m1.state("web1"), None);
    // And it takes what it sees for nobody's decision.
    assert!(m1.mirror.look(wall).unwrap().is_empty());
}

#[test]
fn a_torn_record_is_left_out_and_a_directory_that_is_gone_deletes_nothing() {
    let mut fleet = Fleet::new(2);
    let store = fleet.masters[0].store();
    store
        .put(&id("web1"), KeyState::Accepted, &KEYS[0])
        .unwrap();
    fleet.meet();
    store
        .put(&id("web2"), KeyState::Accepted, &KEYS[0])
        .unwrap();
    fleet.look();
    let m0 = &mut fleet.masters[0];
    let log = m0.dir.path().join("pki/registers/log");
    let bytes = fs::read(&log).unwrap();
    fs::write(&log, &bytes[..bytes.len() - 1]).unwrap();
    m0.mirror = open(&m0.dir, 0);
    let known =
        |mirror: &StoreMirror, minion| mirror.registers.key(&id(minion)) != Standing::Absent;
    assert!(known(&m0.mirror, "web1") && !known(&m0.mirror, "web2"));
    m0.mirror.look(WALL).unwrap();
    assert!(known(&m0.mirror, "web2"));
    fs::remove_dir_all(m0.dir.path().join("pki")).unwrap();
    KeyStore::open(m0.dir.path().join("pki"), None).unwrap();
    assert!(matches!(m0.mirror.look(WALL), Err(RegistersError::Gone)));
}
