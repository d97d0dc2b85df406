//! The effects of options.

use std::time::Duration;

use halite_config::Warning;
use halite_crypto::{HashType, Opened, SigAlgo};
use halite_proto::clear::PublishReply;
use halite_proto::envelope::{Reply, RequestEnvelope};
use halite_proto::msgpack::{pack_wire, unpack_wire};
use halite_proto::publish::{FunSpec, Publication};
use halite_proto::request::{MinionRequest, PeerPublish, signed_bytes};
use halite_proto::returns::{JobReturn, ReturnJid};
use halite_proto::{Map, MinionId, Nonce, Refusal, Value};
use halite_store::Places;
use halite_transport::fleet::{SubscribeOptions, SubscriberEvent};
use tokio::time::timeout;

use crate::jobs::{connected, next, open, publish};
use crate::logged;
use crate::support::{Master, Minion, SOON, config, wait_event};

fn a_return(jid: ReturnJid) -> MinionRequest {
    let fun = FunSpec::from("test.ping");
    MinionRequest::Return(Box::new(JobReturn::new(
        jid,
        fun,
        Vec::new(),
        true.into(),
        0,
    )))
}

/// Sends a load and opens the answer.
async fn ask_load(minion: &Minion, load: &Map) -> Value {
    let nonce: Nonce = load
        .get("nonce")
        .and_then(Value::as_str)
        .unwrap()
        .parse()
        .unwrap();
    let reply = minion.send(minion.envelope(load)).await;
    match Reply::decode(&reply).unwrap() {
        Reply::Sealed(sealed) => minion.open(&sealed, &nonce),
        other => panic!("not sealed: {other:?}"),
    }
}

#[tokio::test]
async fn returns_are_signed_where_that_is_demanded() {
    let more = "require_minion_sign_messages: True\ndrop_messages_signature_fail: True";
    let master = Master::start(more);
    let minion = Minion::signed_in(&master, "web1").await;
    assert_eq!(minion.ask(a_return(ReturnJid::Req)).await, false.into());
    let mut load = minion.load(a_return(ReturnJid::Req));
    let signed = signed_bytes(&load).unwrap();
    let sig = minion.key.sign(SigAlgo::Pkcs1v15Sha1, &signed).unwrap();
    load.insert("sig", Value::Bytes(sig.clone()));
    assert_eq!(ask_load(&minion, &load).await, Value::Nil);
    let mut load = minion.load(a_return(ReturnJid::Req));
    load.insert("return", "something else");
    load.insert("sig", Value::Bytes(sig));
    assert_eq!(ask_load(&minion, &load).await, false.into());
    master.stop().await;
}

#[tokio::test]
async fn filtered_publications_go_to_those_they_are_for() {
    let master = Master::start("zmq_filtering: True");
    let minion = Minion::signed_in(&master, "web1").await;
    Minion::signed_in(&master, "db1").await;
    let keys = minion.publish.as_ref().unwrap();
    let publish = async |tgt: &str, tgt_type: &str| {
        let reply = master.ask_clear(publish(&master, tgt, tgt_type)).await;
        match PublishReply::from_value(reply) {
            Ok(PublishReply::Accepted { jid, .. }) => jid,
            other => panic!("not published: {other:?}"),
        }
    };
    let mut subscribers = Vec::new();
    // `gone` has no key: the master knows it by its place in a list only.
    for id in ["web1", "db1", "gone"] {
        let options = SubscribeOptions {
            minion: Some(MinionId::parse(id).unwrap()),
            filtering: true,
            ..SubscribeOptions::default()
        };
        let mut subscriber = connected(&master, options).await;
        // Until the subscription has taken effect.
        let soon = Duration::from_millis(100);
        while timeout(soon, next(&mut subscriber)).await.is_err() {
            publish("web1 or db1", "compound").await;
        }
        subscribers.push(subscriber);
    }
    let begin = publish("web1 or db1", "compound").await;
    let web = publish("web*", "glob").await;
    let all = publish("*", "glob").await;
    let listed = publish("web1,gone", "list").await;
    let end = publish("web1 or db1", "compound").await;
    let wanted = [
        vec![&begin, &web, &all, &listed, &end],
        vec![&begin, &all, &end],
        vec![&begin, &listed, &end],
    ];
    for (mut subscriber, wanted) in subscribers.into_iter().zip(wanted) {
        let mut jids = Vec::new();
        while jids.last() != Some(&end) {
            let SubscriberEvent::Publication(payload) = next(&mut subscriber).await else {
                continue;
            };
            let publication = Publication::decode(&payload).unwrap();
            let jid = open(keys, &publication).unwrap().jid;
            if jid == begin || !jids.is_empty() {
                jids.push(jid);
            }
        }
        assert_eq!(jids.iter().collect::<Vec<_>>(), wanted);
    }
    master.stop().await;
}

