//! The actions of a file, and what is known of how the streams differ.
//!
//! ```text
//! # a comment
//! @repeats GLOB why           how often it comes is not fixed
//! @only-salt GLOB why         events that ours does not fire
//! @only-ours GLOB why         events that Salt does not fire
//! @key GLOB KEY why           a key of the data that is not compared
//! == the name of an action
//! start web1                  a minion is started; also `stop`, `rekey`
//! put srv/a.txt text          a file of the master is written
//! salt '*' test.ping          a command; `{jid}` is the last job's
//! until salt/job/*/ret/*      waits for an event of this action; `x2` for two
//! differs: why                this action's events are ours, recorded beside
//! alike: web1 web2            who of them comes first is chance
//! chance: GLOB                events that real Salt fires or not, as it happens
//! ```

use anyhow::{Context, Result, bail};
use halite_integration_tests::commands::words;
use halite_integration_tests::{Kind, Program};

use crate::alike::canonical;
use crate::shape::Shape;

/// A way in which streams may differ.
#[derive(Debug)]
pub(crate) struct Rule {
    pub(crate) kind: RuleKind,
    pub(crate) glob: String,
    /// The line, for messages.
    pub(crate) line: String,
}

impl Rule {
    /// Whether it is about an event with that tag.
    pub(crate) fn means(&self, tag: &str) -> bool {
        is_meant(&self.glob, tag)
    }
}

/// What may differ.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum RuleKind {
    Repeats,
    OnlySalt,
    OnlyOurs,
    Key(String),
    /// None: for streams of which nothing is left out.
    Nothing,
}

/// Something that is done, or waited for.
#[derive(Debug)]
pub(crate) enum Step {
    Start(String),
    Stop(String),
    Rekey(String),
    Put { path: String, text: String },
    Run { program: Program, args: Vec<String> },
    Until { glob: String, count: usize },
}

/// Steps whose events belong together.
#[derive(Debug, Default)]
pub(crate) struct Action {
    pub(crate) name: String,
    pub(crate) steps: Vec<Step>,
    pub(crate) differs: bool,
    pub(crate) alike: Option<(String, String)>,
    pub(crate) chance: Option<String>,
}

impl Action {
    /// A stream of this action in the form that is compared.
    pub(crate) fn canonical(&self, kind: Kind, mut shapes: Vec<Shape>) -> Vec<Shape> {
        if let Some(glob) = &self.chance
            && kind != Kind::Ours
        {
            shapes.retain(|shape| !is_meant(glob, &shape.tag));
        }
        match &self.alike {
            Some(pair) => canonical(shapes, pair),
            None => shapes,
        }
    }
}

/// A file.
#[derive(Debug, Default)]
pub(crate) struct Script {
    pub(crate) rules: Vec<Rule>,
    pub(crate) actions: Vec<Action>,
}

impl Script {
    /// Reads the text of a file.
    pub(crate) fn read(text: &str) -> Result<Self> {
        let mut script = Self::default();
        for line in text.lines().map(str::trim) {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            script
                .add(line)
                .with_context(|| format!("in the line: {line}"))?;
        }
        Ok(script)
    }

    /// Whether it is not fixed how often an event comes.
    pub(crate) fn repeats(&self, tag: &str) -> bool {
        let mut rules = self.rules.iter();
        rules.any(|rule| rule.kind == RuleKind::Repeats && rule.means(tag))
    }

    fn add(&mut self, line: &str) -> Result<()> {
        if let Some(rule) = line.strip_prefix('@') {
            self.rules.push(self::rule(rule)?);
            return Ok(());
        }
        if let Some(name) = line.strip_prefix("== ") {
            if self.actions.iter().any(|action| action.name == name) {
                bail!("a second action of that name");
            }
            self.actions.push(Action {
                name: name.to_owned(),
                ..Action::default()
            });
            return Ok(());
        }
        let action = self.actions.last_mut().context("before the first action")?;
        if let Some(why) = line.strip_prefix("differs:") {
            if why.trim().is_empty() {
                bail!("without a reason");
            }
            action.differs = true;
            return Ok(());
        }
        if let Some(pair) = line.strip_prefix("alike:") {
            let (one, other) = pair.trim().split_once(' ').context("not two")?;
            action.alike = Some((one.to_owned(), other.to_owned()));
            return Ok(());
        }
        if let Some(glob) = line.strip_prefix("chance:") {
            action.chance = Some(glob.trim().to_owned());
            return Ok(());
        }
        action.steps.push(step(line)?);
        Ok(())
    }
}

fn rule(line: &str) -> Result<Rule> {
    let mut words = line.split_whitespace();
    let kind = words.next().unwrap_or_default();
    let glob = words.next().context("no tag")?.to_owned();
    let kind = match kind {
        "repeats" => RuleKind::Repeats,
        "only-salt" => RuleKind::OnlySalt,
        "only-ours" => RuleKind::OnlyOurs,
        "key" => RuleKind::Key(words.next().context("no key")?.to_owned()),
        _ => bail!("no such rule"),
    };
    words.next().context("no reason")?;
    Ok(Rule {
        kind,
        glob,
        line: line.to_owned(),
    })
}

fn step(line: &str) -> Result<Step> {
    let (first, rest) = line.split_once(' ').context("a word alone")?;
    Ok(match first {
        "start" => Step::Start(rest.to_owned()),
        "stop" => Step::Stop(rest.to_owned()),
        "rekey" => Step::Rekey(rest.to_owned()),
        "put" => {
            let (path, text) = rest.split_once(' ').context("no text")?;
            let (path, text) = (path.to_owned(), text.to_owned());
            Step::Put { path, text }
        }
        "until" => {
            let (glob, count) = match rest.split_once(" x") {
                Some((glob, count)) => (glob, count.parse()?),
                None => (rest, 1),
            };
            let glob = glob.to_owned();
            Step::Until { glob, count }
        }
        _ => {
            let mut args = words(line)?;
            let name = args.remove(0);
            let programs = [
                Program::Salt,
                Program::Key,
                Program::Run,
                Program::Call,
                Program::Cp,
            ];
            let program = programs
                .into_iter()
                .find(|program| program.name() == name)
                .context("no such program")?;
            Step::Run { program, args }
        }
    })
}

/// Whether a tag is meant by a pattern in which `*` is any text.
pub(crate) fn is_meant(glob: &str, tag: &str) -> bool {
    let mut parts = glob.split('*');
    let Some(mut rest) = parts.next().and_then(|first| tag.strip_prefix(first)) else {
        return false;
    };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else {
        return rest.is_empty();
    };
    for part in parts {
        match rest.split_once(part) {
            Some((_, after)) => rest = after,
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[test]
fn globs_mean_tags() {
    for (glob, tag, expect) in [
        ("salt/job/*/ret/*", "salt/job/1/ret/web1", true),
        ("salt/job/*/ret/*", "salt/job/1/new", false),
        ("salt/key", "salt/key", true),
        ("salt/key", "salt/key/x", false),
        ("*", "a", true),
    ] {
        assert_eq!(is_meant(glob, tag), expect, "{glob} {tag}");
    }
}
