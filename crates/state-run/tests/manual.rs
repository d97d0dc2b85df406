//! The examples of the documentation are calls that their functions take.

#![allow(clippy::unwrap_used, reason = "tests")]

mod local_minion;

use std::collections::HashSet;

use halite_call::manual::{EXAMPLES, STATE_EXAMPLES};
use halite_call::{Function, args, shlex};
use halite_proto::Value;

use local_minion::LocalMinion;

/// The names that a function with `**kwargs` takes beside its parameters: those
/// that its text has, and the arguments of the state that it is given.
fn documented(function: &Function, words: &[String]) -> HashSet<String> {
    let is_of_name = |c: char| c == '_' || c.is_alphanumeric();
    let text = function.doc.split(|c| !is_of_name(c));
    let mut names: HashSet<String> = text.map(str::to_owned).collect();
    if function.name == "state.single" {
        let state = words.first().unwrap();
        let state = halite_state_run::registry().state(state);
        let signature = state.unwrap().parse_signature().unwrap();
        let params = signature.params.into_iter().chain(signature.keyword_only);
        names.extend(params.map(|param| param.name));
    }
    names
}

#[test]
fn examples_bind_to_the_signatures_of_their_functions() {
    for (fun, examples) in EXAMPLES {
        let function = halite_state_run::registry().get(fun);
        let function = function.unwrap_or_else(|| panic!("there is no {fun}"));
        let signature = function.parse_signature().unwrap();
        for example in *examples {
            let words = shlex::split(example).unwrap();
            let is_named = |word: &&String| args::keyword(word).is_some();
            let positional = words.iter().filter(|word| !is_named(word)).count();
            let named: Vec<String> = words
                .iter()
                .filter_map(|word| args::keyword(word).map(|(name, _)| name.to_string()))
                .collect();
            let params = &signature.params;
            assert!(
                positional <= params.len() || signature.varargs.is_some(),
                "{fun} {example}: too many arguments"
            );
            let documented = documented(function, &words);
            let mut all = params.iter().chain(&signature.keyword_only);
            for name in &named {
                let known = all.clone().any(|param| param.name == *name);
                assert!(
                    known || signature.kwargs.is_some() && documented.contains(name),
                    "{fun} {example}: {name} is not documented"
                );
            }
            let missing = all
                .by_ref()
                .skip(positional)
                .find(|param| param.default.is_none() && !named.contains(&param.name));
            assert!(missing.is_none(), "{fun} {example}: {missing:?}");
        }
    }
}

#[test]
fn a_name_that_no_text_has_is_not_documented() {
    let install = halite_state_run::registry().get("pkg.install").unwrap();
    let names = documented(install, &[]);
    assert!(names.contains("version") && !names.contains("refesh"));
}

/// What every state takes, and what the compiler adds.
const COMMON: [&str; 11] = [
    "name", "state", "fun", "order", "unless", "onlyif", "creates", "watch", "__id__", "__sls__",
    "__env__",
];

/// Each example compiles to its state, whose signature has all its arguments; a
/// run with `test=True` finds nothing wrong with them.
#[test]
fn examples_of_states_are_states() {
    let dir = tempfile::tempdir().unwrap();
    let minion = LocalMinion::laid_out(dir.path(), ("os_family", "Debian"));
    for (state, example) in STATE_EXAMPLES {
        std::fs::write(dir.path().join("srv/example.sls"), example).unwrap();
        let function = halite_state_run::registry().state(state);
        let function = function.unwrap_or_else(|| panic!("there is no {state}"));
        let signature = function.parse_signature().unwrap();
        let low = minion.call("state.show_low_sls", &["example"]).ret;
        let chunks = low.as_list().unwrap();
        assert_eq!(chunks.len(), 1, "{example}: {low:?}");
        let chunk = chunks[0].as_map();
        let chunk = chunk.unwrap_or_else(|| panic!("{example}: {low:?}"));
        let text = |key: &str| {
            let text = chunk.get(key).and_then(Value::as_str);
            text.unwrap_or_else(|| panic!("{example}: {low:?}"))
        };
        assert_eq!(format!("{}.{}", text("state"), text("fun")), *state);
        for key in chunk.keys().filter_map(Value::as_str) {
            let mut known = signature.params.iter().chain(&signature.keyword_only);
            assert!(
                COMMON.contains(&key)
                    || known.any(|param| param.name == key)
                    || signature.kwargs.is_some(),
                "{state}: {key} is not taken"
            );
        }
        // `sys.state_doc` leaves out those whose programs are missing here.
        let shown = function.state_doc_text();
        assert!(shown.contains("    Example:\n\n        "), "{shown}");
    }
}
