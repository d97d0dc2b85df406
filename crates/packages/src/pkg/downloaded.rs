//! Package files that lie in the cache of a package manager.

use std::os::unix::fs::MetadataExt;

use halite_modules::{Call, python};
use halite_proto::{Map, Value};

use super::error::PkgError;
use super::provider::Provider;
use crate::time;

/// All package files below a directory: by name, then by version.
pub(super) fn list(
    call: &Call<'_>,
    provider: &dyn Provider,
    directory: &str,
    end: &str,
) -> Result<Map, PkgError> {
    let root = call
        .get("root")
        .filter(|root| root.is_true())
        .map(python::str)
        .unwrap_or_default();
    let mut found = Map::new();
    let start = format!("{}{directory}", root.trim_end_matches('/'));
    let mut directories = vec![call.host().path(start)];
    while let Some(directory) = directories.pop() {
        let Ok(entries) = std::fs::read_dir(&directory) else {
            continue;
        };
        for path in entries.flatten().map(|entry| entry.path()) {
            if path.is_dir() && !path.is_symlink() {
                directories.push(path);
                continue;
            }
            let text = path.display().to_string();
            if !text.ends_with(end) {
                continue;
            }
            let (Ok(meta), Some(info)) = (path.metadata(), provider.file_info(call, &text)?) else {
                continue;
            };
            let seconds = meta.ctime();
            let written = time::utc(seconds);
            let about = Map::from([
                ("path", Value::from(text)),
                ("size", meta.len().into()),
                ("creation_date_time_t", seconds.into()),
                ("creation_date_time", written.trim_end_matches('Z').into()),
            ]);
            let versions =
                found.get_or_insert_with(Value::Str(info.name), || Value::Map(Map::new()));
            if let Value::Map(versions) = versions {
                versions.insert(info.version, about);
            }
        }
    }
    Ok(found)
}
