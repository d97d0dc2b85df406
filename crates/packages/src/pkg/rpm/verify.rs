//! Checks installed files against their packages, and the integrity of package
//! files.

use halite_call::host::{Program, Ran};
use halite_call::{Call, CallError};
use halite_proto::{Map, Value};

use super::database::rpm;
use crate::pkg::error::PkgError;
use crate::words;

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
