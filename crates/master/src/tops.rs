//! `master_tops`: what programs say which states a minion has.
//!
//! Mirrors `salt/tops/ext_nodes.py` (3008.5). Invariant: the id that a program
//! is asked about is the one that the minion has proven, as one word of its own.

use std::time::Duration;

use halite_modules::{Cancel, Job, run_function, shlex};
use halite_proto::{Map, MinionId, Value};

use crate::error::chain;
use crate::master::Master;
use crate::time_limit::TimeLimit;

/// How long a program may take.
const COMMAND_TIME_MAX: Duration = Duration::from_secs(60);

/// The environment of a node that names none.
const ENVIRONMENT: &str = "base";

/// The programs that are configured.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tops {
    /// The words of the command of `ext_nodes`.
    ext_nodes: Option<Vec<String>>,
}

impl Tops {
    /// Reads `master_tops`.
    ///
    /// # Errors
    /// When a command is none.
    pub(crate) fn read(tops: &Map) -> Result<Self, String> {
        let Some(command) = tops.get("ext_nodes").and_then(Value::as_str) else {
            return Ok(Self::default());
        };
        let words = shlex::split(command).map_err(|error| format!("ext_nodes: {error}"))?;
        match words.is_empty() {
            true => Err("ext_nodes: there is no command".to_owned()),
            false => Ok(Self {
                ext_nodes: Some(words),
            }),
        }
    }

    /// Whether there is nobody to ask.
    pub(crate) fn is_empty(&self) -> bool {
        self.ext_nodes.is_none()
    }
}

/// The states of a minion by environment; none where the program fails, which
/// is in the log. Blocks.
pub(crate) fn of(master: &Master, id: &MinionId) -> Map {
    let Some(command) = &master.settings.tops.ext_nodes else {
        return Map::new();
    };
    let said = run(master, command, id).and_then(|output| {
        let node = halite_yaml::load(&output, "ext_nodes").map_err(|error| chain(&error))?;
        Ok(node.into_value())
    });
    match said {
        Ok(node) => states(&node),
        Err(why) => {
            tracing::error!(minion = %id, "ext_nodes: {why}");
            Map::new()
        }
    }
}

fn run(master: &Master, command: &[String], id: &MinionId) -> Result<String, String> {
    let words = command.iter().map(String::as_str).chain([id.as_str()]);
    let asked = Map::from([
        ("__kwarg__", Value::from(true)),
        ("cmd", Value::List(words.map(Value::from).collect())),
        ("python_shell", false.into()),
        ("reset_system_locale", false.into()),
        ("output_loglevel", "quiet".into()),
        ("ignore_retcode", true.into()),
        ("stdin", "".into()),
    ]);
    let cancel = Cancel::default();
    let _limit = TimeLimit::start(master, cancel.clone(), COMMAND_TIME_MAX, "ext_nodes");
    let job = Job {
        cancel,
        ..Job::default()
    };
    let outcome = run_function(master.pillars.house(), "cmd.run_all", &[asked.into()], &job);
    if outcome.failure.is_some() {
        return Err(halite_output::python::str(&outcome.ret));
    }
    let text = |name: &str| outcome.ret.get(name).and_then(Value::as_str);
    match outcome.ret.get("retcode").and_then(Value::as_i64) {
        Some(0) => Ok(text("stdout").unwrap_or_default().to_owned()),
        code => {
            let told = text("stderr").unwrap_or_default();
            let last = told.lines().last().unwrap_or_default();
            Err(format!(
                "the command has ended with {}: {last}",
                code.map_or_else(|| "no code".to_owned(), |code| code.to_string())
            ))
        }
    }
}

/// What a node's description says: its classes are states.
fn states(node: &Value) -> Map {
    let environment = match node.get("environment") {
        None => ENVIRONMENT.into(),
        Some(environment) => environment.clone(),
    };
    let classes = match node.get("classes") {
        Some(Value::List(classes)) => classes.clone(),
        // With the parameters of each, which Salt does not use.
        Some(Value::Map(classes)) => classes.keys().cloned().collect(),
        _ => return Map::new(),
    };
    std::iter::once((environment, Value::List(classes))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str) -> Map {
        states(&halite_yaml::load(text, "test").unwrap().into_value())
    }

    fn one(environment: &str, states: &[&str]) -> Map {
        let states = states.iter().map(|state| Value::from(*state)).collect();
        Map::from([(environment, Value::List(states))])
    }

    #[test]
    fn classes_are_states() {
        assert_eq!(said("classes: [web, db]"), one("base", &["web", "db"]));
        assert_eq!(
            said("classes:\n  web: {port: 80}\n  db:\nenvironment: prod\nparameters: {a: 1}"),
            one("prod", &["web", "db"])
        );
        for nothing in ["", "[]", "classes: web", "environment: prod", "text"] {
            assert_eq!(said(nothing), Map::new(), "{nothing:?}");
        }
    }

    #[test]
    fn a_command_is_words() {
        let read = |command: &str| Tops::read(&Map::from([("ext_nodes", command)]));
        let words = |words: &[&str]| Tops {
            ext_nodes: Some(words.iter().map(|word| (*word).to_owned()).collect()),
        };
        assert_eq!(
            read("/usr/bin/enc -c '/etc/my enc'"),
            Ok(words(&["/usr/bin/enc", "-c", "/etc/my enc"]))
        );
        assert!(read("/bin/enc 'open").is_err());
        assert!(read("  ").is_err());
        assert!(Tops::read(&Map::new()).is_ok_and(|tops| tops.is_empty()));
    }
}
