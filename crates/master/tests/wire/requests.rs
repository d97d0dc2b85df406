//! Requests of a minion that is signed in, good and bad.

use std::fs;

use halite_crypto::{Crypticle, EncAlgo, Opened, SigAlgo, SymmetricKey};
use halite_proto::clear::{Credentials, StandingReply, StandingRequest};
use halite_proto::envelope::{Reply, RequestEnvelope};
use halite_proto::msgpack::{pack_wire, unpack_wire};
use halite_proto::pillar::{PillarAnswer, PillarData, SignedPillar};
use halite_proto::publish::FunSpec;
use halite_proto::request::{
    Batches, Commits, FileList, FilePath, FiredEvent, MasterOpts, MineGet, MineStore, MinionEvent,
    MinionRequest, PillarRequest, ServeFile, Whereabouts,
};
use halite_proto::returns::{JobReturn, OWN_JOB, PUBLISHER, ReturnJid};
use halite_proto::{
    Capabilities, Jid, Map, MinionId, Nonce, PublisherId, Refusal, SaltEnv, Tag, Value,
};

use crate::jobs::publish;
use crate::support::{Master, Minion, master_key, now, wait_event};

fn file(path: &str) -> FilePath {
    FilePath {
        path: path.to_owned(),
        saltenv: Some(SaltEnv::base()),
        commits: Commits::default(),
    }
}

fn job_return(jid: &str) -> MinionRequest {
    let jid = match jid {
        "req" => ReturnJid::Req,
        jid => ReturnJid::Jid(Jid::parse(jid).unwrap()),
    };
    let fun = FunSpec::from("test.ping");
    MinionRequest::Return(Box::new(JobReturn::new(
        jid,
        fun,
        Vec::new(),
        true.into(),
        0,
    )))
}

#[tokio::test]
async fn the_pillar_is_signed_and_sealed_and_the_grains_are_kept() {
    let master = Master::start("");
    let mut events = master.events().await;
    let minion = Minion::signed_in(&master, "web1").await;
    let grains = Map::from([("os", "Debian")]);
    let request = PillarRequest::new(grains);
    let load = minion.load(MinionRequest::Pillar(Box::new(request)));
    let nonce = load.get("nonce").cloned();
    let reply = minion.send(minion.envelope(&load)).await;
    let PillarAnswer::Private(reply) = PillarAnswer::decode(&reply).unwrap() else {
        panic!("not a pillar");
    };
    let key = minion.key.decrypt(EncAlgo::OaepSha1, &reply.key).unwrap();
    let key = SymmetricKey::parse(std::str::from_utf8(key.expose()).unwrap()).unwrap();
    let Ok(Opened::Payload(signed)) = Crypticle::new(&key).open(&reply.pillar, None) else {
        panic!("the pillar does not open");
    };
    let signed = SignedPillar::decode(&signed).unwrap();
    assert!(master_key().verify(SigAlgo::Pkcs1v15Sha1, &signed.data, &signed.sig));
    let data = PillarData::decode(&signed.data).unwrap();
    assert_eq!(data.key, reply.key);
    assert_eq!(Some(Value::from(&data.nonce)), nonce);
    assert!(data.pillar.is_empty());

    let event = wait_event(&mut events, "minion/refresh/web1").await;
    assert_eq!(
        event.get("Minion data cache refresh"),
        Some(&Value::from("web1"))
    );
    assert!(master.path("cache/grains/web1.p").exists());
    master.stop().await;
}

#[tokio::test]
async fn files_are_served_from_below_the_roots_only() {
    let master = Master::start("");
    fs::write(master.path("srv/hello"), "hello\n").unwrap();
    fs::write(master.path("secret"), "secret\n").unwrap();
    let minion = Minion::signed_in(&master, "web1").await;
    let serve = |path: &str| {
        MinionRequest::ServeFile(ServeFile {
            file: file(path),
            loc: 0,
            gzip: None,
            beyond: None,
        })
    };
    let found = minion.ask(serve("hello")).await;
    assert_eq!(found.get("data"), Some(&Value::from("hello\n")));
    assert_eq!(found.get("dest"), Some(&Value::from("hello")));
    for path in [
        "../secret",
        "/etc/passwd",
        "a/../../secret",
        "nope",
        "hello\0",
    ] {
        let nothing = minion.ask(serve(path)).await;
        assert_eq!(nothing, Map::from([("data", ""), ("dest", "")]).into());
    }
    let hash = minion.ask(MinionRequest::FileHash(file("hello"))).await;
    assert_eq!(hash.get("hash_type"), Some(&Value::from("sha256")));
    let list = MinionRequest::FileList(FileList {
        saltenv: Some(SaltEnv::base()),
        ..FileList::default()
    });
    assert_eq!(minion.ask(list).await, Value::List(vec!["hello".into()]));
    let opts = minion.ask(MinionRequest::MasterOpts(MasterOpts { env_only: true }));
    let wanted = Map::from([
        (
            "file_roots",
            Map::from([("base", Value::List(Vec::new()))]).into(),
        ),
        ("top_file_merging_strategy", Value::from("merge")),
        ("env_order", Value::List(Vec::new())),
        ("default_top", "base".into()),
    ]);
    assert_eq!(opts.await, wanted.into());
    master.stop().await;
}

