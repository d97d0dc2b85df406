//! Reactions: the commands in the data of a reactor file.
//!
//! Invariant: a reaction that cannot be parsed is an error of its own and stops no
//! other one.

use halite_proto::{Jid, Map, Value};

/// The user of reactions on the master. Events that it causes trigger no reaction,
/// because one could otherwise trigger itself.
pub const USER: &str = "Reactor";

/// The line, from 1, on which a reaction of that name begins in a file.
pub fn line_of(text: &str, id: &str) -> Option<usize> {
    let names_it = |line: &str| {
        let Some((name, rest)) = line.rsplit_once(':') else {
            return false;
        };
        let rest = rest.trim();
        name.trim().trim_matches(['"', '\'']) == id && (rest.is_empty() || rest.starts_with('#'))
    };
    text.lines()
        .position(|line| !line.starts_with([' ', '\t']) && names_it(line))
        .map(|at| at + 1)
}

/// Where a reaction runs.
#[derive(Clone, Debug, PartialEq)]
pub enum ReactionKind {
    /// On minions.
    Local(LocalCommand),
    /// On the master: a runner.
    Runner,
    /// On the master: a wheel function.
    Wheel,
    /// On the master: a function that minions have.
    Caller,
}

/// A command for minions: all but its function and arguments.
#[derive(Clone, Debug, PartialEq)]
pub struct LocalCommand {
    /// Which minions.
    pub tgt: Value,
    /// How `tgt` is to be read.
    pub tgt_type: String,
    /// Returners.
    pub ret: String,
    /// The job id, if it is to have that one.
    pub jid: Option<Jid>,
    /// What goes with the command beside its arguments.
    pub extra: Map,
}

/// Something to do.
#[derive(Clone, Debug, PartialEq)]
pub struct Reaction {
    /// Its name in the file.
    pub id: String,
    /// Where.
    pub kind: ReactionKind,
    /// The function.
    pub fun: String,
    /// Its arguments by position.
    pub args: Vec<Value>,
    /// Its arguments by name.
    pub kwargs: Map,
}

/// A reaction that is not understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// Its name in the file; empty if it has none.
    pub id: String,
    /// The reason.
    pub why: String,
}

/// The reactions in a rendered file: those with an `order` first, then by name, as in
/// Salt.
pub fn reactions(high: &Value) -> Vec<Result<Reaction, Broken>> {
    let Some(high) = high.as_map() else {
        return vec![Err(Broken {
            id: String::new(),
            why: "a map of reactions is expected".to_owned(),
        })];
    };
    let mut found = Vec::new();
    for (id, body) in high {
        let id = id.as_str().unwrap_or_default();
        if id.starts_with("__") {
            continue;
        }
        let entries: Vec<(&Value, &Value)> = match body {
            Value::Map(body) => body.iter().collect(),
            Value::Str(fun) if fun.contains('.') => vec![(body, &Value::Nil)],
            _ => {
                let why =
                    "expected a function or a map from a function to its arguments".to_owned();
                let id = id.to_owned();
                found.push(((0, String::new()), Err(Broken { id, why })));
                continue;
            }
        };
        for (name, chunk) in entries {
            if let Some(name) = name.as_str().filter(|name| !name.starts_with("__")) {
                let reaction = reaction(id, name, chunk).map_err(|why| Broken {
                    id: id.to_owned(),
                    why,
                });
                found.push((rank(id, name, chunk), reaction));
            }
        }
    }
    found.sort_by(|(one, _), (other, _)| one.cmp(other));
    found.into_iter().map(|(_, reaction)| reaction).collect()
}

fn reaction(id: &str, name: &str, chunk: &Value) -> Result<Reaction, String> {
    let mut low = Map::new();
    let mut bare = None;
    let items = match chunk {
        Value::List(items) => items.as_slice(),
        Value::Map(_) => std::slice::from_ref(chunk),
        Value::Nil => &[],
        _ => return Err(format!("{name}: the arguments must be a list")),
    };
    for item in items {
        match item {
            Value::Map(map) => low.extend(map.clone()),
            Value::Str(fun) => bare = Some(fun.clone()),
            _ => return Err(format!("{name}: an argument has no name")),
        }
    }
    let (state, fun) = match (name.split_once('.'), bare) {
        (Some((state, fun)), _) => (state, fun.to_owned()),
        (None, Some(fun)) => (name, fun),
        (None, None) => return Err(format!("{name}: no function")),
    };
    let (args, kwargs) = arguments(&mut low, state)?;
    let text = |low: &mut Map, names: [&str; 2]| {
        let value = names.iter().find_map(|name| low.remove(name));
        value.and_then(|value| value.as_str().map(str::to_owned))
    };
    let kind = match state {
        "local" | "cmd" => ReactionKind::Local(LocalCommand {
            tgt_type: text(&mut low, ["tgt_type", "expr_form"])
                .unwrap_or_else(|| "glob".to_owned()),
            ret: text(&mut low, ["ret", "returner"]).unwrap_or_default(),
            jid: job_id(&mut low).map_err(|why| format!("{name}: {why}"))?,
            extra: OF_COMMANDS
                .iter()
                .filter_map(|name| Some((Value::from(*name), low.remove(name)?)))
                .collect(),
            tgt: low.remove("tgt").ok_or_else(|| format!("{name}: no tgt"))?,
        }),
        "runner" => ReactionKind::Runner,
        "wheel" => ReactionKind::Wheel,
        "caller" => ReactionKind::Caller,
        other => return Err(format!("{name}: unknown kind of reaction {other:?}")),
    };
    Ok(Reaction {
        id: id.to_owned(),
        kind,
        fun,
        args,
        kwargs,
    })
}

