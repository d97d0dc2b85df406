//! Every scenario gives what real Salt gave (`common`).
#![allow(clippy::unwrap_used)]

// One player of scenarios serves all families.
#[path = "../../system/tests/common/mod.rs"]
mod common;

use halite_modules::{Module, Registry};

static EXEC: &[&[Module]] = &[
    Registry::core_modules(),
    halite_certificates::MODULES,
    halite_files::MODULES,
];
static STATES: &[&[Module]] = &[halite_certificates::STATES, halite_files::STATES];
static REGISTRY: Registry = Registry::new(EXEC, STATES);

/// Calls whose outcome is not Salt's, each with its reason.
const DIFFERENCES: &[(&str, usize)] = &[
    // In words of our own.
    ("functions", 66),
    ("states", 58),
    // A signature with SHA-1 can be made.
    ("functions", 146),
    // The key that signs may come from the policy.
    ("functions", 242),
    ("functions", 243),
    // A list without entries is a list.
    ("states", 63),
    // A list without a number gets one.
    ("states", 65),
    ("states", 66),
    ("states", 67),
    // What is not PEM is said to be none.
    ("states", 75),
];

#[test]
fn scenarios_come_out_as_with_salt() {
    common::assert_as_recorded(env!("CARGO_MANIFEST_DIR"), &REGISTRY, DIFFERENCES);
}
