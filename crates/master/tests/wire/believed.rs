//! What an accepted minion says affects only itself: its returns, its events, and
//! its claims about others.

use std::fs;
use std::path::Path;

use halite_proto::publish::FunSpec;
use halite_proto::request::{EventBody, FiredEvent, MinionEvent, MinionRequest, RegisterResources};
use halite_proto::returns::{JobReturn, ReturnJid};
use halite_proto::{Jid, Map, Tag, Value};
use halite_transport::ipc::EventSubscriber;
use tokio::time::timeout;

use crate::jobs::publish;
use crate::support::{Master, Minion, SOON, wait_event};

/// The id of a job for this target.
async fn job_for(master: &Master, tgt: &str, tgt_type: &str) -> Jid {
    let reply = master.ask_clear(publish(master, tgt, tgt_type)).await;
    let jid = reply.get("load").and_then(|load| load.get("jid"));
    Jid::parse(jid.and_then(Value::as_str).unwrap()).unwrap()
}

fn ret(jid: &Jid, value: impl Into<Value>, more: impl Into<Map>) -> MinionRequest {
    let jid = ReturnJid::Jid(jid.clone());
    let fun = FunSpec::from("test.ping");
    let mut job = JobReturn::new(jid, fun, Vec::new(), value.into(), 0);
    job.extra = more.into();
    MinionRequest::Return(Box::new(job))
}

fn event(tag: &str) -> FiredEvent {
    FiredEvent {
        tag: Tag::parse(tag).unwrap(),
        data: Map::from([("x", 1)]).into(),
    }
}

/// The events of jobs and minions, up to the one with this tag.
async fn events_until(events: &mut EventSubscriber, tag: &str) -> Vec<(String, Map)> {
    let all = async {
        let mut seen = Vec::new();
        loop {
            let event = events.next().await.unwrap().unwrap();
            seen.push((event.tag().to_owned(), event.unpack().unwrap().data));
            if event.tag() == tag {
                return seen;
            }
        }
    };
    timeout(SOON, all)
        .await
        .unwrap_or_else(|_| panic!("no event {tag}"))
}

#[tokio::test]
async fn a_result_is_told_of_its_sender_and_says_nothing_else() {
    let master = Master::start("");
    let mut events = master.events().await;
    let evil = Minion::signed_in(&master, "evil").await;
    let good = Minion::signed_in(&master, "web1").await;
    let jid = job_for(&master, "*", "glob").await;
    let forged = Map::from([
        ("minions", Value::List(vec!["nobody".into()])),
        ("missing", Value::List(vec!["nobody".into()])),
        ("error", "stop".into()),
        ("nosuch", 1.into()),
        ("_stamp", "2026-11-20T14:18:41.939742".into()),
        ("halite_notes", Value::List(vec!["here".into()])),
    ]);
    let of_web1 = Map::from([("resource_id", "web1")]);
    for forged in [of_web1, forged] {
        assert_eq!(evil.ask(ret(&jid, "forged", forged)).await, Value::Nil);
    }
    good.ask(ret(&jid, "true", Map::new())).await;
    let seen = events_until(&mut events, &format!("salt/job/{jid}/ret/web1")).await;
    let (tag, data) = seen.last().unwrap();
    assert_eq!(data.get("return"), Some(&"true".into()), "{tag}");
    let mut evils = seen.iter().filter(|(tag, _)| tag.ends_with("/ret/evil"));
    let (_, data) = evils.next().unwrap();
    assert_eq!(data.get("id"), Some(&"evil".into()));
    for name in ["resource_id", "minions", "missing", "error", "nosuch"] {
        assert!(!data.contains_key(name), "{name} has travelled");
    }
    assert!(data.contains_key("halite_notes"));
    assert!(evils.next().is_none(), "a forged one was told");
    let stored = master.store().jobs.return_of(&jid, &good.id).unwrap();
    assert_eq!(stored.unwrap().ret(), &"true".into());
    master.stop().await;
}

