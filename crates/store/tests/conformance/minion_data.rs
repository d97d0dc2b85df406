//! Checks of `MinionData`.

use std::collections::BTreeSet;

use halite_proto::Map;
use halite_store::limits::{INDEX_KEYS_MAX, MINION_DATA_BYTES_MAX, PILLAR_ENVS_MAX};
use halite_store::{Bank, StoreError};

use crate::subject::{Subject, id, map};

pub(crate) fn data_is_replaced_and_forgotten(subject: &Subject) {
    let data = subject.open().data;
    let web = id("web1");
    for bank in Bank::ALL {
        assert_eq!(data.get(bank, &web).unwrap(), None);
        assert!(!data.forget(bank, &web).unwrap());
        data.put(bank, &web, &map("a", 1)).unwrap();
        data.put(bank, &web, &map("b", bank.name())).unwrap();
    }
    let again = subject.open().data;
    for bank in Bank::ALL {
        assert_eq!(again.get(bank, &web).unwrap(), Some(map("b", bank.name())));
        assert_eq!(again.ids(bank).unwrap(), std::slice::from_ref(&web));
        assert!(again.forget(bank, &web).unwrap());
        assert_eq!(data.get(bank, &web).unwrap(), None);
        assert_eq!(data.ids(bank).unwrap(), []);
    }
}

pub(crate) fn a_mine_is_merged(subject: &Subject) {
    let data = subject.open().data;
    let web = id("web1");
    assert!(!data.delete_from_mine(&web, "a").unwrap());
    data.update_mine(&web, map("a", 1), false).unwrap();
    data.update_mine(&web, map("b", 2), false).unwrap();
    assert!(data.delete_from_mine(&web, "a").unwrap());
    assert!(!data.delete_from_mine(&web, "a").unwrap());
    assert_eq!(data.get(Bank::Mine, &web).unwrap(), Some(map("b", 2)));
    data.update_mine(&web, map("c", 3), true).unwrap();
    assert_eq!(data.get(Bank::Mine, &web).unwrap(), Some(map("c", 3)));
}

pub(crate) fn parts_are_what_all_of_it_says(subject: &Subject) {
    let (data, other) = (subject.open().data, subject.open().data);
    let keys = |names: &[&str]| -> BTreeSet<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    };
    let ids = ["web1", "web2", "unknown"].map(id);
    for os in ["Debian", "Alpine", "Rocky"] {
        let grains = Map::from([("os", os), ("rack", "r1")]);
        data.put(Bank::Grains, &ids[0], &grains).unwrap();
        other.put(Bank::Grains, &ids[1], &grains).unwrap();
        let parts = data.parts(Bank::Grains, &ids, &keys(&["os", "none"]));
        let parts = parts.unwrap().unwrap();
        assert_eq!(parts.len(), 2);
        for id in &ids[..2] {
            assert_eq!(parts[id].get("os"), Some(&os.into()));
        }
    }
    data.forget(Bank::Grains, &ids[0]).unwrap();
    let parts = other.parts(Bank::Grains, &ids, &keys(&["os"]));
    assert!(!parts.unwrap().unwrap().contains_key(&ids[0]));
    let many: BTreeSet<String> = (0..=INDEX_KEYS_MAX).map(|n| n.to_string()).collect();
    assert_eq!(data.parts(Bank::Grains, &ids, &many).unwrap(), None);
    assert_eq!(data.parts(Bank::Mine, &ids, &keys(&["a"])).unwrap(), None);
}

pub(crate) fn pillars_of_environments_are_bounded(subject: &Subject) {
    let data = subject.open().data;
    let (web, other) = (id("web1"), id("web10"));
    let put = |id, env: &str| data.put_pillar(id, Some(env), &map("a", 1)).unwrap();
    let kept = (0..100).filter(|n| put(&web, &format!("env{n}"))).count();
    assert_eq!(kept, PILLAR_ENVS_MAX);
    assert!(put(&web, "env5"), "it is there already");
    assert!(put(&other, "dev"));
    assert!(!put(&other, &"e".repeat(255)));
    // These are the minion's own pillar, and an unsafe name counts as none.
    assert_eq!(data.get(Bank::Pillar, &web).unwrap(), None);
    assert!(data.put_pillar(&web, None, &map("p", 1)).unwrap());
    assert!(put(&other, "../../evil"));
    assert_eq!(data.get(Bank::Pillar, &web).unwrap(), Some(map("p", 1)));
    assert_eq!(data.get(Bank::Pillar, &other).unwrap(), Some(map("a", 1)));
    assert_eq!(data.ids(Bank::Pillar).unwrap(), [web, other]);
}

pub(crate) fn unknown_minions_go_but_for_their_mine(subject: &Subject) {
    let data = subject.open().data;
    for name in ["stays", "goes"] {
        for bank in Bank::ALL {
            data.put(bank, &id(name), &map("a", 1)).unwrap();
        }
        let env = data.put_pillar(&id(name), Some("dev"), &map("a", 1));
        assert!(env.unwrap());
    }
    let removed = data.retain(|id| id.as_str() == "stays").unwrap();
    assert_eq!(removed, 3);
    for bank in [Bank::Grains, Bank::Pillar] {
        assert_eq!(data.ids(bank).unwrap(), [id("stays")]);
    }
    assert_eq!(data.ids(Bank::Mine).unwrap(), [id("goes"), id("stays")]);
}

pub(crate) fn too_much_is_refused(subject: &Subject) {
    let data = subject.open().data;
    let web = id("web1");
    let large = map("x", "x".repeat(MINION_DATA_BYTES_MAX));
    for bank in [Bank::Grains, Bank::Mine] {
        let error = data.put(bank, &web, &large).unwrap_err();
        assert!(matches!(error, StoreError::TooLarge { .. }), "{error}");
        assert_eq!(data.get(bank, &web).unwrap(), None);
    }
    data.update_mine(&web, map("a", 1), false).unwrap();
    let error = data.update_mine(&web, large, false).unwrap_err();
    assert!(matches!(error, StoreError::TooLarge { .. }), "{error}");
    assert_eq!(data.get(Bank::Mine, &web).unwrap(), Some(map("a", 1)));
}
