//! The commented sample files, made from the tables of options and kept equal to
//! them. `HALITE_UPDATE_SAMPLES=1` writes them.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use halite_proto::{Map, Value};
use halite_yaml::{DumpOptions, dump};

use crate::known::{self, Side};
use crate::options::Row;
use crate::{LoadOptions, MasterConfig, MinionConfig, load_master, load_minion};

/// Defaults that are not Salt's own word, with the reason.
const OUR_DEFAULTS: &[(&str, &str)] = &[
    ("user", "Salt's is the user that runs it"),
    ("log_fmt_console", "empty means the form that Salt has"),
    ("log_fmt_logfile", "empty means the form that Salt has"),
    ("log_datefmt", "empty means the form that Salt has"),
    ("log_datefmt_logfile", "empty means the form that Salt has"),
    (
        "random_reauth_delay",
        "Salt's is the pause before a minion that failed starts itself anew",
    ),
    (
        "publish_port",
        "a minion takes the port that its master tells",
    ),
];

fn sample(program: &str, rows: &[Row]) -> String {
    let mut text = format!(
        "# Configuration of salt-{program}: every option that is honoured, with its default.\n\
         # Remove the `#` in front of an option to change it. Files in {program}.d that end in\n\
         # .conf are read after this one, and what they say wins. `salt-{program} --check`\n\
         # tells whether all of it is understood.\n"
    );
    for row in rows {
        text.push('\n');
        for line in row.doc.lines() {
            let _ = writeln!(text, "# {}", line.trim());
        }
        let option = Map::from([(row.name, row.default.clone())]);
        let lines = match dump(&option.into(), DumpOptions::block().unsorted()) {
            lines if lines.ends_with(": null\n") => lines.replace(" null", ""),
            lines => lines,
        };
        for line in lines.lines() {
            let _ = writeln!(text, "#{line}");
        }
    }
    text
}

fn is_ours(name: &str) -> bool {
    OUR_DEFAULTS.iter().any(|(ours, _)| *ours == name)
}

fn path(program: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../configs")
        .join(program)
}

fn check(program: &str, rows: &[Row]) {
    let expected = sample(program, rows);
    let path = path(program);
    if std::env::var_os("HALITE_UPDATE_SAMPLES").is_some() {
        std::fs::write(&path, &expected).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == expected,
        "configs/{program} is not what the table says; \
         HALITE_UPDATE_SAMPLES=1 cargo test -p halite-config writes it anew"
    );
}

#[test]
fn the_samples_say_what_the_tables_say() {
    check("master", &MasterConfig::table());
    check("minion", &MinionConfig::table());
}

/// What Salt's default and ours have to have in common.
fn comparable(value: &Value) -> Value {
    match value {
        Value::Str(text) if text.is_empty() => Value::Nil,
        Value::List(items) if items.is_empty() => Value::Nil,
        Value::Map(map) if map.is_empty() => Value::Nil,
        Value::Float(float) if float.fract() == 0.0 =>
        {
            #[expect(clippy::cast_possible_truncation, reason = "a default is small")]
            Value::from(*float as i64)
        }
        other => other.clone(),
    }
}

#[test]
fn defaults_are_those_of_salt() {
    let mut wrong = Vec::new();
    for (side, rows) in [
        (Side::Master, MasterConfig::table()),
        (Side::Minion, MinionConfig::table()),
    ] {
        // Its parts have their defaults where they are read.
        let has_parts = |name: &str| name == "metrics";
        for row in rows.iter().filter(|row| !is_ours(row.name)) {
            if has_parts(row.name) {
                continue;
            }
            let Some(salts) = known::default(side, row.name) else {
                continue;
            };
            if comparable(&salts) != comparable(&row.default) {
                wrong.push(format!(
                    "{side:?} {}: {salts:?}, here {:?}",
                    row.name, row.default
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The sample with every option in force.
fn uncommented(program: &str) -> String {
    let text = std::fs::read_to_string(path(program)).unwrap();
    let lines = text.lines().filter(|line| !line.starts_with("# "));
    lines
        .map(|line| line.trim_start_matches('#'))
        .collect::<Vec<_>>()
        .join("\n")
}

#[test]
fn the_samples_load_without_a_warning_commented_or_not() {
    let dir = tempfile::tempdir().unwrap();
    for program in ["master", "minion"] {
        let commented = std::fs::read_to_string(path(program)).unwrap();
        for text in [commented, uncommented(program)] {
            let file = dir.path().join(program);
            let root = dir.path().display().to_string();
            std::fs::write(&file, text).unwrap();
            let options = LoadOptions {
                config_file: Some(file),
                overrides: vec![
                    ("root_dir".to_owned(), Value::from(root)),
                    ("id".to_owned(), Value::from("x")),
                ],
                ..LoadOptions::default()
            };
            let warnings = match program {
                "master" => load_master(&options).map(|loaded| loaded.warnings),
                _ => load_minion(&options).map(|loaded| loaded.warnings),
            };
            match warnings {
                Ok(warnings) => assert!(warnings.is_empty(), "{program}: {warnings:?}"),
                Err(error) => panic!("{program}: {}", error.render()),
            }
        }
    }
}
