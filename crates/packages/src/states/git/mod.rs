//! States of source trees.

mod clone_plan;
mod cloned;
mod detached;
mod latest;

use std::path::Path;

use halite_call::{
    Call, CallError, CallResult, Function, Module, StateReturn, os_text, paths, python,
};
use halite_proto::{Map, Value};

use crate::git::run::reason;
use crate::git::{Git, config_values, config_words, set_config};

pub(crate) const MODULE: Module = Module {
    name: "git",
    functions: &[
        Function::new(
            "git.cloned",
            "(name, target=None, branch=None, user=None, password=None, identity=None, https_user=None, https_pass=None, output_encoding=None)",
            cloned::cloned,
            "A repository is cloned; it is not updated.",
        ),
        Function::new(
            "git.config_set",
            "(name, value=None, multivar=None, repo=None, user=None, password=None, output_encoding=None, **kwargs)",
            config_set_,
            "git's configuration has a value.",
        ),
        Function::new(
            "git.config_unset",
            "(name, value_regex=None, repo=None, user=None, password=None, output_encoding=None, **kwargs)",
            config_unset,
            "git's configuration does not have a value.",
        ),
        Function::new(
            "git.detached",
            "(name, rev, target=None, remote='origin', user=None, password=None, force_clone=False, force_checkout=False, fetch_remote=True, hard_reset=False, submodules=False, identity=None, https_user=None, https_pass=None, output_encoding=None, **kwargs)",
            detached::detached,
            "A repository is checked out at a revision, on no branch.",
        ),
        Function::new(
            "git.latest",
            "(name, target, rev='HEAD', branch=None, user=None, password=None, update_head=True, force_checkout=False, force_clone=False, force_fetch=False, force_reset=False, submodules=False, bare=False, mirror=False, remote='origin', fetch_tags=True, sync_tags=True, depth=None, identity=None, https_user=None, https_pass=None, refspec_branch='*', refspec_tag='*', output_encoding=None, **kwargs)",
            latest::latest,
            "A repository is checked out at the newest revision of a branch, a tag or a hash.",
        ),
        Function::new(
            "git.mod_run_check",
            "(cmd_kwargs, onlyif, unless)",
            mod_run_check,
            "Leaves the conditions to the run.",
        ),
        Function::new(
            "git.present",
            "(name, force=False, bare=True, template=None, separate_git_dir=None, shared=None, user=None, password=None, output_encoding=None)",
            present,
            "There is a repository in a directory.",
        ),
    ],
};

fn mod_run_check(_: &Call<'_>) -> CallResult {
    Ok(true.into())
}

/// A result or the reason of a failed command as the state's.
fn or_failed(call: &Call<'_>, result: Result<StateReturn, CallError>) -> CallResult {
    match result {
        Ok(state) => Ok(state.into()),
        Err(error @ CallError::Command(_)) => {
            Ok(StateReturn::of(call).failed(reason(&error)).into())
        }
        Err(other) => Err(other),
    }
}

/// The absolute target; the comment when it is not one.
fn target(call: &Call<'_>) -> Result<String, String> {
    let Some(target) = call.text_opt("target") else {
        return Err("'target' argument is required".to_owned());
    };
    if target.starts_with('/') {
        Ok(target)
    } else {
        Err(format!("target '{target}' is not an absolute path"))
    }
}

fn is_repository(call: &Call<'_>, path: &str) -> bool {
    call.host().path(path).join(".git").exists()
}

/// Removes everything in a directory.
fn empty_directory(path: &str) -> Result<(), CallError> {
    let failed = |error: std::io::Error| {
        let why = os_text(&error, path);
        CallError::command(format!("Unable to remove\n  {path}\n    {why}"))
    };
    for entry in std::fs::read_dir(path).map_err(failed)?.flatten() {
        let entry = entry.path();
        let removed = if entry.is_dir() && !entry.is_symlink() {
            paths::remove_dir_all(&entry)
        } else {
            paths::remove_file(&entry)
        };
        removed.map_err(failed)?;
    }
    Ok(())
}

/// Whether a directory is there and not empty.
fn has_files(path: impl AsRef<Path>) -> bool {
    std::fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_some())
}

fn present(call: &Call<'_>) -> CallResult {
    let name = call.text("name");
    let mut state = StateReturn::of(call);
    if !name.starts_with('/') {
        return Ok(state
            .failed(format!("Path '{name}' is not absolute"))
            .into());
    }
    let real = call.host().path(&name);
    let bare = call.flag("bare");
    let found = real.join(if bare { "refs" } else { ".git" });
    if found.exists() && (!bare || real.join("HEAD").exists()) {
        return Ok(state.into());
    }
    if real.is_file() && !call.flag("force") {
        return Ok(state
            .failed(format!(
                "Target '{name}' exists and is a regular file, cannot proceed"
            ))
            .into());
    }
    let non_empty = has_files(&real);
    if non_empty && !call.flag("force") {
        return Ok(state
            .failed(format!(
                "Target '{name}' exists, is non-empty, and is not a git repository. Set the 'force' option to True to remove this directory's contents and proceed with initializing a repository"
            ))
            .into());
    }
    state.changes.insert("new", name.as_str());
    if non_empty && call.is_test() {
        let what = if bare { "bare " } else { "" };
        state.changes.insert("forced init", true);
        return Ok(state
            .pending(format!(
                "Target directory {name} exists. Since force=True, the contents of {name} would be deleted, and a {what}repository would be initialized in its place."
            ))
            .into());
    }
    if call.is_test() {
        let what = if bare {
            "bare repository"
        } else {
            "repository"
        };
        return Ok(state.pending(format!("New {what} would be created")).into());
    }
    if non_empty {
        empty_directory(&real.display().to_string())?;
        state.changes.insert("forced init", true);
    }
    let mut kwargs = Map::new();
    for arg in ["bare", "template", "separate_git_dir", "shared", "user"] {
        kwargs.insert(arg, call.arg(arg).clone());
    }
    let made = call.salt("git.init", &[name.as_str().into()], kwargs);
    match made {
        Ok(_) => {
            let what = if bare {
                "bare repository"
            } else {
                "repository"
            };
            let mut comment = format!("Initialized {what} in {name}");
            if let Some(dir) = call.text_opt("separate_git_dir") {
                comment.push_str(&format!(". Gitdir set to {dir}."));
            }
            Ok(state.ok(comment).into())
        }
        Err(error @ CallError::Command(_)) => {
            state.changes = Map::new();
            Ok(state.failed(reason(&error)).into())
        }
        Err(other) => Err(other),
    }
}

