//! Checks that minions may not fire the tags of our own programs. Below `salt/`
//! minions may fire other tags freely, so a new tag of ours must not be missing in
//! the list.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use halite_proto::MinionId;

use crate::core::tags::minion_may_fire;

/// The programs that fire events on a master's bus.
const PROGRAMS: [&str; 4] = ["master", "api", "cli", "client"];

fn may_fire(tag: &str) -> bool {
    let id = MinionId::parse("web1").unwrap();
    minion_may_fire(&id, tag, |name| name == "web2")
}

/// The source files below a directory, without those of tests.
fn sources(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let of = |path: PathBuf| match path.is_dir() {
        true => sources(&path),
        false => vec![path],
    };
    let is_one = |path: &PathBuf| {
        path.extension().is_some_and(|ext| ext == "rs")
            && !path.ends_with("tests.rs")
            && !path.ends_with("core/tags.rs")
            && !path.ends_with("events/fired.rs")
    };
    paths.flat_map(of).filter(is_one).collect()
}

/// The program part of a file: without comments, and without the tests at its end.
fn program(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap();
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
    let lines = text.lines().map(str::trim);
    let lines = lines.filter(|line| !line.starts_with("//"));
    lines.collect::<Vec<_>>().join("\n")
}

/// The literals that stand behind `start`, with `web2` where something is put in.
fn literals<'t>(text: &'t str, start: &'t str) -> impl Iterator<Item = String> + 't {
    let behind = text.split(start).skip(1);
    behind.map(|behind| {
        let literal = behind.split('"').next().unwrap();
        let mut parts = literal.split('{');
        let mut filled = parts.next().unwrap().to_owned();
        for part in parts {
            filled.push_str("web2");
            filled.push_str(part.split_once('}').map_or("", |(_, rest)| rest));
        }
        filled
    })
}

#[test]
fn every_tag_that_we_fire_is_refused_from_minions() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut tags = BTreeSet::new();
    for program_name in PROGRAMS {
        for path in sources(&crates.join(program_name).join("src")) {
            let text = program(&path);
            let prefixes = literals(&text, "fire_under(\"");
            tags.extend(prefixes.map(|prefix| format!("salt/{prefix}/x")));
            // Wherever such a text stands: in a call, a format, a constant.
            let whole = literals(&text, "\"salt/").filter(|rest| !rest.starts_with('/'));
            tags.extend(whole.map(|rest| format!("salt/{rest}")));
            let fired = [
                ".fire(\"",
                ".fire(&format!(\"",
                "format!(\"minion/",
                "format!(\"resource/",
            ];
            for (start, above) in fired.into_iter().zip(["", "", "minion/", "resource/"]) {
                let found = literals(&text, start).filter(|tag| !tag.starts_with("web2/"));
                tags.extend(found.map(|tag| format!("{above}{tag}")));
            }
            let constants = literals(&text, "_TAG: &str = \"");
            tags.extend(constants);
        }
    }
    assert!(tags.len() > 20, "they are not found any more: {tags:?}");
    for known in ["salt/auth/x", "salt/presence/x", "__schedule_return", "key"] {
        assert!(tags.contains(known), "{known}: {tags:?}");
    }
    let allowed: Vec<&String> = tags.iter().filter(|tag| may_fire(tag)).collect();
    assert!(allowed.is_empty(), "{allowed:?}");
}
