//! The minion data cache in the layouts of 3008 and 3006.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::fs;
use std::os::unix::fs::MetadataExt;

use halite_crypto::HashType;
use halite_proto::msgpack::{pack_modern, unpack_modern};
use halite_proto::{Map, MinionId, Value};
use halite_store::{BackendOptions, Bank, MinionData, StoreOptions};
use tempfile::TempDir;

fn id(name: &str) -> MinionId {
    MinionId::parse(name).unwrap()
}

fn cache() -> (TempDir, MinionData) {
    let dir = tempfile::tempdir().unwrap();
    let cache = halite_store::open(&StoreOptions::local_fs(dir.path(), HashType::Sha256)).data;
    (dir, cache)
}

fn map(key: &str, value: i64) -> Map {
    Map::from([(key, value)])
}

#[test]
fn data_is_found_where_3008_keeps_it() {
    let (dir, cache) = cache();
    let web = id("web1");
    assert_eq!(cache.get(Bank::Grains, &web).unwrap(), None);
    cache.put(Bank::Grains, &web, &map("a", 1)).unwrap();
    cache.put(Bank::Grains, &web, &map("a", 2)).unwrap();
    let path = dir.path().join("grains/web1.p");
    assert_eq!(fs::read(&path).unwrap(), b"\x81\xa1a\x02");
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
    assert_eq!(cache.get(Bank::Grains, &web).unwrap(), Some(map("a", 2)));
    assert_eq!(cache.get(Bank::Pillar, &web).unwrap(), None);
    assert_eq!(cache.ids(Bank::Grains).unwrap(), [web]);
}

#[test]
fn data_of_a_3006_master_is_read_until_there_is_newer() {
    let (dir, cache) = cache();
    let web = id("web1");
    let old = dir.path().join("minions/web1");
    fs::create_dir_all(&old).unwrap();
    let data = Map::from([("grains", map("g", 1)), ("pillar", map("p", 1))]);
    fs::write(old.join("data.p"), pack_modern(&Value::from(data)).unwrap()).unwrap();
    fs::write(
        old.join("mine.p"),
        pack_modern(&Value::from(map("m", 1))).unwrap(),
    )
    .unwrap();
    for (bank, key) in [(Bank::Grains, "g"), (Bank::Pillar, "p"), (Bank::Mine, "m")] {
        assert_eq!(cache.get(bank, &web).unwrap(), Some(map(key, 1)));
        assert_eq!(cache.ids(bank).unwrap(), std::slice::from_ref(&web));
    }
    cache.put(Bank::Grains, &web, &map("g", 2)).unwrap();
    assert_eq!(cache.get(Bank::Grains, &web).unwrap(), Some(map("g", 2)));
    assert_eq!(cache.ids(Bank::Grains).unwrap().len(), 1);
    cache.update_mine(&web, map("n", 1), false).unwrap();
    assert_eq!(cache.get(Bank::Mine, &web).unwrap().unwrap().len(), 2);
    assert!(cache.forget(Bank::Mine, &web).unwrap());
    assert_eq!(cache.get(Bank::Mine, &web).unwrap(), None);
}

