//! What a master passes to programs and files of its host: tops, events, queues.

use std::fs;

use halite_proto::request::{MasterTops, MinionRequest};
use halite_proto::{Map, Value};
use tempfile::TempDir;

use crate::support::{Master, Minion, SOON};

async fn tops_of(minion: &Minion, claimed: &str) -> Value {
    let opts = Map::from([("id", Value::from(claimed)), ("grains", Map::new().into())]);
    minion
        .ask(MinionRequest::MasterTops(MasterTops { opts }))
        .await
}

#[tokio::test]
async fn a_program_says_which_states_a_minion_has() {
    let dir = TempDir::new().unwrap();
    let program = dir.path().join("nodes");
    fs::write(
        &program,
        "case \"$#:$1\" in\n\
         1:web1) echo 'classes: [web, db]';;\n\
         1:web2) echo 'classes: {py: {a: 1}}'; echo 'environment: prod';;\n\
         1:web3) echo 'classes: [web]'; exit 1;;\n\
         1:web4) echo '{';;\n\
         esac\n",
    )
    .unwrap();
    let more = format!(
        "master_tops: {{ext_nodes: /bin/sh '{}'}}",
        program.display()
    );
    let master = Master::start_in(dir, &more);
    let states = |environment: &str, states: &[&str]| {
        let states = states.iter().map(|state| Value::from(*state)).collect();
        Value::from(Map::from([(environment, Value::List(states))]))
    };
    let web1 = Minion::signed_in(&master, "web1").await;
    // Whoever it says it is, it is asked about as who it is.
    assert_eq!(tops_of(&web1, "web2").await, states("base", &["web", "db"]));
    let web2 = Minion::signed_in(&master, "web2").await;
    assert_eq!(tops_of(&web2, "web2").await, states("prod", &["py"]));
    for id in ["web3", "web4", "web5"] {
        let minion = Minion::signed_in(&master, id).await;
        assert_eq!(tops_of(&minion, id).await, Map::new().into(), "{id}");
    }
    master.stop().await;
}

#[tokio::test]
async fn without_tops_there_are_no_states() {
    let master = Master::start("");
    let web1 = Minion::signed_in(&master, "web1").await;
    assert_eq!(tops_of(&web1, "web1").await, Map::new().into());
    master.stop().await;
}

#[tokio::test]
async fn events_are_stored_and_the_last_ones_at_the_end() {
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("events");
    // So many never come: all that is stored is stored at the end.
    let more = format!(
        "event_return: rawfile_json\nevent_return_queue: 100000\n\
         event_return_blacklist: ['salt/auth']\nrawfile_json.filename: {}",
        file.display()
    );
    let master = Master::start_in(dir, &more);
    let web1 = Minion::signed_in(&master, "web1").await;
    run(&master, "event.send", &["my/tag"], &[]).await;
    drop(web1);
    assert!(!file.exists());
    let dir = master.stop().await;
    let text = fs::read_to_string(dir.path().join("events")).unwrap();
    let tags: Vec<&str> = text
        .lines()
        .map(|line| {
            let (_, tag) = line.rsplit_once("\"tag\": ").unwrap();
            tag.trim_matches(['"', '}'])
        })
        .collect();
    let at = |wanted: &str| tags.iter().position(|tag| *tag == wanted);
    assert_eq!(at("salt/event_listen/start"), Some(0), "{tags:?}");
    assert!(at("my/tag").is_some(), "{tags:?}");
    assert!(at("salt/auth").is_none(), "{tags:?}");
}

/// Runs a runner; its return.
async fn run(master: &Master, fun: &str, args: &[&str], kwargs: &[(&str, Value)]) -> Value {
    let told = returned(master, fun, args, kwargs).await.unwrap();
    told.get("return").cloned().unwrap()
}

/// Runs a runner; the event of its return, or the answer if it does not begin.
pub(crate) async fn returned(
    master: &Master,
    fun: &str,
    args: &[&str],
    kwargs: &[(&str, Value)],
) -> Result<Map, Value> {
    let mut events = master.events().await;
    let args = args.iter().map(|arg| Value::from(*arg)).collect();
    let kwargs: Map = kwargs
        .iter()
        .map(|(name, value)| (Value::from(*name), value.clone()))
        .collect();
    let low = Map::from([("arg", Value::List(args)), ("kwarg", kwargs.into())]);
    let load = Map::from([
        ("cmd", Value::from("runner")),
        ("fun", fun.into()),
        ("kwarg", low.into()),
        ("key", master.root_key().into()),
        ("user", "root".into()),
    ]);
    let reply = master.ask_clear(load).await;
    let begun = reply.get("load").unwrap_or(&reply);
    let Some(tag) = begun.get("tag").and_then(Value::as_str) else {
        return Err(reply);
    };
    loop {
        let event = tokio::time::timeout(SOON, events.next()).await.unwrap();
        let event = event.unwrap().unwrap();
        if event.tag() == format!("{tag}/ret") {
            return Ok(event.unpack().unwrap().data);
        }
    }
}

#[tokio::test]
async fn queues_are_filled_emptied_and_told_of() {
    let dir = TempDir::new().unwrap();
    let more = format!(
        "sqlite_queue_dir: {}\nrunner_queue: {{queue: later}}",
        dir.path().join("queues").display()
    );
    let master = Master::start_in(dir, &more);
    let texts = |items: &[&str]| Value::List(items.iter().map(|item| (*item).into()).collect());
    let run = async |fun: &str, args: &[&str]| run(&master, fun, args, &[]).await;
    assert_eq!(run("queue.insert", &["q", "zeta"]).await, true.into());
    assert_eq!(run("queue.insert", &["q", "alpha"]).await, true.into());
    assert_eq!(
        run("queue.insert", &["q", "zeta"]).await,
        "Item already exists in this queue. sqlite error: UNIQUE constraint failed: q.name".into()
    );
    assert_eq!(run("queue.list_queues", &[]).await, texts(&["q"]));
    assert_eq!(run("queue.list_length", &["q"]).await, 2.into());
    let mut events = master.events().await;
    let data = Map::from([
        ("items", texts(&["zeta"])),
        ("backend", "sqlite".into()),
        ("queue", "q".into()),
    ]);
    assert_eq!(
        run("queue.process_queue", &["q"]).await,
        data.clone().into()
    );
    let told = loop {
        let event = tokio::time::timeout(SOON, events.next()).await.unwrap();
        let event = event.unwrap().unwrap();
        if event.tag() == "salt/queue/q/process" {
            break event.unpack().unwrap().data;
        }
    };
    for (name, value) in &data {
        assert_eq!(told.get(name.as_str().unwrap()), Some(value));
    }
    assert_eq!(run("queue.pop", &["q", "all"]).await, texts(&["alpha"]));
    // A malformed number is reported as progress text.
    assert_eq!(run("queue.process_queue", &["q", "x"]).await, false.into());
    assert_eq!(
        run("queue.insert_runner", &["queue.insert", "q,from-runner"]).await,
        true.into()
    );
    assert_eq!(run("queue.process_runner", &[]).await, Value::Nil);
    assert_eq!(
        run("queue.list_items", &["q"]).await,
        texts(&["from-runner"])
    );
    for refused in [["../q", "x"], ["q;x", "x"], ["/etc/q", "x"]] {
        let why = run("queue.insert", &refused).await;
        let why = why.as_str().unwrap_or_default();
        assert!(why.contains("cannot be the name of a queue"), "{why}");
    }
    master.stop().await;
}
