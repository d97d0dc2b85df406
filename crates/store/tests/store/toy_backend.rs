//! The backend in memory shows what a further backend touches: only what the row "a
//! store backend" of ARCHITECTURE.md names.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::fs;
use std::path::{Path, PathBuf};

/// How the toy is called in code.
const NAMES: [&str; 2] = ["MemoryStore", "memory_store"];

#[test]
fn a_backend_touches_only_the_files_that_the_map_names() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let named = files_of_row(&root);
    assert!(named.len() >= 4, "{named:?}");
    for file in &named {
        assert!(root.join(file).exists(), "{file} is not there");
    }
    let mut touched = Vec::new();
    for dir in ["crates", "integration-tests", "xtask"] {
        naming_the_toy(&root.join(dir), &mut touched);
    }
    let touched: Vec<String> = touched
        .iter()
        .map(|path| path.strip_prefix(&root).unwrap().display().to_string())
        // This test, the fault test that compares with the toy, and the toy.
        .filter(|path| !path.ends_with("tests/store/toy_backend.rs"))
        .filter(|path| !path.ends_with("tests/conformance/faults.rs"))
        .filter(|path| !path.starts_with("crates/store/src/memory_store"))
        .collect();
    let mut unnamed = touched.clone();
    unnamed.retain(|path| !named.contains(path));
    assert_eq!(unnamed, Vec::<String>::new());
    let mut needless: Vec<&String> = named.iter().filter(|path| path.ends_with(".rs")).collect();
    needless.retain(|path| !touched.contains(path));
    assert_eq!(needless, Vec::<&String>::new());
}

/// What stands between backquotes and is a path.
fn files_of_row(root: &Path) -> Vec<String> {
    let map = fs::read_to_string(root.join("ARCHITECTURE.md")).unwrap();
    let row = map
        .lines()
        .find(|line| line.starts_with("| a store backend |"));
    let words = row.unwrap().split('`').skip(1).step_by(2);
    words
        .filter(|word| word.starts_with("crates/"))
        .map(str::to_owned)
        .collect()
}

fn naming_the_toy(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.ends_with("target") {
            naming_the_toy(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            if NAMES.iter().any(|name| text.contains(name)) {
                found.push(path);
            }
        }
    }
}
