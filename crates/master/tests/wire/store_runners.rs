//! Runners about the places where things are kept, asked of a real master with real
//! servers.

use std::time::Duration;

use halite_proto::{Map, MinionId, Value};
use halite_store::{BackendOptions, Bank, RedisOptions, StoreOptions};
use halite_store_servers::Address;
use halite_test_services::{Redis, Wanted};
use halite_transport::ipc::EventSubscriber;

use crate::faulty_store::give;
use crate::jobs::{published, subscriber};
use crate::support::{Master, Minion, wait_event};

/// Runs a runner, and gives what it has returned and whether it succeeded.
async fn run(
    master: &Master,
    events: &mut EventSubscriber,
    fun: &str,
    kwarg: Map,
) -> (Value, bool) {
    let load = Map::from([
        ("cmd", Value::from("runner")),
        ("fun", fun.into()),
        ("kwarg", kwarg.into()),
        ("user", "root".into()),
        ("key", master.root_key().into()),
    ]);
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
