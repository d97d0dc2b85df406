//! Installing, removing and upgrading with dnf.

use halite_call::{Call, host, python};
use halite_proto::{Map, Value};
use halite_target::glob::fnmatch;

use super::query::refresh;
use super::{Dnf, locks, options, run, tool};
use crate::pkg::error::PkgError;
use crate::pkg::provider::{Listing, Provider};
use crate::pkg::targets::{self, Targets, parse_targets};
use crate::pkg::{changes, lists, requirement, rpm, version};
use crate::words;

#[derive(Default)]
struct Plan {
    install: Vec<(String, String)>,
    downgrade: Vec<(String, String)>,
    reinstall: Vec<(String, String)>,
    errors: Vec<String>,
}

pub(super) fn install(dnf: &Dnf, call: &Call<'_>, kwargs: &Map) -> Result<Map, PkgError> {
    if kwargs.get("refresh").is_some_and(host::is_true) {
        refresh(call, kwargs)?;
    }
    let normalize = kwargs.get("normalize").is_none_or(Value::is_true)
        && kwargs.get("split_arch").is_none_or(Value::is_true);
    let items = match parse_targets(call, dnf, kwargs, normalize)? {
        Targets::None => return Ok(Map::new()),
        Targets::Repository(wanted) => wanted
            .into_iter()
            .map(|(name, version)| (name, None, version))
            .collect(),
        Targets::Files(files) => of_files(dnf, call, files)?,
    };
    let old = dnf.list(call, Listing::Installed)?;
    let observed = rpm::observed_attributes(call, kwargs)?;
    let mut plan = plan(dnf, call, items, &old, kwargs)?;
    let mut errors = std::mem::take(&mut plan.errors);
    let prevented = carry_out(call, &plan, kwargs, &mut errors)?;
    let new = rpm::current(call)?;
    let old = lists::joined(&old);
    let (before, after) = match (observed, rpm::observed_attributes(call, kwargs)?) {
        (Some(before), Some(after)) => (before, after),
        _ => (old, new),
    };
    let mut changes = changes::differences(&before, &after);
    for (name, _) in &plan.reinstall {
        let version = |list: &Map| list.get(name).cloned().unwrap_or_else(|| "".into());
        changes.insert(
            name.as_str(),
            changes::change(version(&before), version(&after)),
        );
    }
    if !prevented.is_empty() {
        errors.push(format!(
            "The following package(s) could not be updated because they are being held: {}. Set \
             'update_holds' to True to temporarily unhold these packages so that they can be \
             updated.",
            prevented.join(", ")
        ));
    }
    let again = if plan.reinstall.is_empty() {
        ""
    } else {
        "/reinstalling"
    };
    changes::changed_or_errors(
        &format!("Error occurred installing{again} package(s)"),
        errors,
        changes,
    )
}

/// Runs the steps of a plan. The names of packages that were left out because they are
/// held.
fn carry_out(
    call: &Call<'_>,
    plan: &Plan,
    kwargs: &Map,
    errors: &mut Vec<String>,
) -> Result<Vec<String>, PkgError> {
    let update_holds = kwargs.get("update_holds").is_some_and(Value::is_true);
    let holds = locks::held(call).unwrap_or_default();
    let mut prevented = Vec::new();
    let runs = [
        ("install", &plan.install),
        ("downgrade", &plan.downgrade),
        ("reinstall", &plan.reinstall),
    ];
    for (verb, pairs) in runs {
        let (locked, free): (Vec<_>, Vec<_>) =
            pairs.iter().partition(|(name, _)| holds.contains(name));
        let mut targets: Vec<String> = free.iter().map(|(_, target)| target.clone()).collect();
        let mut unlocked = Vec::new();
        for (name, target) in locked {
            if update_holds {
                locks::hold(call, false, std::slice::from_ref(name))?;
                unlocked.push(name.clone());
                targets.push(target.clone());
            } else {
                prevented.push(name.clone());
            }
        }
        if !targets.is_empty() {
            let ran = run(call, &line(call, verb, targets, kwargs), true)?;
            if !ran.ok() {
                errors.push(ran.stdout);
            }
        }
        if !unlocked.is_empty() {
            locks::hold(call, true, &unlocked)?;
        }
    }
    Ok(prevented)
}

type Item = (String, Option<String>, Option<String>);

fn of_files(dnf: &Dnf, call: &Call<'_>, files: Vec<String>) -> Result<Vec<Item>, PkgError> {
    files
        .into_iter()
        .map(|file| {
            Ok(match dnf.file_info(call, &file)? {
                Some(info) => (info.name, Some(file), Some(info.version)),
                None => (String::new(), Some(file), None),
            })
        })
        .collect()
}

