//! The options that minions take from their master.

use halite_fileserver::Backends;
use halite_proto::request::MasterOpts;
use halite_proto::{Map, Value};

use crate::files::Files;

/// Always given.
const ENVIRONMENT_OPTIONS: [(&str, Fallback); 3] = [
    ("top_file_merging_strategy", Fallback::Text("merge")),
    ("env_order", Fallback::List),
    ("default_top", Fallback::Text("base")),
];

/// Given besides, unless only those of the environments are asked for.
const STATE_OPTIONS: [(&str, Fallback); 12] = [
    ("renderer", Fallback::Text("jinja|yaml")),
    ("failhard", Fallback::Bool(false)),
    ("state_top", Fallback::Text("top.sls")),
    ("state_top_saltenv", Fallback::Nil),
    ("nodegroups", Fallback::Map),
    ("state_auto_order", Fallback::Bool(true)),
    ("state_events", Fallback::Bool(false)),
    ("state_aggregate", Fallback::Bool(false)),
    ("jinja_env", Fallback::Map),
    ("jinja_sls_env", Fallback::Map),
    ("jinja_lstrip_blocks", Fallback::Bool(false)),
    ("jinja_trim_blocks", Fallback::Bool(false)),
];

/// Salt's default of an option.
#[derive(Clone, Copy)]
enum Fallback {
    Nil,
    Bool(bool),
    Text(&'static str),
    List,
    Map,
}

impl Fallback {
    fn value(self) -> Value {
        match self {
            Self::Nil => Value::Nil,
            Self::Bool(value) => value.into(),
            Self::Text(text) => text.into(),
            Self::List => Value::List(Vec::new()),
            Self::Map => Map::new().into(),
        }
    }
}

/// The answer to `_master_opts`.
pub(super) fn master_opts(opts: &Map, files: &Files, request: MasterOpts) -> Map {
    let roots: Map = files
        .server
        .envs(&Backends::All)
        .into_iter()
        .map(|env| (env, Value::List(Vec::new())))
        .collect();
    let mut answer = Map::from([("file_roots", Value::from(roots))]);
    let options = ENVIRONMENT_OPTIONS.iter().chain(if request.env_only {
        &[][..]
    } else {
        &STATE_OPTIONS[..]
    });
    for (name, default) in options {
        let set = opts.get(name).cloned();
        answer.insert(*name, set.unwrap_or_else(|| default.value()));
    }
    answer
}
