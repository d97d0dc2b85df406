//! Installing, removing and upgrading with `apt-get`.

use halite_modules::{Call, host, python};
use halite_proto::{Map, Value};
use halite_target::glob::fnmatch;

use super::{Apt, Tool, refresh, run};
use crate::pkg::error::PkgError;
use crate::pkg::lists;
use crate::pkg::provider::{Listing, Provider};
use crate::pkg::requirement;
use crate::pkg::targets::{Targets, Wanted, parse_targets};

/// One thing to install.
struct Item {
    name: String,
    /// Its file, for packages that are not from a repository.
    file: Option<String>,
    version: Option<String>,
}

/// What apt is told: each list is one run of it.
#[derive(Default)]
struct Plan {
    install: Vec<String>,
    downgrade: Vec<String>,
    reinstall: Vec<(String, String)>,
    errors: Vec<String>,
}

pub(super) fn install(call: &Call<'_>, kwargs: &Map) -> Result<Map, PkgError> {
    let flag = |name: &str| kwargs.get(name).is_some_and(Value::is_true);
    let refresh_first = needs_refresh(call, kwargs)?;
    if let Some(file) = kwargs.get("debconf").filter(|file| file.is_true()) {
        call.salt("debconf.set_file", std::slice::from_ref(file), Map::new())?;
    }
    let normalize = kwargs.get("normalize").is_none_or(Value::is_true)
        && kwargs.get("split_arch").is_none_or(Value::is_true);
    let targets = parse_targets(call, &Apt, kwargs, normalize)?;
    let (items, from_files) = match targets {
        Targets::None => return Ok(Map::new()),
        Targets::Repository(wanted) => (of_repository(wanted, kwargs), false),
        Targets::Files(files) => (of_files(call, files)?, true),
    };
    let old = lists::joined(&Apt.list(call, Listing::Installed)?);
    let plan = plan(call, items, from_files, &old, kwargs)?;
    let commands = commands(&plan, from_files, kwargs);
    let mut errors = plan.errors;
    let mut changes = Map::new();
    if !commands.is_empty() {
        if refresh_first {
            let valid = kwargs.get("cache_valid_time").cloned();
            refresh(
                call,
                &valid
                    .map(|time| Map::from([("cache_valid_time", time)]))
                    .unwrap_or_default(),
            )?;
        }
        let targeted: Vec<&str> = plan
            .install
            .iter()
            .chain(plan.reinstall.iter().map(|(name, _)| name))
            .filter_map(|target| target.split('=').next())
            .collect();
        let unhold: Vec<String> = Apt
            .held(call)?
            .into_iter()
            .filter(|held| targeted.contains(&held.as_str()))
            .collect();
        if !unhold.is_empty() {
            Apt.hold(call, false, &unhold)?;
        }
        for words in commands {
            let env = kwargs.get("env").cloned().unwrap_or_default();
            let ran = run(call, || Tool {
                env: env.clone(),
                ..Tool::changing(words.clone())
            })?;
            if !ran.ok() && !ran.stderr.is_empty() {
                errors.push(ran.stderr);
            }
        }
        let new = lists::joined(&Apt.list(call, Listing::Installed)?);
        changes = lists::differences(&old, &new);
        for (name, _) in &plan.reinstall {
            if !changes.contains_key(name) || old.contains_key(name) {
                let version = |list: &Map| list.get(name).cloned().unwrap_or_else(|| "".into());
                changes.insert(name.as_str(), lists::change(version(&old), version(&new)));
            }
        }
        if !unhold.is_empty() {
            Apt.hold(call, true, &unhold)?;
        }
        if flag("downloadonly") {
            tracing::debug!("packages were downloaded, not installed");
        }
    }
    finish("Problem encountered installing package(s)", errors, changes)
}

