//! `test`: states with the result that their name says, for trying out a tree.

use halite_call::{Call, CallError, CallResult, Function, Module, StateReturn, python};
use halite_proto::python as show;
use halite_proto::{Map, Value};

pub(super) const MODULE: Module = Module {
    name: "test",
    functions: &[
        Function::new(
            "test.check_pillar",
            "(name, present=None, boolean=None, integer=None, string=None, listing=None, dictionary=None, verbose=False)",
            check_pillar,
            "Holds if the pillar has the keys that are named, and of the right types.",
        ),
        Function::new(
            "test.configurable_test_state",
            "(name, changes=True, result=True, comment='', warnings=None, allow_test_mode_failure=False)",
            configurable,
            "Succeeds or fails, with or without changes, as it is told; 'Random' draws.",
        ),
        Function::new(
            "test.fail_with_changes",
            "(name, **kwargs)",
            |call| fail(call, true),
            "Fails and pretends to have changed something.",
        ),
        Function::new(
            "test.fail_without_changes",
            "(name, **kwargs)",
            |call| fail(call, false),
            "Fails, and changes nothing.",
        ),
        Function::new(
            "test.mod_watch",
            "(name, sfun=None, **kwargs)",
            mod_watch,
            "Says which of the watched states have changes.",
        ),
        Function::new(
            "test.nop",
            "(name, **kwargs)",
            |call| Ok(StateReturn::of(call).ok("Success!").into()),
            "Does nothing.",
        ),
        Function::new(
            "test.show_notification",
            "(name, text=None, **kwargs)",
            show_notification,
            "Succeeds with the text as its comment.",
        ),
        Function::new(
            "test.succeed_with_changes",
            "(name, **kwargs)",
            succeed_with_changes,
            "Succeeds and pretends to have changed something.",
        ),
        Function::new(
            "test.succeed_without_changes",
            "(name, **kwargs)",
            |call| Ok(plain(call).ok(comment(call, "Success!")).into()),
            "Succeeds, and changes nothing.",
        ),
    ],
};

fn plain(call: &Call<'_>) -> StateReturn {
    StateReturn::of(call)
}

fn pretended(ret: StateReturn) -> StateReturn {
    let change = Map::from([
        ("old", "Unchanged"),
        ("new", "Something pretended to change"),
    ]);
    ret.change("testing", change)
}

fn comment(call: &Call<'_>, default: &str) -> Value {
    let given = call.kwargs().get("comment").cloned();
    given.unwrap_or_else(|| default.into())
}

fn fail(call: &Call<'_>, changes: bool) -> CallResult {
    let ret = plain(call).failed(comment(call, "Failure!"));
    Ok(match (changes, call.is_test()) {
        (false, false) => ret,
        (false, true) => ret.failed("If we weren't testing, this would be a failure!"),
        (true, false) => pretended(ret),
        (true, true) => {
            pretended(ret).pending("If we weren't testing, this would be failed with changes")
        }
    }
    .into())
}

fn succeed_with_changes(call: &Call<'_>) -> CallResult {
    let ret = pretended(plain(call)).ok(comment(call, "Success!"));
    Ok(if call.is_test() {
        ret.pending("If we weren't testing, this would be successful with changes")
    } else {
        ret
    }
    .into())
}

fn configurable(call: &Call<'_>) -> CallResult {
    let mut ret = plain(call);
    let changes = call.arg("changes");
    if truth(
        changes,
        "changes",
        "invalid arguments. It must be either True, False, or 'Random'",
    )? {
        ret = pretended(ret);
    }
    let result = call.arg("result");
    ret.result = Some(truth(
        result,
        "result",
        "invalid arguments. It must be either True, False, or 'Random'",
    )?);
    ret.comment = call.arg("comment").clone();
    match call.arg("warnings") {
        Value::Nil => {}
        one @ Value::Str(_) => {
            ret.more.insert("warnings", Value::List(vec![one.clone()]));
        }
        list @ Value::List(_) => {
            ret.more.insert("warnings", list.clone());
        }
        _ => {
            return Err(CallError::invocation(
                "You have specified the state option 'warnings' with invalid arguments. It must be a string or a list of strings",
            ));
        }
    }
    if call.is_test() {
        let fails = call.flag("allow_test_mode_failure") && *result == Value::Bool(false);
        ret.result = if fails {
            Some(false)
        } else {
            (*changes == Value::Bool(false)).then_some(true)
        };
        if !ret.comment.is_true() {
            ret.comment = "This is a test".into();
        }
    }
    Ok(ret.into())
}

