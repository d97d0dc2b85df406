//! Every scenario gives the result of real Salt (`common`).
#![allow(clippy::unwrap_used)]

// One player of scenarios serves both families.
use halite_call::{Module, Registry};

static EXEC: &[&[Module]] = &[halite_core_modules::MODULES, halite_network::MODULES];
static STATES: &[&[Module]] = &[halite_network::STATES];
static REGISTRY: Registry = Registry::new(EXEC, STATES);

#[test]
fn scenarios_come_out_as_with_salt() {
    halite_recorded::assert_as_recorded(env!("CARGO_MANIFEST_DIR"), &REGISTRY);
}
