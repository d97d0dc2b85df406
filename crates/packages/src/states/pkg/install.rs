//! `pkg.installed`.

use halite_modules::{Call, CallResult, StateReturn, python};
use halite_proto::{Map, Value};

use super::targets::{self, Request, Todo, add_warnings, written};
use super::{extra, is_empty_list, state};
use crate::pkg::error::PkgError;
use crate::pkg::provider::{Provider, provider};
use crate::pkg::targets::{Wanted, one_entry};
use crate::pkg::{check_refresh, hold_names, lists};

pub(super) fn installed(call: &Call<'_>) -> CallResult {
    if is_empty_list(call.arg("pkgs")) {
        return Ok(state(call).ok("No packages to install provided").into());
    }
    if call.arg("pkg_verify").is_true() && provider(call)?.name() != "dnf" {
        return Ok(state(call).failed("pkg.verify not implemented").into());
    }
    let provider = provider(call)?;
    let request = request(call);
    let mut todo = match targets::to_install(call, provider, &request)? {
        Ok(todo) => todo,
        Err(done) => return Ok(hold_only(call, provider, &request, *done)?.into()),
    };
    if call.is_test() {
        return Ok(predict(call, provider, &request, &todo)?.into());
    }
    let refresh = request.refresh && !todo.refreshed;
    Ok(carry_out(call, provider, &request, &mut todo, refresh)?.into())
}

fn request<'a>(call: &'a Call<'_>) -> Request<'a> {
    let name = call.text("name");
    let mut pkgs = call.arg("pkgs").clone();
    let sources = call.arg("sources");
    if !name.is_empty() && !pkgs.is_true() && !sources.is_true() {
        let version = call.arg("version");
        pkgs = Value::List(vec![if version.is_true() {
            Map::from([(name.as_str(), Value::Str(python::str(version)))]).into()
        } else {
            name.as_str().into()
        }]);
    }
    let ignore_epoch = call.arg("ignore_epoch");
    Request {
        pkgs,
        sources,
        skip_suggestions: call.flag("skip_suggestions"),
        normalize: call.flag("normalize"),
        ignore_epoch: (!ignore_epoch.is_nil()).then(|| ignore_epoch.is_true()),
        reinstall: call.flag("reinstall"),
        refresh: check_refresh(call, call.arg("refresh")),
        allow_updates: call.flag("allow_updates"),
        kwargs: extra(call),
    }
}

/// Results of `hold`, by how they came out.
#[derive(Default)]
struct Holds {
    modified: Vec<Map>,
    unmodified: Vec<Map>,
    failed: Vec<Map>,
}

fn hold(
    call: &Call<'_>,
    provider: &dyn Provider,
    hold: &Value,
    names: &[String],
) -> Result<Holds, PkgError> {
    let mut holds = Holds::default();
    for (_, result) in provider.hold(call, hold.is_true(), names)? {
        let Value::Map(result) = result else {
            continue;
        };
        let changed = result.get("changes").is_some_and(Value::is_true);
        if !result.get("result").is_some_and(Value::is_true) {
            holds.failed.push(result);
        } else if changed {
            holds.modified.push(result);
        } else {
            holds.unmodified.push(result);
        }
    }
    Ok(holds)
}

fn comment_of(result: &Map) -> String {
    result.get("comment").map(python::str).unwrap_or_default()
}

/// Nothing to install; packages may still have to be held or freed.
fn hold_only(
    call: &Call<'_>,
    provider: &dyn Provider,
    request: &Request<'_>,
    mut done: StateReturn,
) -> Result<StateReturn, PkgError> {
    let Some(wanted) = request.kwargs.get("hold") else {
        return Ok(done);
    };
    let names = match hold_names(&Value::Nil, &request.pkgs, request.sources) {
        Ok(names) => names,
        Err(error) => return Ok(state(call).failed(error.to_string())),
    };
    let holds = match hold(call, provider, wanted, &names) {
        Ok(holds) => holds,
        Err(error) => return Ok(state(call).failed(error.to_string())),
    };
    let mut comment = python::str(&done.comment);
    for result in holds
        .modified
        .iter()
        .chain(&holds.unmodified)
        .chain(&holds.failed)
    {
        comment.push_str(&format!(".\n{}", comment_of(result)));
        done.result = result.get("result").and_then(Value::as_bool);
    }
    for result in &holds.modified {
        let name = result.get("name").map(python::str).unwrap_or_default();
        done.changes
            .insert(name, result.get("changes").cloned().unwrap_or_default());
    }
    done.comment = comment.into();
    Ok(done)
}

