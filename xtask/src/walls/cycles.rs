//! Folders of one crate that import each other in circles.
//!
//! At each level of a crate's `src` the modules beside each other are compared: an
//! import from anywhere in one to anywhere in another is an edge between the two.
//! Edges in a circle are a cycle. Files of one folder may form one as long as no
//! folder is among them; imports between a module and the modules inside it do not
//! count either.
//!
//! Existing cycles are listed in `xtask/cycles.txt`, which may only shrink: `PATH
//! OF THE PARENT: MODULES`. A cycle is known if all of it is in one line.

mod imports;
mod modules;

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};

use self::modules::{Arrow, Sources};
use crate::build::root;

const LIST: &str = "xtask/cycles.txt";

const HEADER: &str = "\
# Modules of one crate that import each other in circles, a line for each cycle:
# `PATH OF THE PARENT: MODULES`. This list may only shrink (ARCHITECTURE.md,
# Floors); `cargo xtask lint --shrink` removes what is mended.
#
# What is left is one idea each, which is recursive by itself:
# - call, context, registry: a function takes a call, a call holds the context that
#   it runs in, and a context knows the functions that there are.
# - extensions, run: to run a function is to look among users' Python too, and
#   Python calls our functions.
# - jinja: values hold functions and macros, which the evaluator runs; all that it
#   applies to values (filters, tests, methods, formats) takes and gives values.

";

/// How often a name may be re-exported until it is defined.
const REEXPORTS_MAX: usize = 8;

/// The path of a module below its crate.
type Module = Vec<String>;

/// Modules beside each other, below a parent.
type Cycle = (String, BTreeSet<String>);

/// Cycles that are not known; and those known that are smaller now.
pub(super) fn check(shrink: bool) -> Result<Vec<String>> {
    let path = root().join(LIST);
    let text = fs::read_to_string(&path).with_context(|| format!("could not read {LIST}"))?;
    let known = parse(&text)?;
    let mut found = Vec::new();
    let mut complaints = Vec::new();
    for (name, src) in crates()? {
        let sources = Sources::read(&src)?;
        for (cycle, arrows) in sources.cycles(&name) {
            if !is_known(&cycle, &known) {
                complaints.push(complaint(&cycle, &arrows));
            }
            found.push(cycle);
        }
    }
    if complaints.is_empty() && shrink {
        fs::write(&path, listed(&found))?;
    } else if complaints.is_empty() && listed(&found) != listed(&known) {
        complaints.push(format!(
            "{LIST}: cycles are mended, but still listed: `cargo xtask lint --shrink`"
        ));
    }
    Ok(complaints)
}

fn is_known((parent, modules): &Cycle, known: &[Cycle]) -> bool {
    known
        .iter()
        .any(|(other, listed)| other == parent && modules.is_subset(listed))
}

fn complaint((parent, modules): &Cycle, arrows: &[Arrow]) -> String {
    let names: Vec<&str> = modules.iter().map(String::as_str).collect();
    let mut text = format!(
        "modules of {parent} import each other in circles: {}",
        names.join(" ")
    );
    for arrow in arrows {
        text.push_str(&format!(
            "\n  {}:{}: {} imports {}",
            arrow.file.display(),
            arrow.line,
            arrow.from,
            arrow.to
        ));
    }
    text.push_str("\n  move what both need below both, or hand it in as an argument");
    text
}

/// Reads the list of known cycles.
fn parse(text: &str) -> Result<Vec<Cycle>> {
    let mut cycles = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let Some((parent, modules)) = line.split_once(": ") else {
            bail!("{LIST}:{number}: expected `PATH OF THE PARENT: MODULES`");
        };
        let modules = modules.split_whitespace().map(str::to_owned).collect();
        cycles.push((parent.to_owned(), modules));
    }
    Ok(cycles)
}

/// The list of these cycles.
fn listed(cycles: &[Cycle]) -> String {
    let mut lines: Vec<String> = cycles
        .iter()
        .map(|(parent, modules)| {
            let names: Vec<&str> = modules.iter().map(String::as_str).collect();
            format!("{parent}: {}\n", names.join(" "))
        })
        .collect();
    lines.sort();
    HEADER.to_owned() + &lines.concat()
}

