//! Every scenario gives what real Salt gave (`common`).
#![allow(clippy::unwrap_used)]

mod common;

use halite_call::{Module, Registry};

static EXEC: &[&[Module]] = &[halite_core_modules::MODULES, halite_system::MODULES];
static STATES: &[&[Module]] = &[halite_system::STATES];
static REGISTRY: Registry = Registry::new(EXEC, STATES);

#[test]
fn scenarios_come_out_as_with_salt() {
    common::assert_as_recorded(env!("CARGO_MANIFEST_DIR"), &REGISTRY);
}

#[test]
fn real_tools_are_read_as_salt_reads_them() {
    common::transcript::assert_transcripts(env!("CARGO_MANIFEST_DIR"), &REGISTRY);
}
