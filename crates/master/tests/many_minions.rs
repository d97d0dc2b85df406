//! Targets over ten thousand minions: the data kept in memory gives the same
//! answers as all their data.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::time::Duration;

use halite_master::core::targets::{Asked, Minions, resolve};
use halite_proto::{Map, MinionId, Value};
use halite_store::{Bank, MinionData, Parts, StoreOptions};

const MINIONS: usize = 10_000;

struct Fleet {
    ids: Vec<MinionId>,
    data: MinionData,
    at_once: bool,
}

impl Minions for Fleet {
    fn accepted(&self) -> Vec<MinionId> {
        self.ids.clone()
    }

    fn grains_of(&self, ids: &[MinionId], names: &BTreeSet<String>) -> Option<Parts> {
        let parts = || self.data.parts(Bank::Grains, ids, names).unwrap();
        self.at_once.then(parts).flatten()
    }

    fn pillars_of(&self, ids: &[MinionId], names: &BTreeSet<String>) -> Option<Parts> {
        let parts = || self.data.parts(Bank::Pillar, ids, names).unwrap();
        self.at_once.then(parts).flatten()
    }

    fn grains(&self, id: &MinionId) -> Option<Map> {
        self.data.get(Bank::Grains, id).unwrap()
    }

    fn pillar(&self, id: &MinionId) -> Option<Map> {
        self.data.get(Bank::Pillar, id).unwrap()
    }

    fn keeps_data(&self) -> bool {
        true
    }

    fn processor_time(&self) -> Duration {
        Duration::ZERO
    }

    fn nodegroups(&self) -> Option<&Map> {
        None
    }
}

fn grains(number: usize) -> Map {
    let os = ["Debian", "Ubuntu", "Alpine", "Rocky"][number % 4];
    let address = format!("10.{}.{}.1", number / 250, number % 250);
    let number = i64::try_from(number).unwrap();
    Map::from([
        ("os", Value::from(os)),
        ("rack", (number % 40).into()),
        (
            "ipv4",
            Value::List(vec!["127.0.0.1".into(), address.into()]),
        ),
        (
            "place",
            Map::from([("city", format!("city-{}", number % 7))]).into(),
        ),
        ("other", "x".repeat(300).into()),
    ])
}

#[test]
fn parts_of_the_data_give_the_same_answer_as_all_of_it() {
    let dir = tempfile::tempdir().unwrap();
    let options = StoreOptions::local_fs(dir.path(), halite_crypto::HashType::Sha256);
    let data = halite_store::open(&options).data;
    let ids: Vec<MinionId> = (0..MINIONS)
        .map(|number| MinionId::parse(format!("web{number:05}")).unwrap())
        .collect();
    for (number, id) in ids.iter().enumerate() {
        // Of some nothing is known.
        if number % 97 != 0 {
            data.put(Bank::Grains, id, &grains(number)).unwrap();
        }
        if number % 10 == 0 {
            let pillar = Map::from([("tier", if number % 20 == 0 { "front" } else { "back" })]);
            data.put(Bank::Pillar, id, &pillar).unwrap();
        }
    }
    let mut fleet = Fleet {
        ids,
        data,
        at_once: true,
    };
    let expressions = [
        ("G@os:Debian and G@rack:3*", 5),
        (
            "G@os:Debian and not P@place:city:city-[12] and not web00*",
            100,
        ),
        ("( G@os:Rocky or I@tier:front ) and S@10.3.0.0/16", 5),
        ("not G@os:* and web*", 104),
        (
            "L@web00001,web00002,nosuch or ( I@tier:back and G@place:*:city-3 )",
            10,
        ),
        ("E@web0000[0-4] and not G@rack:1", 3),
    ];
    for (expression, at_least) in expressions {
        let tgt = Value::from(expression);
        let asked = Asked {
            tgt: &tgt,
            tgt_type: "compound",
            delimiter: ":",
            with_unknown: false,
            ranges: None,
        };
        fleet.at_once = true;
        let first = resolve(asked, &fleet).unwrap();
        let again = resolve(asked, &fleet).unwrap();
        fleet.at_once = false;
        let whole = resolve(asked, &fleet).unwrap();
        assert_eq!(first, whole, "{expression}");
        assert_eq!(again, whole, "{expression}");
        let count = whole.minions.len();
        assert!(
            (at_least..MINIONS).contains(&count),
            "{expression}: {count}"
        );
    }
}