#[tokio::test]
async fn a_return_is_stored_told_and_acknowledged() {
    let master = Master::start("");
    let mut events = master.events().await;
    let minion = Minion::signed_in(&master, "web1").await;
    let jid = "20261120141841939742";
    assert_eq!(minion.ask(job_return(jid)).await, Value::Nil);
    let event = wait_event(&mut events, &format!("salt/job/{jid}/ret/web1")).await;
    let keys: Vec<_> = event.keys().filter_map(Value::as_str).collect();
    assert_eq!(
        keys,
        [
            "cmd", "id", "success", "return", "retcode", "jid", "fun", "fun_args", "ts", "_stamp"
        ]
    );
    let jobs = master.store().jobs;
    let jid = Jid::parse(jid).unwrap();
    let stored = jobs.return_of(&jid, &minion.id).unwrap().unwrap();
    assert_eq!(stored.ret(), &Value::from(true));

    // One that was not asked for gets a job of its own.
    assert_eq!(minion.ask(job_return("req")).await, Value::Nil);
    assert_eq!(jobs.newest(usize::MAX).unwrap().len(), 2);
    master.stop().await;
}

#[tokio::test]
async fn a_minion_fires_its_own_events_and_nobody_elses() {
    let master = Master::start("");
    let mut events = master.events().await;
    let minion = Minion::signed_in(&master, "web1").await;
    let fire = |tag: &str| {
        let event = MinionEvent::one(Tag::parse(tag).unwrap(), Map::from([("k", "v")]));
        MinionRequest::MinionEvent(event)
    };
    for forged in [
        "salt/key",
        "salt/minion/web2/start",
        "salt/job/1/new",
        "key",
    ] {
        assert_eq!(minion.ask(fire(forged)).await, Value::Nil);
    }
    let many = MinionEvent::many(
        vec![FiredEvent {
            tag: Tag::parse("key").unwrap(),
            data: Map::from([("forged", true)]).into(),
        }],
        Some("salt".to_owned()),
    );
    assert_eq!(
        minion.ask(MinionRequest::MinionEvent(many)).await,
        Value::Nil
    );
    assert_eq!(minion.ask(fire("salt/minion/web1/start")).await, Value::Nil);
    loop {
        let event = events.next().await.unwrap().unwrap();
        if event.tag() == "salt/minion/web1/start" {
            let data = event.unpack().unwrap().data;
            assert_eq!(data.get("data"), Some(&Map::from([("k", "v")]).into()));
            assert_eq!(data.get("id"), Some(&Value::from("web1")));
            assert!(data.get("tok").is_none() && data.get("nonce").is_none());
            break;
        }
        assert_eq!(event.tag(), "salt/auth");
    }
    master.stop().await;
}

/// Events whose answer was lost come again, and are fired once; those of the
/// minion's next process have the same numbers and are others.
#[tokio::test]
async fn batches_of_events_that_come_again_are_fired_once() {
    let master = Master::start("");
    let mut events = master.events().await;
    let minion = Minion::signed_in(&master, "web1").await;
    let send = |process: u8, numbers: &[u64], what: &str| {
        let fired = FiredEvent {
            tag: Tag::parse("salt/beacon/web1/log/").unwrap(),
            data: Map::from([("what", what)]).into(),
        };
        let mut many = MinionEvent::many(vec![fired], None);
        many.batches = Some(Batches {
            process: Nonce::from_random([process; 16]),
            numbers: numbers.to_vec(),
        });
        MinionRequest::MinionEvent(many)
    };
    for (process, numbers, what) in [
        (1, &[0, 1][..], "first"),
        (1, &[0, 1], "again"),
        (1, &[1], "again"),
        (1, &[2], "second"),
        (2, &[0], "last"),
    ] {
        let answer = minion.ask(send(process, numbers, what)).await;
        assert_eq!(answer, Value::Nil);
    }
    let mut told = Vec::new();
    while told.last().is_none_or(|what| what != "last") {
        let event = events.next().await.unwrap().unwrap();
        if event.tag() == "salt/beacon/web1/log/" {
            let data = event.unpack().unwrap().data;
            told.push(data.get("what").unwrap().as_str().unwrap().to_owned());
        }
    }
    assert_eq!(told, ["first", "second", "last"]);
    master.stop().await;
}