/// Programs of 3006 on this machine see what the master knows, and no more.
#[test]
fn copies_lie_where_programs_of_3006_look() {
    let dir = tempfile::tempdir().unwrap();
    let place = BackendOptions::LocalFs {
        cachedir: dir.path().to_owned(),
        hash_type: HashType::Sha256,
        copies_for_3006: true,
    };
    let cache = halite_store::open(&StoreOptions::all(place)).data;
    let web = id("web1");
    let copy = |name: &str| {
        let bytes = fs::read(dir.path().join("minions/web1").join(name)).ok()?;
        Some(unpack_modern(&bytes).unwrap())
    };
    let both = |grains: &Map, pillar: &Map| {
        let all = Map::from([("grains", grains.clone()), ("pillar", pillar.clone())]);
        Some(Value::from(all))
    };
    cache.put(Bank::Grains, &web, &map("g", 1)).unwrap();
    // A minion whose pillar is of an environment has that one, until there is another.
    cache.put_pillar(&web, Some("dev"), &map("p", 1)).unwrap();
    assert_eq!(copy("data.p"), both(&map("g", 1), &map("p", 1)));
    cache.put_pillar(&web, None, &map("p", 2)).unwrap();
    cache.put_pillar(&web, Some("dev"), &map("p", 3)).unwrap();
    cache.put(Bank::Grains, &web, &map("g", 2)).unwrap();
    assert_eq!(copy("data.p"), both(&map("g", 2), &map("p", 2)));
    let mode = fs::metadata(dir.path().join("minions/web1/data.p")).unwrap();
    assert_eq!(mode.mode() & 0o777, 0o600);

    cache.update_mine(&web, map("a", 1), false).unwrap();
    cache.update_mine(&web, map("b", 2), false).unwrap();
    assert!(cache.delete_from_mine(&web, "a").unwrap());
    assert_eq!(copy("mine.p"), Some(map("b", 2).into()));

    assert!(cache.forget(Bank::Grains, &web).unwrap());
    assert_eq!(
        copy("data.p"),
        Some(Map::from([("pillar", map("p", 2))]).into())
    );
    assert!(cache.forget(Bank::Pillar, &web).unwrap());
    assert_eq!(copy("data.p"), None);
    assert!(cache.forget(Bank::Mine, &web).unwrap());
    assert!(!dir.path().join("minions/web1").exists());
}

/// What was forgotten is not found again in what a 3006 master has left.
#[test]
fn data_of_a_3006_master_is_forgotten_too() {
    let (dir, cache) = cache();
    let web = id("web1");
    let old = dir.path().join("minions/web1");
    fs::create_dir_all(&old).unwrap();
    let data = Map::from([("grains", map("g", 1)), ("pillar", map("p", 1))]);
    fs::write(old.join("data.p"), pack_modern(&Value::from(data)).unwrap()).unwrap();
    cache.put(Bank::Grains, &web, &map("g", 2)).unwrap();
    assert!(cache.forget(Bank::Grains, &web).unwrap());
    assert_eq!(cache.get(Bank::Grains, &web).unwrap(), None);
    assert_eq!(cache.get(Bank::Pillar, &web).unwrap(), Some(map("p", 1)));
    assert!(cache.forget(Bank::Pillar, &web).unwrap());
    assert!(!cache.forget(Bank::Pillar, &web).unwrap());
}

#[test]
fn a_mine_is_updated_cleared_and_emptied() {
    let (_dir, cache) = cache();
    let web = id("web1");
    assert!(!cache.delete_from_mine(&web, "a").unwrap());
    assert!(!cache.forget(Bank::Mine, &web).unwrap());
    cache.update_mine(&web, map("a", 1), false).unwrap();
    cache.update_mine(&web, map("b", 2), false).unwrap();
    assert!(cache.delete_from_mine(&web, "a").unwrap());
    assert!(!cache.delete_from_mine(&web, "a").unwrap());
    assert_eq!(cache.get(Bank::Mine, &web).unwrap(), Some(map("b", 2)));
    cache.update_mine(&web, map("c", 3), true).unwrap();
    assert_eq!(cache.get(Bank::Mine, &web).unwrap(), Some(map("c", 3)));
}

#[test]
fn a_damaged_file_is_replaced_by_the_next_message() {
    let (dir, cache) = cache();
    let web = id("web1");
    for content in [&b""[..], b"\x81", b"\xa4text"] {
        for bank in ["grains", "mine"] {
            fs::create_dir_all(dir.path().join(bank)).unwrap();
            fs::write(dir.path().join(bank).join("web1.p"), content).unwrap();
        }
        assert_eq!(cache.get(Bank::Grains, &web).unwrap(), None);
        cache.update_mine(&web, map("a", 1), false).unwrap();
        assert_eq!(cache.get(Bank::Mine, &web).unwrap(), Some(map("a", 1)));
    }
}

