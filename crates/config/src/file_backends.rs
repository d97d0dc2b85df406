//! `fileserver_backend`: which sources of files there are, and in which order they
//! are asked.
//!
//! Invariant: an unknown name is refused with its place. Salt ignores it, and
//! serves nothing from it.

use halite_proto::Value;

use crate::error::ConfigError;
use crate::raw::Raw;
use crate::setting::OneOrMany;

const OPTION: &str = "fileserver_backend";

/// The sources of files that a master's file server opens.
pub const FILE_BACKENDS: &[&str] = &["roots", "gitfs", "minionfs"];

/// Those of a minion that serves files to itself: nobody pushes files to it.
pub(crate) const OWN_FILE_BACKENDS: &[&str] = &["roots", "gitfs"];

/// Short names that Salt takes for those of sources.
const SHORT: [&str; 4] = ["git", "hg", "minion", "svn"];

/// Sources of Salt that the file server does not have, and what to do instead.
const ELSEWHERE: &[(&str, &str)] = &[
    (
        "minionfs",
        "only a master has files that minions have pushed",
    ),
    ("azurefs", IN_PYTHON),
    ("hgfs", IN_PYTHON),
    ("s3fs", IN_PYTHON),
    ("svnfs", IN_PYTHON),
];

const IN_PYTHON: &str = "it is a module in Python, which is not used here";

/// Puts the names as Salt does: `git` is `gitfs`, and each one counts once. The
/// mistakes: names that are not those of the sources `known`, where files are
/// served from here.
pub(crate) fn settle(
    raw: &mut Raw,
    names: &mut OneOrMany,
    known: Option<&[&str]>,
) -> Vec<ConfigError> {
    for name in &mut names.0 {
        if SHORT.contains(&name.as_str()) {
            name.push_str("fs");
        }
    }
    if let Some(known) = known {
        let mut mistakes = Vec::new();
        for (at, name) in names.0.iter().enumerate() {
            if !known.contains(&name.as_str()) {
                mistakes.push(raw.wrong_item(OPTION, Some(at), allowed(name, known)));
            }
        }
        if !mistakes.is_empty() {
            return mistakes;
        }
    }
    let mut once: Vec<String> = Vec::new();
    for name in names.0.drain(..) {
        if !once.contains(&name) {
            once.push(name);
        }
    }
    names.0 = once;
    let settled = names.0.iter().map(|name| Value::from(name.as_str()));
    raw.settle(OPTION, Value::List(settled.collect()));
    Vec::new()
}

/// What may stand in the place of a name, to end the sentence `it is ...`.
fn allowed(name: &str, known: &[&str]) -> String {
    let known = known.join(" or ");
    match ELSEWHERE.iter().find(|(other, _)| *other == name) {
        Some((_, why)) => format!("{known} ({name}: {why})"),
        None => known,
    }
}