#[tokio::test]
async fn the_mine_is_kept_and_shown_as_its_owners_want() {
    let master = Master::start("");
    let one = Minion::signed_in(&master, "web1").await;
    let two = Minion::signed_in(&master, "db1").await;
    let guarded = Map::from([
        ("__data__", Value::from(7)),
        ("__saltmine_acl__", 1.into()),
        ("allow_tgt", "web*".into()),
        ("allow_tgt_type", "glob".into()),
    ]);
    let data = Map::from([("open", Value::from(5)), ("guarded", guarded.into())]);
    let store = MinionRequest::Mine(MineStore { data, clear: false });
    assert_eq!(one.ask(store).await, true.into());
    let get = |fun: &str| {
        MinionRequest::MineGet(MineGet {
            tgt: "*".into(),
            fun: fun.into(),
            tgt_type: None,
        })
    };
    let nothing = Value::from(Map::new());
    assert_eq!(two.ask(get("open")).await, Map::from([("web1", 5)]).into());
    assert_eq!(two.ask(get("guarded")).await, nothing);
    assert_eq!(
        one.ask(get("guarded")).await,
        Map::from([("web1", 7)]).into()
    );
    assert_eq!(one.ask(MinionRequest::MineFlush).await, true.into());
    assert_eq!(two.ask(get("open")).await, nothing);
    master.stop().await;
}

#[tokio::test]
async fn unknown_commands_and_wrong_fields_are_answered_as_salt_does() {
    let master = Master::start("");
    let minion = Minion::signed_in(&master, "web1").await;
    let unknown = |cmd: &str| MinionRequest::Unknown {
        cmd: Some(cmd.to_owned()),
        fields: Map::new(),
    };
    for cmd in ["_nope", "publish", "__init__", "_syndic_return"] {
        let answer = minion.ask(unknown(cmd)).await;
        assert!(answer == Map::new().into() || answer == "".into(), "{cmd}");
    }
    let mut load = minion.load(job_return("20261120141841939742"));
    load.insert("jid", "../../etc/passwd");
    let nonce = load.get("nonce").and_then(Value::as_str).unwrap().parse();
    let reply = minion.send(minion.envelope(&load)).await;
    let Ok(Reply::Sealed(sealed)) = Reply::decode(&reply) else {
        panic!("not sealed");
    };
    assert_eq!(minion.open(&sealed, &nonce.unwrap()), "".into());
    master.stop().await;
}

#[tokio::test]
async fn every_request_that_is_not_proven_is_refused_and_the_next_is_served() {
    let master = Master::start("request_server_ttl: 3600");
    let minion = Minion::signed_in(&master, "web1").await;
    let other = Minion::signed_in_with(&master, "web2", "other.pem").await;
    let good = || minion.load(MinionRequest::FileEnvs);
    let changed = |field: &str, value: Value| {
        let mut load = good();
        load.insert(field, value);
        load
    };
    let without = |field: &str| {
        let mut load = good();
        load.remove(field);
        load
    };
    for (load, wanted) in [
        (changed("id", "web2".into()), Refusal::BadLoad),
        (changed("id", "../web1".into()), Refusal::BadLoad),
        (changed("id", "a\0b".into()), Refusal::NullInId),
        (changed("id", 5.into()), Refusal::IdNotText("5".to_owned())),
        (changed("tok", Value::Bytes(vec![1; 256])), Refusal::BadLoad),
        (
            changed(
                "tok",
                other
                    .load(MinionRequest::FileEnvs)
                    .get("tok")
                    .cloned()
                    .unwrap(),
            ),
            Refusal::BadLoad,
        ),
        (changed("ts", (now() - 4000).into()), Refusal::BadLoad),
        (changed("ts", "now".into()), Refusal::BadLoad),
        (changed("nonce", "abc".into()), Refusal::BadLoad),
        (without("tok"), Refusal::BadLoad),
        (without("id"), Refusal::BadLoad),
        (without("nonce"), Refusal::BadLoad),
        (without("ts"), Refusal::BadLoad),
    ] {
        assert_eq!(minion.refused(&load).await, wanted, "{load:?}");
        assert_eq!(
            minion.ask(MinionRequest::FileEnvs).await,
            Value::List(vec!["base".into()])
        );
    }
    master.stop().await;
}

