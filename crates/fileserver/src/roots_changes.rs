//! Which files of roots have changed since the last scan, for the events about it.
//!
//! Mirrors the update of `salt/fileserver/roots.py` (3008.5), with its file of
//! times: files by their paths, links to files as their destinations, nothing below
//! links to directories.
//!
//! Invariant: the content of a file of times is compared, and never used as a path
//! to open.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::PoisonError;

use halite_crypto::files::{
    FileError, WriteOptions, ensure_private_dir, read_limited, write_atomic,
};
use halite_proto::python::float_repr;
use tracing::{debug, warn};

use crate::UpdateError;
use crate::changes::Changes;
use crate::limits::{LIST_DEPTH_MAX, LIST_ENTRIES_MAX, TIMES_BYTES_MAX};
use crate::roots::Roots;

impl Changes {
    fn between(old: &Times, new: &Times) -> Self {
        let among = |some: &Times, is_meant: &dyn Fn(&str, f64) -> bool| {
            let meant = some.iter().filter(|(path, time)| is_meant(path, **time));
            meant.map(|(path, _)| path.clone()).collect()
        };
        Self {
            added: among(new, &|path, _| !old.contains_key(path)),
            changed: among(new, &|path, time| {
                old.get(path).is_some_and(|before| *before != time)
            }),
            removed: among(old, &|path, _| !new.contains_key(path)),
            ..Self::default()
        }
    }
}

/// Seconds of the last change, by the paths of files.
type Times = BTreeMap<String, f64>;

impl Roots {
    /// What has changed, if a record of it is kept. Files are always served as
    /// they are, so nothing else is to be done.
    pub(crate) fn update(&self) -> Option<Result<Changes, UpdateError>> {
        let kept = self.options.times_file.as_deref()?;
        let changes = self.changes(kept);
        Some(changes.map_err(UpdateError::Times))
    }

    /// Looks at all files and tells what has changed since the last time, which
    /// the file `kept` holds; it is written anew where something has.
    fn changes(&self, kept: &Path) -> Result<Changes, FileError> {
        let _looking = self.looking.lock().unwrap_or_else(PoisonError::into_inner);
        let mut new = Times::new();
        let mut looked_at = 0;
        for root in self.options.file_roots.iter().flat_map(|(_, roots)| roots) {
            look(root, 0, &mut looked_at, &mut new);
        }
        if looked_at > LIST_ENTRIES_MAX {
            warn!(
                max = LIST_ENTRIES_MAX,
                "file_roots hold too many files to report changes"
            );
        }
        let old = read(kept);
        let changes = Changes::between(old.as_ref().unwrap_or(&Times::new()), &new);
        if old.is_none() || !changes.is_empty() {
            if let Some(dir) = kept.parent() {
                ensure_private_dir(dir, None)?;
            }
            write_atomic(kept, WriteOptions::new(MODE), text(&new).as_bytes())?;
        }
        Ok(changes)
    }
}

/// Who reads it learns the names of files.
const MODE: u32 = 0o600;

/// Adds the files of a directory and of those below it.
fn look(dir: &Path, depth: usize, looked_at: &mut usize, times: &mut Times) {
    let entries = match fs::read_dir(dir) {
        Ok(entries) if depth < LIST_DEPTH_MAX => entries,
        Ok(_) => return warn!(path = %dir.display(), "nested too deeply to report its changes"),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return,
        Err(error) => {
            return debug!(path = %dir.display(), %error, "could not list a directory");
        }
    };
    for entry in entries.flatten() {
        *looked_at += 1;
        if *looked_at > LIST_ENTRIES_MAX {
            return;
        }
        let path = entry.path();
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            look(&path, depth + 1, looked_at, times);
            continue;
        }
        let Ok(found) = fs::metadata(&path) else {
            continue;
        };
        if let (false, Some(path)) = (found.is_dir(), name(path)) {
            times.insert(path, time(&found));
        }
    }
}

/// A path as a line can hold it.
fn name(path: PathBuf) -> Option<String> {
    let path = path.into_os_string().into_string().ok()?;
    (!path.contains('\n')).then_some(path)
}

/// The seconds as Python has them.
#[allow(clippy::cast_precision_loss, reason = "so does Python")]
fn time(found: &fs::Metadata) -> f64 {
    found.mtime() as f64 + 1e-9 * found.mtime_nsec() as f64
}

