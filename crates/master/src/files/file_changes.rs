//! `fileserver_events`: events about changed files.

use halite_fileserver::{Backends, Changes, MovedEnvs, UpdateWish};
use halite_proto::{Map, Value};

use crate::error::chain;
use crate::events::bus::Bus;
use crate::files::Files;

/// Updates the selected sources, and fires events of the changes.
pub(crate) fn update(files: &Files, bus: &Bus, meant: &Backends, wish: &UpdateWish) {
    for updated in files.server.update(meant, wish) {
        let backend = updated.backend;
        match updated.changes {
            Ok(changes) => fire(files, bus, backend, changes),
            Err(error) => {
                tracing::error!(backend, "could not update the files: {}", chain(&error));
            }
        }
    }
}

/// Fires what has changed in a source, if that is wanted.
pub(super) fn fire(files: &Files, bus: &Bus, backend: &'static str, changes: Changes) {
    if files.settings.fires_changes {
        let event = event(backend, changes);
        bus.fire_under("fileserver", [backend, "update"], event);
    }
}

fn event(backend: &str, changes: Changes) -> Map {
    let has_changed = !changes.is_empty();
    if changes.is_different.is_some() {
        let envs = |envs: MovedEnvs| -> Map {
            envs.into_iter()
                .map(|(env, commit)| (Value::from(env), Value::from(commit)))
                .collect()
        };
        let remotes = changes.remotes.into_iter();
        let remotes: Map = remotes
            .map(|(remote, moved)| (Value::from(remote), Value::from(envs(moved))))
            .collect();
        return Map::from([
            ("changed", Value::from(has_changed)),
            ("backend", backend.into()),
            // Beyond Salt's.
            ("remotes", remotes.into()),
        ]);
    }
    let list = |paths: Vec<String>| Value::List(paths.into_iter().map(Value::from).collect());
    let files = Map::from([
        ("changed", list(changes.changed)),
        ("removed", list(changes.removed)),
        ("added", list(changes.added)),
    ]);
    Map::from([
        ("changed", Value::from(has_changed)),
        ("files", files.into()),
        ("backend", backend.into()),
    ])
}
