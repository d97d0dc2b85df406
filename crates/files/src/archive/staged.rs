//! Archives that a program extracts: into a directory of root's own, and from there
//! to their places.
//!
//! The program would follow every link of the user in whose directory it extracts.
//! Invariant: what is moved is inside the directory, and gets there by the rule of
//! links.

use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use halite_call::paths::{self, HeldName};
use halite_call::replace::place_at;
use halite_call::{Call, CallError, os_error};
use tempfile::TempDir;

use super::places::{in_place_of_old, make_directory, place_inside};
use crate::core::write::Dress;
use crate::limits::STAGE_AGE_MAX;

/// What becomes of a file that is there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Old {
    /// It gives way.
    Replaced,
    /// It stays.
    Kept,
    /// It stays, and that is told.
    Asked,
    /// It stays unless that of the archive is newer.
    KeptIfNewer,
    /// Others are not made.
    Freshened,
}

impl Old {
    /// As the options of tar say.
    pub(super) fn of_tar(options: &str) -> Self {
        let is_newer = |word: &str| word == "--keep-newer-files";
        let is_kept = |(at, word): (usize, &str)| match word.strip_prefix("--") {
            Some(word) => matches!(word, "keep-old-files" | "skip-old-files"),
            None => (at == 0 || word.starts_with('-')) && word.contains('k'),
        };
        let words = options.split_whitespace();
        match words.clone().any(is_newer) {
            true => Self::KeptIfNewer,
            false if words.enumerate().any(is_kept) => Self::Kept,
            false => Self::Replaced,
        }
    }

    /// As the options of unzip say. Without one it asks, and nobody answers, which is
    /// a no and a failure.
    pub(super) fn of_unzip(options: &str) -> Self {
        let words = options.split_whitespace();
        let short = words.filter_map(|word| word.strip_prefix('-'));
        let letters: String = short.collect();
        let has = |letter| letters.contains(letter);
        if has('f') {
            Self::Freshened
        } else if has('n') {
            Self::Kept
        } else if has('u') {
            Self::KeptIfNewer
        } else if has('o') {
            Self::Replaced
        } else {
            Self::Asked
        }
    }

    fn gives_way(self, old: Option<&Metadata>, new: &Metadata) -> bool {
        let is_newer = |old: &Metadata| {
            let time = |data: &Metadata| (data.mtime(), data.mtime_nsec());
            time(new) > time(old)
        };
        match (self, old) {
            (Self::Freshened, None) | (Self::Kept | Self::Asked, Some(_)) => false,
            (_, None) | (Self::Replaced, Some(_)) => true,
            (Self::KeptIfNewer | Self::Freshened, Some(old)) => is_newer(old),
        }
    }
}

/// Where a program extracts to.
pub(super) struct Stage {
    dest: PathBuf,
    /// None if the program works with no more rights than who has made the links.
    own: Option<TempDir>,
}

impl Stage {
    /// A stage for what goes to `dest`, which `runas` is to extract.
    ///
    /// # Errors
    /// When none can be made.
    pub(super) fn new(
        call: &Call<'_>,
        dest: &Path,
        runas: Option<&str>,
    ) -> Result<Self, CallError> {
        let dest = std::path::absolute(dest).map_err(|error| os_error(&error, dest))?;
        let own = match nix::unistd::geteuid().is_root() && runas.is_none() {
            true => {
                let above = call.ctx.cachedir().join("extracting");
                let made = paths::create_dirs(&above, 0o700, |_| Ok(())).and_then(|()| {
                    remove_remnants(&above);
                    tempfile::tempdir_in(&above)
                });
                Some(made.map_err(|error| os_error(&error, &above))?)
            }
            false => None,
        };
        Ok(Self { dest, own })
    }

    /// The directory that the program is given.
    pub(super) fn path(&self) -> &Path {
        self.own.as_ref().map_or(&self.dest, TempDir::path)
    }

    /// What the program has said of its directory, of the one that was meant.
    pub(super) fn said(&self, text: &str) -> String {
        match &self.own {
            Some(own) => {
                let own = own.path().display().to_string();
                text.replace(&own, self.dest.display().to_string().trim_end_matches('/'))
            }
            None => text.to_owned(),
        }
    }

    /// Moves everything to where it belongs. A file that stayed although it was asked
    /// for.
    ///
    /// # Errors
    /// When something leads out, or the directory does not take it.
    pub(super) fn deliver(self, old: Old) -> Result<Option<PathBuf>, CallError> {
        let Some(own) = &self.own else {
            return Ok(None);
        };
        let wrong = |error: io::Error| {
            let dest = self.dest.display();
            CallError::command(format!("Failed to extract to {dest}: {error}"))
        };
        paths::create_dir_all(&self.dest).map_err(wrong)?;
        let mut stayed = None;
        move_below(own.path(), &self.dest, &self.dest, old, &mut stayed).map_err(wrong)?;
        Ok(stayed.filter(|_| old == Old::Asked))
    }
}

/// Removes what processes that were killed have left.
fn remove_remnants(above: &Path) {
    for entry in fs::read_dir(above).into_iter().flatten().flatten() {
        let made = entry.metadata().and_then(|data| data.modified());
        let age = made.ok().and_then(|made| made.elapsed().ok());
        if age.is_some_and(|age| age > STAGE_AGE_MAX)
            && let Err(error) = paths::remove_dir_all(entry.path())
        {
            tracing::warn!("{} stays: {error}", entry.path().display());
        }
    }
}