/// The crates of the workspace with their sources.
fn crates() -> Result<Vec<(String, PathBuf)>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(root().join("crates"))? {
        let entry = entry?;
        let src = entry.path().join("src");
        if src.is_dir() {
            found.push((entry.file_name().to_string_lossy().into_owned(), src));
        }
    }
    for name in ["integration-tests", "xtask"] {
        found.push((name.to_owned(), root().join(name).join("src")));
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::imports::{Reader, is_public};
    use super::modules::{Source, Sources, module_of};
    use super::{listed, parse};

    fn sources(files: &[(&str, &str)]) -> Sources {
        let source = |(path, text): &(&str, &str)| Source {
            module: module_of(Path::new(path)).unwrap(),
            file: PathBuf::from(path),
            program: (*text).to_owned(),
        };
        Sources::new(files.iter().map(source).collect())
    }

    fn cycles(files: &[(&str, &str)]) -> Vec<String> {
        let cycles = sources(files).cycles("c").into_iter();
        let line = |(parent, modules): super::Cycle| {
            let names: Vec<String> = modules.into_iter().collect();
            format!("{parent}: {}", names.join(" "))
        };
        cycles.map(|(cycle, _)| line(cycle)).collect()
    }

    #[test]
    fn folders_that_import_each_other_are_found() {
        let files = [
            ("lib.rs", "mod a; mod b; mod c;"),
            ("a.rs", "mod inner;"),
            ("a/inner.rs", "use crate::b::{self, deep::{X as Y, Z}};"),
            ("b.rs", "use super::c::C;"),
            ("c.rs", "fn f() { super::a::inner::f(); }"),
        ];
        assert_eq!(cycles(&files), ["c: a b c"]);
        let found = sources(&files).cycles("c");
        let (_, arrows) = &found[0];
        assert_eq!(arrows.len(), 3);
        assert_eq!(
            (arrows[0].file.to_str(), arrows[0].line),
            (Some("a/inner.rs"), 1)
        );
    }

    #[test]
    fn files_of_one_folder_and_what_is_inside_are_left_alone() {
        let files = [
            ("lib.rs", "pub use a::X;"),
            ("a.rs", "use crate::b::B;"),
            ("b.rs", "use crate::a::X;"),
            ("d/mod.rs", "use self::e::E; use crate::d::e::E;"),
            ("d/e.rs", "use super::D; use crate::b::B;"),
        ];
        assert!(cycles(&files).is_empty());
    }

    #[test]
    fn a_name_is_followed_to_where_it_is_defined() {
        let files = [
            ("lib.rs", "pub(crate) use a::inner::X; pub use b::Y as Z;"),
            ("a/mod.rs", ""),
            ("a/inner.rs", "use crate::Z;"),
            ("b.rs", "use crate::X;"),
        ];
        assert_eq!(cycles(&files), ["c: a b"]);
    }

    #[test]
    fn a_level_below_the_root_counts_too() {
        let files = [
            ("lib.rs", ""),
            ("a/mod.rs", ""),
            ("a/x/mod.rs", "use super::y::Y;"),
            ("a/x/deep.rs", ""),
            ("a/y.rs", "use super::x::deep::X;"),
        ];
        assert_eq!(cycles(&files), ["c::a: x y"]);
    }

    #[test]
    fn trees_are_read() {
        let mut reader = Reader::new("a::{self, b::{c, d as e}, f::*};");
        let found: Vec<String> = reader
            .tree()
            .into_iter()
            .map(|(path, name)| format!("{} {name}", path.join("::")))
            .collect();
        assert_eq!(found, ["a a", "a::b::c c", "a::b::d e", "a::f f"]);
    }

    #[test]
    fn visibility_is_seen() {
        assert!(is_public("x; pub ") && is_public("pub(crate) ") && is_public("pub(in crate::a) "));
        assert!(!is_public("pub fn a() {} ") && !is_public("pub(crate) fn a() {}\n"));
    }

    #[test]
    fn the_list_is_written_as_it_is_read() {
        let text = listed(&parse("# x\nm::a: c b\nk: d e\n").unwrap());
        assert!(text.ends_with("\n\nk: d e\nm::a: b c\n"), "{text}");
        assert_eq!(listed(&parse(&text).unwrap()), text);
        assert!(parse("a b c").is_err());
    }
}
