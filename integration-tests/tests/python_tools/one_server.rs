//! A master of ours and one of 3008 that run on one server at the same time. Each
//! matches the minions of the other by their grains, reads their mines, and takes the
//! tokens that the other has made. With the keys of minions on the server, too, each signs
//! in whom the other has accepted, and finds no longer whom the other has rejected; but 3008
//! takes no requests from minions whose keys are not in its files.

use std::fs;

use anyhow::{Context, Result, ensure};
use halite_integration_tests::{KeyState, Kind, Master, Program, START, until};
use halite_test_services::{Etcd, MariaDb, Redis, Wanted};
use serde_json::{Value, json};

use crate::stores::{Both, Setting, cache_in, mysql};

const THEIRS: Kind = Kind::Salt3008;

/// Minions of our master and of the other one, or accepted by it.
const LEFT: &str = "left";
const RIGHT: &str = "right";

/// What the program of 3008 that lists keys says, whatever it was to do.
const NO_LIST: &str = "does not implement list_all";

/// What `salt` says to a target without minions.
const NOBODY: &str = "No minions matched the target";

/// Shows a token to a running master, for what its user may do and for what not.
const SHOW: &str = r#"
import json, os, sys
sys.path.insert(0, "CLIENTS")
import salt.client
local = salt.client.LocalClient(sys.argv[1])
def ask(fun):
    try:
        return local.run_job(["MINION"], fun, tgt_type="list", token="TOKEN")["minions"]
    except Exception as error:
        return f"{type(error).__name__}: {error}"
print(json.dumps([ask("test.ping"), ask("cmd.run")]), flush=True)
# Salt 3008 waits for ever for its own sockets otherwise.
os._exit(0)
"#;

/// Rejects an accepted key as `salt-key` does, once it has found it. Says what comes of
/// that, and the names of the key pairs of masters on the server.
const REJECT: &str = r#"
import json, os, sys
sys.path.insert(0, "CLIENTS")
import salt.config, salt.key
keys = salt.key.get_key(salt.config.master_config(sys.argv[1]))
said = "rejected"
try:
    keys.reject(match_dict={"minions": ["MINION"]}, include_accepted=True)
except AttributeError as error:
    said = str(error)
print(json.dumps({"said": said, "pairs": list(keys.cache.list("master_keys"))}), flush=True)
os._exit(0)
"#;

fn script(both: &Both, text: &str, id: &str) -> String {
    text.replace("CLIENTS", &both.clients).replace("MINION", id)
}

/// The minions that a master finds by a grain, whether they are connected to it or not.
fn matched(both: &Both, master: &Master, grain: &str) -> Result<Value> {
    let words = ["--async", "-G", grain, "test.ping"];
    let said = both.run(master, Program::Salt, &words)?;
    let jid = said.stdout.trim().rsplit(' ').next().unwrap_or_default();
    if said.stdout.contains(NOBODY) || jid.len() != 20 {
        return Ok(Value::Null);
    }
    let words = ["jobs.list_job", jid];
    let job = both.ask(master, Program::Run, &words)?.ok()?.json()?;
    Ok(job["Minions"].clone())
}

/// Tells a master of the accepted minion of another one, where keys are files.
fn introduce(id: &str, from: &Master, to: &Master) -> Result<()> {
    let key = |master: &Master| {
        let dir = master.dir().join("pki").join(KeyState::Accepted.dir());
        dir.join(id)
    };
    fs::copy(key(from), key(to)).with_context(|| format!("no key of {id}"))?;
    Ok(())
}

/// A token that a running master has made.
fn make_token(both: &Both, master: &Master) -> Result<String> {
    let words = [
        "auth.mk_token",
        "username=alice",
        "password=x",
        "eauth=auto",
    ];
    let made = both.ask(master, Program::Run, &words)?.ok()?.json()?;
    let token = made["token"].as_str().map(str::to_owned);
    token.with_context(|| format!("no token: {made}"))
}

/// What a running master says to a token: for `test.ping`, and for what its user may not.
fn show_token(both: &Both, master: &Master, id: &str, token: &str) -> Result<[Value; 2]> {
    let script = script(both, SHOW, id).replace("TOKEN", token);
    let said = master.tools(THEIRS).python(&script)?.ok()?.json()?;
    Ok([said[0].clone(), said[1].clone()])
}

fn is_refused(answer: &Value) -> bool {
    answer.as_str().is_some_and(|said| said.contains("Error"))
}

