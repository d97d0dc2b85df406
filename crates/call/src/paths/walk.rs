//! From a path to a name in a directory that is held open.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, Stat};
use rustix::io::Errno;

use super::links::Link;
use super::place::HeldName;

/// Links on the way of one path; with more it leads nowhere, as for Linux.
const LINKS_MAX: u32 = 40;

const DIRECTORY: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

const ENTRY: OFlags = OFlags::PATH.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Goes to the place of a path. With `follows` a link there is followed too,
/// also to what is not there yet.
pub(super) fn place(path: &Path, follows: bool) -> io::Result<HeldName> {
    if path.as_os_str().is_empty() {
        return Err(Errno::NOENT.into());
    }
    if let Some(place) = without_links(path, follows)? {
        return Ok(place);
    }
    Walk::begin(path)?.finish(path, follows)
}

/// Goes to a directory.
pub(super) fn directory(path: &Path) -> io::Result<OwnedFd> {
    let place = place(path, true)?;
    Ok(rustix::fs::openat(
        place.directory(),
        place.name(),
        DIRECTORY | place.flags(),
        Mode::empty(),
    )?)
}

/// Goes to what lies below a directory, which may be a link itself; no link is
/// followed on the way down.
pub(super) fn below(root: &Path, path: &Path) -> io::Result<HeldName> {
    let below = path.strip_prefix(root).map_err(|_| Errno::INVAL)?;
    let name = below.file_name().ok_or(Errno::INVAL)?;
    let mut at = directory(root)?;
    for part in below.parent().into_iter().flat_map(Path::components) {
        let Component::Normal(part) = part else {
            return Err(Errno::INVAL.into());
        };
        at = rustix::fs::openat(&at, part, DIRECTORY | OFlags::NOFOLLOW, Mode::empty())?;
    }
    Ok(HeldName::new(at, name.to_owned(), path))
}

/// The usual case in one step: the kernel finds no link on the way.
fn without_links(path: &Path, follows: bool) -> io::Result<Option<HeldName>> {
    let Some(name) = path.file_name() else {
        return Ok(None);
    };
    let parent = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let resolve = ResolveFlags::NO_SYMLINKS;
    // A kernel without this call has the other way.
    let Ok(directory) = rustix::fs::openat2(CWD, parent, DIRECTORY, Mode::empty(), resolve) else {
        return Ok(None);
    };
    if follows && is_link(&directory, name)? {
        return Ok(None);
    }
    Ok(Some(HeldName::new(directory, name.to_owned(), path)))
}

