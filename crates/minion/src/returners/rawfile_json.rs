//! `rawfile_json`: one line of JSON per result in a file.

use std::path::{Path, PathBuf};

use halite_call::MinionContext;
use halite_proto::Map;
use halite_store::append_lines;

use super::settings::Settings;
use super::{ReturnerError, json};

/// `rawfile_json.filename`.
const FILE: &str = "/var/log/salt/events";

/// Results may hold what not everybody is to read: the mode of Salt's logs.
const MODE: u32 = 0o640;

pub(super) fn deliver(ctx: &dyn MinionContext, record: &Map) -> Result<(), ReturnerError> {
    let settings = Settings::new(ctx, "rawfile_json", record);
    let path = settings
        .own_text("filename")?
        .unwrap_or_else(|| FILE.to_owned());
    let line = json(record)? + "\n";
    append_lines(Path::new(&path), MODE, line.as_bytes()).map_err(|source| ReturnerError::Write {
        path: PathBuf::from(path),
        source,
    })
}
