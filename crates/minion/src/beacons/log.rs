//! The beacon `log`: new lines of a file that match a pattern.
//!
//! Invariant: a line is reported once and whole; lines that were in the file before
//! are not reported.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;

use halite_call::{Call, python};
use halite_proto::{Map, Value};
use halite_target::pcre::Pcre;

use super::{Beacon, BeaconError};
use crate::core::beacons::Settings;
use crate::limits::BEACON_LOG_BYTES_MAX;

/// How far the file has been read.
struct ReadPosition {
    path: String,
    inode: u64,
    offset: u64,
}

#[derive(Default)]
pub(super) struct Log {
    place: Option<ReadPosition>,
}

impl Beacon for Log {
    fn look(&mut self, settings: &Settings, _: &Call<'_>) -> Result<Vec<Map>, BeaconError> {
        let merged = settings.merged();
        let path = merged.get("file").map(python::str).unwrap_or_default();
        let text = self.read_new(&path).map_err(|source| BeaconError::File {
            path: path.clone(),
            source,
        })?;
        let mut seen = Vec::new();
        if text.is_empty() {
            return Ok(seen);
        }
        let mut patterns = Vec::new();
        let tags = merged.get("tags").and_then(Value::as_map);
        for (tag, about) in tags.into_iter().flatten() {
            let Some(regex) = about.get("regex").filter(|regex| regex.is_true()) else {
                continue;
            };
            match Pcre::new(&python::str(regex)) {
                Ok(pattern) => patterns.push((tag, pattern)),
                Err(_) => seen.push(event(tag, "no", "", "bad regex")),
            }
        }
        for line in text.lines() {
            for (tag, pattern) in &patterns {
                match pattern.matches_start(line) {
                    Ok(true) => seen.push(event(tag, "yes", line, "")),
                    Ok(false) => {}
                    Err(_) => seen.push(event(tag, "no", "", "bad match")),
                }
            }
        }
        Ok(seen)
    }
}

fn event(tag: &Value, matches: &str, line: &str, error: &str) -> Map {
    Map::from([
        ("tag", Value::from(python::str(tag))),
        ("match", matches.into()),
        ("raw", line.into()),
        ("error", error.into()),
    ])
}

impl Log {
    /// The whole lines that are new. A file that was replaced or cut is read
    /// from its beginning.
    fn read_new(&mut self, path: &str) -> io::Result<String> {
        let mut file = File::open(path)?;
        let about = file.metadata()?;
        let place = match &mut self.place {
            Some(place) if place.path == path => place,
            first => {
                *first = Some(ReadPosition {
                    path: path.to_owned(),
                    inode: about.ino(),
                    offset: about.len(),
                });
                return Ok(String::new());
            }
        };
        if place.inode != about.ino() || about.len() < place.offset {
            place.inode = about.ino();
            place.offset = 0;
        }
        file.seek(SeekFrom::Start(place.offset))?;
        let mut bytes = Vec::new();
        file.take(BEACON_LOG_BYTES_MAX).read_to_end(&mut bytes)?;
        let is_full = u64::try_from(bytes.len()).unwrap_or(u64::MAX) == BEACON_LOG_BYTES_MAX;
        match bytes.iter().rposition(|byte| *byte == b'\n') {
            Some(end) => bytes.truncate(end + 1),
            // A line without an end is taken in pieces.
            None if is_full => {}
            None => bytes.clear(),
        }
        place.offset += u64::try_from(bytes.len()).unwrap_or_default();
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write;

    use super::*;

    #[test]
    fn new_lines_are_read_once_whatever_happens_to_the_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        let name = path.to_str().unwrap();
        fs::write(&path, "").unwrap();
        let mut log = Log::default();
        let append = |text: &str| {
            let mut file = File::options().append(true).open(&path).unwrap();
            file.write_all(text.as_bytes()).unwrap();
        };
        assert_eq!(log.read_new(name).unwrap(), "");
        append("one\ntw");
        assert_eq!(log.read_new(name).unwrap(), "one\n");
        append("o\n");
        assert_eq!(log.read_new(name).unwrap(), "two\n");
        assert_eq!(log.read_new(name).unwrap(), "");
        fs::write(&path, "cut\n").unwrap();
        assert_eq!(log.read_new(name).unwrap(), "cut\n");
        fs::rename(&path, dir.path().join("log.1")).unwrap();
        assert!(log.read_new(name).is_err());
        fs::write(&path, "rotated\n").unwrap();
        assert_eq!(log.read_new(name).unwrap(), "rotated\n");
    }
}
