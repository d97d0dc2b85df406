//! Arch's package manager: `pacman`.

use std::cmp::Ordering;

use halite_call::host::{Program, Ran};
use halite_call::{Call, host, python};
use halite_proto::{Map, Value};
use halite_target::glob::fnmatch;

use super::dnf::groups::KINDS;
use super::error::PkgError;
use super::provider::{FileInfo, Files, Listing, Provider};
use super::targets::{self, Targets, parse_targets};
use super::{changes, derived, lists, version};

/// Arch's.
pub(crate) struct Pacman;

const QUIET: &[&str] = &["--noprogressbar", "--noconfirm"];

fn run(call: &Call<'_>, words: &[&str], more: &[String]) -> Result<Ran, PkgError> {
    let mut line = vec!["pacman".to_owned()];
    line.extend(words.iter().map(|word| (*word).to_owned()));
    if let Some(root) = call.get("root").filter(|root| root.is_true()) {
        line.extend(["-r".to_owned(), python::str(root)]);
    }
    line.extend(more.iter().cloned());
    let scoped = words.iter().any(|word| QUIET.contains(word));
    let mut all: Vec<String> = Vec::new();
    if scoped {
        all.extend(crate::scope(call).iter().map(|word| (*word).to_owned()));
    }
    all.extend(line);
    Ok(Program::new(call, &all).may_fail().run()?)
}

/// Name, version and repository of what `-Si` tells.
fn offered(call: &Call<'_>, names: &[String]) -> Result<Vec<(String, String, String)>, PkgError> {
    let exact = !names.iter().any(|name| name.contains(['*', '?', '[']));
    let asked: &[String] = if exact { names } else { &[] };
    let ran = run(call, &["-Si"], asked)?;
    let (mut repo, mut name, mut all) = ("", "", Vec::new());
    for (key, value) in ran.stdout.lines().filter_map(|line| line.split_once(':')) {
        match key.trim() {
            "Repository" => repo = value.trim(),
            "Name" => name = value.trim(),
            "Version" => all.push((name.to_owned(), value.trim().to_owned(), repo.to_owned())),
            _ => {}
        }
    }
    if !exact {
        all.retain(|(name, ..)| names.iter().any(|glob| fnmatch(glob, name)));
    }
    all.sort_by(|(a, x, _), (b, y, _)| a.cmp(b).then_with(|| version::plain(y, x)));
    Ok(all)
}

/// `group package` lines as groups with their packages.
fn groups(text: &str) -> Vec<(String, Vec<String>)> {
    let mut all: Vec<(String, Vec<String>)> = Vec::new();
    for (group, name) in text.lines().filter_map(|line| line.split_once(' ')) {
        match all.iter_mut().find(|(known, _)| known == group) {
            Some((_, names)) => names.push(name.to_owned()),
            None => all.push((group.to_owned(), vec![name.to_owned()])),
        }
    }
    for (_, names) in &mut all {
        names.sort();
        names.dedup();
    }
    all
}

fn list(items: Vec<String>) -> Value {
    Value::List(items.into_iter().map(Value::from).collect())
}

/// The function `pkg.group_list`.
pub(super) fn group_list(call: &Call<'_>) -> Result<Map, PkgError> {
    let available = groups(&run(call, &["-Sgg"], &[])?.stdout);
    let installed = groups(&run(call, &["-Qg"], &[])?.stdout);
    let (mut full, mut partly, mut none) = (Vec::new(), Vec::new(), Vec::new());
    for (group, names) in available {
        let has = installed.iter().find(|(known, _)| *known == group);
        match has {
            None => none.push(group),
            Some((_, has)) if names.iter().all(|name| has.contains(name)) => full.push(group),
            Some(_) => partly.push(group),
        }
    }
    Ok(Map::from([
        ("installed", list(full)),
        ("partially_installed", list(partly)),
        ("available", list(none)),
    ]))
}

fn members(call: &Call<'_>, group: &str) -> Result<Vec<String>, PkgError> {
    let ran = run(call, &["-Sgg"], &[group.to_owned()])?;
    let found = groups(&ran.stdout);
    let found = found.into_iter().find(|(known, _)| known == group);
    Ok(found.map(|(_, names)| names).unwrap_or_default())
}