/// The times in a file, without malformed lines; `None` if there is no file.
fn read(kept: &Path) -> Option<Times> {
    let bytes = read_limited(kept, TIMES_BYTES_MAX).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let lines = text.lines().filter_map(|line| line.rsplit_once(':'));
    Some(
        lines
            .filter_map(|(path, time)| Some((path.to_owned(), time.parse().ok()?)))
            .collect(),
    )
}

fn text(times: &Times) -> String {
    let lines = times
        .iter()
        .map(|(path, time)| format!("{path}:{}\n", float_repr(*time)));
    lines.collect()
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::unix::fs::symlink;
    use std::time::{Duration, SystemTime};

    use super::*;
    use crate::RootsOptions;

    /// Roots of a directory with some files, and the file of times.
    fn roots(dir: &Path) -> (Roots, PathBuf) {
        let root = dir.join("srv");
        fs::create_dir_all(root.join("d")).unwrap();
        fs::write(root.join("a:b"), "1").unwrap();
        fs::write(root.join("d/x"), "1").unwrap();
        let options = RootsOptions {
            file_roots: vec![
                ("base".to_owned(), vec![root]),
                ("dev".to_owned(), vec![dir.join("none")]),
            ],
            ..RootsOptions::default()
        };
        (Roots::new(options).unwrap(), dir.join("mtime_map"))
    }

    fn set(path: &Path, nanos: u64) {
        let time = SystemTime::UNIX_EPOCH + Duration::from_nanos(nanos);
        File::open(path).unwrap().set_modified(time).unwrap();
    }

    #[test]
    fn what_comes_changes_and_goes_is_told_once() {
        let dir = tempfile::tempdir().unwrap();
        let (roots, kept) = roots(dir.path());
        let path = |name: &str| dir.path().join("srv").join(name);
        let text = |name: &str| path(name).display().to_string();
        let found = |added: &[&str], changed: &[&str], removed: &[&str]| {
            let texts = |names: &[&str]| names.iter().map(|name| text(name)).collect();
            Changes {
                added: texts(added),
                changed: texts(changed),
                removed: texts(removed),
                ..Changes::default()
            }
        };
        let changes = || roots.changes(&kept).unwrap();
        assert_eq!(changes(), found(&["a:b", "d/x"], &[], &[]));
        assert!(changes().is_empty());
        set(&path("a:b"), 1_582_984_496_789_012_345);
        fs::remove_file(path("d/x")).unwrap();
        fs::write(path("new"), "").unwrap();
        assert_eq!(changes(), found(&["new"], &["a:b"], &["d/x"]));
        assert!(changes().is_empty());
    }

    #[test]
    fn links_count_as_the_files_they_lead_to() {
        let dir = tempfile::tempdir().unwrap();
        let (roots, kept) = roots(dir.path());
        let srv = dir.path().join("srv");
        symlink("a:b", srv.join("link")).unwrap();
        symlink("none", srv.join("dangling")).unwrap();
        symlink("d", srv.join("dlink")).unwrap();
        symlink(".", srv.join("circle")).unwrap();
        let changes = roots.changes(&kept).unwrap();
        assert_eq!(changes.added.len(), 3, "{changes:?}");
        set(&srv.join("a:b"), 5);
        assert_eq!(roots.changes(&kept).unwrap().changed.len(), 2);
    }

    #[test]
    fn the_file_of_times_is_salts() {
        let dir = tempfile::tempdir().unwrap();
        let (roots, kept) = roots(dir.path());
        let srv = dir.path().join("srv");
        set(&srv.join("a:b"), 1_795_258_242_937_977_000);
        set(&srv.join("d/x"), 1_795_258_233_000_000_000);
        roots.changes(&kept).unwrap();
        let srv = srv.display();
        assert_eq!(
            fs::read_to_string(&kept).unwrap(),
            format!("{srv}/a:b:1795258242.937977\n{srv}/d/x:1795258233.0\n")
        );
        fs::write(
            &kept,
            format!("\nnone\n{srv}/a:b:x\n{srv}/d/x:1795258233.0\n"),
        )
        .unwrap();
        assert_eq!(roots.changes(&kept).unwrap().added, [format!("{srv}/a:b")]);
    }
}
