//! Red Hat's package manager: `dnf` (or `dnf5`, `tdnf`, `yum`).

mod change;
mod download;
pub(crate) mod groups;
mod locks;
mod query;
pub(crate) mod repos;

use std::cmp::Ordering;

use halite_call::host::{Program, Ran};
use halite_call::{Call, python};
use halite_proto::{Map, Value};

use super::error::PkgError;
use super::lists::{offered_by_repository, offered_versions};
use super::provider::{FileInfo, Files, Listing, Provider};
use super::{rpm, version};

pub(super) use download::{diff, download, list_downloaded};

/// Red Hat's.
pub(crate) struct Dnf;

/// The program.
pub(super) fn tool(call: &Call<'_>) -> &'static str {
    let host = call.host();
    ["dnf5", "dnf", "tdnf", "yum"]
        .into_iter()
        .find(|tool| host.has(tool))
        .unwrap_or("dnf")
}

/// Runs it.
pub(super) fn run(call: &Call<'_>, words: &[String], merge: bool) -> Result<Ran, PkgError> {
    let mut line: Vec<String> = crate::scope(call)
        .iter()
        .map(|word| (*word).to_owned())
        .collect();
    line.push(tool(call).to_owned());
    line.extend(words.iter().cloned());
    let program = Program::new(call, &line)
        .may_fail()
        .option("redirect_stderr", merge);
    Ok(program.run()?)
}

/// What chooses repositories on the command line.
pub(super) fn options(kwargs: &Map) -> Vec<String> {
    let get = |name: &str| kwargs.get(name).filter(|value| value.is_true());
    let mut options = Vec::new();
    if let Some(repo) = get("fromrepo").or_else(|| get("repo")) {
        options.push("--disablerepo=*".to_owned());
        options.push(format!("--enablerepo={}", python::str(repo)));
    } else {
        for (name, option) in [
            ("disablerepo", "--disablerepo"),
            ("enablerepo", "--enablerepo"),
        ] {
            let list = match get(name) {
                Some(Value::List(items)) => items.iter().map(python::str).collect(),
                Some(one) => vec![python::str(one)],
                None => Vec::new(),
            };
            options.extend(list.iter().map(|repo| format!("{option}={repo}")));
        }
    }
    if let Some(excludes) = get("disableexcludes") {
        options.push(format!("--disableexcludes={}", python::str(excludes)));
    }
    if let Some(branch) = get("branch") {
        options.push(format!("--branch={}", python::str(branch)));
    }
    for item in get("setopt").map(python::texts).unwrap_or_default() {
        options.push(format!("--setopt={item}"));
    }
    options
}

impl Provider for Dnf {
    fn name(&self) -> &'static str {
        "dnf"
    }

    fn list(&self, call: &Call<'_>, listing: Listing) -> Result<Map, PkgError> {
        if listing == Listing::Installed {
            rpm::installed(call)
        } else {
            Ok(Map::new())
        }
    }

    fn list_attributes(
        &self,
        call: &Call<'_>,
        attributes: &[String],
    ) -> Result<Option<Map>, PkgError> {
        rpm::with_attributes(call, attributes).map(Some)
    }

    fn normalize(&self, call: &Call<'_>, name: &str) -> String {
        rpm::normalize(call, name)
    }

    fn compare(&self, a: &str, b: &str) -> Ordering {
        version::rpm(a, b)
    }

    fn refresh(&self, call: &Call<'_>, kwargs: &Map) -> Result<Value, PkgError> {
        query::refresh(call, kwargs)
    }

    fn latest(
        &self,
        call: &Call<'_>,
        names: &[String],
        show_installed: bool,
        kwargs: &Map,
    ) -> Result<Map, PkgError> {
        query::latest(call, names, show_installed, kwargs)
    }

    fn install(&self, call: &Call<'_>, kwargs: &Map) -> Result<Map, PkgError> {
        change::install(self, call, kwargs)
    }

    fn remove(&self, call: &Call<'_>, _: bool, kwargs: &Map) -> Result<Map, PkgError> {
        change::remove(self, call, kwargs)
    }

    fn upgrades(&self, call: &Call<'_>, kwargs: &Map) -> Result<Map, PkgError> {
        query::upgrades(call, kwargs)
    }

    fn upgrade(&self, call: &Call<'_>, kwargs: &Map) -> Result<Map, PkgError> {
        change::upgrade(call, kwargs)
    }

    fn available(&self, call: &Call<'_>, names: &[String], kwargs: &Map) -> Result<Map, PkgError> {
        query::offered(call, names, kwargs).map(offered_versions)
    }

    fn by_repository(
        &self,
        call: &Call<'_>,
        names: &[String],
        kwargs: &Map,
    ) -> Result<Option<Map>, PkgError> {
        let offered = query::offered(call, names, kwargs)?;
        Ok(Some(offered_by_repository(offered)))
    }

    fn held(&self, call: &Call<'_>) -> Result<Vec<String>, PkgError> {
        locks::held(call)
    }

    fn held_in_full(&self, call: &Call<'_>) -> Result<Vec<String>, PkgError> {
        locks::lines(call)
    }

    fn hold(&self, call: &Call<'_>, hold: bool, names: &[String]) -> Result<Map, PkgError> {
        locks::hold(call, hold, names)
    }

    fn autoremove(&self, call: &Call<'_>, list_only: bool, _: bool) -> Result<Value, PkgError> {
        change::autoremove(call, list_only)
    }

    fn owner(&self, call: &Call<'_>, path: &str) -> Result<String, PkgError> {
        rpm::owner(call, path)
    }

    fn files(&self, call: &Call<'_>, names: &[String]) -> Result<Files, PkgError> {
        rpm::files(call, names)
    }

    fn file_info(&self, call: &Call<'_>, path: &str) -> Result<Option<FileInfo>, PkgError> {
        rpm::file_info(call, path)
    }

    fn info(&self, call: &Call<'_>, names: &[String], kwargs: &Map) -> Result<Map, PkgError> {
        rpm::info_installed(call, names, kwargs)
    }
}