/// What test mode says.
fn predict(
    call: &Call<'_>,
    provider: &dyn Provider,
    request: &Request<'_>,
    todo: &Todo,
) -> Result<StateReturn, PkgError> {
    let mut state = state(call);
    let mut comments = Vec::new();
    let from_files = request.sources.is_true();
    let installed = || lists::change("", "installed");
    if !todo.targets.is_empty() {
        state.changes = if from_files {
            todo.targets
                .iter()
                .map(|(name, _)| (name.as_str(), installed()))
                .collect()
        } else {
            installable(call, provider, &todo.targets, &Map::new(), request.refresh)?
        };
        let names: Vec<&str> = todo.targets.iter().map(|(name, _)| name.as_str()).collect();
        comments.push(format!(
            "The following packages would be installed/updated: {}",
            names.join(", ")
        ));
    }
    if !todo.unpurge.is_empty() {
        comments.push(format!(
            "The following packages would have their selection status changed from 'purge' to 'install': {}",
            todo.unpurge.join(", ")
        ));
        for name in &todo.unpurge {
            state.changes.insert(name.as_str(), installed());
        }
    }
    if !todo.reinstall.is_empty() {
        let mut names = Vec::new();
        for (name, _) in &todo.reinstall {
            let name = if from_files {
                name.clone()
            } else {
                written(name, &todo.reinstall)
            };
            state.changes.insert(name.as_str(), installed());
            names.push(name);
        }
        comments.push(format!(
            "The following packages would be reinstalled: {}",
            names.join(", ")
        ));
    }
    let mut state = state.pending(comments.join("\n"));
    add_warnings(&mut state, &todo.warnings);
    Ok(state)
}

/// The versions that would be installed.
pub(super) fn installable(
    call: &Call<'_>,
    provider: &dyn Provider,
    targets: &Wanted,
    current: &Map,
    refresh: bool,
) -> Result<Map, PkgError> {
    let newest: Vec<String> = targets
        .iter()
        .filter(|(_, version)| version.as_deref().is_none_or(str::is_empty))
        .map(|(name, _)| name.clone())
        .collect();
    let mut versions = Map::new();
    if !newest.is_empty() {
        let kwargs = Map::from([("refresh", refresh)]);
        versions = provider.latest(call, &newest, false, &kwargs)?;
    }
    let exact: Vec<String> = targets
        .iter()
        .filter(|(name, _)| !newest.contains(name))
        .map(|(name, _)| written(name, targets))
        .collect();
    if !exact.is_empty() {
        for (name, list) in provider.available(call, &exact, &Map::new())? {
            if let Value::List(list) = list
                && let Some(first) = list.into_iter().next()
            {
                versions.insert(name, first);
            }
        }
    }
    Ok(targets
        .iter()
        .map(|(name, _)| {
            let new = versions
                .get(name)
                .filter(|version| version.is_true())
                .cloned();
            let old = current.get(name).cloned();
            let change = Map::from([
                ("new", new.unwrap_or_else(|| "installed".into())),
                ("old", old.unwrap_or_else(|| "".into())),
            ]);
            (name.as_str(), Value::from(change))
        })
        .collect())
}

