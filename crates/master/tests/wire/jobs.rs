//! Jobs that local programs publish, and who may.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use halite_crypto::{Crypticle, Opened, SigAlgo};
use halite_proto::clear::PublishReply;
use halite_proto::publish::{Publication, PublishLoad};
use halite_proto::publisher::{PublishedBefore, keeps_no_jobs};
use halite_proto::request::MinionRequest;
use halite_proto::{Capabilities, Map, Refusal, Value};
use halite_transport::fleet::{SubscribeOptions, Subscriber, SubscriberEvent};

use crate::support::{Master, Minion, SOON, master_key, wait_event};

pub(crate) fn publish(master: &Master, tgt: &str, tgt_type: &str) -> Map {
    Map::from([
        ("cmd", Value::from("publish")),
        ("tgt", tgt.into()),
        ("fun", "test.ping".into()),
        ("arg", Value::List(Vec::new())),
        ("key", master.root_key().into()),
        ("tgt_type", tgt_type.into()),
        ("ret", "".into()),
        ("jid", "".into()),
        (
            "kwargs",
            Map::from([("delimiter", ":"), ("show_jid", "x")]).into(),
        ),
        ("user", "root".into()),
    ])
}

async fn ask(master: &Master, load: Map) -> PublishReply {
    PublishReply::from_value(master.ask_clear(load).await).unwrap()
}

/// A connected subscriber.
pub(crate) async fn subscriber(master: &Master) -> Subscriber {
    connected(master, SubscribeOptions::default()).await
}

/// A connected subscriber with options.
pub(crate) async fn connected(master: &Master, options: SubscribeOptions) -> Subscriber {
    let mut subscriber = Subscriber::connect(master.publications.clone(), options);
    loop {
        match next(&mut subscriber).await {
            SubscriberEvent::Connected => return subscriber,
            _ => continue,
        }
    }
}

pub(crate) async fn next(subscriber: &mut Subscriber) -> SubscriberEvent {
    let event = tokio::time::timeout(SOON, subscriber.recv()).await;
    event.expect("nothing arrived").unwrap()
}

/// Publishes until the subscription has taken effect, and gives what arrived.
pub(crate) async fn published(master: &Master, subscriber: &mut Subscriber) -> Publication {
    loop {
        let reply = ask(master, publish(master, "*", "glob")).await;
        assert!(matches!(reply, PublishReply::Accepted { .. }), "{reply:?}");
        let soon = Duration::from_millis(100);
        if let Ok(event) = tokio::time::timeout(soon, subscriber.recv()).await
            && let Some(SubscriberEvent::Publication(payload)) = event
        {
            return Publication::decode(&payload).unwrap();
        }
    }
}

pub(crate) fn open(crypticle: &Crypticle, publication: &Publication) -> Option<PublishLoad> {
    match crypticle.open(&publication.load, None) {
        Ok(Opened::Payload(packed)) => Some(PublishLoad::decode(&packed).unwrap()),
        Ok(Opened::Empty) => panic!("an empty publication"),
        Err(_) => None,
    }
}

#[tokio::test]
async fn a_job_reaches_minions_sealed_signed_and_numbered() {
    let master = Master::start("");
    let minion = Minion::signed_in(&master, "web1").await;
    let mut events = master.events().await;
    let mut subscriber = subscriber(&master).await;
    let first = published(&master, &mut subscriber).await;
    let sig = first.sig.as_ref().unwrap();
    assert_eq!(first.sig_algo.as_deref(), Some("PKCS1v15-SHA1"));
    assert!(master_key().verify(SigAlgo::Pkcs1v15Sha1, &first.load, sig));
    let key = minion.publish.as_ref().unwrap();
    let first = open(key, &first).unwrap();
    let second = published(&master, &mut subscriber).await;
    let second = open(key, &second).unwrap();
    assert!(second.serial > first.serial && first.serial >= Some(1));
    assert!(second.jid > first.jid);
    let map = first.to_map();
    let keys: Vec<_> = map.keys().filter_map(Value::as_str).collect();
    assert_eq!(
        keys,
        [
            "fun", "arg", "tgt", "jid", "ret", "tgt_type", "user", "serial"
        ]
    );

    let new = wait_event(&mut events, &format!("salt/job/{}/new", first.jid)).await;
    assert_eq!(new.get("minions"), Some(&Value::List(vec!["web1".into()])));
    let told = wait_event(&mut events, &format!("salt/job/{}/publish", first.jid)).await;
    assert_eq!(told.get("fun"), Some(&Value::from("test.ping")));
    let jobs = master.store().jobs;
    let load = jobs.load(&first.jid).unwrap().unwrap();
    assert!(!format!("{load:?}").contains(&master.root_key()));
    master.stop().await;
}