#[tokio::test]
async fn a_user_of_the_acl_may_do_what_it_says() {
    let more = "client_acl_verify: False\n\
                publisher_acl: {fred: ['test.*', {'web*': ['cmd.run']}]}";
    let master = Master::start(more);
    Minion::signed_in(&master, "web1").await;
    Minion::signed_in(&master, "db1").await;
    let key = std::fs::read_to_string(master.path("cache/.fred_key")).unwrap();
    let ask = async |user: &str, tgt: &str, fun: Value| {
        let mut load = publish(&master, tgt, "glob");
        load.insert("key", key.as_str());
        load.insert("user", user);
        load.insert("fun", fun);
        PublishReply::from_value(master.ask_clear(load).await).unwrap()
    };
    let is_accepted = |reply: &PublishReply| matches!(reply, PublishReply::Accepted { .. });
    assert!(is_accepted(&ask("fred", "*", "test.ping".into()).await));
    assert!(is_accepted(&ask("fred", "web*", "cmd.run".into()).await));
    assert!(is_accepted(
        &ask("fred", "*", "saltutil.find_job".into()).await
    ));
    for (user, tgt, fun) in [
        ("fred", "*", Value::from("cmd.run")),
        ("fred", "web*", "grains.items".into()),
        (
            "fred",
            "*",
            Value::List(vec!["test.ping".into(), "cmd.run".into()]),
        ),
        ("root", "*", "test.ping".into()),
        ("sudo_fred", "*", "test.ping".into()),
        ("bob", "*", "test.ping".into()),
    ] {
        let reply = ask(user, tgt, fun.clone()).await;
        assert!(
            matches!(reply, PublishReply::Denied(_)),
            "{user} {tgt} {fun:?}"
        );
    }
    master.stop().await;
}

#[tokio::test]
async fn a_peer_waits_for_what_others_return() {
    // What is too large for an event is answered whole.
    let more = "peer: {'web.*': ['test.*']}\nmax_event_size: 4000";
    let master = Master::start(more);
    let web = Minion::signed_in(&master, "web1").await;
    let db = Minion::signed_in(&master, "db1").await;
    let mut events = master.events().await;
    let asked = tokio::spawn(async move {
        let publish = PeerPublish {
            fun: "test.ping".to_owned(),
            arg: Value::List(Vec::new()),
            tgt: "db*".into(),
            tgt_type: Some("glob".to_owned()),
            ret: None,
            tmo: Some(20.into()),
            form: None,
            no_parse: None,
        };
        web.ask(MinionRequest::MinionPublish(publish)).await
    });
    let jid = loop {
        let event = timeout(SOON, events.next()).await.unwrap();
        let event = event.unwrap().unwrap();
        if let Some(jid) = event.tag().strip_suffix("/new") {
            break jid.rsplit('/').next().unwrap().to_owned();
        }
    };
    let large = "x".repeat(9000);
    let mut returned = a_return(ReturnJid::Jid(jid.parse().unwrap()));
    if let MinionRequest::Return(job) = &mut returned {
        job.ret = large.as_str().into();
    }
    assert_eq!(db.ask(returned).await, Value::Nil);
    let answer = timeout(SOON, asked).await.unwrap().unwrap();
    assert_eq!(answer, Map::from([("db1", large)]).into());
    master.stop().await;
}