/// The arguments of the installation.
fn install_arguments(request: &Request<'_>, call: &Call<'_>, todo: &Todo, refresh: bool) -> Map {
    let mut kwargs = request.kwargs.clone();
    kwargs.remove("hold");
    if request.sources.is_true() {
        let list = request.sources.as_list().unwrap_or_default();
        let picked = |wanted: &Wanted| -> Vec<Value> {
            list.iter()
                .filter(|source| {
                    one_entry(source)
                        .is_some_and(|(name, _)| targets::version_of(wanted, &name).is_some())
                })
                .cloned()
                .collect()
        };
        let mut sources = picked(&todo.targets);
        sources.extend(picked(&todo.reinstall));
        kwargs.insert("sources", Value::List(sources));
    } else {
        let pkgs = todo.targets.iter().chain(&todo.reinstall);
        let pkgs = pkgs.map(|(name, version)| {
            Map::from([(name.as_str(), Value::from(version.clone()))]).into()
        });
        kwargs.insert("pkgs", Value::List(pkgs.collect()));
    }
    kwargs.insert("refresh", refresh);
    kwargs.insert("reinstall", !todo.reinstall.is_empty());
    kwargs.insert("split_arch", false);
    for name in ["fromrepo", "skip_verify", "normalize", "update_holds"] {
        kwargs.insert(name, call.arg(name).clone());
    }
    kwargs.insert("ignore_epoch", call.arg("ignore_epoch").clone());
    kwargs
}

fn carry_out(
    call: &Call<'_>,
    provider: &dyn Provider,
    request: &Request<'_>,
    todo: &mut Todo,
    refresh: bool,
) -> Result<StateReturn, PkgError> {
    let mut changes = Map::new();
    if !todo.targets.is_empty() || !todo.reinstall.is_empty() {
        let kwargs = install_arguments(request, call, todo, refresh);
        match provider.install(call, &kwargs) {
            Ok(made) => changes = made,
            Err(error) => return Ok(not_installed(call, &error, &todo.warnings)),
        }
    }
    let reinstalled = changes.clone();
    let mut holds = Holds::default();
    if let Some(wanted) = request.kwargs.get("hold") {
        let names: Vec<String> = todo.desired.iter().map(|(name, _)| name.clone()).collect();
        match hold(call, provider, wanted, &names) {
            Ok(done) => holds = done,
            Err(error) => {
                let mut state = state(call).failed(error.to_string());
                state.changes = changes;
                add_warnings(&mut state, &todo.warnings);
                return Ok(state);
            }
        }
    }
    if !todo.unpurge.is_empty() {
        match provider.unpurge(call, &todo.unpurge) {
            Some(done) => drop(changes.insert("purge_desired", done?)),
            None => return Ok(state(call).failed("lowpkg.unpurge not implemented")),
        }
    }
    let outcome = outcome(call, provider, request, todo, &changes)?;
    let mut comments = Vec::new();
    say_modified(&mut comments, request, todo, &outcome.modified);
    for result in &holds.modified {
        comments.push(comment_of(result));
        add_hold_change(&mut changes, result);
    }
    say_unmodified(&mut comments, request, todo, &outcome.unmodified);
    comments.extend(holds.unmodified.iter().map(comment_of));
    let mut result = true;
    if !outcome.failed.is_empty() {
        let names = summary(request, todo, &outcome.failed);
        comments.insert(
            0,
            format!("The following packages failed to install/update: {names}"),
        );
        result = false;
    }
    if !holds.failed.is_empty() {
        comments.extend(holds.failed.iter().map(comment_of));
        result = false;
    }
    for (name, _) in &todo.reinstall {
        let written = summary(request, todo, std::slice::from_ref(name));
        if reinstalled.contains_key(name) {
            comments.push(format!("Package {written} was reinstalled."));
        } else {
            comments.push(format!(
                "Reinstall was not successful for package {written}."
            ));
            result = false;
        }
    }
    let mut state = state(call);
    state.changes = changes;
    state.result = Some(result);
    state.comment = comments.join("\n").into();
    add_warnings(&mut state, &todo.warnings);
    Ok(state)
}

