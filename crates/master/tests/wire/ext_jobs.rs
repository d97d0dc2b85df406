//! `ext_job_cache` on a server that dies: no result is lost, although minions try to
//! store theirs there only once.

use std::time::{Duration, Instant};

use halite_proto::envelope::Reply;
use halite_proto::request::Request;
use halite_proto::{Jid, Map, MinionId, Value, presence};
use halite_store::{BackendOptions, RedisOptions, StoreOptions};
use halite_store_servers::Address;
use halite_test_services::{Redis, Wanted};

use crate::away_whole_store::publish_listening;
use crate::faulty_store::{arrives, give, return_of};
use crate::jobs::{published, subscriber};
use crate::store_runners::run;
use crate::support::{Master, Minion, SOON};

const ROLE: &str = "ext_job_cache";

/// The jobs on the server, as everybody sees them.
fn stored_on(redis: &Redis) -> halite_store::Jobs {
    let address = Address::parse(&redis.url()).unwrap();
    let place = BackendOptions::Redis(Box::new(RedisOptions::new(address, Duration::MAX)));
    halite_store::open(&StoreOptions::all(place)).jobs
}

fn returned(jobs: &halite_store::Jobs, jid: &Jid) -> Vec<(MinionId, Value)> {
    let returns = jobs.returns(jid).unwrap_or_default();
    let returns = returns.into_iter();
    returns.map(|(id, ret)| (id, ret.ret().clone())).collect()
}

/// Returns a job as a Halite minion does.
async fn give_as_halite(minion: &Minion, jid: &Jid, text: &str) {
    let meta = minion.meta();
    let nonce = meta.nonce.clone().unwrap();
    let mut load = Request::new(meta, return_of(jid, text)).to_map();
    load.insert(presence::MARK, true);
    let reply = minion.send(minion.envelope(&load)).await;
    let Reply::Sealed(sealed) = Reply::decode(&reply).unwrap() else {
        panic!("not sealed")
    };
    assert_eq!(minion.open(&sealed, &nonce), Value::Nil);
}

/// What a runner of the master returns.
async fn runner_return(master: &Master, fun: &str, kwarg: Map) -> Value {
    let mut events = master.events().await;
    run(master, &mut events, fun, kwarg).await.0
}

#[tokio::test]
async fn results_wait_until_the_server_of_ext_job_cache_is_back() {
    let Some(redis) = Redis::for_test(&Wanted::default()) else {
        return;
    };
    let options = format!(
        "ext_job_cache: redis\nredis.host: {}\nredis.port: {}\nworker_threads: 4",
        redis.address.ip(),
        redis.address.port()
    );
    let master = Master::start(&options);
    let ours = Minion::signed_in(&master, "web1").await;
    let salts = Minion::signed_in(&master, "web2").await;
    let pair = |text: &str, minion: &Minion| (minion.id.clone(), Value::from(text));
    let mut receives = subscriber(&master).await;
    published(&master, &mut receives).await;
    let (_, before, trouble) = publish_listening(&master, "*", "glob").await;
    assert_eq!(trouble, None);
    give_as_halite(&ours, &before, "before").await;
    give(&salts, &before, "before").await;
    // A minion of Salt's stores its result itself, and would find it there.
    let stored = stored_on(&redis);
    assert_eq!(returned(&stored, &before), [pair("before", &ours)]);

    redis.server.kill();
    let (_, jid, _) = publish_listening(&master, "*", "glob").await;
    while arrives(&mut receives, &ours).await != jid {}
    for _ in 0..2 {
        give_as_halite(&ours, &jid, "while away").await;
        give(&salts, &jid, "while away").await;
    }
    let (_, _, trouble) = publish_listening(&master, "*", "glob").await;
    let trouble = trouble.unwrap();
    assert!(trouble.contains("(ext_job_cache) has been"), "{trouble}");
    let waits = "writes to ext_job_cache wait on this master's disk";
    assert!(trouble.contains(waits), "{trouble}");
    let status = runner_return(&master, "store.status", Map::new()).await;
    let of_ext = status.get(ROLE).unwrap();
    assert_eq!(of_ext.get("available"), Some(&false.into()), "{status:?}");
    let count = of_ext.get("waiting").and_then(|it| it.get("count"));
    // Two loads and two results.
    assert_eq!(count, Some(&4.into()), "{status:?}");
    let wanted = Map::from([("jid", jid.as_str())]);
    let found = runner_return(&master, "jobs.lookup_jid", wanted).await;
    assert_eq!(found.get("web1"), Some(&"while away".into()), "{found:?}");
    assert_eq!(found.get("web2"), Some(&"while away".into()), "{found:?}");

    // The next master goes on with what waits.
    let dir = master.stop().await;
    let master = Master::start_in(dir, &options);
    redis.server.start().unwrap();
    let both = [pair("while away", &ours), pair("while away", &salts)];
    let deadline = Instant::now() + SOON;
    while returned(&stored, &jid) != both {
        assert!(Instant::now() < deadline, "it is never stored");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let load = stored.load(&jid).unwrap().unwrap();
    assert_eq!(load.get("tgt"), Some(&"*".into()));
    master.stop().await;
}
