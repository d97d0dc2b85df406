//! Every transcript gives what real Salt gave beside the same servers.
#![allow(clippy::unwrap_used)]

#[path = "../../system/tests/common/mod.rs"]
mod common;

use halite_call::{Module, Registry};

static EXEC: &[&[Module]] = &[halite_core_modules::MODULES, halite_servers::MODULES];
static STATES: &[&[Module]] = &[halite_servers::STATES];
static REGISTRY: Registry = Registry::new(EXEC, STATES);

#[test]
fn scenarios_come_out_as_with_salt() {
    common::assert_as_recorded(env!("CARGO_MANIFEST_DIR"), &REGISTRY);
}

#[test]
fn transcripts_give_what_salt_gave() {
    common::transcript::assert_transcripts(env!("CARGO_MANIFEST_DIR"), &REGISTRY);
}
