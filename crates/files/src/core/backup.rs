//! Copies of files that states replace (`backup: minion`), in Salt's layout
//! below `file_backup` of the cache.

use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use halite_call::paths;
use jiff::Zoned;
use jiff::civil::DateTime;
use jiff::fmt::strtime;

use super::write::{Dress, replace_with};

/// How the time is written into the name of a copy.
const STAMP: &str = "%a_%b_%d_%H:%M:%S_%f_%Y";

/// A kept copy.
pub(crate) struct Backup {
    /// Where it lies.
    pub(crate) path: PathBuf,
    /// When it was made.
    pub(crate) made: DateTime,
    /// Its size.
    pub(crate) bytes: u64,
}

/// The directory that keeps the copies of the files of `directory`.
pub(crate) fn directory_of(cachedir: &Path, directory: &Path) -> PathBuf {
    let root = cachedir.join("file_backup");
    match directory.strip_prefix("/") {
        Ok(below) => root.join(below),
        Err(_) => root.join(directory),
    }
}

/// Keeps a copy of `path` with its mode and owner.
pub(crate) fn keep(cachedir: &Path, path: &Path) -> io::Result<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let directory = directory_of(cachedir, path.parent().unwrap_or_else(|| Path::new("/")));
    paths::create_dirs(&directory, 0o755, |_| Ok(()))?;
    let now = Zoned::now();
    let micros = now.subsec_nanosecond() / 1000;
    let stamp = now.strftime("%a_%b_%d_%H:%M:%S");
    let to = directory.join(format!("{name}_{stamp}_{micros:06}_{}", now.year()));
    let mut file = paths::open_to_read(path)?;
    let data = file.metadata()?;
    let dress = Dress {
        uid: Some(data.uid()),
        gid: Some(data.gid()),
        ..Dress::with_mode(data.permissions().mode())
    };
    replace_with(&to, dress, |copy| io::copy(&mut file, copy).map(drop))
}

/// The copies of a file, newest first.
pub(crate) fn list(cachedir: &Path, path: &Path) -> Vec<Backup> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let directory = directory_of(cachedir, path.parent().unwrap_or_else(|| Path::new("/")));
    let prefix = format!("{name}_");
    let mut found: Vec<Backup> = fs::read_dir(&directory)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            let file = entry.file_name().into_string().ok()?;
            let made = parse_stamp(file.strip_prefix(&prefix)?)?;
            Some(Backup {
                path: entry.path(),
                made,
                bytes: entry.metadata().ok()?.len(),
            })
        })
        .collect();
    found.sort_by_key(|backup| std::cmp::Reverse(backup.made));
    found
}

fn parse_stamp(stamp: &str) -> Option<DateTime> {
    strtime::parse(STAMP, stamp).ok()?.to_datetime().ok()
}

/// The time of a copy as lists show it.
pub(crate) fn time_text(made: &DateTime) -> String {
    let micros = made.subsec_nanosecond() / 1000;
    format!("{}.{micros:06}", made.strftime("%a %b %d %Y %H:%M:%S"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_copies_are_read_back() {
        let made = parse_stamp("Fri_Nov_20_19:05:19_612847_2026").unwrap();
        assert_eq!(time_text(&made), "Fri Nov 20 2026 19:05:19.612847");
        assert!(parse_stamp("bak").is_none());
    }

    #[test]
    fn copies_lie_where_salt_looks_for_them() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("f");
        fs::write(&file, "x").unwrap();
        let cache = dir.path().join("cache");
        keep(&cache, &file).unwrap();
        let kept = list(&cache, &file);
        assert_eq!(kept.len(), 1);
        assert_eq!(kept[0].bytes, 1);
        assert!(
            kept[0].path.starts_with(
                cache
                    .join("file_backup")
                    .join(file.parent().unwrap().strip_prefix("/").unwrap())
            )
        );
    }
}
