//! Login methods in Python, custom ones or those of an installed Salt, and the
//! rights that such a module returns (`acl`).
//!
//! Invariant: if the module fails, is missing, takes too long or returns invalid
//! data, nobody is let in and nothing is permitted.

use std::time::Duration;

use halite_call::{
    Cancel, Function, Job, TimeLimit,
    extensions::{ExtensionKind, plugin},
    run_plugin, within_call,
};
use halite_proto::{Map, Value};

use super::Login;
use crate::access::Access;
use crate::error::chain;

/// How long one function of a module may take.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(30);

/// Groups that are taken from a module; what is beyond is left out.
const GROUPS_MAX: usize = 10_000;

/// The user who logs in, with the fields that modules can take by name.
struct LoginAttempt<'a> {
    way: &'a str,
    name: &'a str,
    password: &'a str,
}

/// Whether the module of a way to log in has a function of this name.
pub(super) fn has(access: &Access, way: &str, name: &str) -> bool {
    function(access, way, name).is_some()
}

/// Asks a module to check a name and a password.
///
/// # Errors
/// When there is no such module, or it fails.
pub(super) fn log_in(
    access: &Access,
    way: &str,
    name: &str,
    password: &str,
) -> Result<Option<Login>, String> {
    let who = LoginAttempt {
        way,
        name,
        password,
    };
    let Some(auth) = function(access, way, "auth") else {
        let why = "no such eauth module, neither built in nor in Python (files of the directory \
                   `auth` in `extension_modules` or `module_dirs`)";
        return Err(why.to_owned());
    };
    if !ask(access, auth, &who)?.is_true() {
        return Ok(None);
    }
    let groups = match function(access, way, "groups") {
        Some(groups) => names(&ask(access, groups, &who)?),
        None => Vec::new(),
    };
    Ok(Some(Login {
        groups,
        ..Login::default()
    }))
}

/// The rights that a module gives a user, in place of the entries; `None` if it returns
/// nothing.
///
/// # Errors
/// When it fails, or what it says are no rights.
pub(super) fn acl(
    access: &Access,
    module: &str,
    way: &str,
    name: &str,
    password: &str,
) -> Result<Option<Vec<Value>>, String> {
    let Some(acl) = function(access, module, "acl") else {
        return Ok(None);
    };
    let who = LoginAttempt {
        way,
        name,
        password,
    };
    match ask(access, acl, &who)? {
        Value::Nil => Ok(None),
        Value::List(rights) => Ok(Some(rights)),
        other => Err(format!(
            "acl returned a {} instead of a list",
            other.type_name()
        )),
    }
}

/// Whether a module is there, with any of the functions that such have.
pub(super) fn is_there(access: &Access, module: &str) -> bool {
    ["acl", "auth"]
        .into_iter()
        .any(|name| function(access, module, name).is_some())
}

fn function(access: &Access, module: &str, name: &str) -> Option<&'static Function> {
    plugin(
        access.functions.context(),
        ExtensionKind::Logins,
        &format!("{module}.{name}"),
    )
}

/// Calls a function with those of the names that it knows, as Salt does.
fn ask(
    access: &Access,
    function: &'static Function,
    who: &LoginAttempt<'_>,
) -> Result<Value, String> {
    let signature = function.parse_signature().map_err(|error| chain(&error))?;
    let takes = |name: &str| {
        signature.kwargs.is_some()
            || signature.params.iter().any(|param| param.name == name)
            || signature
                .keyword_only
                .iter()
                .any(|param| param.name == name)
    };
    let known = [
        ("username", who.name),
        ("password", who.password),
        ("eauth", who.way),
    ];
    let kwargs: Map = known
        .into_iter()
        .filter(|(name, _)| takes(name))
        .map(|(name, value)| (Value::from(name), Value::from(value)))
        .collect();
    let cancel = Cancel::default();
    let _limit = TimeLimit::start(cancel.clone(), ANSWER_TIME_MAX, "a login");
    let job = Job {
        cancel,
        ..Job::default()
    };
    within_call(access.functions.context(), &job, |call| {
        run_plugin(call, function, Vec::new(), kwargs).map_err(|error| chain(&error))
    })
}

fn names(groups: &Value) -> Vec<String> {
    let groups = groups.as_list().unwrap_or_default().iter();
    groups
        .filter_map(|group| group.as_str().map(str::to_owned))
        .take(GROUPS_MAX)
        .collect()
}
