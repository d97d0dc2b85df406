//! Calls recorded with real Salt 3008.5 give the same results here
//! (`crates/recorded`).

use halite_call::{Module, Registry};

static EXEC: &[&[Module]] = &[halite_core_modules::MODULES];
static STATES: &[&[Module]] = &[halite_core_modules::STATES];
static REGISTRY: Registry = Registry::new(EXEC, STATES);

#[test]
fn scenarios_come_out_as_with_salt() {
    halite_recorded::assert_as_recorded(env!("CARGO_MANIFEST_DIR"), &REGISTRY);
}