fn check_tokens(both: &Both) -> Result<()> {
    let made = [
        (make_token(both, &both.ours)?, &both.theirs, RIGHT),
        (make_token(both, &both.theirs)?, &both.ours, LEFT),
    ];
    for (token, at, id) in &made {
        let [allowed, denied] = show_token(both, at, id, token)?;
        ensure!(allowed == json!([id]), "{:?}: {allowed}", at.kind());
        ensure!(is_refused(&denied), "{:?}: {denied}", at.kind());
        let unknown: String = token.chars().rev().collect();
        let [unknown, _] = show_token(both, at, id, &unknown)?;
        ensure!(is_refused(&unknown), "{:?}: {unknown}", at.kind());
    }
    // One that ours deletes is good nowhere. The runner of 3008 that deletes tokens looks
    // for files alone.
    let (token, at, id) = &made[0];
    let words = ["auth.del_token", token];
    both.ask(&both.ours, Program::Run, &words)?.ok()?;
    let [deleted, _] = show_token(both, at, id, token)?;
    ensure!(is_refused(&deleted), "{deleted}");
    Ok(())
}

/// What minions tell and tokens are on the server, and keys in files.
fn check_data(driver: &str, server: Vec<Setting>) -> Result<()> {
    let mut options = server;
    options.extend([
        ("cache", json!(driver)),
        ("eauth_tokens.cache_driver", json!(driver)),
        ("external_auth", json!({ "auto": { "alice": ["test.*"] } })),
    ]);
    let Some(both) = Both::start_each(THEIRS, &options, &options)? else {
        return Ok(());
    };
    let sides = [
        (LEFT, &both.ours, &both.theirs),
        (RIGHT, &both.theirs, &both.ours),
    ];
    let mut minions = Vec::new();
    for (id, of, _) in sides {
        let minion = both.fleet.minion(id, of.kind()).of(of);
        let minion = minion.set("grains", json!({ "side": id }));
        let minion = minion.set("mine_functions", json!({ "test.echo": [id] }));
        minions.push(minion.start()?);
        of.wait_minion(id)?;
    }
    for (id, of, other) in sides {
        introduce(id, of, other)?;
        let what = format!("{id} to be found by {:?}", other.kind());
        let grain = format!("side:{id}");
        until(&what, START, || {
            Ok((matched(&both, other, &grain)? == json!([id])).then_some(()))
        })?;
        let what = format!("the mine of {id} at {:?}", other.kind());
        until(&what, START, || {
            let words = ["mine.get", id, "test.echo"];
            let mine = both.ask(other, Program::Run, &words)?.ok()?.json()?;
            Ok((mine == json!({ id: id })).then_some(()))
        })?;
    }
    check_tokens(&both)
}

/// Whether our `salt-key` lists a minion in a state.
fn is_listed(both: &Both, state: KeyState, id: &str) -> Result<bool> {
    let listed = both.ours.key(&["-L", "--out=json"])?.ok()?.json()?;
    let ids = listed[state.dir()].as_array().context("no list")?;
    Ok(ids.contains(&json!(id)))
}

fn wait_listed(both: &Both, state: KeyState, id: &str) -> Result<()> {
    until(&format!("{id} to be {state:?}"), START, || {
        Ok(is_listed(both, state, id)?.then_some(()))
    })
}

/// Whether a sign-in of a minion has succeeded at a master.
fn lets_in(master: &Master, id: &str) -> Result<bool> {
    let events = master.events()?.events();
    Ok(events.iter().any(|event| {
        event.tag == "salt/auth" && event.data["id"] == id && event.data["act"] == "accept"
    }))
}

/// Accepts a key with our program until both masters let its minion in: a master of Salt that
/// stores a first sign-in at that moment stores it as waiting once more.
fn accept(both: &Both, id: &str) -> Result<()> {
    until(&format!("{id} to be let in by both"), START, || {
        if is_listed(both, KeyState::Pending, id)? {
            both.ours.key(&["-y", "-a", id])?;
        }
        Ok((lets_in(&both.ours, id)? && lets_in(&both.theirs, id)?).then_some(()))
    })?;
    both.ours.wait_minion(id)
}

/// Checks that a master finds nobody for a target.
fn check_nobody(both: &Both, master: &Master, target: &[&str]) -> Result<()> {
    let said = both.run(master, Program::Salt, &[target, &["test.ping"]].concat())?;
    ensure!(said.stdout.contains(NOBODY), "{target:?}: {said}");
    Ok(())
}

/// Checks that a master has an answer of a minion that is named in a list.
fn check_answers(both: &Both, master: &Master, id: &str) -> Result<()> {
    let words = ["-L", id, "test.echo", "hello"];
    let got = both.ask(master, Program::Salt, &words)?.ok()?;
    ensure!(got.of(id)? == "hello", "{:?}: {got}", master.kind());
    Ok(())
}

