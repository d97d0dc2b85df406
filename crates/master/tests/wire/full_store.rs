//! A master that keeps everything on a server whose disk is full: who is known goes on, no
//! command and no result is lost, what is degraded is said, and all of it is stored when
//! there is room again.

use std::time::{Duration, Instant};

use halite_proto::request::{MineStore, MinionRequest, PillarRequest};
use halite_proto::{Jid, Map, MinionId, Value};
use halite_store::{
    BackendOptions, Bank, JobTables, MysqlOptions, PostgresOptions, Store, StoreOptions,
};
use halite_store_servers::Address;
use halite_test_services::{MariaDb, Postgres, SmallDisk, Wanted};

use crate::away_whole_store::{asks_with, publish_listening, token};
use crate::faulty_store::{arrives, give};
use crate::jobs::{published, subscriber};
use crate::shared_store::{accepted, decide};
use crate::store_runners::run_as;
use crate::support::{Master, Minion, SOON};

/// Pillars that are asked for until the server has refused something.
const TRIES_MAX: i64 = 200;

/// Grains that no server can pack.
fn grains(role: &str) -> Map {
    let bytes = halite_crypto::random_bytes::<{ 128 * 1024 }>();
    let text: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    Map::from([("role", role), ("random", text.as_str())])
}

async fn tells(minion: &Minion, grains: &Map) {
    let request = MinionRequest::Pillar(Box::new(PillarRequest::new(grains.clone())));
    minion.send(minion.envelope(&minion.load(request))).await;
}

async fn mines(minion: &Minion, number: i64) {
    let data = Map::from([("number", Value::from(number)), ("x", grains("").into())]);
    let clear = true;
    minion
        .ask(MinionRequest::Mine(MineStore { data, clear }))
        .await;
}

async fn status(master: &Master) -> Value {
    let proof = Map::from([
        ("user", Value::from("root")),
        ("key", master.root_key().into()),
    ]);
    let mut events = master.events().await;
    run_as(proof, master, &mut events, "store.status", Map::new())
        .await
        .0
}

/// What `store.status` says of the data of minions.
async fn of_data(master: &Master) -> Map {
    let status = status(master).await;
    let data = status.get("data").and_then(Value::as_map);
    data.expect("no data").clone()
}

fn is_degraded(data: &Map) -> bool {
    data.get("refuses_since").is_some() || data.get("available") == Some(&false.into())
}

fn place(url: &str) -> BackendOptions {
    let address = Address::parse(url).unwrap();
    match url.starts_with("mysql") {
        true => BackendOptions::Mysql(Box::new(MysqlOptions::new(address))),
        false => {
            let tables = JobTables::Jsonb;
            BackendOptions::Postgres(Box::new(PostgresOptions { address, tables }))
        }
    }
}

/// What is to be there in the end.
struct Expected {
    grains: Map,
    number: i64,
    jids: Vec<Jid>,
}

async fn check(url: &str, disk: &SmallDisk, may_be_away: bool, restart: impl FnOnce()) {
    let dir = tempfile::TempDir::new().unwrap();
    let passwords = dir.path().join("passwords");
    std::fs::write(&passwords, "bob:right\n").unwrap();
    let options = format!(
        "store: {url}\nworker_threads: 4\n\
         external_auth: {{file: {{^filename: {}, bob: ['@jobs']}}}}",
        passwords.display()
    );
    let master = Master::start(&options);
    let mut web = accepted(&master, &master, "web1").await;
    let mut receives = subscriber(&master).await;
    published(&master, &mut receives).await;
    tells(&web, &grains("before")).await;
    mines(&web, 0).await;
    let bob = token(&master).await;

    disk.fill().unwrap();
    let mut expected = Expected {
        grains: Map::new(),
        number: 0,
        jids: Vec::new(),
    };
    let degraded = loop {
        expected.number += 1;
        assert!(expected.number < TRIES_MAX, "it is never full");
        expected.grains = grains("web");
        tells(&web, &expected.grains).await;
        mines(&web, expected.number).await;
        let data = of_data(&master).await;
        // The tables may have room for some more.
        if is_degraded(&data) && data.get("waiting").is_some() {
            break data;
        }
    };
    let waiting = degraded.get("waiting").unwrap();
    assert!(waiting.get("since").is_some() && waiting.get("reason").is_some());

    // Whoever is known goes on.
    web.session = None;
    web.sign_in().await;
    assert!(web.session.is_some(), "it is known");
    let (_, jid, trouble) = publish_listening(&master, "*", "glob").await;
    let trouble = trouble.expect("a warning");
    assert!(trouble.contains(" since "), "{trouble}");
    while arrives(&mut receives, &web).await != jid {}
    give(&web, &jid, "done").await;
    expected.jids.push(jid);
    if !may_be_away {
        assert_eq!(degraded.get("available"), Some(&true.into()));
        assert!(trouble.contains("has refused writes since"), "{trouble}");
        assert!(asks_with(&master, &bob).await.get("tag").is_some());
    }

    disk.make_room().unwrap();
    restart();
    let other = halite_store::open(&StoreOptions::all(place(url)));
    all_is_stored(&master, &web.id, &other, &expected).await;
    assert!(!is_degraded(&of_data(&master).await));
    let begun = Instant::now();
    // Of the runners above, too, nothing waits.
    while let (minions, _, Some(trouble)) = publish_listening(&master, "role:web", "grain").await {
        assert_eq!(minions, std::slice::from_ref(&web.id));
        assert!(begun.elapsed() < SOON, "{trouble}");
    }
    let mut new = Minion::new(&master, "new1");
    while new.session.is_none() {
        assert!(begun.elapsed() < SOON, "it stays out");
        new.sign_in().await;
        decide(&master, "key.accept", "new1").await;
    }
    master.stop().await;
}

async fn all_is_stored(master: &Master, id: &MinionId, other: &Store, expected: &Expected) {
    let begun = Instant::now();
    let is_stored = || {
        let grains = other.data.get(Bank::Grains, id).ok().flatten();
        let mine = other.data.get(Bank::Mine, id).ok().flatten();
        let has_all = |jid: &Jid| {
            let ret = other.jobs.return_of(jid, id).ok().flatten();
            ret.is_some_and(|ret| ret.ret() == &Value::from("done"))
        };
        grains.is_some_and(|it| it.get("random") == expected.grains.get("random"))
            && mine.is_some_and(|it| it.get("number") == Some(&expected.number.into()))
            && expected.jids.iter().all(has_all)
    };
    while !is_stored() || of_data(master).await.get("waiting").is_some() {
        assert!(begun.elapsed() < SOON, "it is never stored");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn everything_is_on_a_postgres_whose_disk_is_full() {
    let Some(disk) = SmallDisk::for_test(64) else {
        return;
    };
    if let Some(postgres) = Postgres::for_test(&Wanted::default()) {
        let database = disk.database_on(&postgres).unwrap();
        check(&postgres.url(database), &disk, false, || {}).await;
    }
}

/// It refuses at first, and may then end itself: whoever runs it starts it again.
#[tokio::test]
async fn everything_is_on_a_mariadb_whose_disk_is_full() {
    let Some(disk) = SmallDisk::for_test(260) else {
        return;
    };
    let wanted = Wanted::default().below(&disk.path());
    if let Some(mariadb) = MariaDb::for_test(&wanted) {
        let restart = || {
            mariadb.server.kill();
            mariadb.server.start().unwrap();
        };
        check(&mariadb.url("salt"), &disk, true, restart).await;
    }
}
