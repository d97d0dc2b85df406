//! Fetches custom modules from the file server (`salt://_modules` and the like) to
//! the place from which they run.
//!
//! Mirrors `salt/utils/extmods.py`, 3008.

use std::cell::Cell;
use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use halite_call::{
    Call, CallError, FileClient, Job, MinionContext, Refresh, Signature, extensions,
    file_client::{below, private_dirs},
    paths, python,
};
use halite_crypto::files::{WriteOptions, write_atomic};
use halite_proto::{Map, Value};

/// Why nothing uses files of a kind; nothing of those that something uses.
fn why_unused(form: &str) -> Option<&'static str> {
    Some(match form {
        "cache" => "the data cache is kept in files",
        "clouds" => "there is no salt-cloud here",
        "fileserver" => "files come from file_roots",
        "log_handlers" => "logs go where log_file says, and to the console",
        "proxy" | "proxymodules" => "there are no proxy minions here",
        "resources" => "there are no resources here",
        "roster" | "wrapper" => "there is no salt-ssh here",
        "thorium" => "there is no Thorium here",
        "tokens" => "tokens are kept in files",
        _ => return None,
    })
}

/// Nobody is to think that what was fetched has an effect when it has none.
fn warn_of_unused(form: &str, names: &[String]) {
    if let Some(why) = why_unused(form).filter(|_| !names.is_empty()) {
        tracing::warn!("{} fetched, but not used: {why}", names.join(", "));
    }
}

/// Fetches the modules of one kind: the names of those that are new or
/// changed.
pub(super) fn sync(call: &Call<'_>, form: &str) -> Result<Value, CallError> {
    let envs = envs_of_top(call);
    let mut lists = Lists::new(call, &format!("_{form}"));
    let names = fetch(call, &mut lists, form, &envs);
    after(call, form, &names)?;
    Ok(list(names))
}

/// As [`sync`], of what only a minion without a master has a use for.
pub(super) fn masterless(call: &Call<'_>, form: &str, what: &str) -> Result<Value, CallError> {
    if call.opt_text("file_client").as_deref() != Some("local") {
        return Err(CallError::command(format!(
            "{what} can only be synced to masterless minions"
        )));
    }
    sync(call, form)
}

/// Fetches the modules of several kinds.
pub(super) fn sync_all(call: &Call<'_>, forms: &[&'static str]) -> Result<Value, CallError> {
    let envs = envs_of_top(call);
    // One look at the files for all kinds.
    let mut lists = Lists::new(call, "_");
    let mut found = Map::new();
    let mut changed = Vec::new();
    for form in forms {
        let own = if *form == "proxymodules" {
            "proxy"
        } else {
            form
        };
        let names = fetch(call, &mut lists, own, &envs);
        found.insert(*form, list(names.clone()));
        changed.push((*form, names));
    }
    for (form, names) in changed {
        after(call, form, &names)?;
    }
    // Also where nothing is new, as with Salt.
    if call.get("refresh").is_none_or(Value::is_true) {
        call.ctx
            .refresh(Refresh::Pillar { clean_cache: false }, None)?;
    }
    Ok(found.into())
}

/// Fetches the modules of some kinds for a program that has functions of its
/// own for that; `asked` has their arguments. The names of what is new or
/// changed, by kind.
///
/// # Errors
/// When an argument is none of them.
pub fn sync_extensions(
    ctx: &dyn MinionContext,
    job: &Job,
    kinds: &[&str],
    asked: Map,
) -> Result<Map, CallError> {
    const SIGNATURE: &str = "(saltenv=None, extmod_whitelist=None, extmod_blacklist=None)";
    let signature =
        Signature::parse(SIGNATURE).map_err(|error| CallError::command(error.to_string()))?;
    let bound = signature
        .bind("sync", Vec::new(), asked)
        .map_err(CallError::Arguments)?;
    let retcode = Cell::new(0);
    let call = Call::new(ctx, job, bound, &retcode, 1);
    let envs = named_envs(&call).unwrap_or_else(|| {
        let env = call.opt_text("saltenv");
        vec![env.unwrap_or_else(|| BASE.to_owned())]
    });
    let mut lists = Lists::new(&call, "_");
    let (mut found, mut is_changed) = (Map::new(), false);
    for kind in kinds {
        let names = fetch(&call, &mut lists, kind, &envs);
        is_changed |= !names.is_empty();
        warn_of_unused(kind, &names);
        found.insert(*kind, list(names));
    }
    if is_changed {
        extensions::forget();
    }
    Ok(found)
}

/// What the file server has under a prefix, asked once for each environment.
struct Lists<'c> {
    client: FileClient<'c>,
    prefix: String,
    known: HashMap<String, Option<Vec<String>>>,
}

impl<'c> Lists<'c> {
    fn new(call: &'c Call<'_>, prefix: &str) -> Self {
        Self {
            client: FileClient::new(call.ctx),
            prefix: prefix.to_owned(),
            known: HashMap::new(),
        }
    }

    /// The files of an environment; nothing where it cannot be asked, which is
    /// said once.
    fn files(&mut self, env: &str) -> Option<Vec<String>> {
        let (client, prefix) = (&self.client, &self.prefix);
        let known = self.known.entry(env.to_owned());
        let files = known.or_insert_with(|| match client.files(env, prefix) {
            Ok(files) => Some(files),
            Err(error) => {
                let error = CallError::from(error);
                tracing::error!("Failed to sync modules of {env}: {error}");
                None
            }
        });
        files.clone()
    }
}

fn list(names: Vec<String>) -> Value {
    names
        .into_iter()
        .map(Value::from)
        .collect::<Vec<_>>()
        .into()
}

