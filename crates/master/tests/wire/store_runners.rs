//! Runners about the places of data, with a real master and real servers.

use std::time::Duration;

use halite_proto::request::{MinionRequest, MinionRunner};
use halite_proto::{Map, MinionId, Value};
use halite_store::{BackendOptions, Bank, RedisOptions, StoreOptions};
use halite_store_servers::Address;
use halite_test_services::{Redis, Wanted};
use halite_transport::ipc::EventSubscriber;

use crate::faulty_store::give;
use crate::jobs::{published, subscriber};
use crate::support::{Master, Minion, wait_event};

/// Runs a runner, and gives what it has returned and whether it succeeded.
pub(crate) async fn run(
    master: &Master,
    events: &mut EventSubscriber,
    fun: &str,
    kwarg: Map,
) -> (Value, bool) {
    let proof = Map::from([
        ("user", Value::from("root")),
        ("key", master.root_key().into()),
    ]);
    run_as(proof, master, events, fun, kwarg).await
}

/// The same for whom these fields prove.
pub(crate) async fn run_as(
    proof: Map,
    master: &Master,
    events: &mut EventSubscriber,
    fun: &str,
    kwarg: Map,
) -> (Value, bool) {
    let mut load = proof;
    load.insert("cmd", "runner");
    load.insert("fun", fun);
    load.insert("kwarg", kwarg);
    let answer = master.ask_clear(load).await;
    let text = format!("{answer:?}");
    let tag = answer
        .get("tag")
        .and_then(Value::as_str)
        .expect(&text)
        .to_owned();
    let data = wait_event(events, &format!("{tag}/ret")).await;
    let success = data.get("success").is_some_and(Value::is_true);
    (data.get("return").cloned().unwrap_or_default(), success)
}

#[tokio::test]
async fn all_that_a_master_keeps_is_moved_to_a_server() {
    let Some(redis) = Redis::for_test(&Wanted::default()) else {
        return;
    };
    let master = Master::start("");
    let web1 = Minion::signed_in(&master, "web1").await;
    let mut receives = subscriber(&master).await;
    let job = published(&master, &mut receives).await;
    let jid = crate::jobs::open(web1.publish.as_ref().unwrap(), &job)
        .unwrap()
        .jid;
    give(&web1, &jid, "done").await;
    let grains = Map::from([("os", "Debian")]);
    let id = MinionId::parse("web1").unwrap();
    master.store().data.put(Bank::Grains, &id, &grains).unwrap();
    let mut events = master.events().await;

    let (status, _) = run(&master, &mut events, "store.status", Map::new()).await;
    assert_eq!(
        status.get("jobs").unwrap().get("place"),
        Some(&"localfs".into())
    );
    let url = Value::from(redis.url());
    let jobs = || Map::from([("src", Value::from("local_cache")), ("dst", url.clone())]);
    let (moved, success) = run(&master, &mut events, "jobs.migrate", jobs()).await;
    assert!(success, "{moved:?}");
    assert_eq!(moved.get("hash"), moved.get("hash_there"));
    assert_eq!(moved.get("known"), Some(&0.into()));
    // Runners are jobs themselves: there is one more each time.
    let count = |told: &Value, name: &str| told.get(name).and_then(Value::as_i64).unwrap();
    let (again, _) = run(&master, &mut events, "jobs.migrate", jobs()).await;
    assert_eq!(count(&again, "known"), count(&moved, "jobs"));
    let cache = Map::from([("dst_driver", url.clone())]);
    let (moved, success) = run(&master, &mut events, "cache.migrate", cache).await;
    assert!(success, "{moved:?}");
    assert_eq!(moved.get("keys").unwrap().get("copied"), Some(&1.into()));
    assert_eq!(moved.get("grains").unwrap().get("copied"), Some(&1.into()));
    let with_password = Value::from("redis://:secret@127.0.0.1:1/0");
    let wrong = Map::from([("src", Value::from("local_cache")), ("dst", with_password)]);
    let (told, success) = run(&master, &mut events, "jobs.migrate", wrong).await;
    assert!(
        !success && format!("{told:?}").contains("password_file"),
        "{told:?}"
    );

    let address = Address::parse(&redis.url()).unwrap();
    let place = BackendOptions::Redis(Box::new(RedisOptions::new(address, Duration::MAX)));
    let there = halite_store::open(&StoreOptions::all(place));
    let stored = there.jobs.return_of(&jid, &id).unwrap().unwrap();
    assert_eq!(stored.ret(), &Value::from("done"));
    assert_eq!(there.data.get(Bank::Grains, &id).unwrap(), Some(grains));

    // The next master has all of it there, and tells where it is.
    let dir = master.stop().await;
    let master = Master::start_in(dir, &format!("store: {}", redis.url()));
    let mut events = master.events().await;
    let (status, _) = run(&master, &mut events, "store.status", Map::new()).await;
    for role in ["jobs", "data", "banks", "tokens", "keys"] {
        let told = status.get(role).unwrap();
        assert_eq!(told.get("available"), Some(&true.into()), "{status:?}");
        assert!(
            told.get("place")
                .unwrap()
                .as_str()
                .unwrap()
                .starts_with("redis://")
        );
    }
    let search = Map::from([("search_user", "root"), ("search_function", "test.*")]);
    let (found, _) = run(&master, &mut events, "jobs.list_jobs", search).await;
    assert!(found.get(jid.as_str()).is_some(), "{found:?}");
    let search = Map::from([("search_user", "nobody")]);
    let (found, _) = run(&master, &mut events, "jobs.list_jobs", search).await;
    assert_eq!(found, Map::new().into());
    redis.server.kill();
    let (status, _) = run(&master, &mut events, "store.status", Map::new()).await;
    let jobs = status.get("jobs").unwrap();
    assert_eq!(jobs.get("available"), Some(&false.into()), "{status:?}");
    assert!(jobs.get("away_since").is_some() && jobs.get("reason").is_some());
    master.stop().await;
}