fn not_installed(call: &Call<'_>, error: &PkgError, warnings: &[String]) -> StateReturn {
    let mut state = state(call);
    match error.changes() {
        Some(changes) => {
            state.changes = changes;
            state = state.failed(error.without_changes());
        }
        None => {
            state = state.failed(format!(
                "An error was encountered while installing package(s): {error}"
            ));
        }
    }
    add_warnings(&mut state, warnings);
    state
}

struct Outcome {
    modified: Vec<String>,
    unmodified: Vec<String>,
    failed: Vec<String>,
}

fn outcome(
    call: &Call<'_>,
    provider: &dyn Provider,
    request: &Request<'_>,
    todo: &Todo,
    changes: &Map,
) -> Result<Outcome, PkgError> {
    let in_list = |list: &Wanted, name: &String| targets::version_of(list, name).is_some();
    if request.sources.is_true() {
        let modified: Vec<String> = changes
            .keys()
            .map(python::str)
            .filter(|name| in_list(&todo.targets, name))
            .collect();
        let names =
            |list: &Wanted| -> Vec<String> { list.iter().map(|(name, _)| name.clone()).collect() };
        return Ok(Outcome {
            unmodified: names(&todo.desired)
                .into_iter()
                .filter(|name| !in_list(&todo.targets, name) && !in_list(&todo.reinstall, name))
                .collect(),
            failed: names(&todo.targets)
                .into_iter()
                .filter(|name| !modified.contains(name))
                .collect(),
            modified,
        });
    }
    let (fine, mut failed) = targets::verify(call, provider, &todo.desired, request.ignore_epoch)?;
    failed.retain(|name| in_list(&todo.targets, name));
    let (modified, rest): (Vec<String>, Vec<String>) = fine
        .into_iter()
        .partition(|name| in_list(&todo.targets, name));
    Ok(Outcome {
        modified,
        unmodified: rest
            .into_iter()
            .filter(|name| !in_list(&todo.reinstall, name))
            .collect(),
        failed,
    })
}

fn summary(request: &Request<'_>, todo: &Todo, names: &[String]) -> String {
    if request.sources.is_true() {
        return names.join(", ");
    }
    let written: Vec<String> = names
        .iter()
        .map(|name| written(name, &todo.desired))
        .collect();
    written.join(", ")
}

/// Short lists are shown, of long ones the number.
fn say_modified(comments: &mut Vec<String>, request: &Request<'_>, todo: &Todo, names: &[String]) {
    if names.is_empty() {
        return;
    }
    let summary = summary(request, todo, names);
    comments.push(if summary.len() < 20 {
        format!("The following packages were installed/updated: {summary}")
    } else {
        format!("{} installed/updated.", counted(names.len()))
    });
}

fn say_unmodified(
    comments: &mut Vec<String>,
    request: &Request<'_>,
    todo: &Todo,
    names: &[String],
) {
    if names.is_empty() {
        return;
    }
    comments.push(if names.len() <= 20 {
        let summary = summary(request, todo, names);
        format!("The following packages were already installed: {summary}")
    } else {
        format!("{} already installed", counted(names.len()))
    });
}

fn counted(count: usize) -> String {
    if count > 1 {
        format!("{count} targeted packages were")
    } else {
        format!("{count} targeted package was")
    }
}

/// Adds that a package is now held to what changed of it.
fn add_hold_change(changes: &mut Map, result: &Map) {
    let name = result.get("name").map(python::str).unwrap_or_default();
    let held = result.get("changes");
    let text = |key: &str| {
        held.and_then(|held| held.get(key))
            .map(python::str)
            .unwrap_or_default()
    };
    match changes.get_mut(&name).and_then(Value::as_map_mut) {
        Some(change) => {
            for key in ["new", "old"] {
                let mut joined = change.get(key).map(python::str).unwrap_or_default();
                if !joined.is_empty() {
                    joined.push('\n');
                }
                joined.push_str(&text(key));
                change.insert(key, joined);
            }
        }
        None => {
            changes.insert(name, Map::from([("new", text("new"))]));
        }
    }
}
