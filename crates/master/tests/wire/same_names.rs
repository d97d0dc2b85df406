//! One name proven in several ways is several users: a job belongs to the user who
//! has the name and has proven it in the same way.

use std::fs;

use halite_proto::clear::{Credentials, PublishReply, StandingReply, StandingRequest};
use halite_proto::{Jid, Map, Value};
use tempfile::TempDir;

use crate::jobs::publish;
use crate::support::{Master, Minion, wait_event};

/// Users of two files of passwords - of one by its own name, of one by that of
/// another kind - and root of one of them.
fn master() -> Master {
    let dir = TempDir::new().unwrap();
    let passwords = dir.path().join("passwords");
    fs::write(&passwords, "bob:right\nroot:right\n").unwrap();
    let rights = "['test.*', '@runner', '@wheel']";
    let options = format!(
        "sharedsecret: right\n\
         external_auth:\n  file: {{^filename: {}, bob: {rights}, root: {rights}}}\n  \
         sharedsecret: {{bob: {rights}}}\n",
        passwords.display()
    );
    Master::start_in(dir, &options)
}

fn login(way: &str, name: &str) -> Map {
    Map::from([("eauth", way), ("username", name), ("password", "right")])
}

/// Publishes with these credentials, under an id if there is one.
async fn published(master: &Master, proof: &Map, jid: Option<&Jid>) -> Option<Jid> {
    let mut load = publish(master, "*", "glob");
    load.insert("key", "");
    load.insert("kwargs", proof.clone());
    if let Some(jid) = jid {
        load.insert("jid", jid);
    }
    match PublishReply::from_value(master.ask_clear(load).await).unwrap() {
        PublishReply::Accepted { jid, .. } => Some(jid),
        _ => None,
    }
}

/// Whether these credentials are told of a job.
async fn is_told(master: &Master, proof: &Map, jid: &Jid) -> bool {
    let text = |name: &str| proof.get(name).and_then(Value::as_str).map(str::to_owned);
    let request = StandingRequest {
        credentials: Credentials {
            eauth: text("eauth"),
            username: text("username"),
            password: text("password"),
            token: text("token"),
            key: None,
        },
        user: text("username"),
        minions: vec!["web1".to_owned()],
        jids: vec![jid.clone()],
        about: Some(jid.clone()),
    };
    let reply = master.ask_clear(request.to_map()).await;
    let reply = StandingReply::from_value(reply).unwrap().unwrap();
    assert_eq!(reply.minions.is_empty(), reply.returns.is_empty());
    !reply.minions.is_empty()
}

/// Whether a runner may be started under the id of a job, and whether one may
/// publish under it.
async fn may_run_under(master: &Master, proof: &Map, jid: &Jid) -> [bool; 2] {
    let low = |fun: &str, kwarg: Map| {
        let mut load = proof.clone();
        load.insert("cmd", "runner");
        load.insert("fun", fun);
        load.insert("kwarg", kwarg);
        load
    };
    let mut events = master.events().await;
    let mut under = low("test.arg", Map::new());
    under.insert("jid", jid);
    let reply = master.ask_clear(under).await;
    let runs = reply.get("jid") == Some(&jid.into());
    let execute = Map::from([
        ("tgt", Value::from("nobody")),
        ("fun", "test.ping".into()),
        ("jid", jid.into()),
    ]);
    let reply = master.ask_clear(low("salt.execute", execute)).await;
    let tag = reply.get("tag").and_then(Value::as_str).unwrap();
    let told = wait_event(&mut events, &format!("{tag}/ret")).await;
    [runs, told.get("success") == Some(&true.into())]
}

