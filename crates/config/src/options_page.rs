//! `docs/options.md`: every option of Salt and its status here, made from the code.
//! `HALITE_UPDATE_OPTIONS=1` writes it.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use crate::known::{self, Side};
use crate::names::{is_honoured, is_of_an_installed_salt};
use crate::options::Row;
use crate::{MasterConfig, MinionConfig, reasons, refused};

const HEAD: &str = "# Options

Generated: `HALITE_UPDATE_OPTIONS=1 cargo test -p halite-config options_page`. Every option of \
Salt 3008.5 for its master and its minion, and our own. `salt-master --check` and `salt-minion \
--check` report the same for a configuration, with the place of each option.

- **honoured**: it has the same meaning as in Salt. Unsupported values are refused with \
their place; `docs/differences.md` says where a default or an effect differs.
- **refused**: a value other than Salt's default stops the start, with the place and the reason. \
`salt` and the other tools still run: they may be used beside a Salt master.
- **without effect**: a warning names it, and the start continues.
- **ours**: not an option of Salt.
";

/// A few words on options that are no fields here.
const NOTES: &[(&str, &str)] = &[
    (
        "cache",
        "Where minion data and banks are kept: `localfs`, `redis`, `mysql` or `etcd`",
    ),
    (
        "eauth_tokens",
        "`localfs`; any other value is refused: see `eauth_tokens.cache_driver`",
    ),
    (
        "eauth_tokens.cache_driver",
        "Where tokens are kept, if not where `cache` says",
    ),
    (
        "keys.cache_driver",
        "Where the keys of minions are kept: `localfs_key`, `redis`, `mysql` or `etcd`",
    ),
    (
        "pillar_cache",
        "Whether compiled pillars, which hold secrets, are cached",
    ),
    (
        "pillar_cache_backend",
        "Where cached pillars are kept: `disk` or `memory`",
    ),
    (
        "pillar_cache_ttl",
        "Seconds for which a cached pillar is valid",
    ),
];

/// What becomes of an option.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Standing {
    Honoured,
    Refused,
    WithoutEffect,
    Ours,
}

impl Standing {
    fn word(self) -> &'static str {
        match self {
            Self::Honoured => "honoured",
            Self::Refused => "refused",
            Self::WithoutEffect => "without effect",
            Self::Ours => "ours",
        }
    }
}

/// All options of a side with their standing and a few words.
fn options(side: Side, rows: &[Row]) -> BTreeMap<&'static str, (Standing, String)> {
    let fields: Vec<&str> = rows.iter().map(|row| row.name).collect();
    let doc = |name: &str| {
        let row = rows.iter().find(|row| row.name == name);
        let lines = row.map(|row| row.doc.lines().map(str::trim).collect::<Vec<_>>());
        let text = lines.unwrap_or_default().join(" ");
        let sentence = text
            .split_once(". ")
            .map_or(text.as_str(), |(first, _)| first);
        sentence.trim_end_matches('.').to_owned()
    };
    let mut options = BTreeMap::new();
    for (name, is_of_side) in known::names(side) {
        let refusal = refused::why(name).filter(|_| side == Side::Master);
        let entry = if let Some(why) = refusal {
            (Standing::Refused, why.to_owned())
        } else if is_honoured(side, name, &fields) {
            let note = NOTES.iter().find(|(noted, _)| *noted == name);
            let words = note.map_or_else(|| doc(name), |(_, words)| (*words).to_owned());
            (Standing::Honoured, words)
        } else if is_of_an_installed_salt(name) {
            let why = "for the code of an installed Salt, which gets all options";
            (Standing::Honoured, why.to_owned())
        } else if is_of_side {
            let why = reasons::why(side, name).unwrap_or_default();
            (Standing::WithoutEffect, why.to_owned())
        } else {
            continue;
        };
        options.insert(name, entry);
    }
    for name in fields.iter().filter(|name| !known::is_known(name)) {
        options.insert(name, (Standing::Ours, doc(name)));
    }
    options
}

fn page() -> String {
    let mut page = HEAD.to_owned();
    for (title, side, rows) in [
        ("Master", Side::Master, MasterConfig::table()),
        ("Minion", Side::Minion, MinionConfig::table()),
    ] {
        let options = options(side, &rows);
        let count = |wanted| {
            options
                .values()
                .filter(|(standing, _)| *standing == wanted)
                .count()
        };
        let _ = writeln!(
            page,
            "\n## {title}\n\n{} options: {} honoured, {} refused, {} without effect, {} ours.\n\n\
             | option | | in a few words |\n| --- | --- | --- |",
            options.len(),
            count(Standing::Honoured),
            count(Standing::Refused),
            count(Standing::WithoutEffect),
            count(Standing::Ours),
        );
        for (name, (standing, words)) in &options {
            let words = words.replace('|', "\\|");
            let _ = writeln!(page, "| `{name}` | {} | {words} |", standing.word());
        }
    }
    page
}

#[test]
fn the_page_says_what_the_code_does() {
    let expected = page();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/options.md");
    if std::env::var_os("HALITE_UPDATE_OPTIONS").is_some() {
        std::fs::write(&path, &expected).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == expected,
        "docs/options.md is out of date: \
         HALITE_UPDATE_OPTIONS=1 cargo test -p halite-config options_page writes it anew"
    );
}

#[test]
fn each_option_without_effect_has_a_reason() {
    let mut silent = Vec::new();
    for (side, rows) in [
        (Side::Master, MasterConfig::table()),
        (Side::Minion, MinionConfig::table()),
    ] {
        for (name, (standing, words)) in options(side, &rows) {
            if standing == Standing::WithoutEffect && words.is_empty() {
                silent.push(format!("{side:?} {name}"));
            }
        }
    }
    assert!(silent.is_empty(), "no reason for {silent:#?}");
}
