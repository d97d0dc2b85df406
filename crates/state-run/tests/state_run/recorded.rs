//! Calls recorded with real Salt 3008.5 give the same results here
//! (`crates/recorded`).

#[test]
fn scenarios_come_out_as_with_salt() {
    halite_recorded::assert_as_recorded(env!("CARGO_MANIFEST_DIR"), halite_state_run::registry());
}