fn finish(message: &str, errors: Vec<String>, changes: Map) -> Result<Map, PkgError> {
    if errors.is_empty() {
        return Ok(changes);
    }
    let errors: Vec<Value> = errors.into_iter().map(Value::from).collect();
    Err(PkgError::Tool {
        message: message.to_owned(),
        info: Map::from([("errors", Value::List(errors)), ("changes", changes.into())]),
    })
}

/// Lists are read again only if what is wanted is not the newest known.
fn needs_refresh(call: &Call<'_>, kwargs: &Map) -> Result<bool, PkgError> {
    if !kwargs.get("refresh").is_some_and(host::is_true) {
        return Ok(false);
    }
    let quiet = Map::from([("refresh", false)]);
    let is_newest = |name: &str, version: &Value| -> Result<bool, PkgError> {
        let latest = Apt.latest(call, &[name.to_owned()], true, &quiet)?;
        Ok(latest.get(name) == Some(version))
    };
    match kwargs.get("pkgs") {
        Some(Value::List(pkgs)) if !pkgs.is_empty() => {
            for pkg in pkgs {
                let newest = match crate::pkg::targets::one_entry(pkg) {
                    Some((name, version)) => is_newest(&name, version)?,
                    None => false,
                };
                if !newest {
                    return Ok(true);
                }
            }
            Ok(false)
        }
        _ => match (kwargs.get("name"), kwargs.get("version")) {
            (Some(name), Some(version)) if version.is_true() => {
                Ok(!is_newest(&python::str(name), version)?)
            }
            _ => Ok(true),
        },
    }
}

fn of_repository(wanted: Wanted, kwargs: &Map) -> Vec<Item> {
    let single = wanted.len() == 1 && kwargs.get("pkgs").is_none_or(Value::is_nil);
    let version = kwargs
        .get("version")
        .filter(|version| version.is_true() && single);
    wanted
        .into_iter()
        .map(|(name, own)| Item {
            name,
            file: None,
            version: version.map(python::str).or(own),
        })
        .collect()
}

fn of_files(call: &Call<'_>, files: Vec<String>) -> Result<Vec<Item>, PkgError> {
    files
        .into_iter()
        .map(|file| {
            let info = super::query::file_info(call, &file)?;
            Ok(Item {
                name: info.name,
                file: Some(file),
                version: Some(info.version),
            })
        })
        .collect()
}

fn plan(
    call: &Call<'_>,
    items: Vec<Item>,
    from_files: bool,
    old: &Map,
    kwargs: &Map,
) -> Result<Plan, PkgError> {
    let compared: Vec<String> = items
        .iter()
        .filter(|item| {
            let version = item.version.as_deref().unwrap_or_default();
            !from_files && version.starts_with(['<', '>'])
        })
        .map(|item| item.name.clone())
        .collect();
    let offered = if compared.is_empty() {
        Map::new()
    } else {
        Apt.available(call, &compared, kwargs)?
    };
    let reinstall = kwargs.get("reinstall").is_some_and(Value::is_true);
    let ignore_epoch = kwargs.get("ignore_epoch").is_some_and(Value::is_true);
    let mut plan = Plan::default();
    for item in items {
        let has = old
            .get(&item.name)
            .and_then(Value::as_str)
            .unwrap_or_default();
        let Some(version) = item.version else {
            if reinstall && !has.is_empty() {
                plan.reinstall.push((item.name.clone(), item.name));
            } else {
                plan.install.push(item.file.unwrap_or(item.name));
            }
            continue;
        };
        let mut version = version.trim_start_matches('=').to_owned();
        if compared.contains(&item.name) {
            let candidates = lists::versions(&offered, &item.name);
            match requirement::pick(&Apt, &version, &candidates, ignore_epoch) {
                Some(found) => version = found,
                None => {
                    let known = if candidates.is_empty() {
                        "None".to_owned()
                    } else {
                        candidates.join(", ")
                    };
                    plan.errors.push(format!(
                        "No version matching '{}{version}' could be found (available: {known})",
                        item.name
                    ));
                    continue;
                }
            }
        }
        let target = item
            .file
            .unwrap_or_else(|| format!("{}={version}", item.name));
        let order = Apt.compare(&version, has);
        if reinstall && !has.is_empty() && order.is_eq() {
            plan.reinstall.push((item.name, target));
        } else if has.is_empty() || order.is_ge() {
            plan.install.push(target);
        } else {
            plan.downgrade.push(target);
        }
    }
    Ok(plan)
}