fn config_of(call: &Call<'_>) -> (Git, bool) {
    let mut git = Git::of(call);
    git.cwd = call.text_opt("repo");
    let global = call.kwargs().get("global").is_some_and(Value::is_true);
    (git, global)
}

fn shown(values: &[String]) -> Value {
    match values {
        [] => Value::Nil,
        [one] => one.as_str().into(),
        many => Value::List(many.iter().map(|value| value.as_str().into()).collect()),
    }
}

fn config_set_(call: &Call<'_>) -> CallResult {
    let name = call.text("name");
    let mut state = StateReturn::of(call);
    let multivar = call.arg("multivar");
    if call.arg("value").is_nil() == multivar.is_nil() {
        let how = if multivar.is_nil() {
            "One of 'value' and 'multivar' is required"
        } else {
            "Only one of 'value' and 'multivar' is permitted"
        };
        return Ok(state.failed(how).into());
    }
    let desired: Vec<String> = match multivar {
        Value::List(items) => items.iter().map(python::str).collect(),
        Value::Nil => vec![match call.arg("value") {
            Value::Bool(bool) => bool.to_string(),
            other => python::str(other),
        }],
        other => python::texts(other),
    };
    let (git, global) = config_of(call);
    if !global && git.cwd.is_none() {
        return Ok(state
            .failed("Non-global config options require the 'repo' argument to be set")
            .into());
    }
    let list = |values: &[String]| {
        if values.is_empty() {
            return Value::Nil;
        }
        Value::List(values.iter().map(|value| value.as_str().into()).collect())
    };
    let value = match desired.as_slice() {
        [one] if multivar.is_nil() => format!("'{one}'"),
        many => python::repr(&list(many)),
    };
    let key = if global { "Global key " } else { "" };
    let pre = config_values(call, &git, global, &name)?;
    if pre == desired {
        return Ok(state
            .ok(format!("{key}'{name}' is already set to {value}"))
            .into());
    }
    let verb = if pre.is_empty() { "added as" } else { "set to" };
    if call.is_test() {
        state.changes = Map::from([("old", list(&pre)), ("new", list(&desired))]);
        return Ok(state
            .pending(format!("{key}'{name}' would be {verb} {value}"))
            .into());
    }
    let key_low = key.to_lowercase();
    if let Err(error) = set_config(call, &git, global, &name, &desired) {
        let why = reason(&error);
        return Ok(state
            .failed(format!("Failed to set {key_low}'{name}' to {value}: {why}"))
            .into());
    }
    let post = config_values(call, &git, global, &name)?;
    if pre != post {
        let change = Map::from([("old", list(&pre)), ("new", list(&post))]);
        state.changes.insert(name.as_str(), change);
    }
    if post != desired {
        return Ok(state
            .failed(format!("Failed to set {key_low}'{name}' to {value}"))
            .into());
    }
    Ok(state.ok(format!("{key}'{name}' was {verb} {value}")).into())
}

fn config_unset(call: &Call<'_>) -> CallResult {
    let name = call.text("name");
    let mut state = StateReturn::of(call);
    let (git, global) = config_of(call);
    if !global && git.cwd.is_none() {
        return Ok(state
            .failed("Non-global config options require the 'repo' argument to be set")
            .into());
    }
    let pre = config_values(call, &git, global, &name)?;
    if pre.is_empty() {
        return Ok(state.ok("No matching keys are set").into());
    }
    let all = call.kwargs().get("all").is_some_and(Value::is_true);
    if pre.len() > 1 && !all {
        return Ok(state
            .failed(format!(
                "Multivar(s) matched by the key expression (set 'all' to True to force removal): \
                 {name} ({})",
                pre.join(", ")
            ))
            .into());
    }
    if call.is_test() {
        state.changes = Map::from([(
            name.as_str(),
            pre.iter()
                .map(|one| Value::from(one.as_str()))
                .collect::<Vec<_>>(),
        )]);
        return Ok(state.pending("1 key(s) would have value(s) unset").into());
    }
    let change = Map::from([(name.as_str(), shown(&pre))]);
    let mut words = config_words(global);
    words.push(if all { "--unset-all" } else { "--unset" }.to_owned());
    words.push(name.clone());
    words.extend(call.text_opt("value_regex"));
    if let Err(error) = git.run(call, &words) {
        return Ok(state.failed(reason(&error)).into());
    }
    state.changes = change;
    Ok(state.ok(format!("Key '{name}' was unset")).into())
}
