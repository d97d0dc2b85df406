//! Every scenario gives what real Salt gave (`common`).
#![allow(clippy::unwrap_used)]

// One player of scenarios serves both families.
#[path = "../../system/tests/common/mod.rs"]
mod common;

use halite_modules::{Module, Registry};

static EXEC: &[&[Module]] = &[Registry::core_modules(), halite_packages::MODULES];
static STATES: &[&[Module]] = &[halite_packages::STATES];
static REGISTRY: Registry = Registry::new(EXEC, STATES);

/// Calls whose outcome is not Salt's, each with its reason.
const DIFFERENCES: &[(&str, usize)] = &[
    // One unknown package: empty text, as documented, not a map.
    ("exec", 11),
    // Test mode does not have the lists of repositories read again.
    ("installed", 2),
    ("installed", 6),
    // Salt does not look whether an answer was taken.
    ("debconf", 6),
    // Salt raises a KeyError when it has removed the value.
    ("git1", 53),
    // A section without a key has no `signed-by=None` in its line.
    ("repos", 0),
];

#[test]
fn scenarios_come_out_as_with_salt() {
    common::assert_as_recorded(env!("CARGO_MANIFEST_DIR"), &REGISTRY, DIFFERENCES);
}

#[test]
fn real_tools_are_read_as_salt_reads_them() {
    common::transcript::assert_transcripts(env!("CARGO_MANIFEST_DIR"), &REGISTRY);
}

#[test]
fn the_recorder_has_its_calls_played() {
    common::transcript::play_here(&REGISTRY);
}