/// Checks that a master has no answer of a minion, although the minion is there.
fn check_no_answer(both: &Both, master: &Master, id: &str) -> Result<()> {
    let words = ["-L", id, "-t", "2", "test.echo", "hello"];
    let said = both.run(master, Program::Salt, &words)?;
    ensure!(!said.stdout.contains("hello"), "{said}");
    ensure!(!said.stdout.contains(NOBODY), "{said}");
    Ok(())
}

/// The keys of minions are on the server, too. 3008 signs in whom they say and takes
/// no request of theirs, since it looks for the key of its sender in files; and it
/// cannot list them: its `salt-key` does nothing, and its master finds only minions that are
/// named in a list. It keeps its private key there, too.
fn check_keys(driver: &str, server: Vec<Setting>) -> Result<()> {
    let mut options = server;
    options.extend([
        ("cache", json!(driver)),
        ("keys.cache_driver", json!(driver)),
        ("auto_accept", json!(false)),
    ]);
    let Some(both) = Both::start_each(THEIRS, &options, &options)? else {
        return Ok(());
    };
    let start = |id: &str, kind| {
        let minion = both.fleet.minion(id, kind).of(&both.ours);
        minion.of(&both.theirs).start()
    };
    let _left = start(LEFT, Kind::Ours)?;
    wait_listed(&both, KeyState::Pending, LEFT)?;
    check_nobody(&both, &both.theirs, &["-L", LEFT])?;
    for words in [&["-L"][..], &["-y", "-a", LEFT]] {
        let said = both.run(&both.theirs, Program::Key, words)?;
        ensure!(said.to_string().contains(NO_LIST), "{said}");
    }
    ensure!(is_listed(&both, KeyState::Pending, LEFT)?);
    accept(&both, LEFT)?;

    let _right = start(RIGHT, THEIRS)?;
    accept(&both, RIGHT)?;
    both.ours.check_ping(&[LEFT, RIGHT])?;
    for id in [LEFT, RIGHT] {
        check_answers(&both, &both.ours, id)?;
    }
    check_no_answer(&both, &both.theirs, LEFT)?;

    check_nobody(&both, &both.theirs, &[LEFT])?;
    check_nobody(&both, &both.theirs, &["-G", "kernel:Linux"])?;

    let said = both.theirs.tools(THEIRS);
    let said = said.python(&script(&both, REJECT, LEFT))?.ok()?.json()?;
    ensure!(said["said"].to_string().contains(NO_LIST), "{said}");
    ensure!(said["pairs"].to_string().contains(".pem"), "{said}");
    wait_listed(&both, KeyState::Rejected, LEFT)?;
    check_nobody(&both, &both.ours, &[LEFT])?;
    check_nobody(&both, &both.theirs, &["-L", LEFT])?;

    let words = ["-y", "-r", RIGHT, "--include-accepted"];
    both.ours.key(&words)?.ok()?;
    check_nobody(&both, &both.theirs, &["-L", RIGHT])
}

/// Where the cache of Salt is in an etcd: it speaks version 2.
fn cache_in_etcd(etcd: &Etcd) -> Vec<Setting> {
    vec![
        ("etcd.host", json!(etcd.address.ip())),
        ("etcd.port", json!(etcd.address.port())),
    ]
}

#[test]
fn masters_on_a_redis_share_data_and_tokens() -> Result<()> {
    match Redis::for_test(&Wanted::default()) {
        Some(redis) => check_data("redis", cache_in(&redis)),
        None => Ok(()),
    }
}

#[test]
fn masters_on_an_etcd_share_data_and_tokens() -> Result<()> {
    match Etcd::for_test(&Wanted::default()) {
        Some(etcd) => check_data("etcd", cache_in_etcd(&etcd)),
        None => Ok(()),
    }
}

#[test]
fn masters_on_a_mariadb_share_data_and_tokens() -> Result<()> {
    match MariaDb::for_test(&Wanted::default().password("salt")) {
        Some(mariadb) => check_data("mysql", mysql(&mariadb)),
        None => Ok(()),
    }
}

#[test]
fn masters_on_a_redis_share_keys() -> Result<()> {
    match Redis::for_test(&Wanted::default()) {
        Some(redis) => check_keys("redis", cache_in(&redis)),
        None => Ok(()),
    }
}

#[test]
fn masters_on_an_etcd_share_keys() -> Result<()> {
    match Etcd::for_test(&Wanted::default()) {
        Some(etcd) => check_keys("etcd", cache_in_etcd(&etcd)),
        None => Ok(()),
    }
}