fn job_id(low: &mut Map) -> Result<Option<Jid>, String> {
    match low.remove("jid") {
        None | Some(Value::Nil) => Ok(None),
        Some(Value::Str(jid)) if jid.is_empty() => Ok(None),
        Some(jid) => {
            let jid = halite_proto::python::str(&jid);
            Jid::parse(&jid)
                .map(Some)
                .map_err(|_| format!("{jid:?} is not a job id"))
        }
    }
}

/// The order of a reaction in its file: by its `order`, which may be negative to come
/// last, otherwise by its names.
fn rank(id: &str, name: &str, chunk: &Value) -> (i64, String) {
    // Where those are that say nothing, and where `last` is.
    const NOTHING: i64 = 1 << 40;
    const LAST: i64 = 1 << 50;
    let items = chunk.as_list().unwrap_or_default();
    let given = |key: &str| items.iter().find_map(|item| item.get(key));
    let order = match given("order") {
        Some(Value::Str(word)) if word == "first" => 0,
        Some(Value::Str(word)) if word == "last" => LAST,
        Some(value) => match value.as_i64() {
            Some(order) if order < 0 => LAST.saturating_add(order),
            Some(order) => order.min(NOTHING),
            None => NOTHING,
        },
        None => NOTHING,
    };
    let called = given("name").and_then(Value::as_str).unwrap_or(id);
    let (state, fun) = name.split_once('.').unwrap_or((name, ""));
    (order, format!("{state}{called}{fun}"))
}

/// The further fields of a command's publication.
const OF_COMMANDS: [&str; 2] = ["metadata", "delimiter"];

/// Names that are not arguments of a runner or wheel function.
const RESERVED: [&str; 6] = ["tgt", "tgt_type", "expr_form", "ret", "returner", "order"];

