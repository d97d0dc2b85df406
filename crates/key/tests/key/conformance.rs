//! What every backend of minion keys must do, and the state after one fails in the
//! middle of a change. That one is in memory.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::path::Path;
use std::sync::Arc;

use halite_crypto::PrivateKey;
use halite_key::{KeyState, KeyStore, KeyStoreError, MemoryKeys, TokenCheck};
use halite_proto::MinionId;

use crate::servers::{Place, on_each_server};

fn id(name: &str) -> MinionId {
    MinionId::parse(name).unwrap()
}

/// Runs a test on a new store of each backend.
fn on_each(test: impl Fn(&str, &KeyStore)) {
    let dir = tempfile::tempdir().unwrap();
    let files = KeyStore::open(dir.path().join("pki"), None).unwrap();
    test("files", &files);
    let memory = KeyStore::in_memory(dir.path(), Arc::default()).unwrap();
    test("memory", &memory);
    on_each_server(|place| {
        let pki = tempfile::tempdir().unwrap();
        test(place.name, &place.master(pki.path()));
    });
}

fn on_redis(dir: &Path, redis: &halite_test_services::Redis) -> KeyStore {
    Place::redis("redis", &redis.url()).master(dir)
}

/// While the server is away the keys are those that were seen last, for a master
/// that starts meanwhile too, and nothing can be changed.
#[test]
fn keys_that_were_seen_are_known_while_the_server_is_away() {
    let Some(redis) = halite_test_services::Redis::for_test(&Default::default()) else {
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let store = on_redis(dir.path(), &redis);
    store.put(&id("web1"), KeyState::Accepted, "key").unwrap();
    store.put(&id("web2"), KeyState::Accepted, "key").unwrap();
    store.reject(&id("web2"), &[KeyState::Accepted]).unwrap();
    store.put(&id("gone"), KeyState::Accepted, "key").unwrap();
    let version = store.version(KeyState::Accepted, &id("web1")).unwrap();
    // Another master deletes a key, and this one lists them.
    let other = tempfile::tempdir().unwrap();
    on_redis(other.path(), &redis).delete(&id("gone")).unwrap();
    assert_eq!(store.list(KeyState::Accepted).unwrap(), [id("web1")]);
    let options = Place::redis("redis", &redis.url()).options;
    let direct = KeyStore::open_existing_at(dir.path().join("pki"), Some(&options)).unwrap();
    direct.check_readable().unwrap();
    redis.server.kill();
    // A program without a mirror has nothing else.
    direct.check_readable().unwrap_err();
    for store in [store, on_redis(dir.path(), &redis)] {
        let found = store.lookup(&id("web1")).unwrap().unwrap();
        assert_eq!(
            (found.state, found.pem.as_str()),
            (KeyState::Accepted, "key")
        );
        assert_eq!(
            store.version(KeyState::Accepted, &id("web1")).unwrap(),
            version
        );
        let found = store.lookup(&id("web2")).unwrap().unwrap();
        assert_eq!(found.state, KeyState::Rejected);
        assert_eq!(store.list(KeyState::Accepted).unwrap(), [id("web1")]);
        store.check_readable().unwrap();
        let error = store.put(&id("new"), KeyState::Pending, "key").unwrap_err();
        assert!(error.is_of_server(), "{error}");
        assert!(store.reject(&id("web1"), &[KeyState::Accepted]).is_err());
    }
    redis.server.start().unwrap();
    let back = on_redis(dir.path(), &redis);
    assert_eq!(back.list(KeyState::Accepted).unwrap(), [id("web1")]);
}

/// A sign-in that was decided by what was seen does not undo what was decided since.
#[test]
fn a_key_is_filed_over_what_was_seen_alone() {
    on_each(|backend, store| {
        let web = id("web1");
        assert!(
            store
                .put_over(&web, None, KeyState::Pending, "key")
                .unwrap()
        );
        // Another master has seen nothing, and a third what is there.
        assert!(
            !store
                .put_over(&web, None, KeyState::Accepted, "other")
                .unwrap()
        );
        let seen = store.lookup(&web).unwrap().unwrap();
        assert_eq!((seen.state, seen.pem.trim()), (KeyState::Pending, "key"));
        store.reject(&web, &[KeyState::Pending]).unwrap().unwrap();
        let is_filed = store.put_over(&web, Some(&seen), KeyState::Accepted, "key");
        assert!(!is_filed.unwrap(), "{backend}");
        assert_eq!(
            store.lookup(&web).unwrap().unwrap().state,
            KeyState::Rejected
        );
        let seen = store.lookup(&web).unwrap();
        let is_filed = store.put_over(&web, seen.as_ref(), KeyState::Accepted, "new");
        assert!(is_filed.unwrap(), "{backend}");
        assert_eq!(
            store.get(KeyState::Accepted, &web).unwrap().unwrap().trim(),
            "new"
        );
        // A denied key decides nothing.
        assert!(
            store
                .put_over(&web, None, KeyState::Denied, "third")
                .unwrap()
        );
    });
}

/// A pending key that another program accepts while its minion signs in again stays
/// accepted: neither process waits for the other where keys are files.
#[test]
fn a_key_that_is_accepted_while_it_is_filed_stays_accepted() {
    let dir = tempfile::tempdir().unwrap();
    let open = || KeyStore::open(dir.path().join("pki"), None).unwrap();
    let (master, salt_key) = (open(), open());
    for number in 0..500 {
        let web = id(&format!("web{number}"));
        master.put(&web, KeyState::Pending, "key").unwrap();
        let seen = master.lookup(&web).unwrap();
        let barrier = std::sync::Barrier::new(2);
        let accepted = std::thread::scope(|scope| {
            scope.spawn(|| {
                barrier.wait();
                let filed = master.put_over(&web, seen.as_ref(), KeyState::Pending, "new");
                filed.unwrap();
            });
            barrier.wait();
            salt_key.accept(&web, &[KeyState::Pending]).unwrap()
        });
        assert!(accepted.is_some(), "{web}");
        let state = master.lookup(&web).unwrap().unwrap().state;
        assert_eq!(state, KeyState::Accepted, "{web}");
    }
}

/// What a master looks for when it looks whether others have taken a key away.
#[test]
fn a_key_that_another_master_has_replaced_is_another_one() {
    let Some(redis) = halite_test_services::Redis::for_test(&Default::default()) else {
        return;
    };
    let (dir, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (one, two) = (on_redis(dir.path(), &redis), on_redis(other.path(), &redis));
    let web = id("web1");
    one.put(&web, KeyState::Accepted, "stolen").unwrap();
    let listed = || one.list_versions(KeyState::Accepted).unwrap();
    let before = listed();
    assert_eq!(
        before,
        [(web.clone(), one.version(KeyState::Accepted, &web).unwrap())]
    );
    two.delete(&web).unwrap();
    two.put(&web, KeyState::Accepted, "new").unwrap();
    let after = listed();
    assert!(after[0].1.is_some() && after != before);
    redis.server.kill();
    assert_eq!(listed(), [(web, None)]);
}

/// As Salt keeps them: the first denied key is the one that is shown, and one that
/// comes later does not take its place.
#[test]
fn denied_keys_on_a_server_are_added() {
    let Some(redis) = halite_test_services::Redis::for_test(&Default::default()) else {
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let store = on_redis(dir.path(), &redis);
    let web = id("web1");
    for pem in ["first", "second", "first"] {
        store.put(&web, KeyState::Denied, pem).unwrap();
    }
    let shown = store.get(KeyState::Denied, &web).unwrap();
    assert_eq!(shown.as_deref(), Some("first"));
    let cache = Place::redis("redis", &redis.url()).options.cache().unwrap();
    let stored = cache.fetch("denied_keys", "web1").unwrap().unwrap();
    let stored = halite_proto::msgpack::unpack_modern(&stored).unwrap();
    let keys = ["first", "second"].map(halite_proto::Value::from).to_vec();
    assert_eq!(stored, halite_proto::Value::List(keys));
}

/// A master that asks for a stranger leaves nothing of it, and one that another
/// master has deleted goes from the copy.
#[test]
fn the_copy_has_who_has_a_key() {
    let Some(redis) = halite_test_services::Redis::for_test(&Default::default()) else {
        return;
    };
    let (dir, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let store = on_redis(dir.path(), &redis);
    let copy = dir.path().join("mirror/minions/web1");
    assert_eq!(store.lookup(&id("stranger")).unwrap(), None);
    store.put(&id("web1"), KeyState::Accepted, "key").unwrap();
    assert!(copy.exists());
    // One that is started anew lists what is there.
    let again = on_redis(dir.path(), &redis);
    let shared = on_redis(other.path(), &redis);
    shared.delete(&id("web1")).unwrap();
    assert_eq!(again.lookup(&id("web1")).unwrap(), None);
    assert!(!copy.exists());
    shared.put(&id("web1"), KeyState::Accepted, "key").unwrap();
    assert!(again.lookup(&id("web1")).unwrap().is_some());
    assert!(copy.exists());
}

#[test]
fn an_id_is_in_one_state_at_a_time() {
    on_each(|backend, store| {
        let web = id("web1");
        for state in KeyState::LOOKUP {
            store.put(&web, state, "  key\n").unwrap();
            let found = store.lookup(&web).unwrap().unwrap();
            assert_eq!(
                (found.state, found.pem.as_str()),
                (state, "key"),
                "{backend}"
            );
            assert_eq!(store.list_all().unwrap().len(), 1, "{backend}");
        }
    });
}

#[test]
fn a_denied_key_stands_beside_the_accepted_one() {
    on_each(|backend, store| {
        let web = id("web1");
        store.put(&web, KeyState::Accepted, "ours").unwrap();
        store.put(&web, KeyState::Denied, "theirs").unwrap();
        let found = store.lookup(&web).unwrap().unwrap();
        assert_eq!(found.pem, "ours", "{backend}");
        let change = store.accept(&web, &[KeyState::Denied]).unwrap().unwrap();
        assert_eq!(change.pem, "theirs", "{backend}");
        assert_eq!(
            store.get(KeyState::Denied, &web).unwrap(),
            None,
            "{backend}"
        );
        assert_eq!(store.delete(&web).unwrap().len(), 1, "{backend}");
        assert!(store.list_all().unwrap().is_empty(), "{backend}");
    });
}

#[test]
fn ids_are_listed_in_order() {
    on_each(|backend, store| {
        for name in ["web2", "db1", "web1"] {
            store.put(&id(name), KeyState::Pending, "key").unwrap();
        }
        let ids = store.list(KeyState::Pending).unwrap();
        assert_eq!(ids, ["db1", "web1", "web2"].map(id), "{backend}");
        assert!(
            store.list(KeyState::Accepted).unwrap().is_empty(),
            "{backend}"
        );
    });
}

#[test]
fn a_version_is_of_one_content() {
    on_each(|backend, store| {
        let web = id("web1");
        let version = || store.version(KeyState::Accepted, &web).unwrap();
        assert_eq!(version(), None, "{backend}");
        store.put(&web, KeyState::Accepted, "one").unwrap();
        let first = version();
        assert!(first.is_some() && first == version(), "{backend}");
        store.put(&web, KeyState::Accepted, "two").unwrap();
        assert_ne!(version(), first, "{backend}");
        store.delete(&web).unwrap();
        assert_eq!(version(), None, "{backend}");
    });
}

#[test]
fn a_list_that_changed_has_no_old_version() {
    on_each(|backend, store| {
        let before = store.listing_version(KeyState::Accepted);
        store.put(&id("web1"), KeyState::Accepted, "key").unwrap();
        let with_it = store.listing_version(KeyState::Accepted);
        assert!(with_it.is_none() || with_it != before, "{backend}");
        store.delete(&id("web1")).unwrap();
        let without = store.listing_version(KeyState::Accepted);
        assert!(without.is_none() || without != with_it, "{backend}");
    });
}

#[test]
fn a_token_counts_while_its_key_is_accepted() {
    let key = PrivateKey::generate(1024).unwrap();
    let pem = key.public().unwrap().to_pem().unwrap();
    let token = key.request_token().unwrap();
    on_each(|backend, store| {
        let web = id("web1");
        let check = TokenCheck::new(store.clone());
        let is_right = || check.is_right(&web, &token).unwrap();
        assert!(!is_right(), "{backend}");
        store.put(&web, KeyState::Accepted, &pem).unwrap();
        assert!(is_right() && is_right(), "{backend}");
        store.reject(&web, &[KeyState::Accepted]).unwrap().unwrap();
        assert!(!is_right(), "{backend}");
    });
}

/// Wherever a rejection is cut off, the minion is either as before or out:
/// never in two states of which the more generous one counts.
#[test]
fn a_rejection_that_is_cut_off_leaves_the_stricter_state() {
    let dir = tempfile::tempdir().unwrap();
    let web = id("web1");
    let mut cut_off = 0;
    for operations in 0.. {
        let keys = Arc::new(MemoryKeys::default());
        let store = KeyStore::in_memory(dir.path(), Arc::clone(&keys)).unwrap();
        store.put(&web, KeyState::Accepted, "key").unwrap();
        keys.fail_after(operations);
        let done = store.reject(&web, &[KeyState::Accepted]);
        keys.mend();
        let found = store.lookup(&web).unwrap().unwrap();
        assert_eq!(found.pem, "key");
        match done {
            Ok(_) => {
                assert_eq!(found.state, KeyState::Rejected);
                break;
            }
            Err(error) => {
                assert!(matches!(error, KeyStoreError::Away));
                cut_off += 1;
                let was_written = store.get(KeyState::Rejected, &web).unwrap().is_some();
                let expected = if was_written {
                    KeyState::Rejected
                } else {
                    KeyState::Accepted
                };
                assert_eq!(found.state, expected, "after {operations} operations");
            }
        }
    }
    assert!(cut_off > 2, "only {cut_off} places to be cut off at");
}

#[test]
fn a_store_that_is_away_says_nothing_of_its_keys() {
    let dir = tempfile::tempdir().unwrap();
    let web = id("web1");
    let keys = Arc::new(MemoryKeys::default());
    let store = KeyStore::in_memory(dir.path(), Arc::clone(&keys)).unwrap();
    store.put(&web, KeyState::Accepted, "key").unwrap();
    let check = TokenCheck::new(store.clone());
    keys.fail_after(0);
    let is_away = |error| matches!(error, KeyStoreError::Away);
    assert!(is_away(
        store.version(KeyState::Accepted, &web).unwrap_err()
    ));
    assert!(is_away(store.list(KeyState::Accepted).unwrap_err()));
    assert!(is_away(check.is_right(&web, b"token").unwrap_err()));
    assert!(store.listing_version(KeyState::Accepted).is_none());
}
