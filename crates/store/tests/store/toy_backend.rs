//! The backend in memory shows what a further backend touches: only what the row "a
//! store backend" of ARCHITECTURE.md names.

use halite_test_support::map::Toy;

#[test]
fn a_backend_touches_only_the_files_that_the_map_names() {
    let toy = Toy {
        row: "a store backend",
        names: &["MemoryStore", "memory_store"],
        own: &[
            "crates/store/src/memory_store",
            // The fault test, which compares with the toy.
            "crates/store/tests/conformance/faults.rs",
            "crates/store/tests/store/toy_backend.rs",
            // A test of the client keeps grains in it.
            "crates/client/src/connected.rs",
        ],
        bypassed: &[],
    };
    toy.check(env!("CARGO_MANIFEST_DIR"));
}
