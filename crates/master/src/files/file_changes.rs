//! `fileserver_events`: which files have changed, told on the event bus.

use std::path::Path;

use halite_fileserver::Changes;
use halite_proto::{Map, Value};

use crate::error::chain;
use crate::master::Master;

/// Looks at the files if changes are to be told, and tells them.
pub(crate) fn tell(master: &Master) {
    if !master.settings.fileserver_events {
        return;
    }
    match master.files.changes(&times(&master.settings.cachedir)) {
        Ok(changes) => {
            let parts = ["roots", "update"];
            master.bus.fire_under("fileserver", parts, event(changes));
        }
        Err(error) => tracing::error!("could not tell what files have changed: {}", chain(&error)),
    }
}

/// The file of times, where Salt has it.
fn times(cachedir: &Path) -> std::path::PathBuf {
    cachedir.join("roots").join("mtime_map")
}

fn event(changes: Changes) -> Map {
    let has_changed = !changes.is_empty();
    let list = |paths: Vec<String>| Value::List(paths.into_iter().map(Value::from).collect());
    let files = Map::from([
        ("changed", list(changes.changed)),
        ("removed", list(changes.removed)),
        ("added", list(changes.added)),
    ]);
    Map::from([
        ("changed", Value::from(has_changed)),
        ("files", files.into()),
        ("backend", "roots".into()),
    ])
}
