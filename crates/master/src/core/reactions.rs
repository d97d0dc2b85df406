//! Reactions: which files an event calls for, and what their data asks for.
//!
//! Invariant: a reaction that cannot be understood is an error of its own and
//! stops no other one.

use halite_proto::{Map, Value};
use halite_target::glob::fnmatch;

/// Who acts in reactions. Events that come from them call for no reaction:
/// otherwise one could call for itself.
pub const USER: &str = "Reactor";

/// The option `reactor`: globs on tags, and the files they call for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rules(Vec<(String, Vec<String>)>);

impl Rules {
    /// Reads the option; what is no rule is left out.
    pub fn of(option: Option<&Value>) -> Self {
        let list = option.and_then(Value::as_list).unwrap_or_default();
        let texts = |files: &Value| match files {
            Value::Str(file) => vec![file.clone()],
            Value::List(files) => files
                .iter()
                .filter_map(|file| file.as_str().map(str::to_owned))
                .collect(),
            _ => Vec::new(),
        };
        let rules = list.iter().filter_map(Value::as_map).flatten();
        Self(
            rules
                .filter_map(|(tag, files)| Some((tag.as_str()?.to_owned(), texts(files))))
                .filter(|(_, files)| !files.is_empty())
                .collect(),
        )
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The files that an event calls for, each once.
    pub fn files_for(&self, tag: &str) -> Vec<&str> {
        let mut files = Vec::new();
        for (glob, of_rule) in &self.0 {
            if fnmatch(glob, tag) {
                for file in of_rule {
                    if !files.contains(&file.as_str()) {
                        files.push(file.as_str());
                    }
                }
            }
        }
        files
    }
}

/// Where a reaction runs.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// On minions.
    Local {
        /// Which.
        tgt: Value,
        /// How `tgt` is to be read.
        tgt_type: String,
        /// Returners.
        ret: String,
    },
    /// On the master: a runner.
    Runner,
    /// On the master: a wheel function.
    Wheel,
}

/// Something to do.
#[derive(Clone, Debug, PartialEq)]
pub struct Reaction {
    /// Its name in the file.
    pub id: String,
    /// Where.
    pub kind: Kind,
    /// The function.
    pub fun: String,
    /// Its arguments by position.
    pub args: Vec<Value>,
    /// Its arguments by name.
    pub kwargs: Map,
}

/// What a rendered file asks for, in its order.
pub fn reactions(high: &Value) -> Vec<Result<Reaction, String>> {
    let Some(high) = high.as_map() else {
        return vec![Err("it is no map of reactions".to_owned())];
    };
    let mut found = Vec::new();
    for (id, body) in high {
        let id = id.as_str().unwrap_or_default();
        if id.starts_with("__") {
            continue;
        }
        let Some(body) = body.as_map() else {
            found.push(Err(format!(
                "{id}: it is no map from a function to its arguments"
            )));
            continue;
        };
        for (name, chunk) in body {
            if let Some(name) = name.as_str().filter(|name| !name.starts_with("__")) {
                found.push(reaction(id, name, chunk).map_err(|why| format!("{id}: {why}")));
            }
        }
    }
    found
}

fn reaction(id: &str, name: &str, chunk: &Value) -> Result<Reaction, String> {
    let mut low = Map::new();
    let mut bare = None;
    let items = match chunk {
        Value::List(items) => items.as_slice(),
        Value::Map(_) => std::slice::from_ref(chunk),
        Value::Nil => &[],
        _ => return Err(format!("{name}: its arguments are no list")),
    };
    for item in items {
        match item {
            Value::Map(map) => low.extend(map.clone()),
            Value::Str(fun) => bare = Some(fun.clone()),
            _ => return Err(format!("{name}: an argument without a name")),
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
        "local" | "cmd" => Kind::Local {
            tgt_type: text(&mut low, ["tgt_type", "expr_form"])
                .unwrap_or_else(|| "glob".to_owned()),
            ret: text(&mut low, ["ret", "returner"]).unwrap_or_default(),
            tgt: low.remove("tgt").ok_or_else(|| format!("{name}: no tgt"))?,
        },
        "runner" => Kind::Runner,
        "wheel" => Kind::Wheel,
        "caller" => return Err(format!("{name}: callers react on minions, not on a master")),
        other => return Err(format!("{name}: there is no kind of reaction {other:?}")),
    };
    Ok(Reaction {
        id: id.to_owned(),
        kind,
        fun,
        args,
        kwargs,
    })
}

/// Names that are no arguments of a runner or wheel function.
const RESERVED: [&str; 5] = ["tgt", "tgt_type", "expr_form", "ret", "returner"];

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
                        other => args.push(other),
                    }
                }
                Ok((args, kwargs))
            }
            Value::Nil => Ok((Vec::new(), Map::new())),
            _ => Err("`args` is neither a list nor a map".to_owned()),
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

    fn read(text: &str) -> Vec<Result<Reaction, String>> {
        reactions(&yaml(text))
    }

    #[test]
    fn events_call_for_files_by_their_tags() {
        let rules = Rules::of(Some(&yaml(
            "- 'salt/minion/*/start': [/a.sls, /b.sls]\n- 'salt/*': /b.sls\n- my/tag: []\n",
        )));
        assert_eq!(
            rules.files_for("salt/minion/web1/start"),
            ["/a.sls", "/b.sls"]
        );
        assert_eq!(rules.files_for("salt/auth"), ["/b.sls"]);
        assert!(rules.files_for("my/tag").is_empty());
        assert!(Rules::of(None).is_empty());
        assert!(Rules::of(Some(&5.into())).is_empty());
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
        let Kind::Local { tgt, tgt_type, .. } = reaction.kind else {
            panic!("no command");
        };
        assert_eq!((tgt, tgt_type.as_str()), ("web*".into(), "glob"));
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
            assert_eq!(reaction.kind, Kind::Runner, "{text}");
            assert_eq!(reaction.kwargs, Map::from([("tag", "my/tag")]), "{text}");
        }
        let wheel = read("x:\n  wheel.key.accept:\n    - args:\n      - match: web1\n");
        assert_eq!(wheel[0].clone().unwrap().kind, Kind::Wheel);
    }

    #[test]
    fn one_that_is_not_understood_stops_no_other() {
        let found = read("a:\n  caller.x.y: []\nb:\n  local.x.y: []\nc: 5\nd:\n  wheel.x.y: []\n");
        assert_eq!(found.len(), 4);
        assert!(found[..3].iter().all(Result::is_err));
        assert!(found[3].is_ok());
        assert!(reactions(&5.into())[0].is_err());
    }
}