#[tokio::test]
async fn resources_return_under_their_own_name_if_they_are_the_senders() {
    let master = Master::start("");
    let mut events = master.events().await;
    let owner = Minion::signed_in(&master, "web1").await;
    let evil = Minion::signed_in(&master, "evil").await;
    Minion::signed_in(&master, "db1").await;
    let resources = |ids: &[&str]| {
        let ids: Vec<Value> = ids.iter().map(|id| (*id).into()).collect();
        MinionRequest::RegisterResources(RegisterResources {
            resources: Map::from([("dummy", ids)]),
            resource_grains: Map::new(),
        })
    };
    assert_eq!(
        owner.ask(resources(&["router1", "router2"])).await,
        true.into()
    );
    // The second one to name it does not own it, and a minion is nobody's.
    assert_eq!(
        evil.ask(resources(&["router1", "db1", "own"])).await,
        true.into()
    );
    let jid = job_for(&master, "*", "glob").await;
    let of = |id: &str| Map::from([("resource_id", id)]);
    for id in ["router1", "db1"] {
        evil.ask(ret(&jid, "forged", of(id))).await;
    }
    evil.ask(ret(&jid, "theirs", of("own"))).await;
    owner.ask(ret(&jid, "one", of("router1"))).await;
    owner.ask(ret(&jid, "itself", Map::new())).await;
    let seen = events_until(&mut events, &format!("salt/job/{jid}/ret/web1")).await;
    let returns: Vec<(&str, Option<&Value>)> = seen
        .iter()
        .filter_map(|(tag, data)| Some((tag.split_once("/ret/")?.1, data.get("return"))))
        .collect();
    let wanted =
        ["own theirs", "router1 one", "web1 itself"].map(|line| line.split_once(' ').unwrap());
    let wanted: Vec<(&str, Value)> = wanted.map(|(id, value)| (id, value.into())).into();
    let wanted: Vec<(&str, Option<&Value>)> = wanted
        .iter()
        .map(|(id, value)| (*id, Some(value)))
        .collect();
    assert_eq!(returns, wanted);
    let stored = master.store().jobs.returns(&jid).unwrap();
    let stored: Vec<&str> = stored.iter().map(|(id, _)| id.as_str()).collect();
    assert_eq!(stored, ["own", "router1", "web1"]);
    // A master that was started anew knows them.
    let dir = master.stop().await;
    let master = Master::start_in(dir, "");
    let mut events = master.events().await;
    let owner = Minion::signed_in(&master, "web1").await;
    let jid = job_for(&master, "*", "glob").await;
    owner.ask(ret(&jid, "two", of("router2"))).await;
    wait_event(&mut events, &format!("salt/job/{jid}/ret/router2")).await;
    master.stop().await;
}

/// The name of a resource ends up in events, and from there in targets of
/// reactors and on command lines: it is one word, as the id of a new minion.
#[tokio::test]
async fn a_resource_has_a_name_that_is_one_word_everywhere() {
    let odd = ["*", "web[0-9]*", "-A", "E@.*", "a,b", "x;id>F;", "$(id)"];
    let named = || odd.iter().chain(&["router1"]).map(|id| Value::from(*id));
    let register = || {
        let named: Vec<Value> = named().collect();
        MinionRequest::RegisterResources(RegisterResources {
            resources: Map::from([("dummy", named)]),
            resource_grains: Map::new(),
        })
    };
    let mut master = Master::start("");
    // First as they are registered, then as an older master has kept them.
    for is_read_back in [false, true] {
        let evil = Minion::signed_in(&master, "evil").await;
        if !is_read_back {
            assert_eq!(evil.ask(register()).await, true.into());
        }
        let mut events = master.events().await;
        let jid = job_for(&master, "*", "glob").await;
        for (id, value) in odd
            .iter()
            .map(|id| (*id, "forged"))
            .chain([("router1", "own")])
        {
            for jid in [ReturnJid::Jid(jid.clone()), ReturnJid::Req] {
                let fun = FunSpec::from("test.ping");
                let mut job = JobReturn::new(jid, fun, Vec::new(), value.into(), 0);
                job.extra = Map::from([("resource_id", id)]);
                evil.ask(MinionRequest::Return(Box::new(job))).await;
            }
        }
        evil.ask(ret(&jid, "itself", Map::new())).await;
        let seen = events_until(&mut events, &format!("salt/job/{jid}/ret/evil")).await;
        let told = |value: &str| {
            let is_it = |(_, data): &&(String, Map)| data.get("return") == Some(&value.into());
            seen.iter().filter(is_it).count()
        };
        assert_eq!((told("forged"), told("own")), (0, 2), "{seen:?}");
        if is_read_back {
            break;
        }
        let named: Vec<Value> = named().collect();
        let banks = master.store().banks;
        banks
            .store("resource_owners", "evil", &named.into())
            .unwrap();
        master = Master::start_in(master.stop().await, "");
    }
    master.stop().await;
}