/// The members by kind. Here all are of one; other package managers have all.
fn members_by_kind(
    call: &Call<'_>,
    group: &str,
) -> Result<[(&'static str, Vec<String>); 4], PkgError> {
    let members = members(call, group)?;
    Ok(KINDS.map(|kind| {
        let of_kind = (kind == "default").then(|| members.clone());
        (kind, of_kind.unwrap_or_default())
    }))
}

/// The function `pkg.group_info`.
pub(super) fn group_info(call: &Call<'_>, group: &str) -> Result<Map, PkgError> {
    let kinds = members_by_kind(call, group)?.into_iter();
    Ok(kinds.map(|(kind, names)| (kind, list(names))).collect())
}

/// The function `pkg.group_diff`.
pub(super) fn group_diff(call: &Call<'_>, group: &str) -> Result<Map, PkgError> {
    let kinds = members_by_kind(call, group)?.into_iter();
    let current = lists::joined(&Pacman.list(call, Listing::Installed)?);
    Ok(kinds
        .map(|(kind, names)| {
            let (there, missing): (Vec<String>, Vec<String>) = names
                .into_iter()
                .partition(|name| current.contains_key(name));
            let diff = Map::from([("installed", list(there)), ("not installed", list(missing))]);
            (kind, Value::from(diff))
        })
        .collect())
}

impl Provider for Pacman {
    fn name(&self) -> &'static str {
        "pacman"
    }

    fn list(&self, call: &Call<'_>, listing: Listing) -> Result<Map, PkgError> {
        let mut list = Map::new();
        if listing != Listing::Installed {
            return Ok(list);
        }
        let ran = run(call, &["-Q"], &[])?;
        for (name, version) in ran.stdout.lines().filter_map(|line| line.split_once(' ')) {
            lists::add(&mut list, name, version);
        }
        Ok(list)
    }

    fn compare(&self, a: &str, b: &str) -> Ordering {
        version::plain(a, b)
    }

    /// Whether each repository was read again.
    fn refresh(&self, call: &Call<'_>, _: &Map) -> Result<Value, PkgError> {
        super::clear_refresh_tag(call);
        let ran = run(call, &["-Sy"], &[])?;
        if !ran.ok() {
            let why = ran.stderr;
            return Err(PkgError::command(format!(
                "Error refreshing package databases: {why}"
            )));
        }
        let lines = ran.stdout.lines().filter(|line| !line.starts_with("::"));
        Ok(lines
            .filter_map(|line| {
                let name = line.split_whitespace().next()?;
                Some((name, Value::Bool(!line.contains("is up to date"))))
            })
            .collect::<Map>()
            .into())
    }

    fn latest(
        &self,
        call: &Call<'_>,
        names: &[String],
        show_installed: bool,
        kwargs: &Map,
    ) -> Result<Map, PkgError> {
        if kwargs.get("refresh").is_some_and(host::is_true) {
            self.refresh(call, kwargs)?;
        }
        derived::newest(self, call, names, show_installed, kwargs)
    }

    fn install(&self, call: &Call<'_>, kwargs: &Map) -> Result<Map, PkgError> {
        let flag = |name: &str| kwargs.get(name).is_some_and(host::is_true);
        let (targets, files) = match parse_targets(call, self, kwargs, true)? {
            Targets::None => return Ok(Map::new()),
            Targets::Repository(wanted) => {
                let targets = wanted
                    .iter()
                    .map(|(name, version)| targets::target(name, version.as_deref()));
                (targets.collect::<Vec<_>>(), false)
            }
            Targets::Files(files) => (files, true),
        };
        let mut verb = if files { "-U" } else { "-S" }.to_owned();
        if !files && flag("refresh") {
            super::clear_refresh_tag(call);
            verb.push('y');
        }
        if !files && flag("sysupgrade") {
            verb.push('u');
        }
        let mut words = vec![verb.as_str()];
        words.extend(QUIET);
        words.push("--needed");
        changes::changed_by(
            self,
            call,
            "Problem encountered installing package(s)",
            || run(call, &words, &targets),
        )
    }

    fn remove(&self, call: &Call<'_>, purge: bool, kwargs: &Map) -> Result<Map, PkgError> {
        let targets = targets::installed_targets(self, call, kwargs)?;
        if targets.is_empty() {
            return Ok(Map::new());
        }
        let mut words = vec![if purge { "-Rsc" } else { "-R" }];
        words.extend(QUIET);
        changes::changed_by(
            self,
            call,
            "Problem encountered removing package(s)",
            || run(call, &words, &targets),
        )
    }

    fn upgrades(&self, call: &Call<'_>, kwargs: &Map) -> Result<Map, PkgError> {
        // Reading the lists anew without an upgrade leaves packages that do not
        // fit each other, so that is done only when it is asked for.
        if kwargs.get("refresh").is_some_and(host::is_true) {
            self.refresh(call, kwargs)?;
        }
        let ran = run(call, &["-Qu"], &[])?;
        let lines = ran.stdout.lines();
        Ok(lines
            .filter_map(|line| {
                let words: Vec<&str> = line.split_whitespace().collect();
                match words.as_slice() {
                    [name, _, "->", new, ..] => Some((*name, *new)),
                    _ => None,
                }
            })
            .collect())
    }

    fn upgrade(&self, call: &Call<'_>, kwargs: &Map) -> Result<Map, PkgError> {
        let refresh = kwargs.get("refresh").is_some_and(host::is_true);
        let mut words = vec![if refresh { "-Suy" } else { "-Su" }];
        words.extend(QUIET);
        changes::changed_by(self, call, "Problem encountered upgrading packages", || {
            run(call, &words, &[])
        })
    }

    fn available(&self, call: &Call<'_>, names: &[String], _: &Map) -> Result<Map, PkgError> {
        offered(call, names).map(lists::offered_versions)
    }

    fn by_repository(
        &self,
        call: &Call<'_>,
        names: &[String],
        _: &Map,
    ) -> Result<Option<Map>, PkgError> {
        offered(call, names).map(|all| Some(lists::offered_by_repository(all)))
    }

    fn held(&self, _: &Call<'_>) -> Result<Vec<String>, PkgError> {
        Ok(Vec::new())
    }

    fn hold(&self, _: &Call<'_>, _: bool, _: &[String]) -> Result<Map, PkgError> {
        Err(PkgError::command("pacman has no way to hold packages"))
    }

    fn autoremove(&self, call: &Call<'_>, list_only: bool, _: bool) -> Result<Value, PkgError> {
        let ran = run(call, &["-Qdtq"], &[])?;
        let names: Vec<String> = ran.stdout.lines().map(str::to_owned).collect();
        if list_only || names.is_empty() {
            return Ok(list(names));
        }
        let mut words = vec!["-Rs"];
        words.extend(QUIET);
        let message = "Problem encountered removing package(s)";
        Ok(changes::changed_by(self, call, message, || run(call, &words, &names))?.into())
    }

    fn owner(&self, call: &Call<'_>, path: &str) -> Result<String, PkgError> {
        let ran = run(call, &["-Qqo"], &[path.to_owned()])?;
        Ok(if ran.ok() { ran.stdout } else { String::new() })
    }

    fn files(&self, call: &Call<'_>, names: &[String]) -> Result<Files, PkgError> {
        let mut files = Files::default();
        for name in names {
            let ran = run(call, &["-Qlq"], std::slice::from_ref(name))?;
            if !ran.ok() {
                files.errors.extend(ran.stderr.lines().map(str::to_owned));
                continue;
            }
            let lines = ran.stdout.lines().map(str::to_owned);
            files.packages.push((name.clone(), lines.collect()));
        }
        Ok(files)
    }

    fn file_info(&self, call: &Call<'_>, path: &str) -> Result<Option<FileInfo>, PkgError> {
        let ran = run(call, &["-Qp"], &[path.to_owned()])?;
        let found = ran.stdout.lines().next().filter(|_| ran.ok());
        let found = found.and_then(|line| line.split_once(' '));
        Ok(found.map(|(name, version)| FileInfo {
            name: name.to_owned(),
            version: version.to_owned(),
            arch: String::new(),
        }))
    }

    fn info(&self, call: &Call<'_>, names: &[String], _: &Map) -> Result<Map, PkgError> {
        derived::versions_only(self, call, names)
    }
}

#[cfg(test)]
mod tests {
    use super::groups;

    #[test]
    fn groups_are_read() {
        let found = groups("fruit plum\nfruit pear\nnuts hazel\n");
        assert_eq!(
            found[0],
            (
                "fruit".to_owned(),
                vec!["pear".to_owned(), "plum".to_owned()]
            )
        );
        assert_eq!(found.len(), 2);
    }
}
