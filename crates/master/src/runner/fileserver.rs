//! `fileserver.*`: the files for minions.

use std::sync::Arc;

use halite_fileserver::{Backends, Lists, UpdateWish};
use halite_git::limits::UNUSED_FOR_IF_ASKED;
use halite_git::{Repository, Role, remove_unused};
use halite_proto::{Map, SaltEnv, Value};

use super::error::{Ran, RunnerError};
use super::promotion::PROMOTE;
use super::table::Function;
use super::{Call, git_locks};
use crate::error::chain;
use crate::files::file_changes;

const LISTED: &str = "(saltenv='base', backend=None)";

pub(super) const FUNCTIONS: &[Function] = &[
    Function::new(
        "fileserver.clear_cache",
        "(backend=None)",
        clear_cache,
        "Clears the cache of files, and removes the copies of git remotes that no option names\n\
         any more and that were not updated for a day.",
    ),
    Function::new(
        "fileserver.clear_file_list_cache",
        "(saltenv=None, backend=None)",
        clear_file_list_cache,
        "Clears the cached lists of files.",
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
        "Locks the sources of files against updates.",
    ),
    PROMOTE,
    Function::new(
        "fileserver.status",
        "()",
        status,
        "The git remotes of the file server: their environments, each with its commit and its \
         branch or tag, when they were fetched, and why a fetch failed.",
    ),
    Function::new(
        "fileserver.symlink_list",
        LISTED,
        symlink_list,
        "The symbolic links of an environment, and where they lead.",
    ),
    Function::new(
        "fileserver.update",
        "(backend=None, remotes=None, **kwargs)",
        update,
        "Updates the file server. With remotes only those git remotes are fetched: names or\n\
         addresses, a list or separated by commas.",
    ),
];

/// The sources that the argument `backend` means.
fn meant(call: &Call<'_>) -> Backends {
    Backends::from_value(Some(call.arg("backend")))
}

/// What an environment holds in those sources.
fn lists(call: &Call<'_>) -> Result<Arc<Lists>, RunnerError> {
    Ok(call.runners.files.server.lists(&env(call)?, &meant(call)))
}

fn env(call: &Call<'_>) -> Result<SaltEnv, RunnerError> {
    let name = halite_proto::python::str(call.arg("saltenv"));
    SaltEnv::parse(name).map_err(|error| RunnerError::Failed(error.to_string()))
}

fn texts(texts: &[impl AsRef<str>]) -> Value {
    let texts = texts.iter().map(|text| Value::from(text.as_ref()));
    Value::List(texts.collect())
}

fn file_list(call: &Call<'_>) -> Ran {
    Ok(texts(&lists(call)?.files))
}

fn dir_list(call: &Call<'_>) -> Ran {
    Ok(texts(&lists(call)?.dirs))
}

fn empty_dir_list(call: &Call<'_>) -> Ran {
    Ok(texts(&lists(call)?.empty_dirs))
}

fn symlink_list(call: &Call<'_>) -> Ran {
    let lists = lists(call)?;
    let links = lists.links.iter();
    Ok(links
        .map(|(link, to)| (Value::from(link.as_str()), Value::from(to.as_str())))
        .collect::<Map>()
        .into())
}

fn envs(call: &Call<'_>) -> Ran {
    let (files, meant) = (&call.runners.files.server, meant(call));
    if call.flag("sources") {
        let mut backends = files.backends(&meant);
        backends.sort_unstable();
        return Ok(texts(&backends));
    }
    Ok(texts(&files.envs(&meant)))
}

