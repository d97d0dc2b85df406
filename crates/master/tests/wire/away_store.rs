//! A master whose jobs are on a server that dies: commands go on, results are
//! acknowledged, and all of them are there when the server is back.

use std::time::{Duration, Instant};

use halite_proto::clear::{PublishReply, PublishRequest};
use halite_proto::{Jid, MinionId, Value};
use halite_store::{BackendOptions, RedisOptions, StoreOptions};
use halite_store_servers::Address;
use halite_test_services::{Redis, Wanted};

use crate::faulty_store::{arrives, give};
use crate::jobs::{publish, published, subscriber};
use crate::support::{Master, Minion, SOON};

/// Publishes as programs of ours do, and gives what the master has said.
async fn publish_listening(master: &Master) -> (Jid, Option<String>) {
    let request = publish(master, "*", "glob");
    let mut request = PublishRequest::from_map(request).unwrap();
    request.say_listens();
    let reply = master.ask_clear(request.to_map()).await;
    match PublishReply::from_value(reply).unwrap() {
        PublishReply::Accepted { jid, trouble, .. } => (jid, trouble),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn nothing_is_lost_while_the_server_of_the_jobs_is_dead() {
    let Some(redis) = Redis::for_test(&Wanted::default()) else {
        return;
    };
    let options = format!(
        "master_job_cache: redis\nredis.host: {}\nredis.port: {}\nworker_threads: 4",
        redis.address.ip(),
        redis.address.port()
    );
    let master = Master::start(&options);
    let ids = ["web1", "web2"];
    let mut minions = Vec::new();
    for id in ids {
        minions.push(Minion::signed_in(&master, id).await);
    }
    let mut receives = subscriber(&master).await;
    published(&master, &mut receives).await;
    let (before, trouble) = publish_listening(&master).await;
    assert_eq!(trouble, None);
    give(&minions[0], &before, "before").await;

    redis.server.kill();
    let mut jids = Vec::new();
    for _ in 0..3 {
        let (jid, _) = publish_listening(&master).await;
        while arrives(&mut receives, &minions[0]).await != jid {}
        for minion in &minions {
            give(minion, &jid, minion.id.as_str()).await;
        }
        jids.push(jid);
    }
    let (_, trouble) = publish_listening(&master).await;
    let trouble = trouble.unwrap();
    assert!(trouble.contains("has been unreachable since"), "{trouble}");
    assert!(trouble.contains("wait on this master's disk"), "{trouble}");

    // The next master goes on with what waits, and known minions sign in.
    let dir = master.stop().await;
    let master = Master::start_in(dir, &options);
    minions[1] = Minion::signed_in(&master, "web2").await;
    give(&minions[1], &before, "after").await;
    redis.server.start().unwrap();

    let address = Address::parse(&redis.url()).unwrap();
    let place = BackendOptions::Redis(Box::new(RedisOptions::new(address, Duration::MAX)));
    let stored = halite_store::open(&StoreOptions::all(place)).jobs;
    let deadline = Instant::now() + SOON;
    let has_both = |jid: &Jid| stored.returns(jid).is_ok_and(|found| found.len() == 2);
    while !jids.iter().chain([&before]).all(has_both) {
        assert!(Instant::now() < deadline, "it is never stored");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    for jid in &jids {
        let load = stored.load(jid).unwrap().unwrap();
        assert_eq!(load.get("tgt"), Some(&"*".into()));
        let returns = stored.returns(jid).unwrap();
        let found = returns
            .iter()
            .map(|(id, ret)| (id.clone(), ret.ret().clone()));
        let wanted = ids.map(|id| (MinionId::parse(id).unwrap(), Value::from(id)));
        assert_eq!(found.collect::<Vec<_>>(), wanted);
    }
    master.stop().await;
}
