//! What an accepted minion may not do.

use std::fs;

use anyhow::{Context, Result, bail, ensure};
use halite_integration_tests::SHORT;
use halite_integration_tests::wire::msgpack::Item;
use halite_integration_tests::wire::stand_in::StandIn;

use super::Target;

#[test]
fn paths_lead_nowhere_outside() -> Result<()> {
    let target = Target::start()?;
    for path in [
        "../pki/master.pem",
        "../../../../../etc/passwd",
        "/etc/passwd",
        "a/../../master",
        "served\0",
        "..",
        "|../master",
    ] {
        let load = [
            ("cmd", Item::from("_serve_file")),
            ("path", Item::from(path)),
            ("saltenv", Item::from("base")),
            ("loc", Item::from(0)),
        ];
        let reply = target
            .honest
            .ask(&mut target.master.connect()?, &target.session, &load)?;
        let data = reply.get("data").and_then(Item::bytes).unwrap_or_default();
        ensure!(data.is_empty(), "{path:?} was served: {reply:?}");
    }
    let before = listing(&target)?;
    for jid in ["../../../evil", "/evil", "..", "a\0b", "", "2026"] {
        let load = [
            ("cmd", Item::from("_return")),
            ("jid", Item::from(jid)),
            ("fun", Item::from("test.ping")),
            ("fun_args", Item::List(vec![])),
            ("return", Item::from(true)),
            ("retcode", Item::from(0)),
            ("success", Item::from(true)),
        ];
        target
            .honest
            .ask(&mut target.master.connect()?, &target.session, &load)?;
    }
    assert_eq!(
        listing(&target)?,
        before,
        "a return has made files beside the job cache"
    );
    target.check_serves()
}

/// The names in the master's directory and its cache.
fn listing(target: &Target) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for dir in ["", "cache", "pki"] {
        for entry in fs::read_dir(target.master.dir().join(dir))? {
            names.push(format!("{dir}/{}", entry?.file_name().to_string_lossy()));
        }
    }
    names.retain(|name| name != "cache/jobs");
    names.sort();
    Ok(names)
}

#[test]
fn a_return_that_comes_twice_is_kept_once() -> Result<()> {
    let target = Target::start()?;
    let load = [
        ("cmd", Item::from("_return")),
        ("jid", Item::from("20261120120000000001")),
        ("fun", Item::from("test.ping")),
        ("fun_args", Item::List(vec![])),
        ("return", Item::from("first")),
        ("retcode", Item::from(0)),
        ("success", Item::from(true)),
    ];
    let (request, _) = target.honest.request(&target.session, &load);
    for _ in 0..3 {
        target.ask(&request.pack())?;
    }
    let mut stored = Vec::new();
    for first in fs::read_dir(target.master.dir().join("cache/jobs"))?.flatten() {
        for job in fs::read_dir(first.path())?.flatten() {
            stored.push(fs::read(job.path().join("honest/return.p"))?);
        }
    }
    let [bytes] = stored.as_slice() else {
        bail!("{} jobs instead of one", stored.len());
    };
    let kept = Item::unpack(bytes)?;
    ensure!(
        kept.get("return").and_then(Item::text) == Some("first"),
        "unexpected {kept:?}"
    );
    target.check_serves()
}

#[test]
fn a_session_ends_with_its_key() -> Result<()> {
    let target = Target::start()?;
    target.check_serves()?;
    target.master.key(&["-y", "-d", "honest"])?.ok()?;
    let (request, _) = target
        .honest
        .request(&target.session, &[("cmd", Item::from("_file_envs"))]);
    target.check_refused("a request of a deleted minion", &request, "bad load")
}

#[test]
fn a_minion_does_not_speak_for_the_master() -> Result<()> {
    let target = Target::start()?;
    let event = |tag: &str| {
        let data = Item::map([("id", Item::from("honest")), ("forged", Item::from(true))]);
        Item::map([("tag", Item::from(tag)), ("data", data)])
    };
    let forged = [
        "salt/key",
        "salt/job/20260101000000000000/new",
        "salt/run/x/ret",
        "salt/wheel/x/new",
    ];
    let mut events: Vec<Item> = forged.iter().map(|tag| event(tag)).collect();
    events.push(event("my/own/tag"));
    let load = [
        ("cmd", Item::from("_minion_event")),
        ("pretag", Item::Nil),
        ("events", Item::List(events)),
    ];
    target
        .honest
        .ask(&mut target.master.connect()?, &target.session, &load)?;
    let heard = target.master.events()?;
    heard.wait("the harmless event", SHORT, |event| {
        event.tag == "my/own/tag"
    })?;
    let through: Vec<_> = heard
        .events()
        .into_iter()
        .filter(|event| forged.contains(&event.tag.as_str()) && event.data["forged"] == true)
        .collect();
    ensure!(
        through.is_empty(),
        "forged events came through: {through:?}"
    );
    Ok(())
}

#[test]
fn commands_without_the_key_of_the_master_are_refused() -> Result<()> {
    let target = Target::start()?;
    let publish = |key: &str| {
        StandIn::clear(Item::map([
            ("cmd", Item::from("publish")),
            ("tgt", Item::from("*")),
            ("tgt_type", Item::from("glob")),
            ("fun", Item::from("test.ping")),
            ("arg", Item::List(vec![])),
            ("key", Item::from(key)),
            ("ret", Item::from("")),
            ("jid", Item::from("")),
            ("user", Item::from("root")),
        ]))
    };
    for key in ["", "wrong", &"A".repeat(76)] {
        let reply = target.ask(&publish(key).pack())?;
        let name = reply
            .get("error")
            .and_then(|error| error.get("name"))
            .and_then(Item::text);
        ensure!(
            name == Some("AuthenticationError"),
            "a publication with key {key:?} got {reply:?}"
        );
    }
    for cmd in [
        "runner",
        "wheel",
        "mk_token",
        "get_token",
        "halite.log_out",
        "_return",
        "_pillar",
        "no_such",
        "__init__",
    ] {
        let request = StandIn::clear(Item::map([
            ("cmd", Item::from(cmd)),
            ("fun", Item::from("test.ping")),
            ("id", Item::from("honest")),
        ]));
        let reply = target
            .ask(&request.pack())
            .with_context(|| cmd.to_owned())?;
        let harmless = reply == Item::Map(vec![])
            || reply.get("error").is_some()
            || reply.text() == Some("")
            || reply == Item::Bool(false);
        ensure!(harmless, "a clear {cmd} got {reply:?}");
    }
    target.check_serves()
}
