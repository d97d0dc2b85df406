//! Paths that are given to programs.
//!
//! A program that root starts follows every link in its path. So it gets the
//! kernel's name for a descriptor of ours, which leads where the rule of links has
//! allowed, whatever becomes of the path in between.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use halite_proto::Value;
use rustix::fs::{Dir, FileType, Mode, OFlags};

use super::held::Held;
use super::place::HeldName;

/// Directories in each other, of which a program gets all: more are nobody's work.
const DEPTH_MAX: usize = 200;

/// A path for a program, for as long as this is kept.
#[derive(Debug)]
pub struct Handed {
    /// What it means, if that is held.
    _kept: Option<OwnedFd>,
    word: String,
    shown: String,
}

impl Handed {
    /// What is at `path`, or what a link there leads to.
    ///
    /// # Errors
    /// When nothing is there, or a link on the way is not followed.
    pub fn target(path: &Path) -> io::Result<Self> {
        Self::of(&Held::open(path, true)?)
    }

    /// The name that `path` leads to, in its directory: for programs that put
    /// something else in its place. A slash behind it stays.
    ///
    /// # Errors
    /// When its directory is not there, or a link on the way is not followed.
    pub fn name(path: &Path) -> io::Result<Self> {
        let place = HeldName::followed(path)?;
        Self::in_directory(&place, path)
    }

    /// The same, without following a link that is there.
    ///
    /// # Errors
    /// As [`Self::name`].
    pub fn link(path: &Path) -> io::Result<Self> {
        let place = HeldName::of(path)?;
        Self::in_directory(&place, path)
    }

    fn in_directory(place: &HeldName, path: &Path) -> io::Result<Self> {
        let slash = match path.as_os_str().as_encoded_bytes() {
            [.., b'/'] if place.name() != "." => "/",
            _ => "",
        };
        let name = place.name().to_string_lossy();
        let directory = place.directory().try_clone()?;
        Ok(Self::held(directory, path, &format!("/{name}{slash}")))
    }

    /// What is at `path`, or what a link there leads to, with all that is below it if
    /// it is a directory: each is given to `each`, with its path and whether it is a
    /// directory. No link is followed on the way down.
    ///
    /// # Errors
    /// When something cannot be looked at, or `each` fails.
    pub fn tree<E: From<io::Error>>(
        path: &Path,
        each: &mut impl FnMut(&Path, Self, bool) -> Result<(), E>,
    ) -> Result<(), E> {
        below(&Held::open(path, true)?, path, DEPTH_MAX, each)
    }

    /// What is held.
    ///
    /// # Errors
    /// When there are too many descriptors.
    fn of(held: &Held) -> io::Result<Self> {
        let kept = held.as_fd().try_clone_to_owned()?;
        Ok(Self::held(kept, held.path(), ""))
    }

    fn held(kept: OwnedFd, path: &Path, rest: &str) -> Self {
        let number = kept.as_raw_fd();
        let own = PathBuf::from(format!("/proc/self/fd/{number}"));
        // Only root is misled by others; what nobody but root may look at, as a
        // daemon that was root's, programs do not get to. And a bare root has no
        // /proc.
        if !nix::unistd::geteuid().is_root() || own.symlink_metadata().is_err() {
            return Self::unheld(path);
        }
        let process = std::process::id();
        Self {
            _kept: Some(kept),
            word: format!("/proc/{process}/fd/{number}{rest}"),
            shown: path.display().to_string(),
        }
    }

    /// A path as it is: of what stands for a machine, or is on another one.
    pub fn unheld(path: &Path) -> Self {
        let word = path.display().to_string();
        Self {
            _kept: None,
            shown: word.clone(),
            word,
        }
    }

    /// What the program is given.
    pub fn word(&self) -> &str {
        &self.word
    }

    /// What the program has said of it, with the path that was meant.
    pub fn said(&self, text: &str) -> String {
        text.replace(&self.word, &self.shown)
    }

    /// The same of an answer of `cmd.run_all`.
    pub fn said_in(&self, mut answer: Value) -> Value {
        if let Value::Map(answer) = &mut answer {
            for stream in ["stdout", "stderr"] {
                if let Some(Value::Str(text)) = answer.get_mut(stream) {
                    *text = self.said(text);
                }
            }
        }
        answer
    }
}

fn below<E: From<io::Error>>(
    held: &Held,
    path: &Path,
    depth: usize,
    each: &mut impl FnMut(&Path, Handed, bool) -> Result<(), E>,
) -> Result<(), E> {
    let is_directory = held.data()?.is_dir();
    each(path, Handed::of(held)?, is_directory)?;
    if !is_directory {
        return Ok(());
    }
    let depth = depth
        .checked_sub(1)
        .ok_or_else(|| io::Error::other("directories are too deep"))?;
    let read = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let listed = rustix::fs::openat(held, ".", read, Mode::empty()).map_err(io::Error::from)?;
    for entry in Dir::read_from(&listed).map_err(io::Error::from)? {
        let entry = entry.map_err(io::Error::from)?;
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") || entry.file_type() == FileType::Symlink {
            continue;
        }
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let Ok(place) = rustix::fs::openat(held, name, flags, Mode::empty()) else {
            // It is gone meanwhile.
            continue;
        };
        let path = path.join(String::from_utf8_lossy(name.to_bytes()).as_ref());
        let entry = Held::of(File::from(place), &path);
        if !entry.data()?.is_symlink() {
            below(&entry, &path, depth, each)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::process::Command;

    use halite_test_support::have_root;

    use super::*;

    fn cat(word: &str) -> String {
        let said = Command::new("cat").arg(word).output().unwrap();
        String::from_utf8(said.stdout).unwrap()
    }

    #[test]
    fn a_program_gets_what_was_judged_whatever_has_the_name() {
        if !have_root() {
            return;
        }
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        fs::write(&path, "judged").unwrap();
        let target = Handed::target(&path).unwrap();
        let name = Handed::name(&path).unwrap();
        assert_eq!(cat(name.word()), "judged");
        fs::rename(dir.path(), dir.path().with_extension("moved")).unwrap();
        fs::create_dir(dir.path()).unwrap();
        fs::write(&path, "other").unwrap();
        assert_eq!(
            (cat(target.word()), cat(name.word())),
            ("judged".into(), "judged".into())
        );
        fs::remove_dir_all(dir.path().with_extension("moved")).unwrap();
        let slash = dir.path().join("d/");
        assert!(Handed::link(&slash).unwrap().word().ends_with("/d/"));
        let none = Handed::target(&dir.path().join("none"));
        assert_eq!(none.unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn a_tree_is_without_what_links_lead_to() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("a/b")).unwrap();
        fs::write(dir.path().join("a/b/f"), "").unwrap();
        symlink("/etc", dir.path().join("a/etc")).unwrap();
        let mut found = Vec::new();
        let top = dir.path().join("a");
        Handed::tree(&top, &mut |path, _, _| {
            found.push(path.strip_prefix(dir.path()).unwrap().display().to_string());
            Ok::<_, io::Error>(())
        })
        .unwrap();
        assert_eq!(found, ["a", "a/b", "a/b/f"]);
        let mut deep = dir.path().join("a");
        for _ in 0..DEPTH_MAX {
            deep.push("d");
            fs::create_dir(&deep).unwrap();
        }
        let counted = Handed::tree(&top, &mut |_, _, _| Ok::<_, io::Error>(()));
        assert_eq!(counted.unwrap_err().to_string(), "directories are too deep");
    }
}
