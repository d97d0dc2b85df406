//! A master that keeps everything on a server that dies (`store`): known minions
//! and users go on, new ones are not let in, and all data is there when the server
//! is back.

use std::time::{Duration, Instant};

use halite_proto::auth::AuthReply;
use halite_proto::clear::{PublishReply, PublishRequest};
use halite_proto::request::{MinionRequest, PillarRequest};
use halite_proto::{Jid, Map, MinionId, Value};
use halite_test_services::{Etcd, MariaDb, Postgres, Redis, Server, Wanted};

use crate::faulty_store::{arrives, give};
use crate::jobs::{publish, published, subscriber};
use crate::shared_store::{accepted, decide};
use crate::store_runners::run_as;
use crate::support::{Master, Minion, SOON};

/// Publishes as our programs do; gives the targeted minions, the job, and errors.
pub(crate) async fn publish_listening(
    master: &Master,
    tgt: &str,
    tgt_type: &str,
) -> (Vec<MinionId>, Jid, Option<String>) {
    let mut request = PublishRequest::from_map(publish(master, tgt, tgt_type)).unwrap();
    request.say_listens();
    let reply = master.ask_clear(request.to_map()).await;
    match PublishReply::from_value(reply).unwrap() {
        PublishReply::Accepted {
            jid,
            trouble,
            minions,
            ..
        } => (minions, jid, trouble),
        other => panic!("{other:?}"),
    }
}

/// What a master says to somebody with a token who asks for the jobs.
pub(crate) async fn asks_with(master: &Master, token: &Value) -> Value {
    let load = Map::from([
        ("cmd", Value::from("runner")),
        ("fun", "jobs.list_jobs".into()),
        ("kwarg", Map::new().into()),
        ("token", token.clone()),
    ]);
    master.ask_clear(load).await
}

async fn look_up(master: &Master, jid: &Jid) -> Value {
    let mut events = master.events().await;
    let proof = Map::from([
        ("user", Value::from("root")),
        ("key", master.root_key().into()),
    ]);
    let wanted = Map::from([("jid", jid.as_str())]);
    run_as(proof, master, &mut events, "jobs.lookup_jid", wanted)
        .await
        .0
}

pub(crate) async fn token(master: &Master) -> Value {
    let login = Map::from([
        ("cmd", "mk_token"),
        ("eauth", "file"),
        ("username", "bob"),
        ("password", "right"),
    ]);
    let made = master.ask_clear(login).await;
    made.get("token").cloned().unwrap_or(made)
}

async fn check(url: &str, server: &Server) {
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
    accepted(&master, &master, "web2").await;
    let grains = Map::from([("role", "web")]);
    let pillar = MinionRequest::Pillar(Box::new(PillarRequest::new(grains)));
    web.send(web.envelope(&web.load(pillar))).await;
    let mut receives = subscriber(&master).await;
    published(&master, &mut receives).await;
    let (minions, ..) = publish_listening(&master, "role:web", "grain").await;
    assert_eq!(minions, std::slice::from_ref(&web.id));
    arrives(&mut receives, &web).await;
    let bob = token(&master).await;
    assert!(asks_with(&master, &bob).await.get("tag").is_some());

    server.kill();
    while_it_is_away(&master, &mut web, &bob).await;
    let (_, jid, trouble) = publish_listening(&master, "*", "glob").await;
    let trouble = trouble.expect("a warning");
    assert!(trouble.contains("has been unreachable since"), "{trouble}");
    while arrives(&mut receives, &web).await != jid {}
    give(&web, &jid, "done").await;

    // The next master knows the minions by its copy.
    let dir = master.stop().await;
    let master = Master::start_in(dir, &options);
    let mut web = Minion::new(&master, "web1");
    web.sign_in().await;
    assert!(web.session.is_some(), "it is known");
    assert!(stays_out(&master).await);

    server.start().unwrap();
    let begun = Instant::now();
    loop {
        let found = look_up(&master, &jid).await;
        let is_known = asks_with(&master, &bob).await.get("tag").is_some();
        if is_known && found.get("web1") == Some(&"done".into()) && !stays_out(&master).await {
            break;
        }
        assert!(begun.elapsed() < SOON, "it is not back: {found:?}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let (minions, ..) = publish_listening(&master, "role:web", "grain").await;
    assert_eq!(minions, std::slice::from_ref(&web.id));
    let mut new = Minion::new(&master, "new1");
    decide(&master, "key.accept", "new1").await;
    let begun = Instant::now();
    while new.session.is_none() {
        assert!(begun.elapsed() < SOON, "it stays out");
        new.sign_in().await;
    }
    master.stop().await;
}

/// Who is known is known, and nobody else.
async fn while_it_is_away(master: &Master, web: &mut Minion, bob: &Value) {
    web.session = None;
    web.sign_in().await;
    assert!(web.session.is_some(), "it is known");
    let (minions, ..) = publish_listening(master, "role:web", "grain").await;
    assert_eq!(minions, std::slice::from_ref(&web.id));
    assert!(stays_out(master).await);
    let answer = asks_with(master, bob).await;
    assert!(answer.get("tag").is_none(), "{answer:?}");
    let made = token(master).await;
    assert!(
        made.as_str().is_none_or(|text| text.len() != 64),
        "{made:?}"
    );
}

/// A new minion signs in: whether the master files nothing of it and lets it wait.
async fn stays_out(master: &Master) -> bool {
    let new = Minion::new(master, "new1");
    match new.try_sign_in().await {
        Some(AuthReply::Refused(..)) => false,
        Some(AuthReply::Accepted(_)) => panic!("nobody has accepted it"),
        None => true,
    }
}

#[tokio::test]
async fn everything_is_on_a_redis_that_dies() {
    if let Some(redis) = Redis::for_test(&Wanted::default()) {
        check(&redis.url(), &redis.server).await;
    }
}

#[tokio::test]
async fn everything_is_on_a_postgres_that_dies() {
    if let Some(postgres) = Postgres::for_test(&Wanted::default()) {
        check(&postgres.url("salt"), &postgres.server).await;
    }
}

#[tokio::test]
async fn everything_is_on_a_mariadb_that_dies() {
    if let Some(mariadb) = MariaDb::for_test(&Wanted::default()) {
        check(&mariadb.url("salt"), &mariadb.server).await;
    }
}

#[tokio::test]
async fn everything_is_on_an_etcd_that_dies() {
    if let Some(etcd) = Etcd::for_test(&Wanted::default()) {
        check(&etcd.url(), &etcd.server).await;
    }
}
