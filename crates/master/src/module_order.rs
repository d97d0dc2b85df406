//! Checks that no file imports a module above its own. The documentation of the
//! crate lists the order.

#[test]
fn no_file_imports_a_module_above_its_own() {
    halite_test_support::module_order::check(env!("CARGO_MANIFEST_DIR"));
}
