//! Two masters with one store: what one has learnt or decided, the other knows.

use std::time::{Duration, Instant};

use halite_proto::envelope::Reply;
use halite_proto::request::MinionRequest;
use halite_proto::{Map, Value};
use halite_test_services::{Etcd, MariaDb, Postgres, Redis, Wanted};

use crate::store_runners::run_as;
use crate::support::{Master, Minion};

/// How long it may take until the end of a key is known everywhere: masters look once
/// a second, and these machines may be busy.
const KNOWN_WITHIN: Duration = Duration::from_secs(10);

/// Runs a function of the wheel on the key of `web1`.
async fn decide(master: &Master, fun: &str) {
    let load = Map::from([
        ("cmd", Value::from("wheel")),
        ("fun", fun.into()),
        ("match", "web1".into()),
        ("key", master.root_key().into()),
    ]);
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
    a_key(&one, &two).await;
    a_token(&one, &two).await;
    one.stop().await;
    two.stop().await;
}

/// It waits at one master, is accepted at the other, and deleted there.
async fn a_key(one: &Master, two: &Master) {
    let mut web1 = Minion::new(one, "web1");
    web1.sign_in().await;
    assert!(web1.session.is_none(), "nobody has accepted it");
    decide(two, "key.accept").await;
    let begun = Instant::now();
    while web1.session.is_none() {
        assert!(begun.elapsed() < KNOWN_WITHIN, "its key stays unaccepted");
        web1.sign_in().await;
    }
    web1.ask(MinionRequest::FileEnvs).await;
    decide(two, "key.delete").await;
    let begun = Instant::now();
    loop {
        let load = web1.load(MinionRequest::FileEnvs);
        let reply = web1.send(web1.envelope(&load)).await;
        if matches!(Reply::decode(&reply), Ok(Reply::Refused(_))) {
            break;
        }
        assert!(begun.elapsed() < KNOWN_WITHIN, "its session goes on");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
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
