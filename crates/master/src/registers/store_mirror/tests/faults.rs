//! Files that cannot be read, written or removed for a while.

use std::path::PathBuf;

use halite_cluster::Decision;

use super::*;

impl Master {
    fn pki(&self, name: &str) -> PathBuf {
        self.dir.path().join("pki").join(name)
    }

    fn reopen(&mut self, number: usize) {
        self.mirror = open(&self.dir, number);
        self.sync = Sync::new();
    }

    fn settle(&mut self) -> Result<(), RegistersError> {
        self.mirror.settle(&mut Effects::default())
    }
}

#[test]
fn a_key_that_registers_cannot_hold_stops_nothing_else() {
    let mut fleet = Fleet::new(2);
    let store = fleet.masters[0].store();
    let padded = format!("{}\n{}", "x".repeat(32 * 1024), &KEYS[1]);
    store
        .put(&id("padded"), KeyState::Pending, &padded)
        .unwrap();
    store.put(&id("junk"), KeyState::Pending, "no key").unwrap();
    fs::write(fleet.masters[0].pki("minions_pre/bytes"), [0xff, 0xfe]).unwrap();
    store
        .put(&id("web1"), KeyState::Accepted, &KEYS[0])
        .unwrap();
    store.put(&id("web1"), KeyState::Denied, "no key").unwrap();
    fleet.meet();
    assert_eq!(fleet.states("web1"), [Some(KeyState::Accepted); 2]);
    assert_eq!(fleet.states("junk"), [Some(KeyState::Pending), None]);
    assert_eq!(fleet.masters[1].state("bytes"), None);
    let told = fleet.masters[1].store().lookup(&id("padded")).unwrap();
    assert!(told.unwrap().is_same_key(&KEYS[1]));
    // That master still hears the others.
    fleet.masters[1].store().delete(&id("web1")).unwrap();
    fleet.meet();
    assert_eq!(fleet.states("web1"), [None; 2]);
}

#[test]
fn a_deletion_that_cannot_be_shown_yet_is_undone_by_nothing() {
    let mut fleet = Fleet::new(2);
    let web = id("web1");
    let store = fleet.masters[0].store();
    store.put(&web, KeyState::Accepted, &KEYS[0]).unwrap();
    fleet.meet();
    // No file can be removed there.
    let in_the_way = fleet.masters[1].pki("minions_rejected/web1");
    fs::create_dir(&in_the_way).unwrap();
    store.delete(&web).unwrap();
    fleet.meet();
    assert_eq!(fleet.states("web1"), [None, Some(KeyState::Accepted)]);
    let error = fleet.masters[1].settle().unwrap_err();
    assert!(matches!(error, RegistersError::Show { .. }), "{error}");
    // Other records follow, and another life.
    let other = fleet.masters[1].store();
    other.put(&id("web2"), KeyState::Pending, &KEYS[1]).unwrap();
    fleet.meet();
    fleet.masters[1].reopen(1);
    fleet.meet();
    assert_eq!(fleet.states("web2"), [Some(KeyState::Pending); 2]);
    assert_eq!(fleet.states("web1"), [None, Some(KeyState::Accepted)]);
    fs::remove_dir(&in_the_way).unwrap();
    fleet.masters[1].settle().unwrap();
    assert_eq!(fleet.states("web1"), [None; 2]);
}