#[tokio::test]
async fn a_recorded_request_is_not_served_twice() {
    let master = Master::start("");
    let minion = Minion::signed_in(&master, "web1").await;
    let recorded = minion.envelope(&minion.load(job_return("req")));
    let first = minion.send(recorded.clone()).await;
    assert!(matches!(Reply::decode(&first), Ok(Reply::Sealed(_))));
    for _ in 0..3 {
        let again = minion.send(recorded.clone()).await;
        assert_eq!(Reply::decode(&again), Ok(Reply::Refused(Refusal::BadLoad)));
    }
    // Nor under another name.
    let RequestEnvelope::Aes { load, .. } = RequestEnvelope::decode(&recorded).unwrap() else {
        panic!("not sealed");
    };
    let id = MinionId::parse("web2").unwrap();
    let moved = RequestEnvelope::aes(load, id, "OAEP-SHA1", "PKCS1v15-SHA1");
    let reply = minion.send(moved.encode().unwrap()).await;
    assert_eq!(Reply::decode(&reply), Ok(Reply::Refused(Refusal::BadLoad)));
    let dir = master.stop().await;

    // Nor after a restart, which keeps the session.
    let master = Master::start_in(dir, "");
    let reply = master.ask(recorded).await;
    assert_eq!(Refusal::from_value(&reply), Some(Refusal::BadLoad));
    master.stop().await;
}

#[tokio::test]
async fn what_is_not_a_request_is_refused_and_costs_nothing() {
    let master = Master::start("");
    let minion = Minion::signed_in(&master, "web1").await;
    let good = minion.envelope(&minion.load(MinionRequest::FileEnvs));
    let packed = |value: Value| pack_wire(&value).unwrap();
    let clear = |load: Value| {
        packed(
            Map::from([
                ("enc", Value::from("clear")),
                ("load", load),
                ("version", 3.into()),
            ])
            .into(),
        )
    };
    let bad_frame = Some(Refusal::BadFrame);
    let bad_load = Some(Refusal::BadLoad);
    for (bytes, wanted) in [
        (Vec::new(), bad_frame.clone()),
        (vec![0xc1], bad_frame.clone()),
        (vec![0xdd, 0xff, 0xff, 0xff, 0xff], bad_frame.clone()),
        (vec![0x91; 100_000], bad_frame.clone()),
        (good[..good.len() / 2].to_vec(), bad_frame.clone()),
        (packed(Value::Nil), bad_load.clone()),
        (packed(Map::new().into()), bad_load.clone()),
        (packed(Map::from([("enc", "aes")]).into()), bad_load.clone()),
        (clear(Value::Nil), Some(Refusal::NotADict)),
        (clear("x".into()), Some(Refusal::NotADict)),
    ] {
        let shown = format!("{:?}", &bytes[..bytes.len().min(16)]);
        let answer = master.ask(bytes).await;
        assert_eq!(Refusal::from_value(&answer), wanted, "{shown}");
    }
    // The lowest bit of the signature: everything before is as it was.
    let mut flipped = good.clone();
    let at = flipped.len() - 100;
    flipped[at] ^= 1;
    assert_eq!(Refusal::from_value(&master.ask(flipped).await), bad_load);
    let large = clear(
        Map::from([
            ("cmd", Value::from("ping")),
            ("x", Value::Bytes(vec![7; 8 << 20])),
        ])
        .into(),
    );
    // Read, but not told back.
    assert_eq!(master.ask(large).await, Map::new().into());
    assert!(matches!(
        Reply::decode(&minion.send(good).await),
        Ok(Reply::Sealed(_))
    ));
    assert_eq!(unpack_wire(&packed(Value::Nil)), Ok(Value::Nil));
    master.stop().await;
}

