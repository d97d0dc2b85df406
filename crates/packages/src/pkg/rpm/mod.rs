//! Package managers over rpm: `dnf` (or `yum`, `dnf5`) and `zypper`.

mod change;
pub(crate) mod groups;
mod query;
pub(crate) mod repos;

use std::cmp::Ordering;

use halite_modules::host::{Program, Ran};
use halite_modules::{Call, python};
use halite_proto::{Map, Value};

use super::error::PkgError;
use super::provider::{FileInfo, Listing, Provider};
use super::version;

/// Architectures that may end a package's name.
const ARCHES: &[&str] = &[
    "x86_64", "i386", "i486", "i586", "i686", "athlon", "ppc64", "ppc64le", "ppc", "s390x", "s390",
    "aarch64", "armv7hl", "armv7hnl", "sparc", "noarch", "src",
];

/// Red Hat's.
pub(crate) static DNF: Rpm = Rpm { zypper: false };

/// SUSE's.
pub(crate) static ZYPPER: Rpm = Rpm { zypper: true };

/// One of the two.
pub(crate) struct Rpm {
    zypper: bool,
}

impl Rpm {
    /// The program.
    pub(super) fn tool(&self, call: &Call<'_>) -> &'static str {
        if self.zypper {
            return "zypper";
        }
        let host = call.host();
        ["dnf5", "dnf", "tdnf", "yum"]
            .into_iter()
            .find(|tool| host.has(tool))
            .unwrap_or("dnf")
    }

    /// Runs it.
    pub(super) fn run(
        &self,
        call: &Call<'_>,
        words: &[String],
        merge: bool,
    ) -> Result<Ran, PkgError> {
        let mut line: Vec<String> = Vec::new();
        if !self.zypper {
            line.extend(crate::scope(call).iter().map(|word| (*word).to_owned()));
        }
        line.push(self.tool(call).to_owned());
        if self.zypper {
            line.push("--non-interactive".to_owned());
        }
        line.extend(words.iter().cloned());
        let program = Program::new(call, &line)
            .may_fail()
            .option("redirect_stderr", merge);
        Ok(program.run()?)
    }
}

/// Words of literals.
pub(super) fn words(list: &[&str]) -> Vec<String> {
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
pub(super) fn resolve(name: &str, arch: &str, own: &str) -> String {
    let is_32 = |arch: &str| ["i386", "i486", "i586", "i686", "athlon"].contains(&arch);
    if arch == "noarch" || arch == own || arch == "(none)" || (is_32(own) && is_32(arch)) {
        name.to_owned()
    } else {
        format!("{name}.{arch}")
    }
}

pub(super) fn own_arch(call: &Call<'_>) -> String {
    let grains = call.ctx.grains();
    grains.get("osarch").map(python::str).unwrap_or_default()
}

impl Provider for Rpm {
    fn name(&self) -> &'static str {
        if self.zypper { "zypper" } else { "dnf" }
    }

    fn list(&self, call: &Call<'_>, listing: Listing) -> Result<Map, PkgError> {
        if listing == Listing::Installed {
            query::installed(call)
        } else {
            Ok(Map::new())
        }
    }

    fn normalize(&self, call: &Call<'_>, name: &str) -> String {
        match name.rsplit_once('.') {
            Some((short, arch)) if ARCHES.contains(&arch) => {
                let resolved = resolve(short, arch, &own_arch(call));
                if resolved == short {
                    short.to_owned()
                } else {
                    name.to_owned()
                }
            }
            _ => name.to_owned(),
        }
    }

    fn compare(&self, a: &str, b: &str) -> Ordering {
        version::rpm(a, b)
    }

    fn refresh(&self, call: &Call<'_>, kwargs: &Map) -> Result<Value, PkgError> {
        query::refresh(self, call, kwargs)
    }

    fn latest(
        &self,
        call: &Call<'_>,
        names: &[String],
        show_installed: bool,
        kwargs: &Map,
    ) -> Result<Map, PkgError> {
        query::latest(self, call, names, show_installed, kwargs)
    }

    fn install(&self, call: &Call<'_>, kwargs: &Map) -> Result<Map, PkgError> {
        change::install(self, call, kwargs)
    }

    fn remove(&self, call: &Call<'_>, _: bool, kwargs: &Map) -> Result<Map, PkgError> {
        change::remove(self, call, kwargs)
    }

    fn upgrades(&self, call: &Call<'_>, kwargs: &Map) -> Result<Map, PkgError> {
        query::upgrades(self, call, kwargs)
    }

    fn upgrade(&self, call: &Call<'_>, kwargs: &Map) -> Result<Map, PkgError> {
        change::upgrade(self, call, kwargs)
    }

    fn available(&self, call: &Call<'_>, names: &[String], kwargs: &Map) -> Result<Map, PkgError> {
        query::available(self, call, names, kwargs)
    }

    fn held(&self, call: &Call<'_>) -> Result<Vec<String>, PkgError> {
        query::held(self, call)
    }

    fn hold(&self, call: &Call<'_>, hold: bool, names: &[String]) -> Result<Map, PkgError> {
        change::hold(self, call, hold, names)
    }

    fn autoremove(&self, call: &Call<'_>, list: bool, _: bool) -> Result<Value, PkgError> {
        change::autoremove(self, call, list)
    }

    fn owner(&self, call: &Call<'_>, path: &str) -> Result<String, PkgError> {
        let ran = Program::new(call, &["rpm", "-qf", "--queryformat", "%{name}", path])
            .may_fail()
            .run()?;
        let none = ran.stdout.to_lowercase().contains("not owned");
        Ok(if none || !ran.ok() {
            String::new()
        } else {
            ran.stdout
        })
    }

    fn files(
        &self,
        call: &Call<'_>,
        names: &[String],
    ) -> Result<Vec<(String, Vec<String>)>, PkgError> {
        query::files(call, names)
    }

    fn file_info(&self, call: &Call<'_>, path: &str) -> Result<Option<FileInfo>, PkgError> {
        query::file_info(call, path)
    }

    fn info(&self, call: &Call<'_>, names: &[String], failhard: bool) -> Result<Map, PkgError> {
        query::info(call, names, failhard)
    }
}