/// What was published before a minion signs in does not count when it comes over
/// the wire afterwards: somebody may have recorded it. That holds whether missed jobs
/// can be asked for or not.
#[tokio::test]
async fn a_sign_in_says_what_was_published_before() {
    for (options, keeps_none) in [("", false), ("job_replay_window: 0", true)] {
        let master = Master::start(options);
        let mut minion = Minion::signed_in(&master, "web1").await;
        assert!(minion.grant.as_ref().unwrap().extra.is_empty(), "as Salt's");
        for published in 0..3 {
            let mut request = minion.auth_request();
            request.extra = Capabilities::OURS.to_extra();
            minion.sign_in_with(request).await;
            let said = &minion.grant.as_ref().unwrap().extra;
            let before = PublishedBefore::Serial(published);
            assert_eq!(PublishedBefore::of(said), Some(before));
            assert_eq!(keeps_no_jobs(said), keeps_none);
            let reply = ask(&master, publish(&master, "*", "glob")).await;
            assert!(matches!(reply, PublishReply::Accepted { .. }), "{reply:?}");
        }
        master.stop().await;
    }
}

#[tokio::test]
async fn targets_are_resolved_and_nobody_is_said_so() {
    let master = Master::start("");
    Minion::signed_in(&master, "web1").await;
    let reply = ask(&master, publish(&master, "web1,gone", "list")).await;
    let PublishReply::Accepted {
        minions, missing, ..
    } = reply
    else {
        panic!("{reply:?}");
    };
    assert_eq!(minions.len(), 1);
    assert_eq!(missing, ["gone"]);
    for (tgt, tgt_type) in [("db*", "glob"), ("(", "pcre"), ("x", "no such type")] {
        let reply = ask(&master, publish(&master, tgt, tgt_type)).await;
        assert!(matches!(reply, PublishReply::NoMinions { .. }), "{reply:?}");
    }
    master.stop().await;
}

#[tokio::test]
async fn only_who_proves_it_may_publish() {
    let master = Master::start("publisher_acl_blacklist: {modules: ['cmd.*']}");
    Minion::signed_in(&master, "web1").await;
    let load = |change: &dyn Fn(&mut Map)| {
        let mut load = publish(&master, "*", "glob");
        change(&mut load);
        load
    };
    for change in [
        &(|load: &mut Map| drop(load.insert("key", "wrong"))) as &dyn Fn(&mut Map),
        &|load: &mut Map| drop(load.insert("key", "")),
        &|load: &mut Map| drop(load.remove("key")),
        &|load: &mut Map| drop(load.insert("kwargs", Map::from([("token", "x")]))),
        &|load: &mut Map| drop(load.insert("kwargs", Map::from([("eauth", "pam")]))),
    ] {
        let reply = ask(&master, load(change)).await;
        let PublishReply::Denied(error) = &reply else {
            panic!("{reply:?}");
        };
        assert_eq!(error.name, "AuthenticationError");
    }
    let reply = ask(&master, load(&|load| drop(load.insert("fun", "cmd.run")))).await;
    let PublishReply::Denied(error) = &reply else {
        panic!("{reply:?}");
    };
    assert_eq!(error.name, "AuthorizationError");
    for cmd in ["runner", "wheel"] {
        let answer = master
            .ask_clear(load(&|load| {
                load.insert("cmd", cmd);
                load.insert("key", "wrong");
            }))
            .await;
        let name = answer.get("error").and_then(|error| error.get("name"));
        assert_eq!(name, Some(&"UserAuthenticationError".into()), "{answer:?}");
    }
    for cmd in ["_prep_auth_info", "__init__", "_return", ""] {
        let answer = master
            .ask_clear(load(&|load| drop(load.insert("cmd", cmd))))
            .await;
        assert_eq!(answer, Map::new().into(), "{cmd}");
    }
    let ping = Map::from([("cmd", "ping"), ("x", "y")]);
    assert_eq!(master.ask_clear(ping.clone()).await, ping.into());
    master.stop().await;
}

