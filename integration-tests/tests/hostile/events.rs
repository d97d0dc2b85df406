//! The tags of events: what a minion may fire, and for whom.
//!
//! The tags are those of the first table of `docs/events.md`, which a test of
//! its own keeps complete; one without a rule here fails.

use std::collections::BTreeSet;

use anyhow::{Context, Result, ensure};
use halite_integration_tests::wire::msgpack::Item;

use crate::stage::{ACCEPTED, GRANTED, Stage};

/// Who may say something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Speaker {
    /// The master alone.
    Master,
    /// The minion that the tag names.
    Owner,
    /// Every accepted minion.
    Anybody,
}
use Speaker::{Anybody, Master, Owner};

const RULES: &[(&str, Speaker)] = &[
    ("salt/auth", Master),
    ("salt/key", Master),
    ("key", Master),
    ("salt/minion/<id>/start", Owner),
    ("salt/minion/<id>/cloned", Master),
    ("minion_start", Anybody),
    ("minion/refresh/<id>", Master),
    ("salt/job/<jid>/new", Master),
    ("salt/job/<jid>/publish", Master),
    ("salt/job/<jid>/start/<id>", Owner),
    ("salt/job/<jid>/ret/<id>", Master),
    ("salt/job/<jid>/prog/<id>/<n>", Owner),
    ("salt/job/<jid>/sub/<id>/error/<fun>", Master),
    // Names of functions are the users' own.
    ("<module>.<function>", Anybody),
    ("salt/state_result/<jid>/<id>/<name>", Owner),
    ("salt/job/error", Master),
    ("salt/batch/<jid>/new", Master),
    ("salt/batch/<jid>/progress", Master),
    ("salt/batch/<jid>/complete", Master),
    ("salt/run/<jid>/new", Master),
    ("salt/run/<jid>/args", Master),
    ("salt/run/<jid>/ret", Master),
    ("salt/wheel/<jid>/new", Master),
    ("salt/wheel/<jid>/ret", Master),
    ("salt/beacon/<id>/<beacon>/", Owner),
    ("salt/presence/change", Master),
    ("salt/presence/present", Master),
    ("salt/fileserver/roots/update", Master),
    ("salt/fileserver/gitfs/update", Master),
    ("salt/stats/<worker>", Master),
];

/// Tags of other programs of Salt's, which the table does not have, and what else begins
/// like those that a minion may fire.
const OTHERS: &[(&str, Speaker)] = &[
    ("salt/job/<jid>/at/<id>", Owner),
    ("salt/syndic/<id>/start", Owner),
    ("salt/deltaproxy/start", Anybody),
    ("salt/job/<jid>/error", Master),
    ("salt/job/<jid>/return", Master),
    ("salt/deltaproxy/<id>", Master),
    ("salt/syndic/<id>/stop", Master),
    ("salt/netapi/hook/x", Master),
    ("syndic/<id>/<jid>", Master),
    ("resource/refresh/<id>", Master),
    ("<jid>", Master),
    ("__schedule_return", Master),
];

const EVENTS: &str = include_str!("../../../docs/events.md");

/// The tags of the first table.
fn documented() -> BTreeSet<&'static str> {
    let table = EVENTS.lines().skip_while(|line| !line.starts_with("| tag"));
    let rows = table.skip(2).take_while(|line| line.starts_with('|'));
    rows.filter_map(|row| row.strip_prefix("| `")?.split('`').next())
        .collect()
}

#[test]
fn every_tag_has_a_rule() {
    let ruled: BTreeSet<&str> = RULES.iter().map(|(tag, _)| *tag).collect();
    assert_eq!(documented(), ruled);
}

/// A tag as it travels, about a minion.
fn filled(tag: &str, id: &str) -> String {
    [
        ("<id>", id),
        ("<jid>", "20261120141841939742"),
        ("<n>", "0"),
        ("<fun>", "state.sls"),
        ("<name>", "x"),
        ("<beacon>", "load"),
        ("<worker>", "MWorker-default-0"),
        ("<module>", "mine"),
        ("<function>", "own"),
    ]
    .iter()
    .fold(tag.to_owned(), |tag, (hole, value)| {
        tag.replace(hole, value)
    })
}

