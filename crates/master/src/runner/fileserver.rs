//! `fileserver.*`: the files that minions can have.

use halite_proto::{Map, SaltEnv, Value};

use super::Call;
use super::error::{Ran, RunnerError};
use super::table::Function;
use crate::files::file_changes;

const LISTED: &str = "(saltenv='base', backend=None)";

pub(super) const FUNCTIONS: &[Function] = &[
    Function::new(
        "fileserver.clear_cache",
        "(backend=None)",
        clear_cache,
        "Forgets what is kept of the files.",
    ),
    Function::new(
        "fileserver.clear_file_list_cache",
        "(saltenv=None, backend=None)",
        clear_file_list_cache,
        "Forgets the lists of files.",
    ),
    Function::new(
        "fileserver.clear_lock",
        "(backend=None, remote=None)",
        clear_lock,
        "Removes the locks of an update.",
    ),
    Function::new(
        "fileserver.dir_list",
        LISTED,
        dir_list,
        "The directories of an environment.",
    ),
    Function::new(
        "fileserver.empty_dir_list",
        LISTED,
        empty_dir_list,
        "The empty directories of an environment.",
    ),
    Function::new(
        "fileserver.envs",
        "(backend=None, sources=False)",
        envs,
        "The environments.",
    ),
    Function::new(
        "fileserver.file_list",
        LISTED,
        file_list,
        "The files of an environment.",
    ),
    Function::new(
        "fileserver.lock",
        "(backend=None, remote=None)",
        lock,
        "Locks the files against an update.",
    ),
    Function::new(
        "fileserver.symlink_list",
        LISTED,
        symlink_list,
        "The symbolic links of an environment, and where they lead.",
    ),
    Function::new(
        "fileserver.update",
        "(backend=None, **kwargs)",
        update,
        "Looks for changes of the files.",
    ),
];

/// Whether the argument `backend` leaves in the one there is.
fn means_roots(call: &Call<'_>) -> bool {
    let names = |name: &str| matches!(name.trim(), "roots" | "file_roots");
    match call.arg("backend") {
        Value::Str(backends) => match backends.strip_prefix('-') {
            Some(other) => !names(other),
            None => backends.split(',').any(names),
        },
        Value::List(backends) => backends.iter().filter_map(Value::as_str).any(names),
        _ => true,
    }
}

fn env(call: &Call<'_>) -> Result<SaltEnv, RunnerError> {
    let name = halite_proto::python::str(call.arg("saltenv"));
    SaltEnv::parse(name).map_err(|error| RunnerError::Failed(error.to_string()))
}

fn texts<'a>(texts: impl IntoIterator<Item = &'a String>) -> Value {
    Value::List(
        texts
            .into_iter()
            .map(|text| Value::from(text.as_str()))
            .collect(),
    )
}

fn file_list(call: &Call<'_>) -> Ran {
    match means_roots(call) {
        true => Ok(texts(&call.master.files.lists(&env(call)?).files)),
        false => Ok(Value::List(Vec::new())),
    }
}

fn dir_list(call: &Call<'_>) -> Ran {
    match means_roots(call) {
        true => Ok(texts(&call.master.files.lists(&env(call)?).dirs)),
        false => Ok(Value::List(Vec::new())),
    }
}

fn empty_dir_list(call: &Call<'_>) -> Ran {
    match means_roots(call) {
        true => Ok(texts(&call.master.files.lists(&env(call)?).empty_dirs)),
        false => Ok(Value::List(Vec::new())),
    }
}

fn symlink_list(call: &Call<'_>) -> Ran {
    if !means_roots(call) {
        return Ok(Map::new().into());
    }
    let lists = call.master.files.lists(&env(call)?);
    let links = lists.links.iter();
    Ok(links
        .map(|(link, to)| (Value::from(link.as_str()), Value::from(to.as_str())))
        .collect::<Map>()
        .into())
}

fn envs(call: &Call<'_>) -> Ran {
    if !means_roots(call) {
        return Ok(Value::List(Vec::new()));
    }
    if call.flag("sources") {
        return Ok(Value::List(vec!["roots".into()]));
    }
    let mut envs = call.master.files.envs();
    envs.sort_unstable();
    Ok(Value::List(envs.into_iter().map(Value::from).collect()))
}

/// Files are looked at when they are asked for: there is nothing to do but to
/// tell what has changed.
fn update(call: &Call<'_>) -> Ran {
    if means_roots(call) {
        file_changes::tell(call.master);
    }
    Ok(true.into())
}

fn clear_cache(_: &Call<'_>) -> Ran {
    Ok("No cache was cleared".into())
}

fn clear_file_list_cache(_: &Call<'_>) -> Ran {
    Ok(Map::new().into())
}

fn clear_lock(_: &Call<'_>) -> Ran {
    Ok("No locks were removed".into())
}

fn lock(_: &Call<'_>) -> Ran {
    Ok("No locks were set".into())
}
