//! The events on a master's bus while an administrator works, compared with those
//! of real Salt.
//!
//! The actions are in `script.txt`, with the list of differences. The events of
//! real Salt 3008.5 are recorded beside it; the long form runs the actions on it
//! again, and with `HALITE_UPDATE_EVENTS` set it records instead (our own events
//! where an action says that they differ, in the short form).
//! `HALITE_EVENTS_RELEASE` makes the long form use another release: its report then
//! shows how the releases differ.

mod alike;
mod compare;
mod recorded;
mod script;
mod shape;
mod stage;

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use halite_integration_tests::{Kind, until};

use compare::{differences, kept, lacking};
use recorded::Streams;
use script::{RuleKind, Script, is_meant};
use shape::Shape;
use stage::Stage;

/// Fewer would not be the comparison that it claims to be.
const ACTIONS_MIN: usize = 80;

/// Nothing more comes of an action of real Salt's after such a silence. Only
/// recording depends on it.
const SILENCE: Duration = Duration::from_millis(1000);

/// How long the events of an action may be on their way.
const REST: Duration = Duration::from_secs(60);

fn at(name: &str) -> PathBuf {
    let dir = halite_integration_tests::package_dir().join("tests/event_streams");
    dir.join(name)
}

fn updates() -> bool {
    std::env::var_os("HALITE_UPDATE_EVENTS").is_some()
}

fn script() -> Result<Script> {
    Script::read(&fs::read_to_string(at("script.txt"))?)
}

/// The stream of what comes again and again, of all actions together.
const REPEATS: &str = "again and again";

/// Plays the actions on a kind. `is_over` says when nothing more is expected of
/// an action; what steps could not be done is added to `wrong`.
fn play(
    kind: Kind,
    script: &Script,
    wrong: &mut Vec<String>,
    mut is_over: impl FnMut(&str, &[Shape]) -> bool,
) -> Result<Streams> {
    let mut stage = Stage::start(kind, &at("tree"))?;
    let mut streams = Streams::new();
    let mut mark = stage.begin()?;
    for action in &script.actions {
        for step in &action.steps {
            if let Err(error) = stage.perform(step, mark) {
                wrong.push(format!("{}: {step:?}: {error:#}", action.name));
                break;
            }
        }
        let mut shapes = Vec::new();
        let mut next = mark;
        let ends = until("the rest of its events", REST, || {
            let events = stage.events(mark)?;
            next = mark + events.len();
            shapes = events.iter().map(|event| stage.shape(event)).collect();
            shapes.retain(|shape| !script.repeats(&shape.tag));
            shapes = action.canonical(kind, std::mem::take(&mut shapes));
            Ok(is_over(&action.name, &shapes).then_some(()))
        });
        // What lacks is told of at the end, with all the others.
        drop(ends);
        mark = next;
        streams.insert(action.name.clone(), shapes);
    }
    let mut repeats: Vec<Shape> = Vec::new();
    for event in stage.events(0)? {
        let shape = stage.shape(&event);
        if script.repeats(&shape.tag) && !lacking(std::slice::from_ref(&shape), &repeats).is_empty()
        {
            repeats.push(shape.about(REPEATS));
        }
    }
    // They come in no order of their own.
    repeats.sort_by_key(|shape| (shape.tag.clone(), shape.data.to_string()));
    streams.insert(REPEATS.to_owned(), repeats);
    Ok(streams)
}

#[test]
fn our_bus_has_the_events_of_salts() -> Result<()> {
    let script = script()?;
    let salt = recorded::read(&at("salt-3008.5.json"))?;
    let mut known = recorded::read(&at("ours.json"))?;
    let expected = |name: &str, differs: bool| match differs {
        true => known.get(name).cloned().unwrap_or_default(),
        false => salt.get(name).cloned().unwrap_or_default(),
    };
    let differing: BTreeSet<&str> = script
        .actions
        .iter()
        .filter(|action| action.differs)
        .map(|action| action.name.as_str())
        .collect();
    let mut used = BTreeSet::new();
    let mut quiet = Quiet::default();
    let mut wrong = Vec::new();
    let ours = play(Kind::Ours, &script, &mut wrong, |name, shapes| {
        let differs = differing.contains(name);
        if updates() {
            return quiet.is_over(shapes.len());
        }
        let wanted = kept(&expected(name, differs), &script.rules, &RuleKind::OnlySalt);
        let found = kept(shapes, &script.rules, &RuleKind::OnlyOurs);
        lacking(&wanted.events, &found.events).is_empty()
    })?;
    for (name, shapes) in &ours {
        let differs = differing.contains(name.as_str());
        let Some(of_salt) = salt.get(name) else {
            wrong.push(format!("{name}: never recorded"));
            continue;
        };
        let wanted = kept(&expected(name, differs), &script.rules, &RuleKind::OnlySalt);
        let found = kept(shapes, &script.rules, &RuleKind::OnlyOurs);
        used.extend(wanted.used.iter().chain(&found.used).copied());
        if differs {
            let plain = kept(of_salt, &script.rules, &RuleKind::OnlySalt);
            if differences(&plain.events, &found.events).is_empty() {
                wrong.push(format!(
                    "{name}: as Salt's, although the script says otherwise"
                ));
            }
            if updates() {
                continue;
            }
        }
        // How often these come is not fixed: not at all, too.
        let is_all = name != REPEATS;
        let found_only = || lacking(&found.events, &wanted.events);
        let said = match is_all {
            true => differences(&wanted.events, &found.events),
            false => found_only()
                .iter()
                .map(|shape| format!("only ours: {} {}", shape.tag, shape.data))
                .collect(),
        };
        if !said.is_empty() {
            wrong.push(format!("{name}\n  {}", said.join("\n  ")));
        }
    }
    for (at, rule) in script.rules.iter().enumerate() {
        let is_used = match rule.kind {
            RuleKind::Repeats => [&ours, &salt].iter().any(|streams| {
                let mut shapes = streams.get(REPEATS).into_iter().flatten();
                shapes.any(|shape| rule.means(&shape.tag))
            }),
            _ => used.contains(&at),
        };
        if !is_used {
            wrong.push(format!("of no effect: @{}", rule.line));
        }
    }
    if updates() {
        known = ours;
        known.retain(|name, _| differing.contains(name.as_str()));
        recorded::write(&at("ours.json"), &known)?;
    }
    report(&wrong)
}