#[test]
fn a_minion_fires_what_is_its_own_to_say() -> Result<()> {
    let stage = Stage::start()?;
    let mut events = Vec::new();
    let mut expected = BTreeSet::new();
    for (tag, speaker) in RULES.iter().chain(OTHERS) {
        for about in BTreeSet::from([ACCEPTED, GRANTED].map(|id| filled(tag, id))) {
            let is_own = !about.contains(GRANTED);
            if *speaker == Anybody || (*speaker == Owner && is_own) {
                expected.insert(about.clone());
            }
            let data = Item::map([("forged", Item::from(true))]);
            events.push(Item::map([
                ("tag", Item::from(about.as_str())),
                ("data", data),
            ]));
        }
    }
    events.push(Item::map([
        ("tag", Item::from("the/last")),
        ("data", Item::map([("forged", Item::from(true))])),
    ]));
    let load = [
        ("cmd", Item::from("_minion_event")),
        ("pretag", Item::Nil),
        ("events", Item::List(events)),
    ];
    let peer = &stage.accepted;
    peer.who
        .ask(&mut stage.master.connect()?, &peer.session, &load)?;
    let log = stage.master.events()?;
    let soon = halite_integration_tests::SHORT;
    log.wait("the last event", soon, |event| event.tag == "the/last")?;
    let heard = log.events();
    let heard = heard.iter().filter(|event| event.data["forged"] == true);
    let heard: BTreeSet<String> = heard.map(|event| event.tag.clone()).collect();
    expected.insert("the/last".to_owned());
    let missing: Vec<_> = expected.difference(&heard).collect();
    let forged: Vec<_> = heard.difference(&expected).collect();
    ensure!(
        missing.is_empty() && forged.is_empty(),
        "forged: {forged:?}, missing: {missing:?}"
    );
    Ok(())
}

/// A result is told of who was meant, and of nobody else, whoever sends it.
#[test]
fn a_result_is_told_of_the_minion_that_was_meant() -> Result<()> {
    let stage = Stage::start()?;
    let publish = Item::map([
        ("cmd", Item::from("publish")),
        ("fun", Item::from("test.ping")),
        ("arg", Item::List(Vec::new())),
        ("tgt", Item::from(GRANTED)),
        ("tgt_type", Item::from("glob")),
        ("ret", Item::from("")),
        ("jid", Item::from("")),
        ("user", Item::from("root")),
        ("key", Item::from(stage.root_key.as_str())),
    ]);
    let request = halite_integration_tests::wire::stand_in::StandIn::clear(publish);
    let reply = Item::unpack(&stage.master.connect()?.ask(&request.pack())?)?;
    let jid = reply.get("load").and_then(|load| load.get("jid"));
    let jid = jid.and_then(Item::text).context("no job")?.to_owned();
    for peer in [&stage.accepted, &stage.granted] {
        let load = [
            ("cmd", Item::from("_return")),
            ("jid", Item::from(jid.as_str())),
            ("fun", Item::from("test.ping")),
            ("fun_args", Item::List(vec![])),
            ("return", Item::from(true)),
            ("retcode", Item::from(0)),
            ("success", Item::from(true)),
        ];
        peer.who
            .ask(&mut stage.master.connect()?, &peer.session, &load)?;
    }
    let log = stage.master.events()?;
    let meant = format!("salt/job/{jid}/ret/{GRANTED}");
    let soon = halite_integration_tests::SHORT;
    log.wait(&meant, soon, |event| event.tag == meant)?;
    let forged = format!("salt/job/{jid}/ret/{ACCEPTED}");
    let is_forged = log.events().iter().any(|event| event.tag == forged);
    ensure!(!is_forged, "the result of a stranger to the job was told");
    Ok(())
}
