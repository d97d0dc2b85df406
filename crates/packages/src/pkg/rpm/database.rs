//! Questions to `rpm`: what is installed, and which files belong to it.

use halite_call::host::{Program, Ran};
use halite_call::{Call, python};
use halite_proto::{Map, Value};

use super::names::{own_arch, resolve};
use crate::pkg::error::PkgError;
use crate::pkg::lists::{self, attributes_of};
use crate::pkg::provider::{FileInfo, Files};
use crate::{time, words};

const FORMAT: &str =
    "%{NAME}_|-%{EPOCH}_|-%{VERSION}_|-%{RELEASE}_|-%{ARCH}_|-(none)_|-%{INSTALLTIME}\n";

/// A package as rpm's query format writes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) name: String,
    epoch: Option<String>,
    version: String,
    release: String,
    arch: String,
    installed: i64,
}

impl Entry {
    fn parse(line: &str, own: &str) -> Option<Self> {
        let fields: Vec<&str> = line.split("_|-").collect();
        let [name, epoch, version, release, arch, _, installed] = fields.as_slice() else {
            return None;
        };
        Some(Self {
            name: resolve(name, arch, own),
            epoch: (!matches!(*epoch, "(none)" | "0" | "")).then(|| (*epoch).to_owned()),
            version: (*version).to_owned(),
            release: (*release).to_owned(),
            arch: (*arch).to_owned(),
            installed: installed.parse().unwrap_or_default(),
        })
    }

    /// Epoch, version and release in one text.
    pub(crate) fn full_version(&self) -> String {
        let epoch = self.epoch.as_ref().map(|epoch| format!("{epoch}:"));
        let mut full = epoch.unwrap_or_default() + &self.version;
        if !self.release.is_empty() {
            full.push('-');
            full.push_str(&self.release);
        }
        full
    }

    /// The attributes that are asked for.
    fn attributes(&self, wanted: &[String]) -> Map {
        let all = [
            ("epoch", self.epoch.clone().map_or(Value::Nil, Value::from)),
            ("version", self.version.as_str().into()),
            ("release", self.release.as_str().into()),
            ("arch", self.arch.as_str().into()),
            ("install_date", time::utc(self.installed).into()),
            ("install_date_time_t", self.installed.into()),
        ];
        let is_wanted = |key: &str| wanted.iter().any(|name| name == key || name == "all");
        all.into_iter().filter(|(key, _)| is_wanted(key)).collect()
    }
}

/// Runs rpm.
pub(crate) fn rpm(call: &Call<'_>, line: &[String]) -> Result<Ran, PkgError> {
    let mut words = vec!["rpm".to_owned()];
    if let Some(root) = call.get("root").filter(|root| root.is_true()) {
        words.extend(["--root".to_owned(), python::str(root)]);
    }
    words.extend(line.iter().cloned());
    Ok(Program::new(call, &words).may_fail().run()?)
}

/// All installed packages.
pub(crate) fn entries(call: &Call<'_>) -> Result<Vec<Entry>, PkgError> {
    let line = words(&[
        "-qa",
        "--nodigest",
        "--nosignature",
        "--queryformat",
        FORMAT,
    ]);
    let ran = rpm(call, &line)?;
    if !ran.ok() {
        return Err(PkgError::command(ran.complaint()));
    }
    let own = own_arch(call);
    // Keys that sign packages are not packages.
    Ok(ran
        .stdout
        .lines()
        .filter_map(|line| Entry::parse(line, &own))
        .filter(|entry| entry.name != "gpg-pubkey")
        .collect())
}

/// The versions of each installed package.
pub(crate) fn installed(call: &Call<'_>) -> Result<Map, PkgError> {
    let mut list = Map::new();
    for entry in entries(call)? {
        lists::add(&mut list, &entry.name, &entry.full_version());
    }
    lists::sort(&mut list);
    Ok(list)
}

/// The versions of packages without their releases; of all, if none is named.
pub(crate) fn list_plain(call: &Call<'_>, names: &[String]) -> Result<Map, PkgError> {
    let mut line = words(if names.is_empty() { &["-qa"] } else { &["-q"] });
    line.extend(words(&["--queryformat", "%{NAME} %{VERSION}\\n"]));
    line.extend(names.iter().cloned());
    let ran = rpm(call, &line)?;
    let lines = ran
        .stdout
        .lines()
        .filter(|line| !line.contains("is not installed"));
    Ok(lines.filter_map(|line| line.split_once(' ')).collect())
}

/// The attributes that `diff_attr` names of each installed package; nothing if
/// it names none.
pub(crate) fn observed_attributes(call: &Call<'_>, kwargs: &Map) -> Result<Option<Map>, PkgError> {
    let wanted = attributes_of(kwargs.get("diff_attr"));
    if wanted.is_empty() {
        return Ok(None);
    }
    with_attributes(call, &wanted).map(Some)
}

/// Attributes of each installed package.
pub(crate) fn with_attributes(call: &Call<'_>, wanted: &[String]) -> Result<Map, PkgError> {
    let mut list = Map::new();
    for entry in entries(call)? {
        let name = Value::from(entry.name.as_str());
        let about = list.get_or_insert_with(name, || Value::List(Vec::new()));
        if let Value::List(about) = about {
            about.push(entry.attributes(wanted).into());
        }
    }
    Ok(list)
}

pub(crate) fn owner(call: &Call<'_>, path: &str) -> Result<String, PkgError> {
    let ran = rpm(call, &words(&["-qf", "--queryformat", "%{name}", path]))?;
    let none = ran.stdout.to_lowercase().contains("not owned");
    Ok(if none || !ran.ok() {
        String::new()
    } else {
        ran.stdout
    })
}

/// The files of packages; of all, if none is named.
pub(crate) fn files(call: &Call<'_>, names: &[String]) -> Result<Files, PkgError> {
    let mut files = Files::default();
    let all: Vec<String>;
    let names = if names.is_empty() {
        all = entries(call)?.into_iter().map(|entry| entry.name).collect();
        &all
    } else {
        names
    };
    for name in names {
        let ran = rpm(call, &words(&["-ql", name]))?;
        let lines = ran.stdout.lines().map(str::to_owned);
        if ran.ok() {
            files.packages.push((name.clone(), lines.collect()));
        } else {
            files.errors.extend(lines);
        }
    }
    Ok(files)
}

/// The name and version of a package file.
pub(crate) fn file_info(call: &Call<'_>, path: &str) -> Result<Option<FileInfo>, PkgError> {
    let ran = rpm(call, &words(&["-qp", "--queryformat", FORMAT, path]))?;
    let own = own_arch(call);
    let entry = ran.stdout.lines().find_map(|line| Entry::parse(line, &own));
    Ok(entry.map(|entry| FileInfo {
        version: entry.full_version(),
        name: entry.name,
        arch: entry.arch,
    }))
}

/// The list of installed packages, versions in one text.
pub(crate) fn current(call: &Call<'_>) -> Result<Map, PkgError> {
    Ok(lists::joined(&installed(call)?))
}

/// The installed packages as a change of them is told: by the attributes that
/// `diff_attr` names, else by their versions.
pub(crate) fn observed(call: &Call<'_>, kwargs: &Map) -> Result<Map, PkgError> {
    match observed_attributes(call, kwargs)? {
        Some(seen) => Ok(seen),
        None => current(call),
    }
}
