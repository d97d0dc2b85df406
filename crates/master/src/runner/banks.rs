//! `cache.fetch`, `cache.list` and related functions: banks of any data.

use halite_proto::{Map, Value};
use halite_store::{BankError, Banks};

use super::error::{Ran, RunnerError};
use super::table::Function;
use super::{Call, git_locks};

pub(super) const FUNCTIONS: &[Function] = &[
    Function::new(
        "cache.clear_git_lock",
        "(role, remote=None, **kwargs)",
        clear_git_lock,
        "Removes the locks of updates from git: `gitfs` or `git_pillar`.",
    ),
    Function::new(
        "cache.cloud",
        "(tgt, provider=None)",
        cloud,
        "The cached data of cloud machines: always empty, as there is no salt-cloud.",
    ),
    Function::new(
        "cache.fetch",
        "(bank, key, cachedir=None)",
        fetch,
        "The value under a key of a bank.",
    ),
    Function::new(
        "cache.flush",
        "(bank, key=None, cachedir=None)",
        flush,
        "Removes a key of a bank, or the whole bank.",
    ),
    Function::new(
        "cache.list",
        "(bank, cachedir=None)",
        list,
        "The keys of a bank, and the banks below it.",
    ),
    Function::new(
        "cache.store",
        "(bank, key, data, cachedir=None)",
        store,
        "Stores a value under a key of a bank.",
    ),
];

impl From<BankError> for RunnerError {
    fn from(error: BankError) -> Self {
        match error {
            BankError::Store(error) => Self::Store(error),
            error => Self::Failed(error.to_string()),
        }
    }
}

fn banks<'c>(call: &'c Call<'_>) -> Result<&'c Banks, RunnerError> {
    if call.text("cachedir").is_some() {
        return Err(RunnerError::Failed(
            "cachedir: only the master's own cache can be used".to_owned(),
        ));
    }
    Ok(&call.runners.banks)
}

fn name(call: &Call<'_>, argument: &str) -> String {
    halite_proto::python::str(call.arg(argument))
}

fn fetch(call: &Call<'_>) -> Ran {
    let found = banks(call)?.fetch(&name(call, "bank"), &name(call, "key"))?;
    Ok(found.unwrap_or_else(|| Map::new().into()))
}

fn store(call: &Call<'_>) -> Ran {
    banks(call)?.store(&name(call, "bank"), &name(call, "key"), call.arg("data"))?;
    Ok(Value::Nil)
}

fn flush(call: &Call<'_>) -> Ran {
    let key = (!call.arg("key").is_nil()).then(|| name(call, "key"));
    Ok(banks(call)?
        .flush(&name(call, "bank"), key.as_deref())?
        .into())
}

fn list(call: &Call<'_>) -> Ran {
    let names = banks(call)?.list(&name(call, "bank"))?;
    Ok(Value::List(names.into_iter().map(Value::from).collect()))
}

fn cloud(_: &Call<'_>) -> Ran {
    Ok(Map::new().into())
}

fn name_of(value: &Value) -> String {
    halite_proto::python::str(value)
}

fn clear_git_lock(call: &Call<'_>) -> Ran {
    // Ours are of updates: nothing is checked out, and nothing linked.
    let types = call.bound.kwargs.get("type");
    let is_update = types.is_none_or(|types| match types {
        Value::List(types) => types.contains(&"update".into()),
        types => name_of(types).split(',').any(|one| one.trim() == "update"),
    });
    let pattern = call.arg("remote");
    let pattern = pattern.is_true().then(|| name_of(pattern));
    match call.text("role") {
        Some("git_pillar") if is_update => {
            let remotes = call.runners.pillars.git.all();
            let repositories = remotes.map(|remote| remote.repository());
            let unlocked = git_locks::unlock(repositories, pattern.as_deref());
            Ok(unlocked.into_value("cleared", git_locks::NONE_REMOVED))
        }
        Some("gitfs") if is_update => {
            let repositories = call.runners.files.server.repositories();
            let all = repositories.iter().map(AsRef::as_ref);
            let unlocked = git_locks::unlock(all, pattern.as_deref());
            Ok(unlocked.into_value("cleared", git_locks::NONE_REMOVED))
        }
        Some("gitfs" | "git_pillar" | "winrepo") => Ok(git_locks::NONE_REMOVED.into()),
        _ => Err(RunnerError::BadArguments(format!(
            "Invalid role '{}'",
            name(call, "role")
        ))),
    }
}
