//! A master that has joined and catches up.

use super::*;

impl Fleet {
    /// A master that has just joined, with these keys accepted before.
    fn joiner(&self, accepted: &[&str]) -> Master {
        let mut joiner = Master::new(7);
        for minion in accepted {
            let store = joiner.store();
            store
                .put(&id(minion), KeyState::Accepted, &KEYS[0])
                .unwrap();
        }
        let given = self.masters[0].mirror.registers.some([], &[peer(0)], true);
        let given = halite_proto::msgpack::pack_modern(&given.to_value()).unwrap();
        fs::write(joiner.dir.path().join("pki/registers").join(GIVEN), given).unwrap();
        joiner.mirror = open(&joiner.dir, 7);
        joiner
    }

    /// Sends a joining master all that the first master knows.
    fn catch_up(&self, joiner: &mut Master) {
        for delta in self.masters[0].mirror.registers.all() {
            let message = Message::Delta {
                delta: Box::new(delta),
                answer: false,
            };
            let Master { mirror, sync, .. } = joiner;
            let effects = &mut Effects::default();
            mirror
                .hear(sync, &peer(0), message, self.wall(), effects)
                .unwrap();
        }
    }
}

#[test]
fn a_master_that_joins_with_old_keys_brings_none_of_them_back() {
    let mut fleet = Fleet::new(2);
    let store = fleet.masters[0].store();
    store
        .put(&id("web1"), KeyState::Accepted, &KEYS[0])
        .unwrap();
    store
        .put(&id("web2"), KeyState::Accepted, &KEYS[0])
        .unwrap();
    fleet.meet();
    store.delete(&id("web2")).unwrap();
    fleet.meet();
    let mut joiner = fleet.joiner(&["web2", "web3"]);
    assert!(joiner.mirror.look(fleet.wall()).unwrap().is_empty());
    fleet.catch_up(&mut joiner);
    joiner.mirror.has_joined().unwrap();
    assert_eq!(joiner.state("web1"), Some(KeyState::Accepted));
    // The others have forgotten that it was deleted.
    assert_eq!(joiner.state("web2"), Some(KeyState::Pending));
    assert_eq!(joiner.state("web3"), Some(KeyState::Pending));
}

#[test]
fn what_is_decided_at_a_joiner_while_it_catches_up_counts() {
    let mut fleet = Fleet::new(2);
    let store = fleet.masters[0].store();
    for (minion, state) in [
        ("waits", KeyState::Pending),
        ("served", KeyState::Accepted),
        ("gone", KeyState::Accepted),
        ("refused", KeyState::Rejected),
    ] {
        store.put(&id(minion), state, &KEYS[0]).unwrap();
    }
    fleet.meet();
    let mut joiner = fleet.joiner(&["gone", "unknown"]);
    let own = joiner.store();
    // Somebody decides at the joiner before it has heard of any of them.
    for (minion, state) in [
        ("waits", KeyState::Accepted),
        ("served", KeyState::Rejected),
        ("refused", KeyState::Accepted),
        ("new", KeyState::Accepted),
    ] {
        own.put(&id(minion), state, &KEYS[0]).unwrap();
    }
    own.delete(&id("gone")).unwrap();
    // A minion that asks there is nobody's decision.
    own.put(&id("brought"), KeyState::Pending, &KEYS[0])
        .unwrap();
    let brought = fleet.masters[1].store();
    brought
        .put(&id("brought"), KeyState::Accepted, &KEYS[0])
        .unwrap();
    fleet.meet();
    fleet.catch_up(&mut joiner);
    joiner.mirror.has_joined().unwrap();
    let decided = joiner.mirror.look(fleet.wall()).unwrap();
    assert_eq!(joiner.state("waits"), Some(KeyState::Accepted));
    assert_eq!(joiner.state("new"), Some(KeyState::Accepted));
    assert_eq!(joiner.state("served"), Some(KeyState::Rejected));
    assert_eq!(joiner.state("gone"), None);
    // It did not know of the rejection when it was accepted here.
    assert_eq!(joiner.state("refused"), Some(KeyState::Rejected));
    assert_eq!(joiner.state("brought"), Some(KeyState::Accepted));
    // That was accepted before the master joined.
    assert_eq!(joiner.state("unknown"), Some(KeyState::Pending));
    let told = joiner.mirror.registers.some(&decided, [], false);
    let first = &mut fleet.masters[0].mirror;
    first.registers.admit(&peer(7), "key", "", WALL).unwrap();
    let message = Message::Delta {
        delta: Box::new(told),
        answer: false,
    };
    let wall = fleet.wall();
    let Master { mirror, sync, .. } = &mut fleet.masters[0];
    let effects = &mut Effects::default();
    mirror.hear(sync, &peer(7), message, wall, effects).unwrap();
    let state = |minion| fleet.masters[0].state(minion);
    assert_eq!(state("waits"), Some(KeyState::Accepted));
    assert_eq!(state("new"), Some(KeyState::Accepted));
    assert_eq!(state("served"), Some(KeyState::Rejected));
    assert_eq!(state("gone"), None);
    assert_eq!(state("brought"), Some(KeyState::Accepted));
}

#[test]
fn a_key_that_a_joiner_accepts_displaces_no_other_one_of_the_cluster() {
    let mut fleet = Fleet::new(2);
    let store = fleet.masters[0].store();
    for (minion, state) in [
        ("web1", KeyState::Accepted),
        ("web2", KeyState::Pending),
        ("web3", KeyState::Accepted),
    ] {
        store.put(&id(minion), state, &KEYS[0]).unwrap();
    }
    fleet.meet();
    let mut joiner = fleet.joiner(&[]);
    let own = joiner.store();
    // Strangers who call themselves so are accepted automatically, one is rejected.
    for (minion, state) in [
        ("web1", KeyState::Accepted),
        ("web2", KeyState::Accepted),
        ("web3", KeyState::Rejected),
    ] {
        own.put(&id(minion), state, &KEYS[1]).unwrap();
    }
    fleet.catch_up(&mut joiner);
    joiner.mirror.has_joined().unwrap();
    let decided = joiner.mirror.look(fleet.wall()).unwrap();
    assert_eq!(decided, [id("web1"), id("web2"), id("web3")]);
    for (minion, state) in [("web1", KeyState::Accepted), ("web2", KeyState::Pending)] {
        let key = own.lookup(&id(minion)).unwrap().unwrap();
        assert_eq!((key.state, key.is_same_key(&KEYS[0])), (state, true));
        assert!(own.get(KeyState::Denied, &id(minion)).unwrap().is_some());
        let known = joiner.mirror.registers.key(&id(minion));
        assert!(matches!(
            known,
            Standing::Accepted(key) | Standing::Pending(key) if *key == KEYS[0]
        ));
    }
    assert_eq!(joiner.state("web3"), Some(KeyState::Rejected));
}

#[test]
fn a_rejection_at_a_joiner_outlives_its_restart() {
    let mut fleet = Fleet::new(2);
    let store = fleet.masters[0].store();
    store
        .put(&id("web1"), KeyState::Accepted, &KEYS[0])
        .unwrap();
    fleet.meet();
    let mut joiner = fleet.joiner(&[]);
    let own = joiner.store();
    own.put(&id("web1"), KeyState::Rejected, &KEYS[0]).unwrap();
    joiner.mirror = open(&joiner.dir, 7);
    fleet.catch_up(&mut joiner);
    joiner.mirror.has_joined().unwrap();
    assert_eq!(joiner.mirror.look(fleet.wall()).unwrap(), [id("web1")]);
    assert_eq!(joiner.state("web1"), Some(KeyState::Rejected));
}