/// The arguments: under `args`, or in the older forms.
fn arguments(low: &mut Map, state: &str) -> Result<(Vec<Value>, Map), String> {
    if let Some(given) = low.remove("args") {
        return match given {
            Value::Map(kwargs) => Ok((Vec::new(), kwargs)),
            Value::List(items) => {
                let (mut args, mut kwargs) = (Vec::new(), Map::new());
                for item in items {
                    match item {
                        Value::Map(map) if map.len() == 1 => kwargs.extend(map),
                        // Two arguments by name, or one that is a map: who
                        // wrote it may have meant either.
                        Value::Map(_) => {
                            return Err(
                                "a map in the list `args` must have exactly one entry".to_owned()
                            );
                        }
                        other => args.push(other),
                    }
                }
                Ok((args, kwargs))
            }
            Value::Nil => Ok((Vec::new(), Map::new())),
            _ => Err("`args` must be a list or a map".to_owned()),
        };
    }
    let args = match low.remove("arg") {
        Some(Value::List(items)) => items,
        None | Some(Value::Nil) => Vec::new(),
        Some(one) => vec![one],
    };
    let mut kwargs = match low.remove("kwarg") {
        Some(Value::Map(kwargs)) => kwargs,
        _ => Map::new(),
    };
    if state != "local" && state != "cmd" {
        for (name, value) in low.iter() {
            if !name.as_str().is_some_and(|name| RESERVED.contains(&name)) {
                kwargs.insert(name.clone(), value.clone());
            }
        }
    }
    Ok((args, kwargs))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn yaml(text: &str) -> Value {
        halite_yaml::load(text, "test").unwrap().into_value()
    }

    fn read(text: &str) -> Vec<Result<Reaction, Broken>> {
        reactions(&yaml(text))
    }

    #[test]
    fn a_reaction_is_found_in_its_file() {
        let text = "# greet:\ngreet:   # hello\n  local.test.ping: []\n'bye now':\n  x: y\n";
        assert_eq!(line_of(text, "greet"), Some(2));
        assert_eq!(line_of(text, "bye now"), Some(4));
        assert_eq!(line_of(text, "x"), None);
    }

    #[test]
    fn commands_for_minions_have_targets_and_arguments() {
        let found = read(
            "greet:\n  local.cmd.run:\n    - tgt: 'web*'\n    - args:\n      - cmd: id\n      - 7\n",
        );
        let reaction = found[0].clone().unwrap();
        assert_eq!(reaction.fun, "cmd.run");
        assert_eq!(reaction.args, [Value::from(7)]);
        assert_eq!(reaction.kwargs, Map::from([("cmd", "id")]));
        let ReactionKind::Local(command) = reaction.kind else {
            panic!("no command");
        };
        assert_eq!(
            (command.tgt, command.tgt_type.as_str()),
            ("web*".into(), "glob")
        );
        let old = read("x:\n  cmd.test.arg:\n    - tgt: a\n    - arg: [1]\n    - kwarg: {b: 2}\n");
        let reaction = old[0].clone().unwrap();
        assert_eq!(
            (reaction.args, reaction.kwargs),
            (vec![1.into()], Map::from([("b", 2)]))
        );
    }

    #[test]
    fn functions_of_the_master_take_their_arguments_in_both_forms() {
        for text in [
            "x:\n  runner.event.send:\n    - args:\n        tag: my/tag\n",
            "x:\n  runner.event.send:\n    - args:\n      - tag: my/tag\n",
            "x:\n  runner.event.send:\n    - tag: my/tag\n",
            "x:\n  runner:\n    - event.send\n    - tag: my/tag\n",
        ] {
            let reaction = read(text)[0].clone().unwrap();
            assert_eq!(reaction.fun, "event.send", "{text}");
            assert_eq!(reaction.kind, ReactionKind::Runner, "{text}");
            assert_eq!(reaction.kwargs, Map::from([("tag", "my/tag")]), "{text}");
        }
        let wheel = read("x:\n  wheel.key.accept:\n    - args:\n      - match: web1\n");
        assert_eq!(wheel[0].clone().unwrap().kind, ReactionKind::Wheel);
        let caller = read("x:\n  caller.file.touch:\n    - args: [/tmp/x]\n");
        let caller = caller[0].clone().unwrap();
        assert_eq!(
            (caller.kind, caller.args),
            (ReactionKind::Caller, vec!["/tmp/x".into()])
        );
    }

    #[test]
    fn a_function_without_arguments_may_stand_alone() {
        let found = read("update:\n  runner.fileserver.update\n");
        let reaction = found[0].clone().unwrap();
        assert_eq!(reaction.kind, ReactionKind::Runner);
        assert_eq!(
            (reaction.id.as_str(), reaction.fun.as_str()),
            ("update", "fileserver.update")
        );
        assert!(reaction.args.is_empty() && reaction.kwargs.is_empty());
        assert!(read("x: runner\n")[0].is_err(), "Salt wants a point too");
        assert!(read("x: local.test.ping\n")[0].is_err(), "no target");
    }

    #[test]
    fn reactions_have_an_order() {
        let ids = |text: &str| -> Vec<String> {
            let found = read(text).into_iter();
            found.map(|reaction| reaction.unwrap().id).collect()
        };
        let one = |id: &str, order: &str| format!("{id}:\n  runner.test.arg:\n    - x: 1\n{order}");
        assert_eq!(ids(&(one("z", "") + &one("a", ""))), ["a", "z"]);
        let order = |order: &str| format!("    - order: {order}\n");
        assert_eq!(
            ids(&(one("a", &order("last"))
                + &one("b", &order("-1"))
                + &one("c", "")
                + &one("d", &order("2"))
                + &one("e", &order("1")))),
            ["e", "d", "c", "b", "a"]
        );
    }

    #[test]
    fn commands_carry_metadata_and_a_job_id() {
        let text = "x:\n  local.test.ping:\n    - tgt: a\n    - metadata: {b: 2}\n    - jid: ";
        let found = |jid: &str| read(&format!("{text}'{jid}'\n"))[0].clone();
        let ReactionKind::Local(command) = found("20200101010101010101").unwrap().kind else {
            panic!("no command");
        };
        assert_eq!(command.jid.unwrap().as_str(), "20200101010101010101");
        assert_eq!(
            command.extra,
            Map::from([("metadata", Map::from([("b", 2)]))])
        );
        assert!(found("x/../y").is_err() && found("").is_ok());
    }

    #[test]
    fn two_names_in_one_argument_are_refused() {
        let found = read("x:\n  local.test.arg:\n    - tgt: a\n    - args: [{a: 1, b: 2}]\n");
        assert_eq!(
            found[0].clone().unwrap_err().why,
            "a map in the list `args` must have exactly one entry"
        );
    }

    #[test]
    fn one_that_is_not_understood_stops_no_other() {
        let found = read("a:\n  cloud.x.y: []\nb:\n  local.x.y: []\nc: 5\nd:\n  wheel.x.y: []\n");
        assert_eq!(found.len(), 4);
        assert_eq!(found.iter().filter(|reaction| reaction.is_err()).count(), 3);
        assert!(reactions(&5.into())[0].is_err());
    }
}
