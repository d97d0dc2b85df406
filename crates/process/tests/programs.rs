//! Every program that this project starts is started in `child::command`, so that
//! it inherits no descriptor: a rule over the sources of all crates.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};

/// The one place that may make commands.
const HOME: &str = "process/src/child.rs";

/// Crates that no program is made of.
const FOR_TESTS: [&str; 4] = ["test-services", "test-support", "fake-minion", "recorded"];

fn sources(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|end| end == "rs") {
            found.push(path);
        }
    }
}

/// Whether the code, without its tests, makes commands of the standard library
/// or of tokio.
fn makes_commands(text: &str) -> bool {
    let product = text.split("#[cfg(test)]").next().unwrap_or_default();
    let code: Vec<&str> = product
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .collect();
    let imports = |line: &&str| line.contains("process::") && line.contains("Command");
    code.iter().any(imports) && code.iter().any(|line| line.contains("Command::new("))
}

#[test]
fn programs_are_started_in_one_way() {
    assert!(makes_commands(
        "use std::process::{Command, Stdio};\nfn f() { Command::new(\"x\"); }"
    ));
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut found = Vec::new();
    for entry in fs::read_dir(crates).unwrap() {
        let dir = entry.unwrap().path();
        if !FOR_TESTS.iter().any(|name| dir.ends_with(name)) {
            sources(&dir.join("src"), &mut found);
        }
    }
    assert!(found.len() > 100, "the sources were not found");
    let wrong: Vec<_> = found
        .iter()
        // Tests are in no program.
        .filter(|path| !path.ends_with(HOME) && !path.ends_with("tests.rs"))
        .filter(|path| makes_commands(&fs::read_to_string(path).unwrap()))
        .collect();
    assert!(wrong.is_empty(), "use `child::command` in {wrong:?}");
}
