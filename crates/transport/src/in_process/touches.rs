//! What a further transport touches, shown by this one: the files that the row "a
//! transport" of ARCHITECTURE.md names.

use halite_test_support::map::Toy;

#[test]
fn a_transport_touches_only_the_files_that_the_map_names() {
    let toy = Toy {
        row: "a transport",
        names: &[
            "in_process::",
            "mod in_process",
            "_in_process(",
            "InProcess(",
        ],
        own: &["crates/transport/src/in_process"],
        bypassed: &[
            "crates/proto/src/transport.rs",
            "crates/transport/src/fleet/local_publish.rs",
        ],
    };
    toy.check(env!("CARGO_MANIFEST_DIR"));
}