/// The command lines of a plan.
fn commands(plan: &Plan, from_files: bool, kwargs: &Map) -> Vec<Vec<String>> {
    let flag = |name: &str| kwargs.get(name).is_some_and(Value::is_true);
    let mut prefix: Vec<String> = ["apt-get", "-q", "-y"].map(str::to_owned).to_vec();
    let mut add = |words: &[&str]| prefix.extend(words.iter().map(|word| (*word).to_owned()));
    if flag("force_yes") {
        add(&["--force-yes"]);
    }
    add(conf_options(flag("force_conf_new")));
    match kwargs.get("install_recommends") {
        Some(value) if value.is_true() => add(&["--install-recommends"]),
        Some(_) => add(&["--no-install-recommends"]),
        None => {}
    }
    if flag("only_upgrade") {
        add(&["--only-upgrade"]);
    }
    if flag("skip_verify") {
        add(&["--allow-unauthenticated"]);
    }
    let repo = kwargs
        .get("fromrepo")
        .filter(|repo| repo.is_true())
        .or_else(|| kwargs.get("repo").filter(|repo| repo.is_true()));
    if let (Some(repo), false) = (repo, from_files) {
        add(&["-t", &python::str(repo)]);
    }
    let mut commands = Vec::new();
    let line = |before: &[&str], after: &[&str], targets: Vec<String>| {
        let mut words = prefix.clone();
        words.extend(before.iter().map(|word| (*word).to_owned()));
        words.push("install".to_owned());
        words.extend(after.iter().map(|word| (*word).to_owned()));
        words.extend(targets);
        words
    };
    if !plan.install.is_empty() {
        commands.push(line(&[], &[], plan.install.clone()));
    }
    if !plan.downgrade.is_empty() {
        let force: &[&str] = if from_files || flag("force_yes") {
            &[]
        } else {
            &["--force-yes"]
        };
        commands.push(line(force, &[], plan.downgrade.clone()));
    }
    if flag("downloadonly")
        && let Some(last) = commands.last_mut()
    {
        last.push("--download-only".to_owned());
    }
    if !plan.reinstall.is_empty() {
        let targets = plan.reinstall.iter().map(|(_, target)| target.clone());
        let again: &[&str] = if from_files { &[] } else { &["--reinstall"] };
        commands.push(line(&[], again, targets.collect()));
    }
    commands
}

fn conf_options(new: bool) -> &'static [&'static str] {
    if new {
        &["-o", "DPkg::Options::=--force-confnew"]
    } else {
        &[
            "-o",
            "DPkg::Options::=--force-confold",
            "-o",
            "DPkg::Options::=--force-confdef",
        ]
    }
}

pub(super) fn remove(call: &Call<'_>, purge: bool, kwargs: &Map) -> Result<Map, PkgError> {
    let mut asked = kwargs.clone();
    asked.retain(|key, _| matches!(key.as_str(), Some("name" | "pkgs")));
    let Targets::Repository(wanted) = parse_targets(call, &Apt, &asked, true)? else {
        return Ok(Map::new());
    };
    let old = Apt.list(call, Listing::Installed)?;
    let old_removed = Apt.list(call, Listing::Removed)?;
    let mut targets = matching(&old, &wanted);
    if purge {
        targets.extend(matching(&old_removed, &wanted));
    }
    if targets.is_empty() {
        return Ok(Map::new());
    }
    let mut words: Vec<String> = ["apt-get", "-q", "-y"].map(str::to_owned).to_vec();
    words.push(if purge { "purge" } else { "remove" }.to_owned());
    words.extend(targets);
    let env = kwargs.get("env").cloned().unwrap_or_default();
    let ran = run(call, || Tool {
        env: env.clone(),
        ..Tool::changing(words.clone())
    })?;
    let mut errors = Vec::new();
    if !ran.ok() && !ran.stderr.is_empty() {
        errors.push(ran.stderr);
    }
    let new = Apt.list(call, Listing::Installed)?;
    let mut changes = lists::differences(&lists::joined(&old), &lists::joined(&new));
    if purge {
        let new_removed = Apt.list(call, Listing::Removed)?;
        let removed =
            lists::differences(&lists::joined(&old_removed), &lists::joined(&new_removed));
        changes = Map::from([("removed", removed), ("installed", changes)]);
    }
    finish("Problem encountered removing package(s)", errors, changes)
}

