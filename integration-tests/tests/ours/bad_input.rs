//! What our master does with requests that no honest peer sends: each is
//! refused as real Salt refuses it, and the next good request is served.

use std::fs;
use std::io::Write as _;
use std::net::TcpStream;

use anyhow::{Context, Result, bail, ensure};
use halite_integration_tests::wire::msgpack::Item;
use halite_integration_tests::wire::stand_in::{Session, SignIn, StandIn};
use halite_integration_tests::wire::zmtp::Connection;
use halite_integration_tests::{Fleet, Kind, Master, SHORT};

/// Growth that is no growth: buffers that are kept, pages that were touched.
const GROWTH_MAX_KIB: u64 = 8 * 1024;

struct Target {
    master: Master,
    honest: StandIn,
    session: Session,
    _fleet: Fleet,
}

impl Target {
    fn start() -> Result<Self> {
        Self::with(&[])
    }

    fn with(options: &[(&str, i64)]) -> Result<Self> {
        let fleet = Fleet::new("bad")?;
        let plan = fleet
            .master("m1", Kind::Ours)
            .auto_accept()
            .file("served", "a file");
        let master = options
            .iter()
            .fold(plan, |plan, (name, value)| plan.set(name, *value))
            .start()?;
        let honest = StandIn::new("honest")?;
        let session = honest.must_sign_in(&mut master.connect()?)?;
        Ok(Self {
            master,
            honest,
            session,
            _fleet: fleet,
        })
    }

    /// A request of the honest minion is served.
    fn check_serves(&self) -> Result<()> {
        let load = [
            ("cmd", Item::from("_file_hash")),
            ("path", Item::from("served")),
            ("saltenv", Item::from("base")),
        ];
        let reply = self
            .honest
            .ask(&mut self.master.connect()?, &self.session, &load)?;
        ensure!(reply.get("hsum").is_some(), "a good request got {reply:?}");
        Ok(())
    }

    fn ask(&self, bytes: &[u8]) -> Result<Item> {
        Item::unpack(&self.master.connect()?.ask(bytes)?)
    }

    fn check_refused(&self, what: &str, request: &Item, wanted: &str) -> Result<()> {
        let reply = self.ask(&request.pack())?;
        ensure!(
            reply.text() == Some(wanted),
            "{what} got {reply:?} instead of {wanted:?}"
        );
        Ok(())
    }
}

/// The envelope of `request` with one field replaced or, with nothing, removed.
fn altered(request: &Item, field: &str, value: Option<Item>) -> Item {
    let Item::Map(entries) = request else {
        return request.clone();
    };
    let mut entries = entries.clone();
    entries.retain(|(name, _)| name.text() != Some(field));
    if let Some(value) = value {
        entries.push((Item::from(field), value));
    }
    Item::Map(entries)
}

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

#[test]
fn streams_that_are_no_zeromq_do_no_harm() -> Result<()> {
    let target = Target::start()?;
    let peer = target.master.address().request();
    let mut held = Vec::new();
    for bytes in [
        &b"GET / HTTP/1.1\r\n\r\n"[..],
        b"\xff",
        b"\xff\0\0\0\0\0\0\0\0\x7f\x03",
        &[0; 4096],
    ] {
        let mut stream = TcpStream::connect(peer)?;
        stream.write_all(bytes)?;
        held.push(stream);
    }
    // A frame that announces more than any memory holds, and stays away.
    let mut announced = target.master.connect()?;
    let mut frame = vec![2];
    frame.extend((1_u64 << 62).to_be_bytes());
    announced.write_raw(&frame)?;
    // A request without its delimiter, one with too many frames, and silence.
    let mut odd = target.master.connect()?;
    odd.write_raw(b"\0\x04ping")?;
    let mut long = target.master.connect()?;
    long.write_raw(b"\x01\x01a\x01\0\x01\0\0\x04ping")?;
    for _ in 0..200 {
        held.push(TcpStream::connect(peer)?);
    }
    target.check_serves()?;
    let mut publish = Connection::open(target.master.address().publish(), "SUB", SHORT)?;
    publish.write_raw(&[0xff; 100_000]).ok();
    target.check_serves()
}

#[test]
fn a_flood_of_bad_requests_leaves_no_trace() -> Result<()> {
    let target = Target::start()?;
    let ping = [("cmd", Item::from("_file_envs"))];
    let (good, _) = target.honest.request(&target.session, &ping);
    let stale = altered(&good, "version", Some(Item::from(1))).pack();
    let garbage = vec![0xc1; 64 * 1024];
    let flood = |count: usize| -> Result<()> {
        let mut connection = target.master.connect()?;
        for _ in 0..count {
            connection.ask(&stale)?;
            connection.ask(&garbage)?;
        }
        Ok(())
    };
    flood(200)?;
    let before = target.master.own_memory_kib()?;
    flood(2000)?;
    let after = target.master.own_memory_kib()?;
    ensure!(
        after < before + GROWTH_MAX_KIB,
        "from {before} to {after} KiB"
    );
    target.check_serves()?;
    let log = fs::read_to_string(target.master.dir().join("log"))?;
    ensure!(!log.contains("panicked"), "a panic in the log");
    Ok(())
}
