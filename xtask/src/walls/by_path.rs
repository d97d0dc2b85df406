//! Finds code that changes or reads files by their path in the crates of functions,
//! and programs that get paths there.
//!
//! A user who may write to a directory could put a link there, which root would
//! follow, or a named pipe, at which root would wait. So files are reached through
//! `halite_call::paths`. A program follows links, too: it gets a path from
//! `paths::Handed`, or a stage. The exceptions are in `xtask/by_path.txt`, which
//! may only shrink: `PATH: COUNT`.

use std::collections::BTreeMap;
use std::fs;

use anyhow::{Context, Result, bail};

use super::source::{files, line_of, program};
use crate::build::root;

const LIST: &str = "xtask/by_path.txt";

const HEADER: &str = "\
# Places in the crates of functions that change or read files by their path, or give
# one to a program that does, those in /proc and the minion's own too, counted for
# each file: `PATH: COUNT`. This
# list may only shrink (SECURITY.md, root handing files to users);
# `cargo xtask lint --shrink` removes what is mended.

";

/// Where functions of users' files are.
const CRATES: [&str; 15] = [
    "accounts",
    "call",
    "certificates",
    "core-modules",
    "databases",
    "files",
    "kernel",
    "machine",
    "network",
    "packages",
    "rabbitmq",
    "services",
    "state-run",
    "storage",
    "web",
];

/// The way itself.
const WAY: &str = "crates/call/src/paths/";

/// What follows links on its way to what it changes or reads. A name alone is
/// looked for behind a path or as an imported function.
const BY_PATH: [&str; 50] = [
    "fs::read(",
    "fs::read_to_string(",
    "File::open(",
    "fs::write(",
    "fs::copy(",
    "fs::rename(",
    "fs::hard_link(",
    "fs::soft_link(",
    "fs::remove_file(",
    "fs::remove_dir(",
    "fs::remove_dir_all(",
    "fs::create_dir(",
    "fs::create_dir_all(",
    "fs::set_permissions(",
    "fs::chown(",
    "fs::lchown(",
    "fs::symlink(",
    "fs::{chown",
    ", chown}",
    "fs::chown;",
    ", symlink}",
    "fs::symlink;",
    "File::create(",
    "File::create_new(",
    "File::options(",
    "OpenOptions::new(",
    "DirBuilder::new(",
    "unistd::chown(",
    "unistd::mkdir(",
    "unistd::mkfifo(",
    "unistd::truncate(",
    "unistd::unlink(",
    "fcntl::open(",
    "stat::mknod(",
    "stat::utimes(",
    "files::create_private(",
    // Of rustix, whose functions with descriptors end in `at`.
    "fs::open(",
    "fs::chmod(",
    "fs::mkdir(",
    "fs::unlink(",
    "fs::truncate(",
    "fs::getxattr(",
    "fs::setxattr(",
    "fs::removexattr(",
    "libc::open(",
    "libc::chmod(",
    "libc::chown(",
    "libc::rename(",
    // A directory that is named.
    "tempdir_in(",
    "tempfile_in(",
];

/// Programs that follow links to what they are given. Where one is started is where
/// its name is the first of a list or of arguments.
const PROGRAMS: [&str; 20] = [
    "chattr",
    "chcon",
    "chmod",
    "chown",
    "cp",
    "getfacl",
    "gunzip",
    "gzip",
    "lsattr",
    "mv",
    "patch",
    "rar",
    "restorecon",
    "rm",
    "rsync",
    "sed",
    "setfacl",
    "tar",
    "unrar",
    "unzip",
];

/// What names programs and starts none.
const NAMES_ONLY: &str = "Requirement::new(";

/// What gives a program its paths by the rule of links.
const HANDS: [&str; 3] = ["Handed::", ".hand_", "Stage::new("];