fn truth(value: &Value, option: &str, why: &str) -> Result<bool, CallError> {
    match value {
        Value::Bool(value) => Ok(*value),
        other if show::str(other).eq_ignore_ascii_case("random") => {
            let [drawn] = halite_crypto::random_bytes::<1>();
            Ok(drawn % 2 == 0)
        }
        _ => Err(CallError::invocation(format!(
            "You have specified the state option '{option}' with {why}"
        ))),
    }
}

fn show_notification(call: &Call<'_>) -> CallResult {
    if !call.flag("text") {
        return Err(CallError::invocation("Missing required argument text."));
    }
    Ok(plain(call).ok(call.arg("text").clone()).into())
}

fn mod_watch(call: &Call<'_>) -> CallResult {
    let state = call.job.state.as_deref();
    let watched = state
        .and_then(|state| state.low.get("__reqs__")?.get("watch")?.as_list())
        .unwrap_or_default();
    let changed = watched.iter().filter_map(|low| {
        let chunk = halite_state::Chunk::new(low.as_map()?.clone());
        let record = state?.watched.get(&chunk.tag())?;
        record
            .get("changes")
            .is_some_and(Value::is_true)
            .then(|| Value::from(format!("{}: {}", chunk.state(), chunk.id())))
    });
    let changed = Value::List(changed.collect());
    let given = |key: &str| call.kwargs().get(key).cloned();
    Ok(Map::from([
        ("name", call.arg("name").clone()),
        ("result", given("result").unwrap_or(Value::Bool(true))),
        (
            "comment",
            given("comment").unwrap_or_else(|| "Watch statement fired.".into()),
        ),
        (
            "changes",
            given("changes")
                .unwrap_or_else(|| Map::from([("Requisites with changes", changed)]).into()),
        ),
    ])
    .into())
}

/// What a key of the pillar may be asked to be: the argument, what Python
/// calls it, and the test.
type ExtensionKind = (&'static str, &'static str, fn(&Value) -> bool);

const KINDS: [ExtensionKind; 6] = [
    ("present", "None", |_| true),
    ("boolean", "<class 'bool'>", |value| {
        value.as_bool().is_some()
    }),
    ("integer", "<class 'int'>", |value| {
        // Truth values are integers to Python.
        value.as_int().is_some() || value.as_bool().is_some()
    }),
    ("string", "(<class 'str'>,)", |value| {
        value.as_str().is_some()
    }),
    ("listing", "<class 'list'>", |value| {
        value.as_list().is_some()
    }),
    ("dictionary", "<class 'dict'>", |value| {
        value.as_map().is_some()
    }),
];

fn check_pillar(call: &Call<'_>) -> CallResult {
    if KINDS.iter().all(|(argument, ..)| !call.flag(argument)) {
        return Err(CallError::invocation("Missing required argument text."));
    }
    let pillar = call.ctx.pillar();
    let mut failed: Vec<(String, Option<&str>)> = Vec::new();
    let mut fine = String::new();
    for (argument, kind, is_kind) in KINDS {
        for key in keys(call.arg(argument))? {
            let found = python::traverse_map(&pillar, &key, ":").filter(|value| !value.is_nil());
            match found {
                None => insert_or_replace(&mut failed, key, None),
                Some(value) if !is_kind(value) => insert_or_replace(&mut failed, key, Some(kind)),
                Some(_) => fine.push_str(&format!("- {key} ({kind})\n")),
            }
        }
    }
    let mut comment = String::new();
    for (key, kind) in &failed {
        comment.push_str(&match kind {
            None => format!("Pillar key \"{key}\" is missing.\n"),
            Some(kind) => format!("Pillar key \"{key}\" is not {kind}.\n"),
        });
    }
    if call.flag("verbose") && !fine.is_empty() {
        comment.push_str("Those keys passed the check:\n");
        comment.push_str(&fine);
    }
    let ret = plain(call);
    Ok(if failed.is_empty() {
        ret.ok(comment)
    } else {
        ret.failed(comment)
    }
    .into())
}

fn insert_or_replace(
    failed: &mut Vec<(String, Option<&'static str>)>,
    key: String,
    kind: Option<&'static str>,
) {
    match failed.iter_mut().find(|(known, _)| *known == key) {
        Some(known) => known.1 = kind,
        None => failed.push((key, kind)),
    }
}

fn keys(value: &Value) -> Result<Vec<String>, CallError> {
    match value {
        Value::List(keys) => Ok(keys.iter().map(show::str).collect()),
        Value::Str(key) if !key.is_empty() => Ok(vec![key.clone()]),
        value if !value.is_true() => Ok(Vec::new()),
        _ => Err(CallError::wrong_type("")),
    }
}
