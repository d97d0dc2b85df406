//! Who may command what, in all forms of the options: compared with Salt 3008.5.

use halite_proto::clear::PublishReply;
use halite_proto::request::{MineGet, MinionRequest, MinionRunner, PeerPublish};
use halite_proto::{Map, Value};

use crate::jobs::publish;
use crate::support::{Master, Minion, SOON};

const OPTIONS: &str = "
client_acl_verify: False
publisher_acl:
  fred:
    - test.*
    - 'web*': [cmd.run, {grains.item: {args: ['os.*']}}]
    - '@runner'
  all: ['.*']
publisher_acl_blacklist:
  users: ['evil', '^(?!sudo_).*bad$']
  modules: ['cmd.exec_code', 'network.*']
peer:
  web1: ['test.*', 'grains.items']
  'db.*': [{'web*': [test.echo]}, {'*': ['test.arg']}]
  '.*': [status.uptime]
peer_run:
  web1: [test.arg, 'manage.*']
mine_get:
  web1: ['test.*']
";

/// What came of a request to publish.
#[derive(Debug, PartialEq, Eq)]
enum Answer {
    Ids(Vec<String>),
    Nobody,
    Unauthorized,
    Unauthenticated,
}
use Answer::{Nobody, Unauthenticated, Unauthorized};

fn ids(ids: &[&str]) -> Answer {
    Answer::Ids(ids.iter().map(|id| (*id).to_owned()).collect())
}

async fn ask(master: &Master, (user, key): (&str, &str), tgt: &str, fun: Value) -> Answer {
    let arg = match &fun {
        Value::Str(fun) if fun == "grains.item:os" => vec!["os".into()],
        Value::Str(fun) if fun == "grains.item:id" => vec!["id".into()],
        Value::List(funs) => vec![Value::List(Vec::new()); funs.len()],
        _ => Vec::new(),
    };
    let fun = match fun.as_str().and_then(|fun| fun.split_once(':')) {
        Some((fun, _)) => fun.into(),
        None => fun,
    };
    let mut load = publish(master, tgt, "glob");
    let key = std::fs::read_to_string(master.path(&format!("cache/.{key}_key")));
    load.insert("key", key.unwrap_or_default());
    load.insert("user", user);
    load.insert("fun", fun);
    load.insert("arg", arg);
    let reply = master.ask_clear(load).await;
    match PublishReply::from_value(reply.clone()).unwrap() {
        PublishReply::Accepted { minions, .. } => {
            let mut ids: Vec<String> = minions.iter().map(ToString::to_string).collect();
            ids.sort_unstable();
            Answer::Ids(ids)
        }
        PublishReply::Denied(_) => {
            let name = reply.get("error").and_then(|error| error.get("name"));
            match name.and_then(Value::as_str) {
                Some("AuthorizationError") => Unauthorized,
                _ => Unauthenticated,
            }
        }
        _ => Nobody,
    }
}

#[tokio::test]
async fn only_who_published_a_job_may_add_to_it() {
    let master = Master::start(OPTIONS);
    Minion::signed_in(&master, "web1").await;
    for (user, jid, is_let_in) in [
        ("fred", "20260101000000000001", true),
        ("fred", "20260101000000000001", true),
        ("all", "20260101000000000001", false),
        ("all", "20260101000000000002", true),
        ("fred", "20260101000000000002", false),
    ] {
        let mut load = publish(&master, "web1", "glob");
        let key = std::fs::read_to_string(master.path(&format!("cache/.{user}_key")));
        load.insert("key", key.unwrap());
        load.insert("user", user);
        load.insert("fun", "test.ping");
        load.insert("jid", jid);
        let reply = PublishReply::from_value(master.ask_clear(load).await).unwrap();
        let accepted = matches!(reply, PublishReply::Accepted { .. });
        assert_eq!(accepted, is_let_in, "{user} {jid}");
    }
}