/// A URL can name any file that the master may read, and any host.
#[tokio::test]
async fn who_has_logged_in_names_no_url_and_copies_no_secrets() {
    let dir = tempfile::TempDir::new().unwrap();
    let passwords = dir.path().join("passwords");
    std::fs::write(&passwords, "bob:right\n").unwrap();
    // Whoever connects has been sent what is in the file.
    let evil = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    evil.set_nonblocking(true).unwrap();
    let address = evil.local_addr().unwrap();
    let master = Master::start_in(
        dir,
        &format!(
            "external_auth: {{file: {{^filename: {}, bob: ['@jobs', '@cache']}}}}\n\
             peer_run: {{web1: ['jobs.*']}}\n\
             cache.redis.host: {}\ncache.redis.port: {}\n",
            passwords.display(),
            address.ip(),
            address.port()
        ),
    );
    let web1 = Minion::signed_in(&master, "web1").await;
    let mut events = master.events().await;
    let bob = || {
        Map::from([
            ("eauth", "file"),
            ("username", "bob"),
            ("password", "right"),
        ])
    };
    let url = format!(
        "redis://{address}/?timeout=0.5&password_file={}",
        passwords.display()
    );
    let url = || Value::from(url.as_str());
    let jobs = |src: Value, dst: Value| Map::from([("src", src), ("dst", dst)]);
    let asked = [
        ("jobs.migrate", jobs("local_cache".into(), url())),
        ("jobs.migrate", jobs(url(), "local_cache".into())),
        (
            "cache.migrate",
            Map::from([("dst_driver", url()), ("bank", "grains".into())]),
        ),
        (
            "cache.migrate",
            Map::from([("src_driver", url()), ("bank", "grains".into())]),
        ),
    ];
    for (fun, kwarg) in asked {
        let (told, success) = run_as(bob(), &master, &mut events, fun, kwarg).await;
        let is_refused = format!("{told:?}").contains("only the master's own user may name a URL");
        assert!(!success && is_refused, "{fun}: {told:?}");
    }
    let banks = [None, Some("pillar"), Some("tokens"), Some("keys")];
    for bank in banks {
        let mut kwarg = Map::from([("dst_driver", "redis")]);
        if let Some(bank) = bank {
            kwarg.insert("bank", bank);
        }
        let (told, success) = run_as(bob(), &master, &mut events, "cache.migrate", kwarg).await;
        let is_refused = format!("{told:?}").contains("only the master's own user may copy");
        assert!(!success && is_refused, "{bank:?}: {told:?}");
    }
    let by_minion = MinionRequest::MinionRunner(MinionRunner {
        fun: "jobs.migrate".to_owned(),
        arg: vec!["local_cache".into(), url()].into(),
        tmo: None,
        no_parse: None,
    });
    let told = web1.ask(by_minion).await;
    assert!(
        format!("{told:?}").contains("only the master's own user may name a URL"),
        "{told:?}"
    );
    let nobody = evil.accept().unwrap_err();
    assert_eq!(nobody.kind(), std::io::ErrorKind::WouldBlock);
    // The master's own user may.
    let (told, _) = run(
        &master,
        &mut events,
        "jobs.migrate",
        jobs("local_cache".into(), url()),
    )
    .await;
    assert!(
        !format!("{told:?}").contains("only the master's own user may name a URL"),
        "{told:?}"
    );
    evil.accept().unwrap();
    master.stop().await;
}

/// With `ext_job_cache` the master stores there what was published, and reads there
/// what minions have brought.
#[tokio::test]
async fn jobs_of_an_ext_job_cache_are_stored_and_read_there() {
    let Some(redis) = Redis::for_test(&Wanted::default()) else {
        return;
    };
    let options = format!(
        "ext_job_cache: redis\nredis.host: {}\nredis.port: {}",
        redis.address.ip(),
        redis.address.port()
    );
    let master = Master::start(&options);
    let web1 = Minion::signed_in(&master, "web1").await;
    let mut receives = subscriber(&master).await;
    let job = published(&master, &mut receives).await;
    let job = crate::jobs::open(web1.publish.as_ref().unwrap(), &job).unwrap();
    let jid = job.jid.clone();
    let address = Address::parse(&redis.url()).unwrap();
    let place = BackendOptions::Redis(Box::new(RedisOptions::new(address, Duration::ZERO)));
    let there = halite_store::open(&StoreOptions::all(place)).jobs;
    let load = there.load(&jid).unwrap().unwrap();
    assert_eq!(load.get("fun"), Some(&"test.ping".into()), "{load:?}");
    // As the minion does by itself.
    let fun = halite_proto::publish::FunSpec::One("test.ping".to_owned());
    let of = halite_proto::returns::ReturnJid::Jid(jid.clone());
    let ret = halite_proto::returns::JobReturn::new(of, fun, Vec::new(), "there".into(), 0);
    there.save_return(&jid, &web1.id, &ret).unwrap();
    let mut events = master.events().await;
    let wanted = Map::from([("jid", jid.as_str())]);
    let (found, success) = run(&master, &mut events, "jobs.lookup_jid", wanted).await;
    assert!(
        success && found.get("web1") == Some(&"there".into()),
        "{found:?}"
    );
    let stored = master.store().jobs.return_of(&jid, &web1.id).unwrap();
    assert!(stored.is_none(), "{stored:?}");
    master.stop().await;
}