#[test]
fn pillars_of_environments_are_kept_apart() {
    let (dir, cache) = cache();
    let web = id("web1");
    cache.put_pillar(&web, None, &map("p", 1)).unwrap();
    cache.put_pillar(&web, Some("dev"), &map("p", 2)).unwrap();
    cache
        .put_pillar(&web, Some("../../evil"), &map("p", 3))
        .unwrap();
    assert!(dir.path().join("pillar/web1:dev.p").exists());
    assert_eq!(cache.get(Bank::Pillar, &web).unwrap(), Some(map("p", 3)));
    assert_eq!(cache.ids(Bank::Pillar).unwrap(), [web]);
    assert_eq!(fs::read_dir(dir.path().join("pillar")).unwrap().count(), 2);
}

#[test]
fn minions_that_are_gone_are_forgotten_but_for_their_mine() {
    let (dir, cache) = cache();
    for name in ["stays", "goes"] {
        for bank in [Bank::Grains, Bank::Pillar, Bank::Mine] {
            cache.put(bank, &id(name), &map("a", 1)).unwrap();
        }
        cache
            .put_pillar(&id(name), Some("dev"), &map("a", 1))
            .unwrap();
    }
    let old = dir.path().join("minions/goes");
    fs::create_dir_all(&old).unwrap();
    fs::write(old.join("data.p"), b"\x80").unwrap();
    let removed = cache.retain(|id| id.as_str() == "stays").unwrap();
    assert_eq!(removed, 4);
    assert_eq!(cache.ids(Bank::Grains).unwrap(), [id("stays")]);
    assert_eq!(cache.ids(Bank::Mine).unwrap().len(), 2);
    assert!(dir.path().join("pillar/stays:dev.p").exists());
    assert!(!dir.path().join("pillar/goes:dev.p").exists());
    assert!(!old.join("data.p").exists());
}

/// A minion names the environments, and tells what it likes of itself.
#[test]
fn what_one_minion_makes_the_cache_keep_is_bounded() {
    use halite_store::StoreError;

    let (dir, cache) = cache();
    let (web, other) = (id("web1"), id("web10"));
    let kept = (0..100)
        .filter(|n| {
            let env = format!("env{n}");
            cache.put_pillar(&web, Some(&env), &map("a", 1)).unwrap()
        })
        .count();
    assert_eq!(kept, 32);
    let one_of_them = cache.put_pillar(&web, Some("env5"), &map("a", 2)).unwrap();
    assert!(one_of_them, "it is there already");
    let long = cache.put_pillar(&other, Some(&"e".repeat(255)), &map("a", 1));
    assert!(!long.unwrap());
    assert!(cache.put_pillar(&other, Some("dev"), &map("a", 1)).unwrap());
    assert!(cache.put_pillar(&web, None, &map("a", 1)).unwrap());
    assert_eq!(fs::read_dir(dir.path().join("pillar")).unwrap().count(), 34);

    let large = |bytes: usize| Map::from([("f", "x".repeat(bytes))]);
    for bank in [Bank::Grains, Bank::Mine] {
        cache.put(bank, &web, &large(15 << 20)).unwrap();
        let error = cache.put(bank, &web, &large(17 << 20)).unwrap_err();
        assert!(matches!(error, StoreError::TooLarge { .. }), "{error}");
    }
    cache.put(Bank::Pillar, &web, &large(17 << 20)).unwrap();
    let more = Map::from([("g", "x".repeat(2 << 20))]);
    let error = cache.update_mine(&web, more, false).unwrap_err();
    assert!(matches!(error, StoreError::TooLarge { .. }), "{error}");
    assert_eq!(cache.get(Bank::Mine, &web).unwrap().unwrap().len(), 1);
    assert!(cache.delete_from_mine(&web, "f").unwrap());
}
