//! Users in the password files of web servers: the state module `webutil`.

use halite_call::{Call, CallResult, Function, Module, StateReturn, python};
use halite_proto::{Map, Value};

pub(crate) const MODULE: Module = Module {
    name: "webutil",
    functions: &[
        Function::new(
            "webutil.user_absent",
            "(name, htpasswd_file=None, runas=None)",
            user_absent,
            "A user is not in a file of passwords.",
        ),
        Function::new(
            "webutil.user_exists",
            "(name, password=None, htpasswd_file=None, options='', force=False, runas=None, update=False)",
            user_exists,
            "A user is in a file of passwords; with update with this password, with force\nit is written again each time.",
        ),
    ],
};

/// Whether a user is in the file.
fn is_known(call: &Call<'_>) -> bool {
    let (file, name) = (call.text("htpasswd_file"), call.text("name"));
    let text = halite_call::paths::read_to_string(call.host().path(file)).unwrap_or_default();
    text.lines()
        .any(|line| line.split_once(':').is_some_and(|(user, _)| user == name))
}

/// The file, the user, and what else a function of `webutil` takes.
fn arguments(call: &Call<'_>, more: &[(&str, &str)]) -> Map {
    let mut kwargs = Map::new();
    let shared = [
        ("pwfile", "htpasswd_file"),
        ("user", "name"),
        ("runas", "runas"),
    ];
    for (theirs, ours) in shared.iter().chain(more) {
        kwargs.insert(*theirs, call.arg(ours).clone());
    }
    kwargs
}

/// The state after htpasswd has run: what it complained of is the comment.
fn after(state: StateReturn, ran: &Value) -> StateReturn {
    let complaint = ran.get("stderr").map(python::str).unwrap_or_default();
    match ran.get("retcode").and_then(Value::as_i64) {
        Some(0) => {
            let name = state.name.clone();
            state.ok(complaint).change(name, true)
        }
        _ => state.failed(complaint),
    }
}

fn user_exists(call: &Call<'_>) -> CallResult {
    let state = StateReturn::of(call);
    let with_password = [("password", "password"), ("opts", "options")];
    let is_fine = is_known(call)
        && !call.flag("force")
        && (!call.flag("update") || {
            let kwargs = arguments(call, &with_password);
            call.salt("webutil.verify", &[], kwargs)?.is_true()
        });
    if is_fine {
        return Ok(state.ok("User already known").into());
    }
    if call.is_test() {
        let name = call.text("name");
        let comment = format!("User '{name}' is set to be added to htpasswd file");
        return Ok(state.pending(comment).change(name, true).into());
    }
    let ran = call.salt("webutil.useradd", &[], arguments(call, &with_password))?;
    Ok(after(state, &ran).into())
}

fn user_absent(call: &Call<'_>) -> CallResult {
    let state = StateReturn::of(call);
    if !is_known(call) {
        return Ok(state.ok("User already not in file").into());
    }
    if call.is_test() {
        let name = call.text("name");
        let comment = format!("User '{name}' is set to be removed from htpasswd file");
        return Ok(state.pending(comment).change(name, true).into());
    }
    let mut kwargs = arguments(call, &[]);
    kwargs.insert("all_results", true);
    let ran = call.salt("webutil.userdel", &[], kwargs)?;
    Ok(after(state, &ran).into())
}
