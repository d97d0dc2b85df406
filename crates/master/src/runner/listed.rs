//! Checks that the runners that `sys.list_runners` and related functions list on
//! minions are those of the table. `HALITE_UPDATE_RUNNERS=1 cargo test -p
//! halite-master listed` writes the list.

use super::table;

#[test]
fn minions_know_the_runners() {
    let ours = table::all().map(|function| (function.name, function.signature, function.doc));
    let listed = halite_core_modules::runners_listed(ours);
    if std::env::var_os("HALITE_UPDATE_RUNNERS").is_some() {
        let path = "../core-modules/src/sys/runners.tsv";
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
        std::fs::write(path, &listed).unwrap();
        return;
    }
    assert!(
        halite_core_modules::RUNNERS == listed,
        "sys/runners.tsv is stale: run this test with HALITE_UPDATE_RUNNERS=1"
    );
}
