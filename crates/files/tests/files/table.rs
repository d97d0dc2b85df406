//! The tables of functions are consistent.

use halite_call::Module;
use halite_files::{MODULES, STATES};

#[test]
fn every_entry_is_sound() {
    assert_eq!(Module::faults(&[MODULES, STATES]), Vec::<String>::new());
}