/// What is new must be seen: by the worker, and in the grains.
fn after(call: &Call<'_>, form: &str, names: &[String]) -> Result<(), CallError> {
    if names.is_empty() {
        return Ok(());
    }
    extensions::forget();
    warn_of_unused(form, names);
    if !call.get("refresh").is_none_or(Value::is_true) {
        return Ok(());
    }
    call.ctx.refresh(
        match form {
            "grains" => Refresh::Grains,
            "beacons" => Refresh::Beacons,
            _ => Refresh::Modules,
        },
        None,
    )?;
    Ok(())
}

/// The environment of who names none, and has no top file.
const BASE: &str = "base";

/// The function that reads the top file, and how it is asked for environments alone.
const TOP: (&str, &str) = ("state.show_top", "__of_environments");

fn named_envs(call: &Call<'_>) -> Option<Vec<String>> {
    let saltenv = call.get("saltenv").filter(|saltenv| saltenv.is_true())?;
    Some(python::texts(saltenv))
}

/// The environments that are named, else those out of which the top file gives states
/// to this minion.
fn envs_of_top(call: &Call<'_>) -> Vec<String> {
    if let Some(named) = named_envs(call) {
        return named;
    }
    let (function, of_environments) = TOP;
    let mut envs = Vec::new();
    if call.has_function(function) {
        let asked = Map::from([(of_environments, true)]);
        match call.salt(function, &[], asked) {
            Ok(top) => {
                let given = top.as_map().into_iter().flat_map(Map::keys);
                envs.extend(given.map(python::str));
            }
            // As Salt, which goes on as without a top file.
            Err(error) => tracing::error!("Unable to render top file: {error}"),
        }
    }
    if envs.is_empty() {
        envs.push(BASE.to_owned());
    }
    envs
}

fn fetch(call: &Call<'_>, lists: &mut Lists<'_>, form: &str, envs: &[String]) -> Vec<String> {
    match try_fetch(call, lists, form, envs) {
        Ok(names) => names,
        Err(error) => {
            tracing::error!("Failed to sync {form} module: {error}");
            Vec::new()
        }
    }
}

fn try_fetch(
    call: &Call<'_>,
    lists: &mut Lists<'_>,
    form: &str,
    envs: &[String],
) -> Result<Vec<String>, CallError> {
    let Some(directory) = halite_pyworker::synced(call.ctx.opts(), form) else {
        return Ok(Vec::new());
    };
    let prefix = format!("_{form}/");
    let mut names = Vec::new();
    let mut remote = HashSet::new();
    for env in envs {
        // Nothing is cleaned for want of a file server.
        let Some(files) = lists.files(env) else {
            return Ok(names);
        };
        for path in files {
            let Some(relative) = path.strip_prefix(&prefix).filter(|path| is_module(path)) else {
                continue;
            };
            let stem = relative.rsplit_once('.').map_or(relative, |(stem, _)| stem);
            let name = stem.replace('/', ".");
            if !is_wanted(call, form, &name) {
                continue;
            }
            remote.insert(PathBuf::from(relative));
            let to = below(&directory, &[relative])?;
            let Some(cached) = lists.client.cache(&path, env)? else {
                continue;
            };
            if copy(&cached, &to)? {
                names.push(format!("{form}.{name}"));
            }
        }
    }
    if call.opt("clean_dynamic_modules").as_bool() != Some(false) {
        clean(&directory, Path::new(""), &remote);
    }
    Ok(names)
}

fn is_module(path: &str) -> bool {
    let kind = path.rsplit_once('.').map(|(_, kind)| kind);
    matches!(kind, Some("py" | "pyx" | "so" | "zip"))
}

/// `extmod_whitelist` and `extmod_blacklist`: of the call, else the options.
fn is_wanted(call: &Call<'_>, form: &str, name: &str) -> bool {
    let listed = |option: &str| {
        let given = call.get(option).filter(|given| !given.is_nil());
        let names = match given {
            Some(Value::Map(forms)) => forms.get(form).map(python::texts),
            Some(names) => Some(python::texts(names)),
            None => call.opt(option).get(form).map(python::texts),
        };
        names
            .filter(|names| !names.is_empty())
            .map(|names| names.iter().any(|known| known == name))
    };
    listed("extmod_whitelist") != Some(false) && listed("extmod_blacklist") != Some(true)
}

/// Puts a copy of a file in place, if what is there is not the same.
fn copy(from: &Path, to: &Path) -> Result<bool, CallError> {
    let failed = |error: &dyn std::error::Error| {
        CallError::command(format!("could not write {}: {error}", to.display()))
    };
    let bytes = fs::read(from).map_err(|error| failed(&error))?;
    if fs::read(to).is_ok_and(|old| old == bytes) {
        return Ok(false);
    }
    if let Some(parent) = to.parent() {
        private_dirs(parent).map_err(|error| failed(&error))?;
    }
    write_atomic(to, WriteOptions::new(0o600), &bytes).map_err(|error| failed(&error))?;
    Ok(true)
}

/// Removes what the file server has no more, and directories that are empty.
fn clean(root: &Path, relative: &Path, remote: &HashSet<PathBuf>) {
    let directory = root.join(relative);
    for entry in fs::read_dir(&directory).into_iter().flatten().flatten() {
        let relative = relative.join(entry.file_name());
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            clean(root, &relative, remote);
            // Fails, as it should, unless the directory is empty.
            let _ = paths::remove_dir(entry.path());
        } else if !remote.contains(&relative)
            && let Err(error) = paths::remove_file(entry.path())
        {
            tracing::warn!("could not remove {}: {error}", entry.path().display());
        }
    }
}
