//! Red Hat's package manager: `dnf` (or `dnf5`, `tdnf`, `yum`) over `rpm`.

mod change;
mod download;
pub(crate) mod groups;
pub(crate) mod locks;
pub(crate) mod low;
mod query;
pub(crate) mod repos;

use std::cmp::Ordering;

use halite_modules::host::{Program, Ran};
use halite_modules::{Call, python};
use halite_proto::{Map, Value};

use super::error::PkgError;
use super::provider::{FileInfo, Files, Listing, Provider};
use super::version;

/// Architectures that may end a package's name.
const ARCHES: &[&str] = &[
    "x86_64", "i386", "i486", "i586", "i686", "athlon", "ppc64", "ppc64le", "ppc", "s390x", "s390",
    "aarch64", "armv7hl", "armv7hnl", "sparc", "noarch", "src",
];

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

/// Words of literals.
pub(crate) fn words(list: &[&str]) -> Vec<String> {
    list.iter().map(|word| (*word).to_owned()).collect()
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

/// The name of a package: with its architecture if that is a foreign one.
pub(crate) fn resolve(name: &str, arch: &str, own: &str) -> String {
    let is_32 = |arch: &str| ["i386", "i486", "i586", "i686", "athlon"].contains(&arch);
    if arch == "noarch" || arch == own || arch == "(none)" || (is_32(own) && is_32(arch)) {
        name.to_owned()
    } else {
        format!("{name}.{arch}")
    }
}

pub(crate) fn own_arch(call: &Call<'_>) -> String {
    let grains = call.ctx.grains();
    grains.get("osarch").map(python::str).unwrap_or_default()
}

/// The name of a package in two: an architecture that is known, and the rest.
pub(crate) fn parse_arch(name: &str) -> (&str, Option<&str>) {
    match name.rsplit_once('.') {
        Some((short, arch)) if ARCHES.contains(&arch) => (short, Some(arch)),
        _ => (name, None),
    }
}

/// The name without an architecture that goes without saying.
pub(crate) fn normalize(call: &Call<'_>, name: &str) -> String {
    match parse_arch(name) {
        (short, Some(arch)) if resolve(short, arch, &own_arch(call)) == short => short.to_owned(),
        _ => name.to_owned(),
    }
}

/// What `info_installed` returns: for each name one map, or the list of those
/// of all versions.
pub(crate) fn info(call: &Call<'_>, names: &[String], kwargs: &Map) -> Result<Map, PkgError> {
    let mut attributes = python::texts(kwargs.get("attr").unwrap_or(&Value::Nil));
    if let Some(source) = attributes.iter_mut().find(|name| *name == "source") {
        source.push_str("_rpm");
    }
    let all_versions = kwargs.get("all_versions").is_some_and(Value::is_true);
    let mut all = Map::new();
    for (name, mut about) in low::info(call, names, &attributes)? {
        // Package managers name it shorter than rpm does.
        if let Some(source) = about.remove("source_rpm") {
            about.insert("source", source);
        }
        if all_versions {
            let list = all.get_or_insert_with(Value::from(name), || Value::List(Vec::new()));
            if let Value::List(list) = list {
                list.push(about.into());
            }
        } else {
            all.insert(name, about);
        }
    }
    Ok(all)
}

impl Provider for Dnf {
    fn name(&self) -> &'static str {
        "dnf"
    }

    fn list(&self, call: &Call<'_>, listing: Listing) -> Result<Map, PkgError> {
        if listing == Listing::Installed {
            low::installed(call)
        } else {
            Ok(Map::new())
        }
    }

    fn list_attributes(
        &self,
        call: &Call<'_>,
        attributes: &[String],
    ) -> Result<Option<Map>, PkgError> {
        low::with_attributes(call, attributes).map(Some)
    }

    fn normalize(&self, call: &Call<'_>, name: &str) -> String {
        normalize(call, name)
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
        query::available(call, names, kwargs)
    }

    fn by_repository(
        &self,
        call: &Call<'_>,
        names: &[String],
        kwargs: &Map,
    ) -> Result<Option<Map>, PkgError> {
        query::by_repository(call, names, kwargs).map(Some)
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
        low::owner(call, path)
    }

    fn files(&self, call: &Call<'_>, names: &[String]) -> Result<Files, PkgError> {
        low::files(call, names)
    }

    fn file_info(&self, call: &Call<'_>, path: &str) -> Result<Option<FileInfo>, PkgError> {
        low::file_info(call, path)
    }

    fn info(&self, call: &Call<'_>, names: &[String], kwargs: &Map) -> Result<Map, PkgError> {
        info(call, names, kwargs)
    }
}

pub(super) use download::{diff, download, list_downloaded};
