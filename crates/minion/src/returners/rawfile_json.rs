//! `rawfile_json`: one line of JSON per result in a file.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use halite_modules::MinionContext;
use halite_proto::Map;

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
    append(Path::new(&path), line.as_bytes()).map_err(|source| ReturnerError::Write {
        path: PathBuf::from(path),
        source,
    })
}

/// Appends a whole line or nothing, one writer at a time, Salt's own included.
fn append(path: &Path, line: &[u8]) -> io::Result<()> {
    let mut how = OpenOptions::new();
    let mut file = how.append(true).create(true).mode(MODE).open(path)?;
    file.lock()?;
    let before = file.metadata()?.len();
    // The lock goes with the file.
    file.write_all(line).inspect_err(|_| cut(&file, before))
}

fn cut(file: &File, len: u64) {
    // Half a line would spoil the next one; on a full disk this still works,
    // and on what is no file there is nothing to cut.
    let _ = file.set_len(len);
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn lines_follow_each_other() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("events");
        append(&path, b"{\"a\": 1}\n").unwrap();
        append(&path, b"{\"a\": 2}\n").unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text, "{\"a\": 1}\n{\"a\": 2}\n");
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777 & !MODE, 0, "{mode:o}");
    }

    #[test]
    fn a_full_disk_is_an_error() {
        assert!(append(Path::new("/dev/full"), b"{}\n").is_err());
    }
}
