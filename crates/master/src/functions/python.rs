//! What custom Python modules of the master (runners, wheel) have in common.

use halite_proto::{Jid, Map, Value};

/// A function of a file.
pub(crate) struct UsersFunction {
    pub(crate) name: String,
    pub(crate) python_name: String,
    pub(crate) signature: String,
    pub(crate) doc: String,
}

/// The functions in what the worker lists of files of a kind.
pub(crate) fn listed_functions(listed: &Value) -> Vec<UsersFunction> {
    let mut all = Vec::new();
    for module in listed.as_list().unwrap_or_default() {
        let name = module
            .get("name")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let functions = module.get("functions").and_then(Value::as_map);
        for (function, about) in functions.into_iter().flatten() {
            let text = |key: &str| {
                let text = about.get(key).map(halite_proto::python::str);
                text.unwrap_or_default()
            };
            all.push(UsersFunction {
                name: format!("{name}.{}", halite_proto::python::str(function)),
                python_name: text("python"),
                signature: text("signature"),
                doc: text("doc"),
            });
        }
    }
    all
}

/// What code that the master runs sees of its job.
pub(crate) fn scope(jid: &Jid, tag: &str, user: &str) -> Map {
    Map::from([
        ("__jid__", jid.as_str()),
        ("__tag__", tag),
        ("__user__", user),
    ])
}
