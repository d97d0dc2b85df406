//! Two masters with one store: each knows the data and the decisions of the other.

use std::time::{Duration, Instant};

use halite_proto::auth::{AuthRefusal, AuthReply};
use halite_proto::clear::PublishReply;
use halite_proto::envelope::Reply;
use halite_proto::request::{MineGet, MineStore, MinionRequest, PillarRequest};
use halite_proto::{Map, Value};
use halite_test_services::{Etcd, MariaDb, Postgres, Redis, RedisCluster, Sentinel, Wanted};

use crate::faulty_store::give;
use crate::jobs::publish;
use crate::store_runners::run_as;
use crate::support::{Master, Minion};

/// How long it may take until the end of a key is known everywhere: masters look once
/// a second, and these machines may be busy.
const KNOWN_WITHIN: Duration = Duration::from_secs(10);

/// Runs a function of the wheel on a key.
pub(crate) async fn decide(master: &Master, fun: &str, id: &str) {
    let mut load = Map::from([
        ("cmd", Value::from("wheel")),
        ("fun", fun.into()),
        ("match", id.into()),
        ("key", master.root_key().into()),
    ]);
    if fun == "key.reject" {
        load.insert("include_accepted", true);
    }
    let answer = master.ask_clear(load).await;
    assert!(answer.get("tag").is_some(), "{answer:?}");
}

async fn check(url: &str) {
    let dir = tempfile::TempDir::new().unwrap();
    let passwords = dir.path().join("passwords");
    std::fs::write(&passwords, "bob:right\n").unwrap();
    let options = format!(
        "store: {url}\nexternal_auth: {{file: {{^filename: {}, bob: ['@jobs']}}}}",
        passwords.display()
    );
    let (one, two) = (Master::start(&options), Master::start(&options));
    for end in ["key.delete", "key.reject"] {
        a_key(&one, &two, end).await;
    }
    a_token(&one, &two).await;
    what_a_minion_tells(&one, &two).await;
    if !url.starts_with("etcd") {
        a_result(&one, &two).await;
    }
    one.stop().await;
    two.stop().await;
}

/// Signs in at one master a minion that the other one accepts.
pub(crate) async fn accepted(one: &Master, two: &Master, id: &str) -> Minion {
    let mut minion = Minion::new(one, id);
    minion.sign_in().await;
    assert!(minion.session.is_none(), "nobody has accepted it");
    decide(two, "key.accept", id).await;
    let begun = Instant::now();
    while minion.session.is_none() {
        assert!(begun.elapsed() < KNOWN_WITHIN, "its key stays unaccepted");
        minion.sign_in().await;
    }
    minion
}

/// It waits at one master, is accepted at the other, and rejected or deleted there.
async fn a_key(one: &Master, two: &Master, end: &str) {
    let mut web1 = accepted(one, two, "web1").await;
    web1.ask(MinionRequest::FileEnvs).await;
    decide(two, end, "web1").await;
    let begun = Instant::now();
    loop {
        let load = web1.load(MinionRequest::FileEnvs);
        let reply = web1.send(web1.envelope(&load)).await;
        if matches!(Reply::decode(&reply), Ok(Reply::Refused(_))) {
            break;
        }
        assert!(begun.elapsed() < KNOWN_WITHIN, "{end}: its session goes on");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let wanted = match end {
        "key.reject" => AuthRefusal::Rejected,
        _ => AuthRefusal::Pending,
    };
    match web1.sign_in().await {
        AuthReply::Refused(why, _) => assert_eq!(why, wanted, "{end}"),
        AuthReply::Accepted(_) => panic!("{end}: it signs in"),
    }
    decide(two, "key.delete", "web1").await;
}

/// Its grains and its mine are told to one master, and known to the other.
async fn what_a_minion_tells(one: &Master, two: &Master) {
    let web = accepted(one, two, "web2").await;
    let db = accepted(two, one, "db1").await;
    let grains = Map::from([("role", "web")]);
    let pillar = MinionRequest::Pillar(Box::new(PillarRequest::new(grains)));
    web.send(web.envelope(&web.load(pillar))).await;
    let request = publish(two, "role:web", "grain");
    match PublishReply::from_value(two.ask_clear(request).await).unwrap() {
        PublishReply::Accepted { minions, .. } => {
            assert_eq!(minions, std::slice::from_ref(&web.id))
        }
        other => panic!("{other:?}"),
    }
    let data = Map::from([("test.ping", 5)]);
    let told = MinionRequest::Mine(MineStore { data, clear: false });
    assert_eq!(web.ask(told).await, true.into());
    let question = MinionRequest::MineGet(MineGet {
        tgt: "*".into(),
        fun: "test.ping".into(),
        tgt_type: None,
    });
    assert_eq!(db.ask(question).await, Map::from([("web2", 5)]).into());
}

/// It is brought to one master, and the other one knows the job.
async fn a_result(one: &Master, two: &Master) {
    let web = accepted(one, two, "web3").await;
    let request = publish(one, "web3", "list");
    let jid = match PublishReply::from_value(one.ask_clear(request).await).unwrap() {
        PublishReply::Accepted { jid, .. } => jid,
        other => panic!("{other:?}"),
    };
    give(&web, &jid, "done").await;
    let mut events = two.events().await;
    let proof = Map::from([
        ("user", Value::from("root")),
        ("key", two.root_key().into()),
    ]);
    let wanted = Map::from([("jid", jid.as_str())]);
    let (found, success) = run_as(proof, two, &mut events, "jobs.lookup_jid", wanted).await;
    assert!(success, "{found:?}");
    assert_eq!(found.get("web3"), Some(&"done".into()), "{found:?}");
}

/// It is made by one master, and is worth as much at the other.
async fn a_token(one: &Master, two: &Master) {
    let login = Map::from([
        ("cmd", "mk_token"),
        ("eauth", "file"),
        ("username", "bob"),
        ("password", "right"),
    ]);
    let made = one.ask_clear(login).await;
    let token = made.get("token").expect("a token").clone();
    let mut events = two.events().await;
    let proof = Map::from([("token", token)]);
    let (found, success) = run_as(proof, two, &mut events, "jobs.list_jobs", Map::new()).await;
    assert!(success, "{found:?}");
}

#[tokio::test]
async fn masters_share_a_redis() {
    if let Some(redis) = Redis::for_test(&Wanted::default()) {
        check(&redis.url()).await;
    }
}

#[tokio::test]
async fn masters_share_a_redis_cluster() {
    if let Some(cluster) = RedisCluster::for_test(&Wanted::default(), false) {
        check(&cluster.url()).await;
    }
}

#[tokio::test]
async fn masters_share_a_redis_that_a_sentinel_knows() {
    if let Some(redis) = Redis::for_test(&Wanted::default()) {
        let sentinel = Sentinel::start(&redis, "fleet").unwrap();
        check(&format!("redis://{}/0?sentinel=fleet", sentinel.address)).await;
    }
}

#[tokio::test]
async fn masters_share_an_etcd() {
    if let Some(etcd) = Etcd::for_test(&Wanted::default()) {
        check(&etcd.url()).await;
    }
}

#[tokio::test]
async fn masters_share_a_postgres() {
    if let Some(postgres) = Postgres::for_test(&Wanted::default()) {
        check(&postgres.url("salt")).await;
    }
}

#[tokio::test]
async fn masters_share_a_mariadb() {
    if let Some(mariadb) = MariaDb::for_test(&Wanted::default()) {
        check(&mariadb.url("salt")).await;
    }
}