/// Whom a user with rights to some minions may ask for jobs: those minions, and
/// those of a job of their own, as programs do that wait for it. Who matches
/// anything else is not theirs to learn.
#[tokio::test]
async fn jobs_are_asked_for_within_the_rights_of_a_user() {
    let dir = TempDir::new().unwrap();
    let passwords = dir.path().join("passwords");
    fs::write(&passwords, "web:right\nrun:right\n").unwrap();
    let options = format!(
        "external_auth: {{file: {{^filename: {}, web: ['web*': [test.ping]], run: ['@runner']}}}}\n",
        passwords.display()
    );
    let master = Master::start_in(dir, &options);
    for id in ["web1", "db1"] {
        Minion::signed_in(&master, id).await;
    }
    let pillar = Map::from([("dbpass", "guess")]);
    let data = master.store().data;
    let db1 = halite_proto::MinionId::parse("db1").unwrap();
    data.put(halite_store::Bank::Pillar, &db1, &pillar).unwrap();
    let jid = Jid::parse("20260101000000000008").unwrap();
    let jobs = master.store().jobs;
    let of_web = Map::from([
        ("jid", Value::from(&jid)),
        ("user", "web".into()),
        ("halite_proven_by", "login file".into()),
    ]);
    jobs.prepare(&jid, false).unwrap();
    jobs.save_load(&jid, &of_web, Some(std::slice::from_ref(&db1)))
        .unwrap();
    let list = |ids: &[&str]| Value::List(ids.iter().map(|id| (*id).into()).collect());
    for (name, tgt, tgt_type, is_allowed) in [
        ("web", "dbpass:guess".into(), "pillar", false),
        ("web", "I@dbpass:guess".into(), "compound", false),
        // Nor does another answer say that nobody matches.
        ("web", "dbpass:wrong".into(), "pillar", false),
        ("web", "*".into(), "glob", false),
        ("web", "web*".into(), "glob", true),
        ("web", list(&["web1"]), "list", true),
        // Of a job of theirs, whatever they may do by now.
        ("web", list(&["db1"]), "list", true),
        ("web", list(&["db1", "other"]), "list", false),
        ("run", list(&["db1"]), "list", false),
        ("run", "web*".into(), "glob", false),
    ] {
        let mut load = publish(&master, "*", tgt_type);
        load.insert("key", "");
        load.insert("kwargs", login("file", name));
        load.insert("fun", "saltutil.find_job");
        load.insert("arg", Value::List(vec![(&jid).into()]));
        load.insert("tgt", tgt);
        let reply = PublishReply::from_value(master.ask_clear(load.clone()).await).unwrap();
        match is_allowed {
            true => assert!(matches!(reply, PublishReply::Accepted { .. }), "{load:?}"),
            false => assert!(
                matches!(reply, PublishReply::Denied(_)),
                "{load:?} {reply:?}"
            ),
        }
    }
    master.stop().await;
}

#[tokio::test]
async fn a_job_is_of_who_has_proven_the_name_in_the_same_way() {
    let master = master();
    Minion::signed_in(&master, "web1").await;
    let reply = master.ask_clear(publish(&master, "*", "glob")).await;
    let PublishReply::Accepted { jid: of_root, .. } = PublishReply::from_value(reply).unwrap()
    else {
        panic!("root may publish");
    };
    let bob = login("file", "bob");
    let of_bob = published(&master, &bob, None).await.unwrap();
    // As Salt, and masters before this one, have kept it.
    let jobs = master.store().jobs;
    let of_salt = Jid::parse("20260101000000000007").unwrap();
    let mut load = jobs.load(&of_bob).unwrap().unwrap();
    load.retain(|name, _| {
        !name
            .as_str()
            .is_some_and(|name| name.starts_with("halite_"))
    });
    load.insert("jid", &of_salt);
    let web1 = [halite_proto::MinionId::parse("web1").unwrap()];
    jobs.prepare(&of_salt, false).unwrap();
    jobs.save_load(&of_salt, &load, Some(&web1)).unwrap();
    for (proof, jid) in [
        (login("file", "root"), &of_root),
        (login("sharedsecret", "bob"), &of_bob),
        (bob.clone(), &of_salt),
    ] {
        assert!(!is_told(&master, &proof, jid).await, "{proof:?}");
        assert_eq!(
            published(&master, &proof, Some(jid)).await,
            None,
            "{proof:?}"
        );
        let runs = may_run_under(&master, &proof, jid).await;
        assert_eq!(runs, [false, false], "{proof:?}");
    }
    // A token is the login that it was given for.
    let mut asked = bob.clone();
    asked.insert("cmd", "mk_token");
    let token = master.ask_clear(asked).await;
    let token = token.get("token").cloned().unwrap();
    let own = [bob, Map::from([("token", token)])];
    for proof in &own {
        assert!(is_told(&master, proof, &of_bob).await, "{proof:?}");
    }
    for proof in own {
        let again = published(&master, &proof, Some(&of_bob)).await;
        assert_eq!(again.as_ref(), Some(&of_bob), "{proof:?}");
        let runs = may_run_under(&master, &proof, &of_bob).await;
        assert_eq!(runs, [true, true], "{proof:?}");
    }
    master.stop().await;
}