/// Files that change something by its path, with the lines.
type Found = BTreeMap<String, Vec<(usize, &'static str)>>;

/// Places that are not excused; and those excused that are gone.
pub(super) fn check(shrink: bool) -> Result<Vec<String>> {
    let path = root().join(LIST);
    let text = fs::read_to_string(&path).with_context(|| format!("could not read {LIST}"))?;
    let known = parse(&text)?;
    let found = find()?;
    let mut complaints = complaints(&found, &known);
    let counted: BTreeMap<String, usize> = found
        .iter()
        .map(|(file, places)| (file.clone(), places.len()))
        .collect();
    if complaints.is_empty() && shrink {
        fs::write(&path, listed(&counted))?;
    } else if complaints.is_empty() && counted != known {
        complaints.push(format!(
            "{LIST}: places are mended, but still listed: `cargo xtask lint --shrink`"
        ));
    }
    Ok(complaints)
}

fn find() -> Result<Found> {
    let mut all = Found::new();
    for name in CRATES {
        for file in files(&root().join("crates").join(name).join("src"))? {
            let path = file.strip_prefix(root()).unwrap_or(&file);
            let path = path.display().to_string();
            if path.starts_with(WAY) {
                continue;
            }
            let text = fs::read_to_string(&file).with_context(|| path.clone())?;
            let places = places(&text);
            if !places.is_empty() {
                all.insert(path, places);
            }
        }
    }
    Ok(all)
}

/// The lines of a text that change or read something by its path, with what they use.
fn places(text: &str) -> Vec<(usize, &'static str)> {
    let program = program(text);
    let mut found = Vec::new();
    for pattern in BY_PATH {
        found.extend(
            program
                .match_indices(pattern)
                .map(|(at, _)| (line_of(&program, at), pattern)),
        );
    }
    if !HANDS.iter().any(|hand| program.contains(hand)) {
        found.extend(programs(text, &program));
    }
    found.sort_unstable();
    found
}

/// The lines in which such a program is started, of those where something is left
/// without strings and tests.
fn programs(text: &str, program: &str) -> Vec<(usize, &'static str)> {
    let mut found = Vec::new();
    for (number, (line, left)) in (1..).zip(text.lines().zip(program.lines())) {
        if left.trim().is_empty() || left.contains(NAMES_ONLY) {
            continue;
        }
        for name in PROGRAMS {
            for begin in ["[", "command(", "which("] {
                let started = format!("{begin}\"{name}\"");
                found.extend(line.matches(&started).map(|_| (number, name)));
            }
        }
    }
    found
}

fn complaints(found: &Found, known: &BTreeMap<String, usize>) -> Vec<String> {
    let mut complaints = Vec::new();
    for (file, places) in found {
        if places.len() <= known.get(file).copied().unwrap_or(0) {
            continue;
        }
        for (line, pattern) in places {
            complaints.push(format!(
                "{file}:{line}: `{pattern}` follows whatever links are in the way: \
                 halite_call::paths does it by the rule of links, and hands paths to programs"
            ));
        }
    }
    complaints
}

/// Reads the list of excused places.
fn parse(text: &str) -> Result<BTreeMap<String, usize>> {
    let mut known = BTreeMap::new();
    for (number, line) in (1..).zip(text.lines()) {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let parts = line.split_once(": ");
        let Some((file, Ok(count))) = parts.map(|(file, count)| (file, count.parse())) else {
            bail!("{LIST}:{number}: expected `PATH: COUNT`");
        };
        known.insert(file.to_owned(), count);
    }
    Ok(known)
}

/// The list of these places.
fn listed(counted: &BTreeMap<String, usize>) -> String {
    let lines = counted
        .iter()
        .map(|(file, count)| format!("{file}: {count}\n"));
    HEADER.to_owned() + &lines.collect::<String>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changes_by_path_is_found_outside_tests() {
        let text = "use std::os::unix::fs::{PermissionsExt, chown};\n\
            fn a() { std::fs::write(p, b); paths::write(p, b); paths::read(p); }\n\
            fn b() { File::create(p); file.set_permissions(m); fs::read(p); }\n\
            #[cfg(test)]\nmod tests { fn c() { fs::write(p, b); } }\n";
        assert_eq!(
            places(text),
            [
                (1, ", chown}"),
                (2, "fs::write("),
                (3, "File::create("),
                (3, "fs::read(")
            ]
        );
    }

    #[test]
    fn a_program_is_handed_its_paths() {
        let start = "fn a() { vec![\"setfacl\", path]; command(\"tar\"); has(\"rsync\"); }\n";
        assert_eq!(places(start), [(1, "setfacl"), (1, "tar")]);
        let handed = format!("{start}fn b() {{ Handed::target(path); }}\n");
        assert_eq!(places(&handed), []);
        let test = format!("#[cfg(test)]\nmod tests {{ {start} }}\n");
        assert_eq!(places(&test), []);
        let others =
            "fn a() { rustix::fs::open(p, f, m); tempfile::tempdir_in(p); libc::open(p); }";
        let others: Vec<&str> = places(others).into_iter().map(|(_, found)| found).collect();
        assert_eq!(others, ["fs::open(", "libc::open(", "tempdir_in("]);
    }

    #[test]
    fn the_list_only_shrinks() {
        let known = parse("# a comment\n\na.rs: 1\nb.rs: 2\n").unwrap();
        assert_eq!(parse(&listed(&known)).unwrap(), known);
        let found = |file: &str, count| {
            let places = vec![(1, BY_PATH[0]); count];
            Found::from([(file.to_owned(), places)])
        };
        for (file, count, is_known) in [("a.rs", 1, true), ("a.rs", 2, false), ("c.rs", 1, false)] {
            let complaints = complaints(&found(file, count), &known);
            assert_eq!(complaints.is_empty(), is_known, "{file} {count}");
        }
        assert!(parse("a.rs\n").is_err());
    }
}
