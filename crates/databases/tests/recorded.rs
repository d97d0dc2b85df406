//! Calls recorded with real Salt 3008.5 give the same results here
//! (`crates/recorded`).

use halite_call::{Module, Registry};

static EXEC: &[&[Module]] = &[halite_core_modules::MODULES, halite_databases::MODULES];
static STATES: &[&[Module]] = &[halite_databases::STATES];
static REGISTRY: Registry = Registry::new(EXEC, STATES);

#[test]
fn real_tools_are_read_as_salt_reads_them() {
    halite_recorded::assert_transcripts(env!("CARGO_MANIFEST_DIR"), &REGISTRY);
}
