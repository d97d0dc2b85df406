//! `pkg.installed`.

mod outcome;
mod predict;
use halite_call::{Call, CallResult, StateReturn, python};
use halite_proto::{Map, Value};

use super::targets::{self, Request, Todo, add_warnings};
use super::{extra, is_empty_list};
use crate::pkg::error::PkgError;
use crate::pkg::provider::Provider;
use crate::pkg::targets::{PackageRequest, one_entry};
use crate::pkg::this_machine::provider;
use crate::pkg::{check_refresh, hold_names};
use outcome::{add_hold_change, not_installed, outcome, say_modified, say_unmodified, summary};
pub(super) use predict::installable;
use predict::predict;

pub(super) fn installed(call: &Call<'_>) -> CallResult {
    if is_empty_list(call.arg("pkgs")) {
        return Ok(StateReturn::of(call)
            .ok("No packages to install provided")
            .into());
    }
    if call.arg("pkg_verify").is_true() && provider(call)?.name() != "dnf" {
        return Ok(StateReturn::of(call)
            .failed("pkg.verify not implemented")
            .into());
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
        Err(error) => return Ok(StateReturn::of(call).failed(error.to_string())),
    };
    let holds = match hold(call, provider, wanted, &names) {
        Ok(holds) => holds,
        Err(error) => return Ok(StateReturn::of(call).failed(error.to_string())),
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

/// The arguments of the installation.
fn install_arguments(request: &Request<'_>, call: &Call<'_>, todo: &Todo, refresh: bool) -> Map {
    let mut kwargs = request.kwargs.clone();
    kwargs.remove("hold");
    if request.sources.is_true() {
        let list = request.sources.as_list().unwrap_or_default();
        let picked = |wanted: &PackageRequest| -> Vec<Value> {
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
                let mut state = StateReturn::of(call).failed(error.to_string());
                state.changes = changes;
                add_warnings(&mut state, &todo.warnings);
                return Ok(state);
            }
        }
    }
    if !todo.unpurge.is_empty() {
        match provider.unpurge(call, &todo.unpurge) {
            Some(done) => drop(changes.insert("purge_desired", done?)),
            None => return Ok(StateReturn::of(call).failed("lowpkg.unpurge not implemented")),
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
    result &= say_reinstalled(&mut comments, request, todo, &reinstalled);
    let mut state = StateReturn::of(call);
    state.changes = changes;
    state.result = Some(result);
    state.comment = comments.join("\n").into();
    add_warnings(&mut state, &todo.warnings);
    Ok(state)
}

/// Says which packages were installed again. Whether all were.
fn say_reinstalled(
    comments: &mut Vec<String>,
    request: &Request<'_>,
    todo: &Todo,
    reinstalled: &Map,
) -> bool {
    let mut all = true;
    for (name, _) in &todo.reinstall {
        let written = summary(request, todo, std::slice::from_ref(name));
        if reinstalled.contains_key(name) {
            comments.push(format!("Package {written} was reinstalled."));
        } else {
            comments.push(format!(
                "Reinstall was not successful for package {written}."
            ));
            all = false;
        }
    }
    all
}