#[test]
fn what_was_heard_and_not_written_is_written_later() {
    let mut fleet = Fleet::new(2);
    let wall = fleet.wall();
    let web = id("web1");
    let in_the_way = fleet.masters[1].pki("peers/m5.pub");
    fs::create_dir(&in_the_way).unwrap();
    let m0 = &mut fleet.masters[0];
    m0.store().put(&web, KeyState::Accepted, &KEYS[0]).unwrap();
    m0.mirror.admit(&peer(5), "key", "", wall).unwrap();
    m0.mirror.rotate(SymmetricKey::generate(), wall).unwrap();
    m0.mirror.look(wall).unwrap();
    let said = m0.mirror.registers.some([&web], [&peer(5)], true);
    let said = Message::Delta {
        delta: Box::new(said),
        answer: false,
    };
    let (m1, effects) = (&mut fleet.masters[1], &mut Effects::default());
    m1.mirror
        .hear(&mut m1.sync, &peer(0), said, wall, effects)
        .unwrap();
    assert!(effects.publish_key);
    let epoch = |master: &Master| master.mirror.registers.publish_key().map(|key| key.epoch);
    // It knows, and does not let anybody in by what is not on disk.
    assert_eq!(epoch(&fleet.masters[1]), Some(1));
    assert_eq!(fleet.masters[1].state("web1"), None);
    assert!(fleet.masters[1].settle().is_err());
    // Nor does it take for removed whose file it could not write.
    let removed = fleet.masters[1].mirror.look_at_members(wall);
    assert!(removed.is_err() && fleet.masters[1].mirror.registers.is_member(&peer(5)));
    fs::remove_dir(&in_the_way).unwrap();
    fleet.masters[1].settle().unwrap();
    assert_eq!(fleet.masters[1].state("web1"), Some(KeyState::Accepted));
    fleet.masters[1].reopen(1);
    assert_eq!(epoch(&fleet.masters[1]), Some(1));
    assert!(fleet.masters[1].mirror.registers.is_member(&peer(5)));
}

#[test]
fn who_was_removed_is_not_heard_and_its_file_goes_as_soon_as_it_can() {
    let mut fleet = Fleet::new(3);
    let wall = fleet.wall();
    let file = fleet.masters[1].pki("peers/m2.pub");
    let key = fs::read(&file).unwrap();
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    let m0 = &mut fleet.masters[0];
    assert!(m0.mirror.remove_member(&peer(2), wall));
    m0.settle().unwrap();
    assert!(!m0.pki("peers/m2.pub").exists());
    let said = Message::Delta {
        delta: Box::new(m0.mirror.registers.some([], &[peer(2)], false)),
        answer: false,
    };
    let m1 = &mut fleet.masters[1];
    let hear = |m1: &mut Master, from| {
        let effects = &mut Effects::default();
        m1.mirror
            .hear(&mut m1.sync, &peer(from), said.clone(), wall, effects)
    };
    hear(m1, 0).unwrap();
    assert!(file.exists() && m1.settle().is_err());
    let error = hear(m1, 2).unwrap_err();
    assert!(matches!(error, RegistersError::NoMember), "{error}");
    fs::remove_dir(&file).unwrap();
    fs::write(&file, key).unwrap();
    m1.reopen(1);
    assert!(!file.exists());
}

#[test]
fn registers_larger_than_one_record_are_read_again() {
    let mut fleet = Fleet::new(1);
    let m0 = &mut fleet.masters[0];
    let key = "k".repeat(4000);
    for number in 0..1000 {
        let minion = id(&format!("minion{number}"));
        let registers = &mut m0.mirror.registers;
        assert!(
            registers
                .decide(&minion, Decision::Pend(&key), WALL)
                .unwrap()
        );
        m0.mirror.unsettled.minions.insert(minion);
    }
    m0.mirror.keep().unwrap();
    // What is larger than the snapshot becomes one.
    assert_eq!(fs::metadata(m0.pki("registers/log")).unwrap().len(), 0);
    let snapshot = fs::read(m0.pki("registers/snapshot")).unwrap();
    let first = u64::from_be_bytes(snapshot[..8].try_into().unwrap());
    assert!(first < snapshot.len() as u64 / 2, "{first}");
    m0.reopen(0);
    assert_eq!(m0.mirror.registers.key_counts(), (1000, 0));
}

#[test]
fn a_clock_behind_what_was_written_is_refused() {
    let fleet = Fleet::new(1);
    let dir = &fleet.masters[0].dir;
    let open_at = |wall| {
        let pki = dir.path().join("pki");
        let store = KeyStore::open(&pki, None).unwrap();
        let cluster = ClusterDir::open(pki.clone()).unwrap();
        StoreMirror::open(pki.join("registers"), &peer(0), store, cluster, wall).err()
    };
    let lead = u64::try_from(CLOCK_LEAD_MAX.as_micros()).unwrap();
    let written = fleet.masters[0].mirror.registers.now().micros;
    assert!(open_at(written - lead).is_none());
    let error = open_at(written - lead - 5_000_000).unwrap();
    let is_behind = matches!(error, RegistersError::ClockBehind { lead_s: 65, .. });
    assert!(is_behind, "{error}");
}