fn is_link(directory: &OwnedFd, name: &OsStr) -> io::Result<bool> {
    let flags = rustix::fs::AtFlags::SYMLINK_NOFOLLOW;
    match rustix::fs::statat(directory, name, flags) {
        Ok(found) => Ok(kind(&found) == FileType::Symlink),
        Err(Errno::NOENT) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

fn kind(found: &Stat) -> FileType {
    FileType::from_raw_mode(found.st_mode)
}

/// What is still to be done.
enum Step {
    /// To go to this name.
    Part(OsString),
    /// What a link leads to is reached.
    Reached(Link),
}

/// Somebody on the way.
struct Walk {
    directory: OwnedFd,
    /// The path of the directory, for people.
    shown: PathBuf,
    /// The next one last.
    left: Vec<Step>,
    links: u32,
}

impl Walk {
    fn begin(path: &Path) -> io::Result<Self> {
        let (start, shown) = match path.is_absolute() {
            true => ("/", "/"),
            false => (".", ""),
        };
        let mut walk = Self {
            directory: rustix::fs::open(start, DIRECTORY, Mode::empty())?,
            shown: shown.into(),
            left: Vec::new(),
            links: 0,
        };
        walk.push_parts(path);
        Ok(walk)
    }

    fn push_parts(&mut self, path: &Path) {
        for part in path.components().rev() {
            match part {
                Component::Normal(_) | Component::ParentDir => {
                    self.left.push(Step::Part(part.as_os_str().to_owned()));
                }
                _ => {}
            }
        }
    }

    fn finish(mut self, path: &Path, follows: bool) -> io::Result<HeldName> {
        while let Some(step) = self.left.pop() {
            let part = match step {
                Step::Part(part) => part,
                Step::Reached(link) => {
                    check(&link, &rustix::fs::fstat(&self.directory)?)?;
                    continue;
                }
            };
            if part == ".." {
                self.enter(&part)?;
                continue;
            }
            let is_last = !self.left.iter().any(|step| matches!(step, Step::Part(_)));
            if is_last && !follows {
                return Ok(HeldName::new(self.directory, part, path));
            }
            match rustix::fs::openat(&self.directory, &part, ENTRY, Mode::empty()) {
                Ok(entry) => {
                    let found = rustix::fs::fstat(&entry)?;
                    if kind(&found) == FileType::Symlink {
                        if let Some(place) = self.follow(&part, &entry, &found, (path, is_last))? {
                            return Ok(place);
                        }
                    } else if is_last {
                        return self.arrive(part, &found, path);
                    } else {
                        self.enter(&part)?;
                    }
                }
                Err(Errno::NOENT) if is_last => {
                    let found = rustix::fs::fstat(&self.directory)?;
                    return self.arrive(part, &found, path);
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(HeldName::new(self.directory, ".".into(), path))
    }

    fn enter(&mut self, part: &OsStr) -> io::Result<()> {
        let flags = DIRECTORY | OFlags::NOFOLLOW;
        self.directory = rustix::fs::openat(&self.directory, part, flags, Mode::empty())?;
        match part == ".." {
            true => drop(self.shown.pop()),
            false => self.shown.push(part),
        }
        Ok(())
    }

    /// The end of the way: `found` is what is there, or the directory in which
    /// nothing is there yet.
    fn arrive(self, part: OsString, found: &Stat, path: &Path) -> io::Result<HeldName> {
        for step in &self.left {
            if let Step::Reached(link) = step {
                check(link, found)?;
            }
        }
        Ok(HeldName::new(self.directory, part, path))
    }

    /// Goes where a link leads. The place, if only the kernel knows the way and
    /// it is the end.
    fn follow(
        &mut self,
        part: &OsStr,
        entry: &OwnedFd,
        found: &Stat,
        (path, is_last): (&Path, bool),
    ) -> io::Result<Option<HeldName>> {
        self.links += 1;
        if self.links > LINKS_MAX {
            return Err(Errno::LOOP.into());
        }
        let directory = rustix::fs::fstat(&self.directory)?;
        let link = Link {
            path: self.shown.join(part),
            owner: found.st_uid,
            directory_owner: directory.st_uid,
            directory_mode: directory.st_mode,
        };
        // In /proc links are the kernel's, and no paths.
        if rustix::fs::fstatfs(entry)?.f_type == rustix::fs::PROC_SUPER_MAGIC {
            let flags = OFlags::PATH | OFlags::CLOEXEC;
            let target = rustix::fs::openat(&self.directory, part, flags, Mode::empty())?;
            check(&link, &rustix::fs::fstat(&target)?)?;
            if is_last {
                let directory = self.directory.as_fd().try_clone_to_owned()?;
                return Ok(Some(
                    HeldName::new(directory, part.to_owned(), path).of_the_kernel(),
                ));
            }
            self.directory = target;
            self.shown.push(part);
            return Ok(None);
        }
        let target = rustix::fs::readlinkat(entry, "", Vec::new())?;
        let target = PathBuf::from(OsString::from_vec(target.into_bytes()));
        self.left.push(Step::Reached(link));
        self.push_parts(&target);
        if target.is_absolute() {
            self.directory = rustix::fs::open("/", DIRECTORY, Mode::empty())?;
            self.shown = "/".into();
        }
        Ok(None)
    }
}

fn check(link: &Link, target: &Stat) -> io::Result<()> {
    let us = nix::unistd::geteuid().as_raw();
    link.may_lead_to(target.st_uid, us)
        .map_err(|error| io::Error::new(io::ErrorKind::PermissionDenied, error))
}
