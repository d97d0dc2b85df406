//! Alpine's package manager: `apk`.

use std::cmp::Ordering;

use halite_call::host::{Program, Ran};
use halite_call::{Call, host};
use halite_proto::{Map, Value};

use super::error::PkgError;
use super::provider::{FileInfo, Files, Listing, Provider};
use super::targets::{self, Targets, parse_targets};
use super::{changes, derived, lists, version};

/// Alpine's.
pub(crate) struct Apk;

fn run(call: &Call<'_>, words: &[&str], more: &[String]) -> Result<Ran, PkgError> {
    let mut line = vec!["apk".to_owned()];
    line.extend(words.iter().map(|word| (*word).to_owned()));
    line.extend(more.iter().cloned());
    Ok(Program::new(call, &line).may_fail().run()?)
}

/// `name-1.2-r3` in its parts: the version begins at the last dash but one.
fn parts(text: &str) -> Option<(String, String)> {
    let (rest, release) = text.rsplit_once('-')?;
    let (name, version) = rest.rsplit_once('-')?;
    Some((name.to_owned(), format!("{version}-{release}")))
}

fn unsupported(what: &str) -> PkgError {
    PkgError::command(format!("apk has no {what}"))
}

impl Provider for Apk {
    fn name(&self) -> &'static str {
        "apk"
    }

    fn list(&self, call: &Call<'_>, listing: Listing) -> Result<Map, PkgError> {
        let mut list = Map::new();
        if listing != Listing::Installed {
            return Ok(list);
        }
        let ran = run(call, &["info", "-v"], &[])?;
        for (name, version) in ran.stdout.lines().filter_map(|line| parts(line.trim())) {
            lists::add(&mut list, &name, &version);
        }
        Ok(list)
    }

    fn compare(&self, a: &str, b: &str) -> Ordering {
        version::plain(a, b)
    }

    /// Whether that went well.
    fn refresh(&self, call: &Call<'_>, _: &Map) -> Result<Value, PkgError> {
        super::clear_refresh_tag(call);
        let ran = run(call, &["update"], &[])?;
        if !ran.ok() {
            return Err(PkgError::command(ran.stderr));
        }
        let last = ran.stdout.lines().last();
        Ok(last.is_some_and(|line| line.starts_with("OK")).into())
    }

    fn latest(
        &self,
        call: &Call<'_>,
        names: &[String],
        show_installed: bool,
        kwargs: &Map,
    ) -> Result<Map, PkgError> {
        if kwargs.get("refresh").is_none_or(host::is_true) {
            self.refresh(call, kwargs)?;
        }
        derived::newest(self, call, names, show_installed, kwargs)
    }

    fn install(&self, call: &Call<'_>, kwargs: &Map) -> Result<Map, PkgError> {
        let (targets, words): (Vec<String>, &[&str]) =
            match parse_targets(call, self, kwargs, true)? {
                Targets::None => return Ok(Map::new()),
                Targets::Repository(wanted) => {
                    let targets = wanted
                        .iter()
                        .map(|(name, version)| targets::target(name, version.as_deref()));
                    (targets.collect(), &["add"])
                }
                Targets::Files(files) => (files, &["add", "--allow-untrusted"]),
            };
        if kwargs.get("refresh").is_some_and(host::is_true) {
            self.refresh(call, kwargs)?;
        }
        changes::changed_by(
            self,
            call,
            "Problem encountered installing package(s)",
            || run(call, words, &targets),
        )
    }

    fn remove(&self, call: &Call<'_>, purge: bool, kwargs: &Map) -> Result<Map, PkgError> {
        let targets = targets::installed_targets(self, call, kwargs)?;
        if targets.is_empty() {
            return Ok(Map::new());
        }
        let words: &[&str] = if purge { &["del", "--purge"] } else { &["del"] };
        changes::changed_by(
            self,
            call,
            "Problem encountered removing package(s)",
            || run(call, words, &targets),
        )
    }

    fn upgrades(&self, call: &Call<'_>, kwargs: &Map) -> Result<Map, PkgError> {
        if kwargs.get("refresh").is_none_or(host::is_true) {
            self.refresh(call, kwargs)?;
        }
        let ran = run(call, &["upgrade", "-s"], &[])?;
        // (1/2) Upgrading name (1.0-r0 -> 1.1-r0)
        let lines = ran.stdout.lines();
        Ok(lines
            .filter_map(|line| {
                let (_, rest) = line.split_once("Upgrading ")?;
                let (name, rest) = rest.split_once(" (")?;
                let (_, new) = rest.split_once("-> ")?;
                Some((name, new.trim_end_matches(')')))
            })
            .collect())
    }

    fn upgrade(&self, call: &Call<'_>, kwargs: &Map) -> Result<Map, PkgError> {
        if kwargs.get("refresh").is_none_or(host::is_true) {
            self.refresh(call, kwargs)?;
        }
        let pkgs = kwargs.get("pkgs").map(halite_call::python::texts);
        changes::changed_by(self, call, "Problem encountered upgrading packages", || {
            run(call, &["upgrade"], &pkgs.unwrap_or_default())
        })
    }

    fn available(&self, call: &Call<'_>, names: &[String], _: &Map) -> Result<Map, PkgError> {
        let mut versions = Map::new();
        let exact = !names.is_empty() && !names.iter().any(|name| name.contains(['*', '?', '[']));
        let words: &[&str] = if exact {
            &["search", "-x"]
        } else {
            &["search"]
        };
        let ran = run(call, words, names)?;
        for (name, version) in ran.stdout.lines().filter_map(|line| parts(line.trim())) {
            lists::add(&mut versions, &name, &version);
        }
        Ok(versions)
    }

    fn held(&self, _: &Call<'_>) -> Result<Vec<String>, PkgError> {
        Ok(Vec::new())
    }

    fn hold(&self, _: &Call<'_>, _: bool, _: &[String]) -> Result<Map, PkgError> {
        Err(unsupported("way to hold packages"))
    }

    fn autoremove(&self, _: &Call<'_>, _: bool, _: bool) -> Result<Value, PkgError> {
        Err(unsupported("list of packages that nothing needs"))
    }

    fn owner(&self, call: &Call<'_>, path: &str) -> Result<String, PkgError> {
        let ran = run(call, &["info", "-W"], &[path.to_owned()])?;
        let owner = ran.stdout.split_once("is owned by ");
        let owner = owner.and_then(|(_, name)| parts(name.trim()));
        Ok(owner.map(|(name, _)| name).unwrap_or_default())
    }

    fn files(&self, call: &Call<'_>, names: &[String]) -> Result<Files, PkgError> {
        let mut files = Files::default();
        for name in names {
            let ran = run(call, &["info", "-qL"], std::slice::from_ref(name))?;
            if !ran.ok() {
                files
                    .errors
                    .push(format!("package {name} is not installed"));
                continue;
            }
            let slash = |line: &str| format!("/{}", line.trim_start_matches('/'));
            let lines = ran.stdout.lines().filter(|line| !line.is_empty());
            files
                .packages
                .push((name.clone(), lines.map(slash).collect()));
        }
        Ok(files)
    }

    fn file_info(&self, _: &Call<'_>, path: &str) -> Result<Option<FileInfo>, PkgError> {
        // A package file is named after what is inside.
        let name = path.rsplit('/').next().unwrap_or(path);
        let found = name.strip_suffix(".apk").and_then(parts);
        Ok(found.map(|(name, version)| FileInfo {
            name,
            version,
            arch: String::new(),
        }))
    }

    fn info(&self, call: &Call<'_>, names: &[String], _: &Map) -> Result<Map, PkgError> {
        derived::versions_only(self, call, names)
    }
}

#[cfg(test)]
mod tests {
    use super::parts;

    #[test]
    fn names_and_versions_come_apart() {
        let found = parts("py3-six-1.16.0-r8").unwrap();
        assert_eq!(
            (found.0.as_str(), found.1.as_str()),
            ("py3-six", "1.16.0-r8")
        );
        assert_eq!(parts("nothing"), None);
    }
}