#[tokio::test]
async fn a_minion_fires_nothing_that_reactors_take_for_anothers() {
    let master = Master::start("");
    let mut events = master.events().await;
    let evil = Minion::signed_in(&master, "evil").await;
    let jid = "20261120141841939742";
    let refused = [
        format!("salt/job/{jid}/x/ret/victim"),
        format!("salt/job/{jid}/ret/evil"),
        format!("salt/job/{jid}/prog/evil/0/ret/victim"),
        format!("salt/job/{jid}/error"),
        format!("salt/job/{jid}0/error"),
        "salt/job/x/y/prog/victim/1".to_owned(),
        format!("salt/state_result/{jid}/evil/victim/pkg"),
        format!("syndic/victim/{jid}"),
        jid.to_owned(),
        format!("{jid}/ret"),
        "minion/refresh/evil".to_owned(),
        "salt/engines/hook/deploy".to_owned(),
    ];
    let victim = Minion::signed_in(&master, "victim").await;
    let told = [
        format!("salt/job/{jid}/prog/evil/0"),
        format!("salt/job/{jid}/start/evil"),
        format!("salt/state_result/{jid}/evil/my/own"),
        "salt/minion/evil/start".to_owned(),
        "salt/beacon/evil/inotify//etc/victim".to_owned(),
        "salt/custom/deployed".to_owned(),
        "my/last".to_owned(),
    ];
    let all = refused.iter().chain(&told).map(|tag| event(tag)).collect();
    evil.ask(MinionRequest::MinionEvent(MinionEvent::many(all, None)))
        .await;
    let seen = events_until(&mut events, "my/last").await;
    let seen: Vec<&str> = seen.iter().map(|(tag, _)| tag.as_str()).collect();
    let of_minions: Vec<&str> = seen.into_iter().filter(|tag| *tag != "salt/auth").collect();
    assert_eq!(of_minions, told);
    for tag in &refused {
        let body = EventBody::One(event(tag));
        let one = MinionEvent {
            body,
            ..MinionEvent::many(Vec::new(), None)
        };
        evil.ask(MinionRequest::MinionEvent(one)).await;
    }
    let last = MinionEvent::many(vec![event("my/last")], Some("syndic/victim".to_owned()));
    victim.ask(MinionRequest::MinionEvent(last)).await;
    let seen = events_until(&mut events, "my/last").await;
    assert_eq!(seen.len(), 1, "{seen:?}");
    master.stop().await;
}

/// Who a target of ids does not name is not heard: else it could have a step of
/// an orchestration fail, or a script that looks at the exit code.
#[tokio::test]
async fn a_job_for_others_has_no_result_of_a_stranger() {
    let master = Master::start("");
    let mut events = master.events().await;
    let evil = Minion::signed_in(&master, "evil").await;
    let good = Minion::signed_in(&master, "web1").await;
    let mut jids = Vec::new();
    for (tgt, tgt_type) in [("web1", "list"), ("web*", "glob"), ("web.", "pcre")] {
        let jid = job_for(&master, tgt, tgt_type).await;
        assert_eq!(evil.ask(ret(&jid, "forged", Map::new())).await, Value::Nil);
        good.ask(ret(&jid, "true", Map::new())).await;
        let seen = events_until(&mut events, &format!("salt/job/{jid}/ret/web1")).await;
        assert!(
            !seen.iter().any(|(tag, _)| tag.ends_with("/ret/evil")),
            "{tgt_type}"
        );
        jids.push(jid);
    }
    let jobs = master.store().jobs;
    for jid in &jids {
        let returns = jobs.returns(jid).unwrap();
        assert_eq!(returns.len(), 1, "{returns:?}");
    }
    master.stop().await;
}

/// The bytes below a directory.
fn bytes_below(dir: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(dir) else {
        return 0;
    };
    let of = |entry: std::io::Result<fs::DirEntry>| {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => bytes_below(&path),
            false => fs::metadata(path).map_or(0, |meta| meta.len()),
        }
    };
    entries.map(of).sum()
}

/// Who was not meant has the room of its own jobs only, and of a result that
/// is as large as no other everything beyond a size is counted there too.
#[tokio::test]
async fn results_of_jobs_that_were_meant_for_others_have_little_room() {
    let master = Master::start("own_jobs_max_size: 1");
    let mut events = master.events().await;
    let evil = Minion::signed_in(&master, "evil").await;
    let good = Minion::signed_in(&master, "web1").await;
    let large = "x".repeat(200_000);
    let mut jids = Vec::new();
    for _ in 0..20 {
        // A minion may know better whether such a target means it.
        let jid = job_for(&master, "web1", "compound").await;
        assert_eq!(
            evil.ask(ret(&jid, large.as_str(), Map::new())).await,
            Value::Nil
        );
        good.ask(ret(&jid, large.as_str(), Map::new())).await;
        jids.push(jid);
    }
    let jobs = master.store().jobs;
    let stored = |id: &Minion| {
        let is_here = |jid: &&Jid| jobs.return_of(jid, &id.id).unwrap().is_some();
        jids.iter().filter(is_here).count()
    };
    assert_eq!((stored(&evil), stored(&good)), (4, 20));
    // What is not kept is told all the same.
    wait_event(&mut events, &format!("salt/job/{}/ret/evil", jids[19])).await;
    let before = bytes_below(&master.path("cache/jobs"));
    for _ in 0..3 {
        let jid = job_for(&master, "evil", "list").await;
        let huge = "x".repeat(40 << 20);
        assert_eq!(evil.ask(ret(&jid, huge, Map::new())).await, Value::Nil);
    }
    let more = bytes_below(&master.path("cache/jobs")) - before;
    assert!(more < 1 << 20, "{more} bytes more");
    // A result of the usual size finds its room.
    let jid = job_for(&master, "evil", "list").await;
    evil.ask(ret(&jid, large.as_str(), Map::new())).await;
    assert!(jobs.return_of(&jid, &evil.id).unwrap().is_some());
    master.stop().await;
}
