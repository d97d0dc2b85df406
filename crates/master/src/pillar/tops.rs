//! `master_tops`: programs and modules in Python that say which states a minion
//! has.
//!
//! Mirrors `salt/tops/ext_nodes.py` (3008.5). Invariant: they are asked about the
//! id that the minion has proven, and a program gets it as one word.

use std::time::Duration;

use halite_call::{
    Cancel, Job, TimeLimit,
    extensions::{ExtensionKind, plugin},
    run_function, run_plugin, shlex, within_call,
};
use halite_proto::{Map, MinionId, Value};
use halite_store::Bank;

use crate::error::chain;
use crate::fleet::Fleet;
use crate::functions::Functions;

/// How long a program may take.
const COMMAND_TIME_MAX: Duration = Duration::from_secs(60);

/// The one that needs no Python.
const EXT_NODES: &str = "ext_nodes";

/// The environment of a node that names none.
const ENVIRONMENT: &str = "base";

/// The programs that are configured.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tops {
    /// The words of the command of `ext_nodes`.
    ext_nodes: Option<Vec<String>>,
    /// Modules in Python: users' (`_tops`), or those of an installed Salt.
    modules: Vec<String>,
}

impl Tops {
    /// Reads `master_tops`.
    ///
    /// # Errors
    /// When a command is none.
    pub(crate) fn read(tops: &Map) -> Result<Self, String> {
        let names = tops.keys().filter_map(Value::as_str);
        let modules = names
            .filter(|name| *name != "ext_nodes")
            .map(str::to_owned)
            .collect();
        let Some(command) = tops.get("ext_nodes").and_then(Value::as_str) else {
            return Ok(Self {
                ext_nodes: None,
                modules,
            });
        };
        let words = shlex::split(command).map_err(|error| format!("ext_nodes: {error}"))?;
        match words.is_empty() {
            true => Err("ext_nodes: the command is empty".to_owned()),
            false => Ok(Self {
                ext_nodes: Some(words),
                modules,
            }),
        }
    }

    /// Whether there is nobody to ask.
    pub(crate) fn is_empty(&self) -> bool {
        self.ext_nodes.is_none() && self.modules.is_empty()
    }
}

impl Tops {
    /// The states of a minion by environment. A top that fails adds none, and is
    /// logged. Blocks.
    pub(crate) fn states_of(&self, id: &MinionId, functions: &Functions, fleet: &Fleet) -> Map {
        let mut all = Map::new();
        // By name, as Salt asks them.
        let mut names: Vec<&str> = self.modules.iter().map(String::as_str).collect();
        names.extend(self.ext_nodes.is_some().then_some(EXT_NODES));
        names.sort_unstable();
        for name in names {
            let states = match &self.ext_nodes {
                Some(command) if name == EXT_NODES => Ok(of_program(functions, command, id)),
                _ => in_python(functions, fleet, name, id),
            };
            match states {
                Ok(states) => add(&mut all, states),
                Err(why) => tracing::error!(minion = %id, "master_tops: {name}: {why}"),
            }
        }
        all
    }
}

/// What `top` of a module says.
fn in_python(
    functions: &Functions,
    fleet: &Fleet,
    name: &str,
    id: &MinionId,
) -> Result<Map, String> {
    let context = functions.context();
    let Some(function) = plugin(context, ExtensionKind::Tops, &format!("{name}.top")) else {
        let why = "no such master top, neither built in nor in Python (`salt-run \
                   saltutil.sync_tops` fetches those of `_tops`)";
        return Err(why.to_owned());
    };
    let grains = fleet.data.get(Bank::Grains, id);
    let grains = grains.ok().flatten().unwrap_or_default();
    let opts = Map::from([
        ("id", Value::from(id.as_str())),
        ("grains", grains.clone().into()),
    ]);
    let kwargs = Map::from([("opts", opts), ("grains", grains)]);
    let cancel = Cancel::default();
    let _limit = TimeLimit::start(cancel.clone(), COMMAND_TIME_MAX, "a master top");
    let job = Job {
        cancel,
        ..Job::default()
    };
    let said = within_call(context, &job, |call| {
        run_plugin(call, function, Vec::new(), kwargs).map_err(|error| chain(&error))
    })?;
    match said {
        Value::Map(states) => Ok(states),
        said if !said.is_true() => Ok(Map::new()),
        said => Err(format!(
            "it returned a {} instead of a map",
            said.type_name()
        )),
    }
}

/// States of one top behind those of others, each once.
fn add(all: &mut Map, states: Map) {
    for (env, more) in states {
        let known = env.as_str().and_then(|env| all.get_mut(env));
        match (known, more) {
            (Some(Value::List(known)), Value::List(more)) => {
                for state in more {
                    if !known.contains(&state) {
                        known.push(state);
                    }
                }
            }
            (_, more) => {
                all.insert(env, more);
            }
        }
    }
}

fn of_program(functions: &Functions, command: &[String], id: &MinionId) -> Map {
    let said = run(functions, command, id).and_then(|output| {
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

fn run(functions: &Functions, command: &[String], id: &MinionId) -> Result<String, String> {
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
    let _limit = TimeLimit::start(cancel.clone(), COMMAND_TIME_MAX, "ext_nodes");
    let job = Job {
        cancel,
        ..Job::default()
    };
    let outcome = run_function(functions.context(), "cmd.run_all", &[asked.into()], &job);
    if outcome.failure.is_some() {
        return Err(halite_proto::python::str(&outcome.ret));
    }
    let text = |name: &str| outcome.ret.get(name).and_then(Value::as_str);
    match outcome.ret.get("retcode").and_then(Value::as_i64) {
        Some(0) => Ok(text("stdout").unwrap_or_default().to_owned()),
        code => {
            let told = text("stderr").unwrap_or_default();
            let last = told.lines().last().unwrap_or_default();
            Err(format!(
                "the command ended with {}: {last}",
                code.map_or_else(|| "no code".to_owned(), |code| code.to_string())
            ))
        }
    }
}

/// The states in a node's description: its classes.
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
    fn states_of_several_tops_are_in_one_list() {
        let mut all = one("base", &["web", "db"]);
        add(&mut all, one("base", &["db", "log"]));
        add(&mut all, one("prod", &["web"]));
        let mut wanted = one("base", &["web", "db", "log"]);
        wanted.extend(one("prod", &["web"]));
        assert_eq!(all, wanted);
    }

    #[test]
    fn a_command_is_words() {
        let read = |command: &str| Tops::read(&Map::from([("ext_nodes", command)]));
        let words = |words: &[&str]| Tops {
            ext_nodes: Some(words.iter().map(|word| (*word).to_owned()).collect()),
            modules: Vec::new(),
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
