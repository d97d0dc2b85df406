//! The table "Where to add a thing" of `ARCHITECTURE.md`, checked with a toy: an
//! implementation in memory, which exists only in tests.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "test support: a repository without its map ends the test"
)]

use std::fs;
use std::path::{Path, PathBuf};

/// Where sources are.
const DIRS: [&str; 3] = ["crates", "integration-tests", "xtask"];

/// What a toy shows of a row.
#[derive(Debug)]
pub struct Toy<'a> {
    /// The first cell of the row.
    pub row: &'a str,
    /// How the toy is called in code: any of these texts.
    pub names: &'a [&'a str],
    /// The toy itself, and tests of it or with it: beginnings of paths.
    pub own: &'a [&'a str],
    /// Files that the row names and that the toy does without.
    pub bypassed: &'a [&'a str],
}

impl Toy<'_> {
    /// Checks that the toy touches the files that its row names, except those that it
    /// bypasses, and no others. `package` is the directory of a crate.
    ///
    /// # Panics
    /// When the row names other files.
    pub fn check(&self, package: &str) {
        let root = Path::new(package).join("../..").canonicalize().unwrap();
        let mut touched: Vec<String> = self
            .touched(&root)
            .iter()
            .map(|path| path.strip_prefix(&root).unwrap().display().to_string())
            .filter(|path| !self.own.iter().any(|own| path.starts_with(own)))
            .collect();
        let bypassed = self.bypassed.iter().copied().map(str::to_owned);
        for file in bypassed {
            assert!(!touched.contains(&file), "{file} is not bypassed");
            touched.push(file);
        }
        touched.sort_unstable();
        let named = self.named(&root);
        for file in &named {
            assert!(root.join(file).exists(), "{file} is not there");
        }
        let mut files: Vec<String> = named.into_iter().filter(|path| is_file(path)).collect();
        files.sort_unstable();
        assert_eq!(files, touched, "the row {:?} names other files", self.row);
    }

    /// The paths in the row: what stands between backquotes and begins with `crates/`.
    fn named(&self, root: &Path) -> Vec<String> {
        let map = fs::read_to_string(root.join("ARCHITECTURE.md")).unwrap();
        let begin = format!("| {} |", self.row);
        let row = map.lines().find(|line| line.starts_with(&begin));
        let row = row.unwrap_or_else(|| panic!("there is no row {:?}", self.row));
        let words = row.split('`').skip(1).step_by(2);
        words
            .filter(|word| word.starts_with("crates/"))
            .map(str::to_owned)
            .collect()
    }

    fn touched(&self, root: &Path) -> Vec<PathBuf> {
        let mut found = Vec::new();
        for dir in DIRS {
            self.add_touched(&root.join(dir), &mut found);
        }
        found
    }

    fn add_touched(&self, dir: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() && !path.ends_with("target") {
                self.add_touched(&path, found);
            } else if is_file(&path.to_string_lossy()) {
                let text = fs::read_to_string(&path).unwrap();
                if self.names.iter().any(|name| text.contains(name)) {
                    found.push(path);
                }
            }
        }
    }
}

fn is_file(path: &str) -> bool {
    Path::new(path)
        .extension()
        .is_some_and(|extension| extension == "rs")
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::panic::catch_unwind;

    use super::Toy;

    const TOY: Toy<'static> = Toy {
        row: "a thing",
        names: &["ToyThing"],
        own: &["crates/c/src/toy"],
        bypassed: &["crates/c/src/config.rs"],
    };

    #[test]
    fn a_row_names_what_the_toy_touches_and_bypasses() {
        let dir = tempfile::tempdir().unwrap();
        let package = dir.path().join("crates/c");
        for sub in ["crates/c/src", "integration-tests", "xtask"] {
            fs::create_dir_all(dir.path().join(sub)).unwrap();
        }
        let write = |path: &str, text: &str| fs::write(dir.path().join(path), text).unwrap();
        let row = |files: &str| write("ARCHITECTURE.md", &format!("| a thing | {files} |\n"));
        let passes = || catch_unwind(|| TOY.check(package.to_str().unwrap())).is_ok();
        write("crates/c/src/toy.rs", "ToyThing");
        write("crates/c/src/kinds.rs", "ToyThing");
        write("crates/c/src/config.rs", "");
        row("`crates/c/src/kinds.rs` and `crates/c/src/config.rs`");
        assert!(passes());
        row("`crates/c/src/config.rs`");
        assert!(!passes());
        row("`crates/c/src/kinds.rs`");
        assert!(!passes());
        row("`crates/c/src/kinds.rs` and `crates/c/src/config.rs`");
        write("crates/c/src/other.rs", "ToyThing");
        assert!(!passes());
    }
}