#[test]
#[ignore = "the long form: cargo xtask test --long"]
fn salts_bus_is_as_recorded() -> Result<()> {
    let script = script()?;
    let asked = match std::env::var("HALITE_EVENTS_RELEASE") {
        Ok(release) => Kind::of_release(&release)
            .with_context(|| format!("no release {release} in these tests"))?,
        Err(_) => Kind::Salt3008,
    };
    let mut quiet = Quiet::default();
    let mut wrong = Vec::new();
    let streams = play(asked, &script, &mut wrong, |_, shapes| {
        quiet.is_over(shapes.len())
    })?;
    let path = at("salt-3008.5.json");
    if updates() && asked == Kind::Salt3008 {
        recorded::write(&path, &streams)?;
        return report(&wrong);
    }
    let before = recorded::read(&path)?;
    for (name, shapes) in &streams {
        let known = before.get(name).cloned().unwrap_or_default();
        let known = kept(&known, &script.rules, &RuleKind::Nothing);
        let found = kept(shapes, &script.rules, &RuleKind::Nothing);
        let said = differences(&known.events, &found.events);
        if !said.is_empty() {
            wrong.push(format!("{name}\n  {}", said.join("\n  ")));
        }
    }
    report(&wrong)
}

/// Tells a silence.
#[derive(Default)]
struct Quiet {
    count: usize,
    since: Option<Instant>,
}

impl Quiet {
    /// Whether the same number of events has been there for a while.
    fn is_over(&mut self, count: usize) -> bool {
        match self.since {
            Some(since) if self.count == count => {
                let is_over = since.elapsed() > SILENCE;
                if is_over {
                    self.since = None;
                }
                is_over
            }
            _ => {
                self.count = count;
                self.since = Some(Instant::now());
                false
            }
        }
    }
}

fn report(wrong: &[String]) -> Result<()> {
    if wrong.is_empty() {
        return Ok(());
    }
    bail!("{} actions:\n{}", wrong.len(), wrong.join("\n"))
}

/// The tags in the first column of a table of the page about events, as
/// patterns.
fn tags_of_page(page: &str) -> Vec<String> {
    let of_masters = page
        .split("\n## ")
        .find(|part| part.starts_with("Of a master"));
    let rows = of_masters.unwrap_or_default().lines();
    rows.filter_map(|row| row.strip_prefix("| `")?.split_once('`'))
        .map(|(tag, _)| {
            let mut parts = tag.split('<');
            let first = parts.next().unwrap_or_default().to_owned();
            parts.fold(first, |glob, part| {
                glob + "*" + part.split_once('>').map_or("", |(_, rest)| rest)
            })
        })
        .collect()
}

/// What the script has not, other tests see: two machines with one key (`clones`
/// of the master), and files from git (`ours`).
const SEEN_ELSEWHERE: &[&str] = &["salt/minion/*/cloned", "salt/fileserver/gitfs/update"];

#[test]
fn the_page_of_events_is_about_what_was_seen() -> Result<()> {
    let root = halite_integration_tests::package_dir().join("..");
    let globs = tags_of_page(&fs::read_to_string(root.join("docs/events.md"))?);
    let files = ["salt-3008.5.json", "ours.json"];
    let mut seen = BTreeSet::new();
    for file in files {
        let streams = recorded::read(&at(file))?;
        seen.extend(streams.into_values().flatten().map(|shape| shape.tag));
    }
    for glob in globs
        .iter()
        .filter(|glob| !SEEN_ELSEWHERE.contains(&glob.as_str()))
    {
        let is_seen = seen.iter().any(|tag| is_meant(glob, tag));
        assert!(is_seen, "nothing was seen of {glob}");
    }
    // Salt's own, and what `my/..` stands for.
    let known = |tag: &String| {
        let others = ["my/*", "pre/*", "['pre*", "resource/*", "_salt_error"];
        let mut all = globs.iter().map(String::as_str).chain(others);
        all.any(|glob| is_meant(glob, tag))
    };
    let unknown: Vec<&String> = seen.iter().filter(|tag| !known(tag)).collect();
    assert!(unknown.is_empty(), "not on the page: {unknown:?}");
    assert!(globs.len() > 20, "{globs:?}");
    Ok(())
}

#[test]
fn the_script_is_as_long_as_it_claims() -> Result<()> {
    let count = script()?.actions.len();
    assert!(count >= ACTIONS_MIN, "{count} actions");
    Ok(())
}
