//! A malicious accepted minion: what it can make the master keep, and what it can
//! take from others, is bounded.

use std::fs;
use std::path::Path;

use halite_proto::envelope::Reply;
use halite_proto::publish::FunSpec;
use halite_proto::request::{
    MineGet, MineStore, MinionRequest, MinionRunner, PillarRequest, Request,
};
use halite_proto::returns::{JobReturn, ReturnJid};
use halite_proto::{Jid, Map, Value};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::jobs::publish;
use crate::support::{Master, Minion, SOON, wait_event};

fn job_return(jid: ReturnJid) -> MinionRequest {
    let fun = FunSpec::from("test.ping");
    let job = JobReturn::new(jid, fun, Vec::new(), true.into(), 0);
    MinionRequest::Return(Box::new(job))
}

fn invented(n: usize) -> Jid {
    Jid::parse(format!("2999{n:016}")).unwrap()
}

/// The directories of jobs.
fn jobs(master: &Master) -> usize {
    let shards = fs::read_dir(master.path("cache/jobs")).unwrap();
    let in_shard = |shard: std::io::Result<fs::DirEntry>| {
        fs::read_dir(shard.unwrap().path()).map_or(0, Iterator::count)
    };
    shards.map(in_shard).sum()
}

fn names(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// Returns of jobs that nobody knows are heard, but only so many are kept; a
/// job of this master, and other minions, find their room.
#[tokio::test]
async fn invented_jobs_do_not_fill_the_disk() {
    let master = Master::start("own_jobs_max_size: 1");
    let evil = Minion::signed_in(&master, "evil").await;
    let good = Minion::signed_in(&master, "web1").await;
    let mut events = master.events().await;
    for n in 0..80 {
        let answer = evil.ask(job_return(ReturnJid::Jid(invented(n)))).await;
        assert_eq!(
            answer,
            Value::Nil,
            "it is acknowledged: it would come again"
        );
    }
    let kept = jobs(&master);
    assert!((60..=64).contains(&kept), "{kept} jobs are kept");
    wait_event(&mut events, &format!("salt/job/{}/ret/evil", invented(79))).await;
    for _ in 0..20 {
        evil.ask(job_return(ReturnJid::Req)).await;
    }
    assert_eq!(jobs(&master), kept, "nor do jobs of its own find room");
    let reply = master.ask_clear(publish(&master, "*", "glob")).await;
    let jid = reply.get("load").and_then(|load| load.get("jid"));
    let jid = jid.and_then(Value::as_str).unwrap().to_owned();
    let before = jobs(&master);
    for minion in [&evil, &good] {
        let jid = ReturnJid::Jid(Jid::parse(jid.as_str()).unwrap());
        minion.ask(job_return(jid)).await;
        minion.ask(job_return(ReturnJid::Req)).await;
    }
    assert_eq!(jobs(&master), before + 1, "the good one's own job");
    let returned = |id: &str| {
        let shards = names(&master.path("cache/jobs")).into_iter();
        let dirs = shards.flat_map(|shard| {
            let shard = master.path("cache/jobs").join(shard);
            names(&shard).into_iter().map(move |job| shard.join(job))
        });
        dirs.filter(|dir| fs::read_to_string(dir.join("jid")).is_ok_and(|text| text == jid))
            .any(|dir| dir.join(id).join("return.p").exists())
    };
    assert!(returned("evil") && returned("web1"));
    master.stop().await;
}

#[tokio::test]
async fn invented_environments_do_not_fill_the_disk_nor_hit_others() {
    let master = Master::start("");
    let evil = Minion::signed_in(&master, "evil").await;
    let namesake = Minion::signed_in(&master, "evil:dev").await;
    let ask = |minion: &Minion, env: Option<String>, role: &str| {
        let request = PillarRequest {
            pillarenv: env,
            ..PillarRequest::new(Map::from([("role", role)]))
        };
        minion.envelope(&minion.load(MinionRequest::Pillar(Box::new(request))))
    };
    namesake.send(ask(&namesake, None, "good")).await;
    let theirs = fs::metadata(master.path("cache/pillar/evil:dev.p")).unwrap();
    for n in 0..60 {
        evil.send(ask(&evil, Some(format!("env{n}")), "x")).await;
    }
    for env in ["dev", &"e".repeat(255), "a\x1b[2Jb"] {
        evil.send(ask(&evil, Some(env.to_owned()), "x")).await;
    }
    evil.send(ask(&evil, None, "x")).await;
    // That of the namesake counts as one of the evil one's.
    assert_eq!(names(&master.path("cache/pillar")).len(), 33);
    let now = fs::metadata(master.path("cache/pillar/evil:dev.p")).unwrap();
    assert_eq!(now.modified().unwrap(), theirs.modified().unwrap());
    master.stop().await;
}

#[tokio::test]
async fn the_mine_and_the_grains_of_one_minion_are_bounded() {
    let master = Master::start("");
    let evil = Minion::signed_in(&master, "evil").await;
    let store = |name: String, bytes: usize| {
        let data = Map::from([(name, Value::from("x".repeat(bytes)))]);
        MinionRequest::Mine(MineStore { data, clear: false })
    };
    let mut kept = 0;
    for n in 0..5 {
        kept += usize::from(evil.ask(store(format!("f{n}"), 4 << 20)).await == true.into());
    }
    assert_eq!(kept, 3);
    let size = |path: &str| fs::metadata(master.path(path)).unwrap().len();
    assert!(size("cache/mine/evil.p") < 16 << 20);
    assert_eq!(evil.ask(store("f0".to_owned(), 1)).await, true.into());
    for bytes in [10, 17 << 20] {
        let request = PillarRequest::new(Map::from([("os", "x".repeat(bytes))]));
        let load = evil.load(MinionRequest::Pillar(Box::new(request)));
        evil.send(evil.envelope(&load)).await;
    }
    assert!(size("cache/grains/evil.p") < 100);
    master.stop().await;
}

/// Whatever guards a value, and however often a function is asked for, the
/// answer is soon there.
#[tokio::test]
async fn a_question_to_the_mine_costs_little() {
    let master = Master::start("minion_data_cache: True\nenforce_mine_cache: True");
    let evil = Minion::signed_in(&master, "evil").await;
    let guarded = |tgt: String, tgt_type: &str| {
        Value::from(Map::from([
            ("__data__", Value::from(7)),
            ("__saltmine_acl__", 1.into()),
            ("allow_tgt", tgt.into()),
            ("allow_tgt_type", tgt_type.into()),
        ]))
    };
    let many: Vec<String> = (0..2000).map(|n| format!("P@os:(a+)+{n}$")).collect();
    let data = Map::from([
        ("open", Value::from("x".repeat(100_000))),
        ("many", guarded(many.join(" or "), "compound")),
        (
            "long",
            guarded(format!("{} or evil", "a".repeat(20_000)), "compound"),
        ),
        (
            "few",
            guarded("E@evil or P@os:(a+)+$".to_owned(), "compound"),
        ),
    ]);
    let store = MinionRequest::Mine(MineStore { data, clear: true });
    assert_eq!(evil.ask(store).await, true.into());
    let get = |fun: Value| {
        MinionRequest::MineGet(MineGet {
            tgt: "*".into(),
            fun,
            tgt_type: None,
        })
    };
    let nothing = Value::from(Map::new());
    assert_eq!(evil.ask(get("many".into())).await, nothing);
    assert_eq!(evil.ask(get("long".into())).await, nothing);
    let seven = Value::from(Map::from([("evil", 7)]));
    assert_eq!(evil.ask(get("few".into())).await, seven);
    let often = vec![Value::from("open"); 100_000];
    let answer = evil.ask(get(often.into())).await;
    assert!(answer.get("open").and_then(|of| of.get("evil")).is_some());
    master.stop().await;
}

/// By whom a target of the mine matches, a minion learns about the pillars of
/// others: it does so a bounded number of times, and others go on.
#[tokio::test]
async fn what_others_have_in_their_pillar_is_not_guessed_without_an_end() {
    let master = Master::start("");
    let evil = Minion::signed_in(&master, "evil").await;
    let good = Minion::signed_in(&master, "web1").await;
    let guesses = |from: usize| {
        let parts: Vec<String> = (from..from + 1_200).map(|n| format!("I@p:{n}")).collect();
        MinionRequest::MineGet(MineGet {
            tgt: parts.join(" or ").into(),
            fun: "test.ping".into(),
            tgt_type: Some("compound".to_owned()),
        })
    };
    let (nothing, refused) = (Value::from(Map::new()), Value::from(""));
    assert_eq!(evil.ask(guesses(1_000)).await, nothing);
    assert_eq!(evil.ask(guesses(3_000)).await, refused);
    assert_eq!(good.ask(guesses(1_000)).await, nothing);
    // What is not about pillar is answered.
    let by_id = MinionRequest::MineGet(MineGet {
        tgt: "*".into(),
        fun: "test.ping".into(),
        tgt_type: None,
    });
    assert_eq!(evil.ask(by_id).await, nothing);
    master.stop().await;
}

/// Runners that minions may have run leave room for those of the admin.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_minion_does_not_take_all_runners() {
    let master = Master::start("peer_run: {'.*': [test.sleep]}");
    let mut events = master.events().await;
    let evil = Minion::signed_in(&master, "evil").await;
    // They sleep until the master stops: all that may run are there at once,
    // however slowly they are asked for.
    let mut asked = JoinSet::new();
    for _ in 0..12 {
        let sleep = MinionRequest::MinionRunner(MinionRunner {
            fun: "test.sleep".to_owned(),
            arg: vec![Value::from(3600)].into(),
            tmo: None,
            no_parse: None,
        });
        let meta = evil.meta();
        let nonce = meta.nonce.clone().unwrap();
        let bytes = evil.envelope(&Request::new(meta, sleep).to_map());
        let client = master.client();
        asked.spawn(async move { (nonce, client.request(bytes, SOON).await) });
    }
    for _ in 0..4 {
        let (nonce, reply) = asked.join_next().await.unwrap().unwrap();
        let Ok(Reply::Sealed(sealed)) = Reply::decode(&reply.unwrap()) else {
            panic!("not sealed");
        };
        assert_eq!(evil.open(&sealed, &nonce), Map::new().into());
    }
    for _ in 0..8 {
        let begun = async {
            loop {
                let event = events.next().await.unwrap().unwrap();
                if event.tag().starts_with("salt/run/") && event.tag().ends_with("/new") {
                    return;
                }
            }
        };
        timeout(SOON, begun).await.expect("too few run");
    }
    asked.abort_all();
    master.stop().await;
}