/// Not a function of Salt's.
fn status(call: &Call<'_>) -> Ran {
    let mut remotes = Map::new();
    for repository in call.runners.files.server.repositories() {
        let remote = repository.remote();
        let snapshot = repository.snapshot();
        let mut error = snapshot.as_ref().err().map(|error| chain(error));
        let snapshot = snapshot.ok().flatten();
        let commit = |env: String| {
            let found = snapshot.as_ref()?.commit(remote, &env).ok()??;
            Some((Value::from(env), Value::from(found.id.to_string())))
        };
        let reference = |(env, _): (&Value, &Value)| {
            let name = env.as_str().and_then(|env| remote.reference(env));
            (env.clone(), Value::from(name))
        };
        let envs = snapshot.as_ref().map(|snapshot| snapshot.envs(remote));
        let envs: Map = envs.into_iter().flatten().filter_map(commit).collect();
        let refs: Map = envs.iter().map(reference).collect();
        let held = snapshot.as_ref().map(|snapshot| snapshot.held());
        let held: Map = held
            .into_iter()
            .flatten()
            .map(|(env, id)| (Value::from(env), Value::from(id.to_string())))
            .collect();
        let status = repository.status();
        if let Some((_, why)) = status.failed {
            error = Some(why);
        }
        let age = status.fetched.and_then(|then| then.elapsed().ok());
        let shown = Map::from([
            ("name", Value::from(remote.name.clone())),
            ("dir", remote.dir().into()),
            ("held", held.into()),
            ("age", age.map_or(Value::Nil, |age| age.as_secs().into())),
            ("envs", envs.into()),
            ("refs", refs.into()),
            ("error", Value::from(error)),
        ]);
        remotes.insert(remote.id(), shown);
    }
    Ok(remotes.into())
}

fn update(call: &Call<'_>) -> Ran {
    let runners = call.runners;
    let text = |value: &Value| halite_proto::python::str(value).trim().to_owned();
    let remotes = match call.arg("remotes") {
        Value::List(remotes) => remotes.iter().map(text).collect(),
        Value::Nil => Vec::new(),
        remotes => text(remotes)
            .split(',')
            .map(|it| it.trim().to_owned())
            .collect(),
    };
    let wish = UpdateWish {
        remotes,
        ..UpdateWish::default()
    };
    let known = runners.files.server.repositories();
    let is_known = |named: &&String| {
        known
            .iter()
            .map(|it| it.remote())
            .any(|it| it.name.as_ref() == Some(*named) || it.id() == **named)
    };
    if let Some(unknown) = wish.remotes.iter().find(|named| !is_known(named)) {
        let why = format!("no remote of gitfs_remotes has the name or address {unknown:?}");
        return Err(RunnerError::Failed(why));
    }
    let _stopping = call.stopping(&wish.stop);
    file_changes::update(&runners.files, &runners.bus, &meant(call), &wish);
    call.stop.check()?;
    Ok(true.into())
}

/// The repositories of the selected backends.
fn repositories(call: &Call<'_>) -> Vec<Arc<Repository>> {
    let files = &call.runners.files.server;
    match files.backends(&meant(call)).contains(&"gitfs") {
        true => files.repositories(),
        false => Vec::new(),
    }
}

/// The pattern that the addresses of remotes must match.
fn pattern(call: &Call<'_>) -> Option<String> {
    let pattern = call.arg("remote");
    pattern
        .is_true()
        .then(|| halite_proto::python::str(pattern))
}

fn clear_cache(call: &Call<'_>) -> Ran {
    let meant = call.runners.files.server.backends(&meant(call));
    let repositories = repositories(call);
    let mut cleared = git_locks::clear(repositories.iter().map(AsRef::as_ref));
    if meant.contains(&"gitfs") {
        let remotes = repositories.iter().map(|repository| repository.remote());
        let cachedir = &call.runners.general.cachedir;
        let unused = remove_unused(cachedir, Role::Gitfs, remotes, UNUSED_FOR_IF_ASKED);
        cleared.add_unused(unused);
    }
    Ok(cleared.into_value("cleared", "No cache was cleared"))
}

fn clear_file_list_cache(_: &Call<'_>) -> Ran {
    Ok(Map::new().into())
}

fn clear_lock(call: &Call<'_>) -> Ran {
    let (repositories, pattern) = (repositories(call), pattern(call));
    let all = repositories.iter().map(AsRef::as_ref);
    let removed = git_locks::unlock(all, pattern.as_deref());
    Ok(removed.into_value("cleared", git_locks::NONE_REMOVED))
}

fn lock(call: &Call<'_>) -> Ran {
    let (repositories, pattern) = (repositories(call), pattern(call));
    let all = repositories.iter().map(AsRef::as_ref);
    let set = git_locks::lock(all, pattern.as_deref());
    Ok(set.into_value("locked", "No locks were set"))
}
