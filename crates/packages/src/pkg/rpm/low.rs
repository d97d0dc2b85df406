//! Questions to `rpm` itself: what is installed, which files belong to it, and
//! whether they are as they were.

use halite_modules::host::{Program, Ran};
use halite_modules::{Call, CallError, python};
use halite_proto::{Map, Value};

use super::{own_arch, resolve, words};
use crate::pkg::error::PkgError;
use crate::pkg::functions::attributes_of;
use crate::pkg::lists;
use crate::pkg::provider::{FileInfo, Files};
use crate::time;

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

/// What a change is told by: the attributes that `diff_attr` names; nothing if
/// that is the versions.
pub(crate) fn observed(call: &Call<'_>, kwargs: &Map) -> Result<Option<Map>, PkgError> {
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

/// Keys of `info`, and where rpm has them.
const FIELDS: &[(&str, &str)] = &[
    ("name", "%{NAME}"),
    (
        "relocations",
        "%|PREFIXES?{[%{PREFIXES} ]}:{(not relocatable)}|",
    ),
    ("epoch", "%{EPOCH}"),
    ("version", "%{VERSION}"),
    ("vendor", "%{VENDOR}"),
    ("release", "%{RELEASE}"),
    ("build_date_time_t", "%{BUILDTIME}"),
    ("install_date_time_t", "%|INSTALLTIME?{%{INSTALLTIME}}|"),
    ("build_host", "%{BUILDHOST}"),
    ("group", "%{GROUP}"),
    ("source_rpm", "%{SOURCERPM}"),
    ("size", "%|LONGSIZE?{%{LONGSIZE}}|"),
    ("arch", "%{ARCH}"),
    ("license", "%|LICENSE?{%{LICENSE}}|"),
    (
        "signature",
        "%|DSAHEADER?{%{DSAHEADER:pgpsig}}:{%|RSAHEADER?{%{RSAHEADER:pgpsig}}:{%|SIGGPG?{%{SIGGPG:pgpsig}}:{%|SIGPGP?{%{SIGPGP:pgpsig}}:{(none)}|}|}|}|",
    ),
    ("packager", "%|PACKAGER?{%{PACKAGER}}|"),
    ("url", "%|URL?{%{URL}}|"),
    ("summary", "%|SUMMARY?{%{SUMMARY}}|"),
];

/// What rpm knows of installed packages: for each name one map per version.
pub(crate) fn info(
    call: &Call<'_>,
    names: &[String],
    wanted: &[String],
) -> Result<Vec<(String, Map)>, PkgError> {
    let mut format: String = FIELDS
        .iter()
        .map(|(key, tag)| format!("{key}: {tag}\\n"))
        .collect();
    format.push_str("description:\\n%|DESCRIPTION?{%{DESCRIPTION}}|\\n-----\\n");
    let mut line = words(&["-q", "--queryformat", &format]);
    if names.is_empty() {
        line.push("-a".to_owned());
    }
    line.extend(names.iter().cloned());
    let ran = rpm(call, &line)?;
    let is_wanted = |key: &str| wanted.is_empty() || wanted.iter().any(|name| name == key);
    let mut all = Vec::new();
    for text in ran.stdout.split("\n-----") {
        let Some((head, description)) = text.split_once("\ndescription:\n") else {
            continue;
        };
        let (mut name, mut info) = (String::new(), Map::new());
        for (key, value) in head.lines().filter_map(|line| line.split_once(": ")) {
            match key {
                "name" => value.clone_into(&mut name),
                "epoch" | "packager" if value == "(none)" => {}
                _ if value.is_empty() => {}
                "build_date_time_t" | "install_date_time_t" => {
                    let seconds = value.parse().unwrap_or_default();
                    let short = key.trim_end_matches("_time_t");
                    if is_wanted(key) {
                        info.insert(key, seconds);
                    }
                    if is_wanted(short) {
                        info.insert(short, time::utc(seconds));
                    }
                }
                _ if !is_wanted(key) => {}
                key => drop(info.insert(key, value)),
            }
        }
        if is_wanted("description") {
            info.insert("description", description);
        }
        if !name.is_empty() {
            all.push((name, info));
        }
    }
    Ok(all)
}

/// What `rpm -V` writes in its columns.
const CHECKS: &[(char, &str, &str)] = &[
    ('S', "size", "size"),
    ('M', "mode", "mode"),
    ('5', "md5sum", "checksum"),
    ('D', "device major/minor number", "device"),
    ('L', "readlink path", "symlink"),
    ('U', "user", "owner"),
    ('G', "group", "group"),
    ('T', "mtime", "time"),
    ('P', "capabilities", "capabilities"),
];

const TYPES: &[(&str, &str)] = &[
    ("c", "config"),
    ("d", "doc"),
    ("g", "ghost"),
    ("l", "license"),
    ("r", "readme"),
];

/// A line of `rpm -V`: columns, kind of the file, path.
fn verified(line: &str) -> Option<(&str, Option<&'static str>, &str)> {
    let at = line.find(" /")?;
    let (head, path) = (&line[..at], &line[at + 1..]);
    let mut parts = head.split_whitespace();
    let columns = parts.next()?;
    let kind = parts.next().and_then(|sign| {
        let found = TYPES.iter().find(|(known, _)| *known == sign);
        found.map(|(_, kind)| *kind)
    });
    Some((columns, kind, path))
}

/// An error where rpm says that a package is not there.
fn check_installed(ran: &Ran) -> Result<(), PkgError> {
    let mut lines = ran.stdout.lines().chain(ran.stderr.lines());
    match lines.find(|line| line.starts_with("package ") && line.ends_with(" is not installed")) {
        Some(line) => Err(PkgError::command(line)),
        None => Ok(()),
    }
}

/// The files of packages (of all, if none is named) that are not as they were.
pub(crate) fn verify(
    call: &Call<'_>,
    names: &[String],
    options: &[String],
    ignored: &[String],
) -> Result<Map, PkgError> {
    let mut line = vec!["-V".to_owned()];
    line.extend(options.iter().map(|option| format!("--{option}")));
    if names.is_empty() {
        line.push("-a".to_owned());
    }
    line.extend(names.iter().cloned());
    let ran = rpm(call, &line)?;
    // Complaints about files are told by a return code too.
    if ran.stdout.is_empty() && !ran.stderr.is_empty() {
        return Err(PkgError::command(format!(
            "Package not found: {}",
            ran.stderr
        )));
    }
    let mut found = Map::new();
    for (columns, kind, path) in ran.stdout.lines().filter_map(verified) {
        if kind.is_some_and(|kind| ignored.iter().any(|name| name == kind)) {
            continue;
        }
        let mut about = Map::new();
        if columns == "missing" {
            about.insert("missing", true);
        } else {
            let mismatch = CHECKS.iter().filter(|(sign, ..)| columns.contains(*sign));
            let mismatch = mismatch.map(|(_, name, _)| Value::from(*name));
            about.insert("mismatch", Value::List(mismatch.collect()));
        }
        if let Some(kind) = kind {
            about.insert("type", kind);
        }
        found.insert(path, about);
    }
    Ok(found)
}

/// The files that are not as they were, with what differs. Of a file that is
/// gone everything does, as in Salt.
pub(crate) fn modified(call: &Call<'_>, names: &[String], flags: &Map) -> Result<Map, PkgError> {
    let mut line = words(if names.is_empty() { &["-Va"] } else { &["-V"] });
    line.extend(names.iter().cloned());
    let ran = rpm(call, &line)?;
    check_installed(&ran)?;
    let mut found = Map::new();
    for (columns, kind, path) in ran.stdout.lines().filter_map(verified) {
        let missing = columns == "missing";
        let mut what: Vec<&str> = CHECKS
            .iter()
            .filter(|(sign, ..)| {
                if missing {
                    !"TP".contains(*sign)
                } else {
                    columns.contains(*sign)
                }
            })
            .map(|(_, _, name)| *name)
            .collect();
        if kind == Some("config") {
            what.push("config");
        }
        let fits = flags.iter().all(|(flag, wanted)| {
            let has = flag.as_str().is_some_and(|flag| what.contains(&flag));
            flag.as_str() == Some("root") || has == wanted.is_true()
        });
        if fits {
            let what = what.into_iter().map(Value::from).collect();
            found.insert(path, Value::List(what));
        }
    }
    Ok(found)
}

/// What differs between a file and the one in a package file; nothing if they
/// are equal.
pub(crate) fn diff(call: &Call<'_>, package: &str, path: &str) -> Result<Option<String>, PkgError> {
    for program in ["rpm2cpio", "cpio", "diff"] {
        if !call.host().has(program) {
            return Err(CallError::NotFound(format!(
                "The '{program}' binary was not found in $PATH."
            ))
            .into());
        }
    }
    if !call.host().path(package).is_file() {
        return Err(PkgError::command(format!(
            "{package} does not exist on minion"
        )));
    }
    // The file inside comes through two pipes; nothing of either is a shell's.
    let line = "rpm2cpio \"$1\" | cpio -i --quiet --to-stdout \".$2\" | diff -u --label \"A $2\" --from-file=- --label \"B $2\" \"$2\"";
    let ran = Program::new(call, &["sh", "-c", line, "sh", package, path])
        .may_fail()
        .run()?;
    if ran.code > 1 {
        return Err(PkgError::command(ran.stderr));
    }
    Ok((!ran.stdout.is_empty()).then_some(ran.stdout))
}

/// Whether the checksums in package files are right.
pub(crate) fn checksum(call: &Call<'_>, paths: &[String]) -> Result<Map, PkgError> {
    if paths.is_empty() {
        return Err(PkgError::command("No package files has been specified."));
    }
    let mut found = Map::new();
    for path in paths {
        let fine = call.host().path(path).is_file() && rpm(call, &words(&["-K", path]))?.ok();
        found.insert(path.as_str(), fine);
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_a_verification_are_read() {
        assert_eq!(
            verified("S.5....T.  c /etc/a b.conf"),
            Some(("S.5....T.", Some("config"), "/etc/a b.conf"))
        );
        assert_eq!(
            verified("missing     /opt/x"),
            Some(("missing", None, "/opt/x"))
        );
        assert_eq!(verified("package x is not installed"), None);
    }
}