/// Moves what is in a directory of our own; the first file that stayed.
fn move_below(
    from: &Path,
    to: &Path,
    dest: &Path,
    old: Old,
    stayed: &mut Option<PathBuf>,
) -> io::Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        let data = entry.metadata()?;
        let place = place_inside(dest, &to)?
            .ok_or_else(|| io::Error::other(format!("{} leads out of it", to.display())))?;
        if data.is_dir() {
            let is_new = place.data().is_err();
            let is_led_to = || HeldName::followed(&to).and_then(|place| place.data());
            match make_directory(&place) {
                // What is put into it is judged again.
                Err(_) if !is_new && is_led_to()?.is_dir() => {}
                made => made?,
            }
            move_below(&from, &to, dest, old, stayed)?;
            if is_new {
                let held = place.hold()?;
                held.chown(Some(data.uid()), Some(data.gid()))?;
                held.set_mode(data.mode())?;
                place.set_modified(data.mtime())?;
            }
        } else if old.gives_way(place.data().ok().as_ref(), &data) {
            move_file(&from, &place, &data)?;
        } else {
            stayed.get_or_insert(to);
        }
    }
    Ok(())
}

fn move_file(from: &Path, place: &HeldName, data: &Metadata) -> io::Result<()> {
    let own = HeldName::of(from)?;
    match own.rename_to(place) {
        Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {}
        moved => return moved,
    }
    if data.is_symlink() {
        let target = fs::read_link(from)?;
        in_place_of_old(place, || place.make_link(&target))?;
        place.hold()?.chown(Some(data.uid()), Some(data.gid()))?;
        return place.set_modified(data.mtime());
    }
    if !data.is_file() {
        return Err(io::Error::other("it is no file and on another file system"));
    }
    let dress = Dress {
        uid: Some(data.uid()),
        gid: Some(data.gid()),
        ..Dress::with_mode(data.mode() & 0o7777)
    };
    let write = |file: &mut File| {
        io::copy(&mut paths::open_to_read(from)?, file)?;
        file.set_times(
            fs::FileTimes::new()
                .set_modified(data.modified()?)
                .set_accessed(data.accessed()?),
        )
    };
    place_at(place, dress, write).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_say_what_becomes_of_old_files() {
        for (options, old) in [
            ("", Old::Replaced),
            ("xzf --strip-components=1", Old::Replaced),
            ("-k", Old::Kept),
            ("--skip-old-files", Old::Kept),
            ("--keep-newer-files", Old::KeptIfNewer),
        ] {
            assert_eq!(Old::of_tar(options), old, "{options}");
        }
        for (options, old) in [
            ("", Old::Asked),
            ("-o -q", Old::Replaced),
            ("-qo", Old::Replaced),
            ("-n", Old::Kept),
            ("-uo", Old::KeptIfNewer),
            ("-fo", Old::Freshened),
        ] {
            assert_eq!(Old::of_unzip(options), old, "{options}");
        }
    }

    #[test]
    fn old_files_give_way_or_stay() {
        let dir = tempfile::tempdir().unwrap();
        let file = |name: &str, seconds| {
            let path = dir.path().join(name);
            let file = File::create(path).unwrap();
            let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(seconds);
            file.set_modified(time).unwrap();
            file.metadata().unwrap()
        };
        let (early, late) = (file("early", 1), file("late", 2));
        for (old, onto_none, onto_early, onto_late) in [
            (Old::Replaced, true, true, true),
            (Old::Kept, true, false, false),
            (Old::KeptIfNewer, true, true, false),
            (Old::Freshened, false, true, false),
        ] {
            assert_eq!(old.gives_way(None, &early), onto_none, "{old:?}");
            assert_eq!(old.gives_way(Some(&early), &late), onto_early, "{old:?}");
            assert_eq!(old.gives_way(Some(&late), &early), onto_late, "{old:?}");
        }
    }

    #[test]
    fn what_a_killed_process_has_left_goes() {
        let dir = tempfile::tempdir().unwrap();
        for (name, age) in [("old", STAGE_AGE_MAX * 2), ("new", STAGE_AGE_MAX / 2)] {
            let path = dir.path().join(name);
            fs::create_dir(&path).unwrap();
            let made = std::time::SystemTime::now() - age;
            File::open(&path).unwrap().set_modified(made).unwrap();
        }
        remove_remnants(dir.path());
        assert!(!dir.path().join("old").exists() && dir.path().join("new").exists());
    }

    #[test]
    fn what_was_staged_is_where_it_belongs() {
        let dir = tempfile::tempdir().unwrap();
        let (stage, dest) = (dir.path().join("stage"), dir.path().join("dest"));
        fs::create_dir_all(stage.join("a/new")).unwrap();
        fs::create_dir_all(dest.join("real")).unwrap();
        fs::write(stage.join("a/f"), "1").unwrap();
        fs::write(stage.join("a/new/f"), "2").unwrap();
        std::os::unix::fs::symlink("/nowhere", stage.join("a/l")).unwrap();
        // A link that stays inside is as good as a directory.
        std::os::unix::fs::symlink("real", dest.join("a")).unwrap();
        move_below(&stage, &dest, &dest, Old::Replaced, &mut None).unwrap();
        assert_eq!(fs::read_to_string(dest.join("real/f")).unwrap(), "1");
        assert_eq!(fs::read_to_string(dest.join("real/new/f")).unwrap(), "2");
        assert!(dest.join("real/l").symlink_metadata().unwrap().is_symlink());
        // One that leads out is not followed.
        std::os::unix::fs::symlink(dir.path(), dest.join("out")).unwrap();
        fs::create_dir_all(stage.join("out")).unwrap();
        fs::write(stage.join("out/f"), "3").unwrap();
        let error = move_below(&stage, &dest, &dest, Old::Replaced, &mut None).unwrap_err();
        assert!(error.to_string().contains("leads out"), "{error}");
        assert!(!dir.path().join("f").exists());
    }
}
