//! `docs/options.md`: every option of Salt and its status here, made from the code.
//! `HALITE_UPDATE_OPTIONS=1` writes it.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use crate::known::{self, Side};
use crate::names::{honoured_elsewhere, is_honoured, is_of_an_installed_salt};
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

/// What options do that are no fields of a configuration: a name, a tab and words.
static WORDS: &str = include_str!("../data/option-words.txt");

/// Options of [`WORDS`] that Salt does not have.
const OURS: &[&str] = &["git_pillar_verify_signatures", "gitfs_verify_signatures"];

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

/// The lines of [`WORDS`].
fn words() -> impl Iterator<Item = (&'static str, &'static str)> {
    let lines = WORDS.lines().filter(|line| !line.starts_with('#'));
    lines.filter_map(|line| line.split_once('\t'))
}

/// What an option does: the first sentence of its field's comment, or its words.
fn description(name: &str, rows: &[Row]) -> String {
    let Some(row) = rows.iter().find(|row| row.name == name) else {
        let known = words().find(|(known, _)| *known == name);
        return known.map_or_else(String::new, |(_, words)| words.to_owned());
    };
    let text = row.doc.lines().map(str::trim).collect::<Vec<_>>().join(" ");
    let sentence = text
        .split_once(". ")
        .map_or(text.as_str(), |(first, _)| first);
    sentence.trim_end_matches('.').to_owned()
}

/// All options of a side with their standing and a few words.
fn options(side: Side, rows: &[Row]) -> BTreeMap<&'static str, (Standing, String)> {
    let fields: Vec<&str> = rows.iter().map(|row| row.name).collect();
    let mut options = BTreeMap::new();
    for (name, is_of_side) in known::names(side) {
        let refusal = refused::why(name).filter(|_| side == Side::Master);
        let entry = if let Some(why) = refusal {
            (Standing::Refused, why.to_owned())
        } else if is_honoured(side, name, &fields) {
            (Standing::Honoured, description(name, rows))
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
    // Salt's list has no options of single modules, and none of ours.
    for name in honoured_elsewhere(side).filter(|name| !known::is_known(name)) {
        let standing = match OURS.contains(&name) {
            true => Standing::Ours,
            false => Standing::Honoured,
        };
        options.insert(name, (standing, description(name, rows)));
    }
    for name in fields.iter().filter(|name| !known::is_known(name)) {
        options.insert(name, (Standing::Ours, description(name, rows)));
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
fn each_option_has_words() {
    let mut silent = Vec::new();
    for (side, rows) in [
        (Side::Master, MasterConfig::table()),
        (Side::Minion, MinionConfig::table()),
    ] {
        for (name, (standing, words)) in options(side, &rows) {
            if words.trim().is_empty() {
                silent.push(format!("{side:?} {name}: {}", standing.word()));
            }
        }
    }
    assert!(
        silent.is_empty(),
        "no words (data/option-words.txt) or reason (reasons.rs) for {silent:#?}"
    );
}

#[test]
fn the_words_are_sorted_and_of_options_that_are_honoured() {
    let names: Vec<&str> = words().map(|(name, _)| name).collect();
    assert!(names.is_sorted_by(|one, next| one < next), "{names:?}");
    let is_honoured = |name: &str| {
        let mut sides = [Side::Master, Side::Minion].into_iter();
        sides.any(|side| honoured_elsewhere(side).any(|honoured| honoured == name))
    };
    for name in names.iter().chain(OURS) {
        assert!(
            is_honoured(name),
            "words for {name}, which is no such option"
        );
    }
}