/// The listed packages that are wanted, by name or by pattern.
fn matching(list: &Map, wanted: &Wanted) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let (patterns, names): (Vec<_>, Vec<_>) =
        wanted.iter().partition(|(name, _)| name.contains('*'));
    for (name, _) in names {
        if list.contains_key(name) {
            found.push(name.clone());
        }
    }
    for (pattern, _) in patterns {
        for name in list.keys().map(python::str) {
            if fnmatch(pattern, &name) && !found.contains(&name) {
                found.push(name);
            }
        }
    }
    found
}

pub(super) fn autoremove(call: &Call<'_>, list: bool, purge: bool) -> Result<Value, PkgError> {
    let answer = if list { "--assume-no" } else { "--assume-yes" };
    let mut words = vec!["apt-get", answer];
    if purge {
        words.push("--purge");
    }
    words.push("autoremove");
    let tool = Tool {
        may_fail: true,
        silent: !list,
        scoped: true,
        ..Tool::new(&words)
    };
    if list {
        let ran = run(call, || tool.clone())?;
        let mut names: Vec<String> = ran
            .stdout
            .lines()
            .skip_while(|line| !line.contains("The following packages will be REMOVED:"))
            .skip(1)
            .take_while(|line| line.starts_with(' '))
            .flat_map(|line| line.split_whitespace().map(str::to_owned))
            .collect();
        names.sort();
        return Ok(Value::List(names.into_iter().map(Value::from).collect()));
    }
    let old = lists::joined(&Apt.list(call, Listing::Installed)?);
    run(call, || tool.clone())?;
    let new = lists::joined(&Apt.list(call, Listing::Installed)?);
    Ok(lists::differences(&old, &new).into())
}

pub(super) fn upgrade(call: &Call<'_>, kwargs: &Map) -> Result<Map, PkgError> {
    let flag = |name: &str| kwargs.get(name).is_some_and(Value::is_true);
    if kwargs.get("refresh").is_none_or(host::is_true) {
        let valid = kwargs.get("cache_valid_time").cloned();
        refresh(
            call,
            &valid
                .map(|time| Map::from([("cache_valid_time", time)]))
                .unwrap_or_default(),
        )?;
    }
    let old = lists::joined(&Apt.list(call, Listing::Installed)?);
    let mut words: Vec<&str> = vec!["apt-get", "-q", "-y"];
    words.extend(conf_options(flag("force_conf_new")));
    for (option, word) in [
        ("force_yes", "--force-yes"),
        ("skip_verify", "--allow-unauthenticated"),
    ] {
        if flag(option) {
            words.push(word);
        }
    }
    if flag("download_only") || flag("downloadonly") {
        words.push("--download-only");
    }
    if flag("allow_downgrades") {
        words.push("--allow-downgrades");
    }
    let dist = flag("dist_upgrade");
    words.push(if dist { "dist-upgrade" } else { "upgrade" });
    let words: Vec<String> = words.into_iter().map(str::to_owned).collect();
    let ran = run(call, || Tool::changing(words.clone()))?;
    let new = lists::joined(&Apt.list(call, Listing::Installed)?);
    let changes = lists::differences(&old, &new);
    lists::upgraded(ran, changes)
}
