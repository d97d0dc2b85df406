//! Package files in the cache of a package manager.

use std::os::unix::fs::MetadataExt;

use halite_call::Call;
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
    let root = call.text_given("root").unwrap_or_default();
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

/// What was downloaded of `names`, with a word about those that were not;
/// `nothing` is the message when none was.
pub(super) fn with_missing(mut all: Map, names: &[String], nothing: &str) -> Result<Map, PkgError> {
    let names_of = |names: &[&str]| names.join(", ");
    if all.is_empty() {
        let all: Vec<&str> = names.iter().map(String::as_str).collect();
        return Err(PkgError::command(format!("{nothing}: {}", names_of(&all))));
    }
    let missing: Vec<&str> = names
        .iter()
        .filter(|name| !all.contains_key(name))
        .map(String::as_str)
        .collect();
    if !missing.is_empty() {
        let text = names_of(&missing);
        all.insert(
            "_error",
            format!("The following package(s) failed to download: {text}"),
        );
    }
    Ok(all)
}