#[tokio::test]
async fn users_and_functions_are_let_in_and_kept_out_as_with_salt() {
    let master = Master::start(OPTIONS);
    Minion::signed_in(&master, "web1").await;
    Minion::signed_in(&master, "db1").await;
    let both = || ids(&["db1", "web1"]);
    let several = |funs: &[&str]| Value::List(funs.iter().map(|fun| (*fun).into()).collect());
    for (who, tgt, fun, expect) in [
        (("fred", "fred"), "*", "test.ping".into(), both()),
        (("fred", "fred"), "*", "cmd.run".into(), Unauthorized),
        (("fred", "fred"), "web*", "cmd.run".into(), ids(&["web1"])),
        (("fred", "fred"), "nosuch*", "cmd.run".into(), Nobody),
        (
            ("fred", "fred"),
            "web1",
            "grains.item:os".into(),
            ids(&["web1"]),
        ),
        (
            ("fred", "fred"),
            "web1",
            "grains.item:id".into(),
            Unauthorized,
        ),
        (("fred", "fred"), "web1", "grains.item".into(), Unauthorized),
        (
            ("fred", "fred"),
            "*",
            "network.interfaces".into(),
            Unauthorized,
        ),
        (("fred", "fred"), "*", "testing.x".into(), both()),
        (("fred", "fred"), "*", "saltutil.find_job".into(), both()),
        (
            ("fred", "fred"),
            "*",
            several(&["test.ping", "test.arg"]),
            both(),
        ),
        (("all", "all"), "*", "cmd.run".into(), both()),
        (("all", "all"), "*", "cmd.exec_code".into(), Unauthorized),
        (
            ("all", "all"),
            "*",
            several(&["test.ping", "cmd.exec_code"]),
            Unauthorized,
        ),
        (("all", "all"), "*", "network.ping".into(), Unauthorized),
        (("root", "root"), "*", "cmd.exec_code".into(), Unauthorized),
        (("root", "root"), "*", "test.ping".into(), both()),
        (("evil", "root"), "*", "test.ping".into(), Unauthorized),
        (("mybad", "root"), "*", "test.ping".into(), Unauthorized),
        (("sudo_mybad", "root"), "*", "test.ping".into(), both()),
        (("sudo_fred", "root"), "*", "cmd.run".into(), both()),
        (("devil", "root"), "*", "cmd.run".into(), both()),
        (("fred", "root"), "*", "cmd.run".into(), both()),
        (("fred", "all"), "*", "test.ping".into(), Unauthenticated),
        (("nobody", "fred"), "*", "test.ping".into(), Unauthenticated),
        (("fred", "none"), "*", "test.ping".into(), Unauthenticated),
    ] {
        let answer = ask(&master, who, tgt, fun).await;
        assert_eq!(answer, expect, "{who:?} {tgt}");
    }
    master.stop().await;
}

#[tokio::test]
async fn users_behind_sudo_have_their_own_rights_where_that_is_set() {
    let master = Master::start(&format!("{OPTIONS}\nsudo_acl: True\n"));
    Minion::signed_in(&master, "web1").await;
    for (user, fun, expect) in [
        ("sudo_fred", "test.ping", ids(&["web1"])),
        ("sudo_fred", "grains.items", Unauthorized),
        ("sudo_mybad", "test.ping", Unauthenticated),
        ("root", "grains.items", ids(&["web1"])),
    ] {
        let answer = ask(&master, (user, "root"), "*", fun.into()).await;
        assert_eq!(answer, expect, "{user} {fun}");
    }
    master.stop().await;
}

fn peer(fun: &str, tgt: &str, tgt_type: &str) -> MinionRequest {
    MinionRequest::MinionPub(PeerPublish {
        fun: fun.to_owned(),
        arg: Value::List(Vec::new()),
        tgt: tgt.into(),
        tgt_type: Some(tgt_type.to_owned()),
        ret: None,
        tmo: None,
        form: None,
        no_parse: None,
    })
}

#[tokio::test]
async fn minions_command_others_as_with_salt() {
    let master = Master::start(OPTIONS);
    let web1 = Minion::signed_in(&master, "web1").await;
    let db1 = Minion::signed_in(&master, "db1").await;
    for (minion, fun, tgt, tgt_type, expect) in [
        (&web1, "test.ping", "*", "glob", &["db1", "web1"][..]),
        (&web1, "status.uptime", "*", "glob", &["db1", "web1"]),
        (&web1, "cmd.run", "*", "glob", &[]),
        (&web1, "test.ping,cmd.run", "*", "glob", &[]),
        (&web1, "publish.publish", "*", "glob", &[]),
        (&web1, "saltutil.find_job", "*", "glob", &[]),
        (&db1, "status.uptime", "web1", "glob", &["web1"]),
        (&db1, "test.echo", "web*", "glob", &["web1"]),
        (&db1, "test.echo", "*", "glob", &[]),
        (&db1, "test.arg", "*", "glob", &["db1", "web1"]),
        (&db1, "test.ping", "web*", "glob", &[]),
        (&db1, "test.echo", "web1", "list", &["web1"]),
        (&db1, "test.echo", "web1 or db1", "compound", &[]),
    ] {
        let answer = minion.ask(peer(fun, tgt, tgt_type)).await;
        let mut ids: Vec<String> = answer
            .get("minions")
            .and_then(Value::as_list)
            .unwrap_or_default()
            .iter()
            .filter_map(|id| id.as_str().map(str::to_owned))
            .collect();
        ids.sort_unstable();
        assert_eq!(ids, expect, "{} {fun} {tgt}", minion.id);
    }
    let nothing = Value::from(Map::new());
    let runner = |fun: &str| {
        MinionRequest::MinionRunner(MinionRunner {
            fun: fun.to_owned(),
            arg: Value::List(Vec::new()),
            tmo: None,
            no_parse: None,
        })
    };
    assert_ne!(web1.ask(runner("test.arg")).await, nothing);
    assert_eq!(web1.ask(runner("jobs.active")).await, nothing);
    assert_eq!(db1.ask(runner("test.arg")).await, nothing);
    master.stop().await;
}

