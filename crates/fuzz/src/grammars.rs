//! Languages that people write: targets, patterns, JSON.

use halite_proto::json::{self, Style};
use halite_proto::{Map, Value};
use halite_target::glob::Glob;
use halite_target::pcre::Pcre;
use halite_target::{Reading, Subject, Target};

/// The kinds of targets; the first byte of an input chooses one.
const KINDS: [&str; 10] = [
    "compound",
    "glob",
    "pcre",
    "list",
    "grain",
    "grain_pcre",
    "pillar",
    "pillar_pcre",
    "pillar_exact",
    "ipcidr",
];

struct Minion {
    grains: Map,
    pillar: Map,
}

impl Subject for Minion {
    fn id(&self) -> &str {
        "web1"
    }

    fn grains(&self) -> Option<&Map> {
        Some(&self.grains)
    }

    fn pillar(&self) -> Option<&Map> {
        Some(&self.pillar)
    }
}

/// A target of any kind, and whether it means a minion.
pub(crate) fn targets(bytes: &[u8]) {
    let Some((kind, rest)) = bytes.split_first() else {
        return;
    };
    let kind = KINDS[usize::from(*kind) % KINDS.len()];
    let text = String::from_utf8_lossy(rest);
    let minion = Minion {
        grains: Map::from([
            ("os", Value::from("Debian")),
            ("roles", Value::List(vec!["a".into(), "b".into()])),
            ("ipv4", Value::List(vec!["10.0.0.1".into()])),
        ]),
        pillar: Map::from([("a", Map::from([("b", 1)]))]),
    };
    let groups = Map::from([("g", "web* or N@h"), ("h", "G@os:Debian and not N@g")]);
    let reading = Reading {
        nodegroups: Some(&groups),
        ..Reading::default()
    };
    match Target::parse_with(&Value::from(text.as_ref()), kind, &reading) {
        Ok(target) => {
            let _ = target.matches(&minion);
            let _ = target.named_ids();
            let _ = target.data_needed();
        }
        Err(error) => assert!(!error.render(&text).is_empty()),
    }
}

/// A glob and a regular expression of Python's, against a text behind a line
/// feed.
pub(crate) fn patterns(bytes: &[u8]) {
    let input = String::from_utf8_lossy(bytes);
    let (pattern, text) = input.split_once('\n').unwrap_or((&input, "web1.example"));
    let _ = Glob::new(pattern).matches(text);
    if let Ok(pattern) = Pcre::new(pattern) {
        let _ = pattern.matches_start(text);
    }
}

/// JSON: what is read can be written, and is read as the same.
pub(crate) fn json(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let Ok(value) = json::read(text) else {
        return;
    };
    let written = json::write(&value, Style::default()).expect("it was read");
    let again = json::read(&written).expect("it was written");
    // What is not a number is not equal to itself.
    assert_eq!(format!("{again:?}"), format!("{value:?}"));
}
