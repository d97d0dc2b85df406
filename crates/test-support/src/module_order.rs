//! The order of a crate's modules: the documentation of its `lib.rs` lists them, the
//! lowest first, and no file imports a module above its own.
#![allow(
    clippy::unwrap_used,
    reason = "test support: a crate without sources ends the test"
)]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Checks all files of a crate, whose directory is `package`.
///
/// # Panics
/// When a file imports a module above its own, or the list is not that of the modules.
pub fn check(package: &str) {
    let root = Path::new(package).join("src");
    let lib = fs::read_to_string(root.join("lib.rs")).unwrap();
    let order = order(&lib);
    let level = |name: &str| order.iter().position(|known| known == name);
    let mut files = Vec::new();
    sources(&root, &mut files);
    let mut wrong = Vec::new();
    let mut seen = BTreeSet::new();
    for file in files {
        let below = file.strip_prefix(&root).unwrap();
        let first = below.components().next().unwrap().as_os_str();
        let own = Path::new(first).file_stem().unwrap().to_str().unwrap();
        if matches!(own, "lib" | "module_order") {
            continue;
        }
        let Some(own_level) = level(own) else {
            wrong.push(format!("{own} is missing in the list of lib.rs"));
            continue;
        };
        seen.insert(own.to_owned());
        for name in named(&fs::read_to_string(&file).unwrap()) {
            if level(name).is_some_and(|level| level > own_level) {
                wrong.push(format!("{} imports {name}", below.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    let listed: BTreeSet<String> = order.into_iter().collect();
    assert_eq!(listed, seen, "the list of lib.rs names other modules");
}

/// The modules, lowest first, as the list in the crate's documentation has them.
fn order(lib: &str) -> Vec<String> {
    let list = lib.lines().filter_map(|line| line.strip_prefix("//! - "));
    let names = |line: &str| -> Vec<String> {
        let before_text = line.split(':').next().unwrap_or_default();
        let names = before_text.split('`').skip(1).step_by(2);
        names.map(str::to_owned).collect()
    };
    list.flat_map(names).collect()
}

/// All source files below a directory.
fn sources(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// The modules of this crate that a file names, in code or in an import.
fn named(text: &str) -> BTreeSet<&str> {
    let is_code = |line: &&str| !line.trim_start().starts_with("//");
    let is_name = |c: char| c.is_ascii_lowercase() || c == '_';
    let mut found = BTreeSet::new();
    for line in text.lines().filter(is_code) {
        for behind in line.split("crate::").skip(1) {
            let names = match behind.strip_prefix('{') {
                Some(group) => group.split('}').next().unwrap_or_default(),
                None => behind.split(|c| !is_name(c)).next().unwrap_or_default(),
            };
            let names = names.split(',').map(str::trim);
            found.extend(names.map(|name| name.split("::").next().unwrap_or_default()));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::panic::catch_unwind;

    use super::*;

    #[test]
    fn imports_are_found_in_every_form() {
        let text = "use crate::runner::{self, Asked};\n    crate::error::chain(x);\n\
                    use crate::{jobs, keys::Keys};\n// crate::daemon\n";
        let expect = BTreeSet::from(["error", "jobs", "keys", "runner"]);
        assert_eq!(named(text), expect);
    }

    #[test]
    fn an_import_from_above_is_found() {
        let dir = tempfile::tempdir().unwrap();
        let package = dir.path().to_str().unwrap();
        fs::create_dir(dir.path().join("src")).unwrap();
        let write = |name: &str, text: &str| {
            fs::write(dir.path().join("src").join(name), text).unwrap();
        };
        write("lib.rs", "//! - `low`, `high`: all of it.\n");
        write("low.rs", "");
        write("high.rs", "use crate::low;\n");
        check(package);
        write("low.rs", "use crate::high;\n");
        assert!(catch_unwind(|| check(package)).is_err());
        write("low.rs", "");
        write("unlisted.rs", "");
        assert!(catch_unwind(|| check(package)).is_err());
    }
}
