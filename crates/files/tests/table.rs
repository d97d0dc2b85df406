//! The tables of functions are sound.
#![allow(clippy::unwrap_used)]

#[test]
fn every_entry_is_sound() {
    for table in [halite_files::MODULES, halite_files::STATES] {
        assert!(table.is_sorted_by_key(|module| module.name));
        for module in table {
            let sorted = module.functions.is_sorted_by_key(|function| function.name);
            assert!(sorted, "functions of {} are sorted", module.name);
            for function in module.functions {
                assert_eq!(function.module(), module.name);
                function.parse_signature().unwrap();
                assert!(function.doc.len() > 10, "{} has no doc", function.name);
            }
        }
    }
}
