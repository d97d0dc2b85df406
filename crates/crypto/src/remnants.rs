//! Removes temporary files that killed processes have left: files with the names of
//! [`crate::files::temp_beside`], some of them with private keys in them.
//!
//! Invariant: a file is removed only if it has such a name, belongs to the owner of
//! the file being written, and was untouched for longer than any write takes.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

/// What names of such files begin with.
pub(crate) const PREFIX: &str = ".tmp";
/// How many hexadecimal digits follow.
const DIGITS: usize = 24;
/// Nobody writes a file for so long.
const AGE_MIN: Duration = Duration::from_secs(600);
/// Directories that are remembered as looked at; in further ones remnants stay.
const DIRECTORIES_MAX: usize = 256;

static LOOKS: Mutex<Option<Looks>> = Mutex::new(None);

/// The directories that were looked at, and when to look there again: somebody
/// may have been killed a moment ago, or will be.
#[derive(Default)]
struct Looks(HashMap<PathBuf, Instant>);

impl Looks {
    /// Whether it is time to look into a directory; if so, it is done for now.
    fn is_due(&mut self, dir: &Path, now: Instant) -> bool {
        let is_due = match self.0.get(dir) {
            Some(again) => *again <= now,
            None => self.0.len() < DIRECTORIES_MAX,
        };
        if is_due {
            self.0.insert(dir.to_owned(), now + AGE_MIN);
        }
        is_due
    }
}

/// Looks for remnants beside `path`, unless this process has done so lately.
/// `owner` is who owns the file that was written there.
pub(crate) fn clear_beside(path: &Path, owner: u32) {
    let Some(dir) = path.parent() else {
        return;
    };
    let is_due = {
        let mut looks = LOOKS.lock().unwrap_or_else(PoisonError::into_inner);
        let looks = looks.get_or_insert_default();
        looks.is_due(dir, Instant::now())
    };
    if is_due {
        clear(dir, owner, SystemTime::now());
    }
}

/// Removes the remnants in a directory. What cannot be read or removed stays.
fn clear(dir: &Path, owner: u32, now: SystemTime) {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    for entry in entries.filter(|entry| entry.file_name().to_str().is_some_and(is_ours)) {
        let Ok(found) = entry.metadata() else {
            continue;
        };
        if !found.is_file() || found.uid() != owner {
            continue;
        }
        let age = found.modified().map(|at| now.duration_since(at));
        if matches!(age, Ok(Ok(age)) if age >= AGE_MIN) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

fn is_ours(name: &str) -> bool {
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    name.strip_prefix(PREFIX)
        .is_some_and(|rest| rest.len() == DIGITS && rest.bytes().all(is_digit))
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;
    use crate::files::{MODE_KEY, create_private, temp_beside};

    #[test]
    fn what_a_killed_process_left_goes_with_the_next_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("key");
        let (old, young) = (temp_beside(&path), temp_beside(&path));
        let others = [".tmp", ".tmp00", ".tmp4ed46b848d3836028f08c6dE", "tmp"];
        let others = others.map(|name| dir.path().join(name));
        let long_ago = SystemTime::now() - AGE_MIN * 2;
        for remnant in others.iter().chain([&old]) {
            File::create(remnant)
                .unwrap()
                .set_modified(long_ago)
                .unwrap();
        }
        File::create(&young).unwrap();
        create_private(&path, MODE_KEY, b"x").unwrap();
        assert!(!old.exists());
        assert!(young.exists(), "somebody may be at work");
        assert!(others.iter().all(|other| other.exists()));
        // Of somebody else.
        File::create(&old).unwrap().set_modified(long_ago).unwrap();
        clear(
            dir.path(),
            fs::metadata(&old).unwrap().uid() + 1,
            SystemTime::now(),
        );
        assert!(old.exists());
    }

    #[test]
    fn what_is_too_young_is_looked_at_again() {
        let dir = tempfile::tempdir().unwrap();
        let path = temp_beside(&dir.path().join("key"));
        File::create(&path).unwrap();
        let owner = fs::metadata(&path).unwrap().uid();
        let (now, clock) = (Instant::now(), SystemTime::now());
        let mut looks = Looks::default();
        assert!(looks.is_due(dir.path(), now));
        clear(dir.path(), owner, clock);
        assert!(path.exists());
        assert!(!looks.is_due(dir.path(), now));

        assert!(looks.is_due(dir.path(), now + AGE_MIN));
        clear(dir.path(), owner, clock + AGE_MIN * 2);
        assert!(!path.exists());
    }
}