#[tokio::test]
async fn requests_of_version_2_are_served_where_they_are_let_in() {
    let master = Master::start("minimum_auth_version: 0");
    let minion = Minion::signed_in(&master, "web1").await;
    let publish_key = minion.publish.as_ref().unwrap();
    let ask = async |load: &Map| {
        let packed = pack_wire(&load.clone().into()).unwrap();
        let envelope = RequestEnvelope::Aes {
            load: publish_key.seal(&packed, None),
            id: None,
            version: 2,
            enc_algo: None,
            sig_algo: None,
        };
        Reply::decode(&minion.send(envelope.encode().unwrap()).await).unwrap()
    };
    let good = minion.load(a_return(ReturnJid::Req));
    let mut without = good.clone();
    without.remove("tok");
    assert_eq!(ask(&without).await, Reply::Refused(Refusal::BadLoad));
    let mut other = good.clone();
    other.insert("id", "web2");
    assert_eq!(ask(&other).await, Reply::Refused(Refusal::BadLoad));
    let nonce = good.get("nonce").and_then(Value::as_bytes).unwrap();
    let Reply::Sealed(sealed) = ask(&good).await else {
        panic!("not sealed");
    };
    let Ok(Opened::Payload(packed)) = publish_key.open(&sealed, Some(nonce)) else {
        panic!("not under the publish key");
    };
    assert_eq!(unpack_wire(&packed), Ok(Value::Nil));
    let envs = Map::from([("cmd", "_file_envs")]);
    assert!(matches!(ask(&envs).await, Reply::Sealed(_)));
    master.stop().await;
}

#[tokio::test]
async fn a_minion_can_give_up_its_key() {
    use halite_proto::request::RevokeAuth;
    let master = Master::start("");
    let minion = Minion::signed_in(&master, "web1").await;
    let mut events = master.events().await;
    let revoke = MinionRequest::RevokeAuth(RevokeAuth::default());
    assert_eq!(minion.ask(revoke.clone()).await, true.into());
    let event = wait_event(&mut events, "salt/key").await;
    assert_eq!(event.get("act"), Some(&Value::from("delete")));
    wait_event(&mut events, "key").await;
    assert!(master.key_state("web1").is_empty());
    assert_eq!(
        minion.refused(&minion.load(revoke.clone())).await,
        Refusal::BadLoad
    );
    master.stop().await;

    let master = Master::start("allow_minion_key_revoke: False");
    let minion = Minion::signed_in(&master, "web1").await;
    let answer = minion.ask(revoke).await;
    assert_eq!(answer.get("cmd"), Some(&Value::from("revoke_auth")));
    assert_eq!(master.key_state("web1"), ["minions"]);
    master.stop().await;
}

/// At the start, and before it.
#[tokio::test]
async fn a_store_beyond_this_machine_without_tls_is_named() {
    logged::listen();
    let options = "master_job_cache: redis\nredis.host: 192.0.2.77\n";
    let dir = tempfile::TempDir::new().unwrap();
    let found = halite_master::unencrypted_stores(&config(dir.path(), options));
    let [Warning::Odd { text, .. }] = found.as_slice() else {
        panic!("{found:?}")
    };
    let beginning = "master_job_cache: the connection to 192.0.2.77 is not encrypted";
    assert!(text.starts_with(beginning), "{text}");
    Master::start(options).stop().await;
    let lines = logged::with(beginning);
    assert_eq!(lines.len(), 1, "{lines:?}");
}

/// The options that a master merges have Salt's defaults, and these do not win.
#[test]
fn files_that_a_configuration_names_win_over_the_store() {
    let dir = tempfile::TempDir::new().unwrap();
    let places = |more: &str| {
        let config = config(dir.path(), &format!("store: redis://127.0.0.1:1/0\n{more}"));
        Places::from_opts(config.opts(), &config.cachedir, HashType::Sha256).unwrap()
    };
    let all = places("");
    assert!(all.keys.is_some());
    assert!(all.store.jobs.is_server() && all.store.data.is_server());
    assert!(places("keys.cache_driver: localfs_key").keys.is_none());
    let jobs = places("master_job_cache: local_cache").store;
    assert!(!jobs.jobs.is_server() && jobs.data.is_server());
    let data = places("cache: localfs").store;
    assert!(!data.data.is_server() && !data.tokens.is_server() && data.jobs.is_server());
    let tokens = places("eauth_tokens.cache_driver: localfs").store;
    assert!(!tokens.tokens.is_server() && tokens.data.is_server());
}