#[tokio::test]
async fn deleting_a_key_cuts_access_at_once() {
    let master = Master::start("");
    let out = Minion::signed_in(&master, "out").await;
    let mut stays = Minion::signed_in(&master, "stays").await;
    let mut events = master.events().await;
    let mut subscriber = subscriber(&master).await;
    let before = published(&master, &mut subscriber).await;
    assert!(open(out.publish.as_ref().unwrap(), &before).is_some());

    fs::remove_file(master.path("pki/minions/out")).unwrap();
    // The next request is refused already; the drop file does the rest.
    let load = out.load(MinionRequest::FileEnvs);
    assert_eq!(out.refused(&load).await, Refusal::BadLoad);
    let drop_file = master.path("cache/.dfn");
    fs::write(&drop_file, "m1_master").unwrap();
    fs::set_permissions(&drop_file, fs::Permissions::from_mode(0o400)).unwrap();
    let event = wait_event(&mut events, "key").await;
    assert_eq!(event.get("rotate_aes_key"), Some(&true.into()));
    assert!(!drop_file.exists());
    assert!(!master.path("cache/sessions/out").exists());
    assert!(master.path("cache/sessions/stays").exists());

    let mut after = published(&master, &mut subscriber).await;
    while open(out.publish.as_ref().unwrap(), &after).is_some() {
        after = published(&master, &mut subscriber).await;
    }
    assert!(open(stays.publish.as_ref().unwrap(), &after).is_none());
    stays.sign_in().await;
    let load = open(stays.publish.as_ref().unwrap(), &after).unwrap();
    assert!(load.serial.unwrap() >= 1);
    stays.ask(MinionRequest::FileEnvs).await;
    master.stop().await;
}

#[tokio::test]
async fn peers_publish_what_the_option_allows() {
    use halite_proto::request::PeerPublish;
    let more = "peer: {'web.*': ['test.*']}";
    let master = Master::start(more);
    let web = Minion::signed_in(&master, "web1").await;
    let db = Minion::signed_in(&master, "db1").await;
    let ask = |fun: &str| {
        MinionRequest::MinionPub(PeerPublish {
            fun: fun.to_owned(),
            arg: Value::List(Vec::new()),
            tgt: "*".into(),
            tgt_type: Some("glob".to_owned()),
            ret: None,
            tmo: None,
            form: None,
            no_parse: None,
        })
    };
    let nothing = Value::from(Map::new());
    assert_eq!(db.ask(ask("test.ping")).await, nothing);
    assert_eq!(web.ask(ask("cmd.run")).await, nothing);
    assert_eq!(web.ask(ask("test.ping,cmd.run")).await, nothing);
    assert_eq!(web.ask(ask("publish.publish")).await, nothing);
    let sent = web.ask(ask("test.ping")).await;
    let jid = sent.get("jid").and_then(Value::as_str).unwrap().to_owned();
    assert_eq!(
        sent.get("minions"),
        Some(&Value::List(vec!["db1".into(), "web1".into()]))
    );
    let results = || {
        MinionRequest::PubRet(halite_proto::request::PubRet {
            jid: jid.parse().unwrap(),
        })
    };
    assert_eq!(web.ask(results()).await, nothing);
    assert_eq!(db.ask(results()).await, nothing);
    assert!(master.path("cache/publish_auth").join(&jid).exists());
    master.stop().await;
}