/// Not even which target means anybody: that would be guessing what others are.
#[tokio::test]
async fn a_minion_without_rights_learns_nothing() {
    let nothing = Value::from(Map::new());
    let many = |count: usize, fun: &str| vec![fun; count].join(",");
    let master = Master::start("");
    let evil = Minion::signed_in(&master, "evil").await;
    for (fun, tgt, tgt_type) in [
        ("saltutil.find_job", "*", "glob"),
        ("saltutil.find_job", "nosuch", "glob"),
        ("saltutil.find_job", "dbpass:guess", "pillar"),
        ("test.ping", "nosuch", "glob"),
        (&many(20_000, "saltutil.find_job"), "*", "glob"),
    ] {
        let answer = evil.ask(peer(fun, tgt, tgt_type)).await;
        assert_eq!(answer, nothing, "{tgt}");
    }
    master.stop().await;
    let master = Master::start("peer: {'web.*': ['test.*']}");
    let web1 = Minion::signed_in(&master, "web1").await;
    for (fun, is_permitted) in [
        (many(256, "test.ping"), true),
        (many(257, "test.ping"), false),
        (format!("test.{}", "x".repeat(250)), true),
        (format!("test.{}", "x".repeat(251)), false),
        ("test.ping,saltutil.find_job".to_owned(), false),
    ] {
        let answer = web1.ask(peer(&fun, "*", "glob")).await;
        assert_eq!(answer.get("jid").is_some(), is_permitted, "{}", fun.len());
    }
    master.stop().await;
}

#[tokio::test]
async fn what_is_in_the_mine_is_told_to_who_may_know() {
    let master = Master::start(OPTIONS);
    let web1 = Minion::signed_in(&master, "web1").await;
    let db1 = Minion::signed_in(&master, "db1").await;
    let data = Map::from([("test.ping", true), ("status.uptime", true)]);
    let store = halite_proto::request::MineStore { data, clear: false };
    web1.ask(MinionRequest::Mine(store)).await;
    let get = |fun: &str| {
        MinionRequest::MineGet(MineGet {
            tgt: "*".into(),
            fun: fun.into(),
            tgt_type: Some("glob".to_owned()),
        })
    };
    let nothing = Value::from(Map::new());
    assert_eq!(
        web1.ask(get("test.ping")).await,
        Map::from([("web1", true)]).into()
    );
    assert_eq!(web1.ask(get("status.uptime")).await, nothing);
    assert_eq!(db1.ask(get("test.ping")).await, nothing);
    master.stop().await;
}

/// The tags of what happens when a key is deleted.
async fn tags_of_deletion(options: &str) -> Vec<String> {
    let master = Master::start(options);
    let web1 = Minion::signed_in(&master, "web1").await;
    let mut events = master.events().await;
    let load = Map::from([
        ("cmd", Value::from("wheel")),
        ("fun", "key.delete".into()),
        ("match", "web1".into()),
        ("key", master.root_key().into()),
    ]);
    master.ask_clear(load).await;
    let mut tags = Vec::new();
    loop {
        let event = tokio::time::timeout(SOON, events.next()).await.unwrap();
        let event = event.unwrap().unwrap();
        if event.tag().starts_with("salt/wheel/") && event.tag().ends_with("/ret") {
            break;
        }
        tags.push(event.tag().to_owned());
    }
    // In either case the one without a key has no session any more.
    web1.refused(&web1.load(MinionRequest::FileEnvs)).await;
    master.stop().await;
    tags
}

#[tokio::test]
async fn the_key_of_publications_is_changed_unless_that_is_off() {
    let is_changed = |tags: Vec<String>| tags.iter().any(|tag| tag == "key");
    assert!(is_changed(tags_of_deletion("").await));
    assert!(!is_changed(tags_of_deletion("rotate_aes_key: False").await));
}
