//! Checks that `cargo xtask provide` installs every program that a test asks for with
//! `have_programs`.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use super::PROGRAMS;
use crate::build::root;

/// Where tests are.
const DIRS: [&str; 3] = ["crates", "integration-tests", "xtask"];

/// How a test asks for programs.
const CALL: &str = concat!("have_programs", "(&");

/// Fewer would mean that the calls are not found any more.
const NAMES_MIN: usize = 30;

fn sources(dir: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.ends_with("target") {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(fs::read_to_string(&path).unwrap());
        }
    }
}

/// The names in the argument of a call, or in the value of a variable: literals, and
/// the variables that it names.
fn names(value: &str, text: &str, all: &[String]) -> BTreeSet<String> {
    let items = value.split([',', '[', ']', '&']).map(str::trim);
    let mut found = BTreeSet::new();
    for item in items.filter(|item| !item.is_empty()) {
        match item.strip_prefix('"') {
            Some(rest) => {
                found.insert(rest.trim_end_matches('"').to_owned());
            }
            None => {
                let value = value_of(item, text);
                let value = value.or_else(|| all.iter().find_map(|text| value_of(item, text)));
                let value = value.unwrap_or_else(|| panic!("what are the programs {item}?"));
                found.extend(names(value, text, all));
            }
        }
    }
    found
}

/// What a constant or variable is in this file.
fn value_of<'text>(name: &str, text: &'text str) -> Option<&'text str> {
    let declared = |word: &str| {
        let mut rests = text.split(word).skip(1);
        rests.find_map(|rest| {
            let rest = rest.strip_prefix(name)?;
            let rest = rest.strip_prefix(" = ").or_else(|| {
                let kind = rest.strip_prefix(": ")?;
                kind.split_once(" = ").map(|(_, value)| value)
            })?;
            rest.split(";\n").next()
        })
    };
    declared("const ").or_else(|| declared("let "))
}

#[test]
fn what_tests_ask_for_is_provided() {
    let mut all = Vec::new();
    for dir in DIRS {
        sources(&root().join(dir), &mut all);
    }
    let mut asked = BTreeSet::new();
    for text in &all {
        let is_code = |line: &&str| !line.trim_start().starts_with("//");
        let code: Vec<&str> = text.lines().filter(is_code).collect();
        let code = code.join("\n");
        for call in code.split(CALL).skip(1) {
            let argument = call.split(')').next().unwrap();
            asked.extend(names(argument, &code, &all));
        }
    }
    assert!(asked.len() >= NAMES_MIN, "only {asked:?}");
    // Some are asked for by their paths.
    let is_provided = |name: &String| {
        let program = name.rsplit('/').next();
        PROGRAMS.iter().any(|(known, _)| program == Some(*known))
    };
    asked.retain(|name| !is_provided(name));
    assert!(asked.is_empty(), "nothing provides {asked:?}");
}

#[test]
fn names_are_found_in_every_form() {
    let text = "const ONE: &str = \"one\";\nlet more = [ONE, \"two\"];\n\
                const THREE: [&str; 1] = [\"three\"];\n";
    let elsewhere = ["const FOUR: &str = \"four\";\n".to_owned()];
    let found = names("[more, THREE, \"five\", FOUR]", text, &elsewhere);
    let expected = ["five", "four", "one", "three", "two"].map(str::to_owned);
    assert_eq!(found, BTreeSet::from(expected));
}
