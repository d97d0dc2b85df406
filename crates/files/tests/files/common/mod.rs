//! A minion whose master serves directories, with the functions of this crate.
#![allow(dead_code, unreachable_pub, missing_docs, clippy::unwrap_used)]

use std::path::{Path, PathBuf};

use halite_call::Registry;
use halite_fake_minion::{FakeMinion, from_json, to_json_with};
use halite_fileserver::{FileServer, RootsOptions};
use halite_proto::{Map, Value};
use serde_json::{Value as Json, json};

static REGISTRY: Registry = Registry::new(
    &[halite_core_modules::MODULES, halite_files::MODULES],
    &[halite_files::STATES],
);

/// A minion whose master serves `srv` and `srv-dev` of the directory.
pub fn minion(work: &Path) -> FakeMinion {
    let grains = json!({"role": "web", "os": "Debian", "os_family": "Debian", "id": "m1",
        "host": "vm", "kernel": "Linux", "deep": {"a": {"b": "grain text"}, "l": ["x", "y"]}});
    let pillar = json!({"color": "blue", "apps": ["one", "two"], "txt": "pillar text\n",
        "deep": {"k": {"v": "deep text"}, "n": null}, "b64": "aGVsbG8gcGlsbGFyCg=="});
    let map = |json: &Json| from_json(json).as_map().unwrap().clone();
    let file_roots = vec![
        ("base".to_owned(), vec![work.join("srv")]),
        ("dev".to_owned(), vec![work.join("srv-dev")]),
    ];
    let files = FileServer::from_roots(RootsOptions {
        file_roots,
        ..RootsOptions::default()
    });
    FakeMinion::new()
        .with_registry(&REGISTRY)
        .with_opts(Map::from([
            ("file_client", Value::from("local")),
            ("cachedir", work.join("cache").display().to_string().into()),
            ("cmd_safe", true.into()),
        ]))
        .with_grains(map(&grains))
        .with_pillar(map(&pillar))
        .with_files(files.unwrap())
}

/// A directory to work in, with what a minion has there.
pub fn work() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().canonicalize().unwrap();
    for name in ["srv", "srv-dev", "cache"] {
        std::fs::create_dir(path.join(name)).unwrap();
    }
    (dir, path)
}

/// The value as the recordings write it.
pub fn to_json(value: &Value) -> Json {
    to_json_with(value, |bytes| json!({"BYTES": bytes}))
}