fn plan(
    dnf: &Dnf,
    call: &Call<'_>,
    items: Vec<Item>,
    old: &Map,
    kwargs: &Map,
) -> Result<Plan, PkgError> {
    let flag = |name: &str| kwargs.get(name).is_some_and(Value::is_true);
    let searched: Vec<String> = items
        .iter()
        .filter(|(_, file, version)| {
            let version = version.as_deref().unwrap_or_default();
            file.is_none() && (version.contains('*') || version.starts_with(['<', '>']))
        })
        .map(|(name, ..)| name.clone())
        .collect();
    let offered = if searched.is_empty() {
        Map::new()
    } else {
        dnf.available(call, &searched, kwargs)?
    };
    let mut plan = Plan::default();
    for (name, file, wanted) in items {
        let has = lists::versions(old, &name);
        let Some(wanted) = wanted else {
            let target = file.unwrap_or_else(|| name.clone());
            if flag("reinstall") && !has.is_empty() {
                plan.reinstall.push((name, target));
            } else {
                plan.install.push((name, target));
            }
            continue;
        };
        let mut wanted = wanted.trim_start_matches('=').to_owned();
        if searched.contains(&name) {
            let candidates = lists::versions(&offered, &name);
            match find_version(dnf, &wanted, &candidates, flag("ignore_epoch")) {
                Some(found) => wanted = found,
                None => {
                    plan.errors
                        .push(requirement::unmatched(&name, &wanted, &candidates));
                    continue;
                }
            }
        }
        let target = file.unwrap_or_else(|| {
            let (short, arch) = rpm::parse_arch(&name);
            let arch = arch.map(|arch| format!(".{arch}")).unwrap_or_default();
            format!("{short}-{}{arch}", version::without_epoch(&wanted))
        });
        let order = |old: &String| version::rpm(&wanted, old);
        if flag("reinstall") && has.iter().any(|old| order(old).is_eq()) {
            plan.reinstall.push((name, target));
        } else if has.is_empty()
            || has.iter().any(|old| order(old).is_ge())
            || matches!(name.as_str(), "kernel" | "kernel-devel")
        {
            plan.install.push((name, target));
        } else {
            plan.downgrade.push((name, target));
        }
    }
    Ok(plan)
}

/// The version among the candidates that a pattern or a comparison asks for.
fn find_version(
    dnf: &Dnf,
    wanted: &str,
    candidates: &[String],
    ignore_epoch: bool,
) -> Option<String> {
    if wanted.contains('*') {
        let mut candidates = candidates.iter();
        candidates.find(|known| fnmatch(wanted, known)).cloned()
    } else {
        requirement::pick(dnf, wanted, candidates, ignore_epoch)
    }
}

fn line(call: &Call<'_>, verb: &str, targets: Vec<String>, kwargs: &Map) -> Vec<String> {
    let flag = |name: &str| kwargs.get(name).is_some_and(Value::is_true);
    let mut line = Vec::new();
    let tool = tool(call);
    line.push("-y".to_owned());
    let best = words(&["--best", "--allowerasing"]);
    if verb == "install" && tool == "dnf" {
        line.extend(best.clone());
    }
    line.extend(options(kwargs));
    if flag("skip_verify") {
        line.push("--nogpgcheck".to_owned());
    }
    if flag("downloadonly") && tool != "dnf5" {
        line.push("--downloadonly".to_owned());
    }
    line.push(verb.to_owned());
    if verb == "install" && tool == "dnf5" {
        line.extend(best);
    }
    line.extend(targets);
    line
}

pub(super) fn remove(dnf: &Dnf, call: &Call<'_>, kwargs: &Map) -> Result<Map, PkgError> {
    let arguments = ["name", "pkgs", "version"];
    let Some(wanted) = targets::parse_removed(call, dnf, kwargs, &arguments)? else {
        return Ok(Map::new());
    };
    let old = dnf.list(call, Listing::Installed)?;
    let targets = targets::removed_targets(&old, wanted, |name, version| {
        format!("{name}-{}", version::without_epoch(version))
    });
    if targets.is_empty() {
        return Ok(Map::new());
    }
    let mut line = words(&["-y", "remove"]);
    line.extend(targets);
    let ran = run(call, &line, false)?;
    let mut errors = Vec::new();
    if !ran.ok() && !ran.stderr.is_empty() {
        errors.push(ran.stderr);
    }
    let changes = changes::differences(&lists::joined(&old), &rpm::current(call)?);
    changes::changed_or_errors("Error occurred removing package(s)", errors, changes)
}

pub(super) fn upgrade(call: &Call<'_>, kwargs: &Map) -> Result<Map, PkgError> {
    let flag = |name: &str| kwargs.get(name).is_some_and(Value::is_true);
    if kwargs.get("refresh").is_none_or(host::is_true) {
        refresh(call, kwargs)?;
    }
    let old = rpm::observed(call, kwargs)?;
    let mut line = words(&["--quiet", "-y"]);
    line.extend(options(kwargs));
    if flag("skip_verify") {
        line.push("--nogpgcheck".to_owned());
    }
    if kwargs.get("obsoletes") == Some(&Value::Bool(false)) {
        line.push("--setopt=obsoletes=False".to_owned());
    }
    line.push(
        if flag("minimal") {
            "upgrade-minimal"
        } else {
            "upgrade"
        }
        .to_owned(),
    );
    if let Some(pkgs) = kwargs.get("pkgs").filter(|pkgs| pkgs.is_true()) {
        line.extend(python::texts(pkgs));
    } else if let Some(name) = kwargs.get("name").filter(|name| name.is_true()) {
        line.push(python::str(name));
    }
    let ran = run(call, &line, false)?;
    let changes = changes::differences(&old, &rpm::observed(call, kwargs)?);
    changes::upgraded(ran, changes)
}

pub(super) fn autoremove(call: &Call<'_>, list: bool) -> Result<Value, PkgError> {
    if list {
        let line = words(&[
            "--quiet",
            "repoquery",
            "--unneeded",
            "--queryformat",
            "%{name}",
        ]);
        let ran = run(call, &line, false)?;
        let names: Vec<Value> = ran
            .stdout
            .lines()
            .map(str::trim)
            .filter(|name| !name.is_empty())
            .map(Value::from)
            .collect();
        return Ok(Value::List(names));
    }
    let old = rpm::current(call)?;
    run(call, &words(&["-y", "autoremove"]), false)?;
    Ok(changes::differences(&old, &rpm::current(call)?).into())
}