/// A return of a job of the minion's own, whose acknowledgement was lost, comes
/// again: it is the same job, and nobody is told twice.
#[tokio::test]
async fn a_marked_return_that_comes_again_is_the_same_one() {
    let master = Master::start("");
    let mut events = master.events().await;
    let minion = Minion::signed_in(&master, "web1").await;
    let marked = |mark: &str| {
        let MinionRequest::Return(mut job) = job_return("req") else {
            panic!("not a return");
        };
        job.extra.insert(OWN_JOB, mark);
        MinionRequest::Return(job)
    };
    let first = "20261120141841939742";
    minion.ask(marked(first)).await;
    minion.ask(marked(first)).await;
    minion.ask(marked("20261120141841939743")).await;
    let told = wait_event(&mut events, &format!("salt/job/{first}/ret/web1")).await;
    assert!(!told.contains_key(OWN_JOB), "{told:?}");
    // The next return that is told of is that of the next job.
    let next = loop {
        let event = events.next().await.unwrap().unwrap();
        if event.tag().contains("/ret/") {
            break event.tag().to_owned();
        }
    };
    assert_eq!(next, "salt/job/20261120141841939743/ret/web1");
    // An id of the time to come is the master's to give.
    minion.ask(marked("20991120141841939742")).await;
    let event = loop {
        let event = events.next().await.unwrap().unwrap();
        if event.tag().contains("/ret/") {
            break event.tag().to_owned();
        }
    };
    assert!(!event.contains("2099"), "{event}");
}

/// A minion gives the result of another master's job to this one, which has a job
/// of the same id: neither is taken for the other.
#[tokio::test]
async fn a_return_of_another_masters_job_is_kept_under_an_id_of_its_own() {
    let master = Master::start("");
    let mut events = master.events().await;
    let mut minion = Minion::signed_in(&master, "web1").await;
    let mut request = minion.auth_request();
    request.extra = Capabilities::OURS.to_extra();
    minion.sign_in_with(request).await;
    let said = &minion.grant.as_ref().unwrap().extra;
    let own = PublisherId::of(said).expect("the master says who it is");
    let reply = master.ask_clear(publish(&master, "*", "glob")).await;
    let drawn = Jid::parse(
        reply
            .get("load")
            .unwrap()
            .get("jid")
            .unwrap()
            .as_str()
            .unwrap(),
    );
    let drawn = drawn.unwrap();
    assert!(own.draws(&drawn), "{drawn}");
    let returned = |drawn_by: Option<&str>, value: &str| {
        let jid = ReturnJid::Jid(drawn.clone());
        let mut job = JobReturn::new(jid, "test.ping".into(), Vec::new(), value.into(), 0);
        if let Some(drawn_by) = drawn_by {
            job.extra.insert(PUBLISHER, drawn_by);
        }
        MinionRequest::Return(Box::new(job))
    };
    let jobs = master.store().jobs;
    let of = |jid: &Jid| {
        let stored = jobs.return_of(jid, &minion.id).unwrap();
        stored.map(|stored| stored.ret().clone())
    };
    let foreign = PublisherId::new(1).to_string();
    minion.ask(returned(Some(&foreign), "another's")).await;
    assert_eq!(of(&drawn), None);
    let told = loop {
        let event = events.next().await.unwrap().unwrap();
        if event.tag().contains("/ret/") {
            break event;
        }
    };
    assert!(!told.tag().contains(drawn.as_str()), "{}", told.tag());
    let kept_as = Jid::parse(told.tag().split('/').nth(2).unwrap()).unwrap();
    assert_eq!(of(&kept_as), Some("another's".into()));
    // Again, as its acknowledgement was lost: it is the same one.
    minion.ask(returned(Some(&foreign), "another's")).await;
    minion.ask(returned(Some(&own.to_string()), "own")).await;
    assert_eq!(of(&drawn), Some("own".into()));
    let told = wait_event(&mut events, &format!("salt/job/{drawn}/ret/web1")).await;
    assert!(!told.contains_key(PUBLISHER), "{told:?}");
    master.stop().await;
}

/// A minion says that another master has a result: it is no missed job any
/// more, and who asks is told where it is.
#[tokio::test]
async fn where_a_result_is_can_be_asked() {
    let master = Master::start("");
    let minion = Minion::signed_in(&master, "web1").await;
    let jid = Jid::parse("20261120141841939742").unwrap();
    let results = vec![Whereabouts {
        jid: jid.clone(),
        master: "m2:4506".to_owned(),
    }];
    minion.ask(MinionRequest::Whereabouts(results)).await;
    let request = StandingRequest {
        credentials: Credentials {
            key: Some(master.root_key()),
            ..Credentials::default()
        },
        user: Some("root".to_owned()),
        minions: vec!["web1".to_owned(), "web2".to_owned()],
        jids: Vec::new(),
        about: Some(jid),
    };
    let reply = master.ask_clear(request.to_map()).await;
    let reply = StandingReply::from_value(reply).unwrap().unwrap();
    let at: Vec<Option<String>> = reply
        .minions
        .into_iter()
        .map(|(_, standing)| standing.result_at)
        .collect();
    assert_eq!(at, [Some("m2:4506".to_owned()), None]);
}
