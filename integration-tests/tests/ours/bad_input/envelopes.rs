//! Invalid messages, and identities that do not match.

use std::fs;

use anyhow::{Context, Result, ensure};
use halite_integration_tests::wire::msgpack::Item;
use halite_integration_tests::wire::stand_in::{SignIn, StandIn};

use super::{Target, altered};

#[test]
fn envelopes_that_are_none_are_refused() -> Result<()> {
    let target = Target::start()?;
    for bytes in [
        &b"\xc1"[..],
        b"\x81\xa3enc",
        b"\xdf\xff\xff\xff\xff",
        b"\xdb\xff\xff\xff\xffx",
        b"",
        &[0x91; 2000],
    ] {
        let reply = target.ask(bytes)?;
        let text = format!("{}", reply.to_json());
        ensure!(
            text.contains("bad load") || text.contains("Routing error"),
            "{bytes:?} got {text}"
        );
    }
    let ping = StandIn::clear(Item::map([("cmd", Item::from("ping"))]));
    for (what, request) in [
        ("a number", Item::from(1)),
        ("a list", Item::List(vec![])),
        ("a text", Item::from("ping")),
        ("an empty map", Item::Map(vec![])),
        ("no enc", altered(&ping, "enc", None)),
        ("no load", altered(&ping, "load", None)),
        ("no version", altered(&ping, "version", None)),
        (
            "an old version",
            altered(&ping, "version", Some(Item::from(2))),
        ),
        (
            "a version that is text",
            altered(&ping, "version", Some(Item::from("three"))),
        ),
    ] {
        target.check_refused(what, &request, "bad load")?;
    }
    for load in [Item::from(1), Item::from("text"), Item::List(vec![])] {
        target.check_refused(
            "a load that is no map",
            &StandIn::clear(load),
            "payload and load must be a dict",
        )?;
    }
    let load = |id: Item| StandIn::clear(Item::map([("cmd", Item::from("_auth")), ("id", id)]));
    target.check_refused(
        "a NUL",
        &load(Item::from("web\0")),
        "bad load: id contains a null byte",
    )?;
    target.check_refused(
        "a number as id",
        &load(Item::from(5)),
        "bad load: id 5 is not a string",
    )?;
    target.check_serves()
}

#[test]
fn sealed_requests_that_are_not_authentic_are_refused() -> Result<()> {
    let target = Target::with(&[("request_server_ttl", 60)])?;
    let ping = [("cmd", Item::from("_file_envs"))];
    let (good, _) = target.honest.request(&target.session, &ping);
    let sealed = good
        .get("load")
        .and_then(Item::bytes)
        .context("no load")?
        .to_vec();
    let mut flipped = sealed.clone();
    *flipped.last_mut().context("an empty load")? ^= 1;

    let stranger = StandIn::new("stranger")?;
    let others = stranger.must_sign_in(&mut target.master.connect()?)?;
    let with = |load: &[(&str, Item)]| target.honest.request(&target.session, load).0;
    let cmd = || ("cmd", Item::from("_file_envs"));
    for (what, request) in [
        ("a flipped bit", target.honest.envelope(&flipped)),
        (
            "a message cut short",
            target
                .honest
                .envelope(sealed.get(..sealed.len() - 16).unwrap_or_default()),
        ),
        ("an empty message", target.honest.envelope(b"")),
        (
            "another minion's session",
            target.honest.request(&others, &ping).0,
        ),
        (
            "another minion's envelope",
            altered(&good, "id", Some(Item::from("stranger"))),
        ),
        (
            "an unknown minion's envelope",
            altered(&good, "id", Some(Item::from("nobody"))),
        ),
        ("no id", altered(&good, "id", None)),
        (
            "an old version",
            altered(&good, "version", Some(Item::from(2))),
        ),
        (
            "another id inside",
            with(&[cmd(), ("id", Item::from("stranger"))]),
        ),
        ("no token", with(&[cmd(), ("tok", Item::Nil)])),
        (
            "a foreign token",
            with(&[cmd(), ("tok", Item::from(&[7_u8; 256][..]))]),
        ),
        (
            "a request of yesterday",
            with(&[cmd(), ("ts", Item::from(1_000_000))]),
        ),
    ] {
        target.check_refused(what, &request, "bad load")?;
    }
    for id in [
        "",
        ".",
        "..",
        "../honest",
        "minions/honest",
        "a\\b",
        "/etc/passwd",
    ] {
        target.check_refused(id, &altered(&good, "id", Some(Item::from(id))), "bad load")?;
    }
    let list = target.honest.request(&target.session, &[]).0;
    ensure!(
        target.ask(&list.pack())?.bytes().is_some(),
        "a request without a command got no sealed reply"
    );
    for unknown in ["no_such", "__class__", "_auth", "publish", "runner"] {
        let reply = target.honest.ask(
            &mut target.master.connect()?,
            &target.session,
            &[("cmd", Item::from(unknown))],
        )?;
        ensure!(reply == Item::Map(vec![]), "{unknown} got {reply:?}");
    }
    target.check_serves()
}

#[test]
fn sign_ins_that_cannot_be_are_refused() -> Result<()> {
    let target = Target::start()?;
    for id in ["", ".", "..", "../pki/evil", "a/b", "a\\b"] {
        let answer = StandIn::new(id)?.sign_in(&mut target.master.connect()?)?;
        ensure!(matches!(answer, SignIn::Refused), "{id:?} got {answer:?}");
    }
    let good = StandIn::new("late")?.sign_in_request();
    let load = good.get("load").context("no load")?.clone();
    for (field, value) in [
        ("pub", Some(Item::from("no key"))),
        ("pub", Some(Item::from(""))),
        ("pub", Some(Item::List(vec![]))),
        ("pub", None),
        ("nonce", Some(Item::List(vec![]))),
        ("enc_algo", Some(Item::from("ROT13"))),
        ("sig_algo", Some(Item::from("none"))),
        ("token", Some(Item::from(&[1_u8; 256][..]))),
        ("autosign_grains", Some(Item::from("text"))),
    ] {
        // Whatever the answer is, it comes, and it is no session for a bad key.
        let request = StandIn::clear(altered(&load, field, value));
        let answer = target
            .ask(&request.pack())
            .with_context(|| format!("a sign-in with another {field}"))?;
        let grant = answer
            .get("load")
            .and_then(Item::bytes)
            .and_then(|load| Item::unpack(load).ok());
        let granted = grant.is_some_and(|grant| grant.get("session").is_some());
        ensure!(field != "pub" || !granted, "a session without a key");
    }
    let entries: Vec<_> = fs::read_dir(target.master.dir().join("pki/minions"))?
        .flatten()
        .map(|entry| entry.file_name())
        .collect();
    ensure!(
        entries
            .iter()
            .all(|name| name == "honest" || name == "late"),
        "unexpected keys: {entries:?}"
    );

    // Another key under the honest name is denied and the honest one stays.
    let thief = StandIn::new("honest")?;
    let answer = thief.sign_in(&mut target.master.connect()?)?;
    ensure!(
        matches!(answer, SignIn::Refused),
        "a second key got {answer:?}"
    );
    target.check_serves()
}
