//! The source `minionfs`: files that minions have pushed to the master.
//!
//! Mirrors `salt/fileserver/minionfs.py` of 3008.5, without two of its faults. A
//! path that does not begin with the mount point is not found. (Salt drops as many
//! characters of it as the mount point has.) And what a minion has pushed whose id is
//! the name of a directory of code (`_modules`) is not served as code.
//!
//! Invariant: nothing behind a link below the directory of a minion is served or
//! listed: each part of a path is opened from the directory before it, and a link
//! is not followed.

use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use halite_crypto::HashType;
use halite_proto::{MinionId, SaltEnv};
use halite_target::Exposure;
use nix::dir::{Dir, Type};
use nix::fcntl::{OFlag, open, openat};
use nix::sys::stat::Mode;
use tracing::{debug, warn};

use crate::file::Stat;
use crate::hash::{HashCache, is_settled};
use crate::ignore::Ignore;
use crate::limits::{LIST_DEPTH_MAX, LIST_ENTRIES_MAX};
use crate::list_cache::ListCache;
use crate::requested_path::{RequestedPath, relative};
use crate::source::{Content, Found};
use crate::walk::{Stamp, Walked};
use crate::{FileHash, Lists, OptionsError, serve};

/// The names of this source.
pub(crate) const NAMES: &[&str] = &["minionfs", "minion"];

/// Where a minion's files are, within its directory.
const FILES: &str = "files";

/// A top file says what other minions do, so no minion may bring one.
const TOP: &str = "top.sls";

/// What names of directories begin with from which minions and masters take code of
/// all kinds (`_modules`, `_runners`), so that no minion may be called like one.
const CODE: char = '_';

/// What the source `minionfs` serves, and how.
#[derive(Clone, Debug)]
pub struct MinionFsOptions {
    /// `cachedir`; pushed files are in `minions/<id>/files` below it.
    pub cachedir: PathBuf,
    /// `minionfs_env`: the environment that the files are in.
    pub env: String,
    /// `minionfs_mountpoint`: the path that they are below.
    pub mountpoint: String,
    /// `minionfs_whitelist`: the minions whose files are served.
    pub whitelist: Vec<String>,
    /// `minionfs_blacklist`: the minions whose files are not served.
    pub blacklist: Vec<String>,
    /// `hash_type`.
    pub hash_type: HashType,
    /// `file_ignore_regex`.
    pub ignore_regex: Vec<String>,
    /// `file_ignore_glob`.
    pub ignore_glob: Vec<String>,
}

impl Default for MinionFsOptions {
    fn default() -> Self {
        Self {
            cachedir: PathBuf::new(),
            env: "base".to_owned(),
            mountpoint: String::new(),
            whitelist: Vec::new(),
            blacklist: Vec::new(),
            hash_type: HashType::Sha256,
            ignore_regex: Vec::new(),
            ignore_glob: Vec::new(),
        }
    }
}

/// The files of all minions that may be seen.
#[derive(Debug)]
pub(crate) struct MinionFs {
    /// The directory of all minions.
    minions: PathBuf,
    env: String,
    /// Without outer slashes; empty if the minions are at the top.
    mountpoint: String,
    exposure: Exposure,
    ignore: Ignore,
    hash_type: HashType,
    hashes: HashCache,
    lists: ListCache,
}

impl MinionFs {
    /// Takes the options.
    ///
    /// # Errors
    /// When a pattern of files to leave out cannot be used.
    pub(crate) fn new(options: &MinionFsOptions) -> Result<Self, OptionsError> {
        let mountpoint = without_protocol(&options.mountpoint);
        Ok(Self {
            minions: options.cachedir.join("minions"),
            env: options.env.clone(),
            mountpoint: relative(mountpoint.trim_matches('/')).unwrap_or_default(),
            exposure: Exposure::new(&options.whitelist, &options.blacklist),
            ignore: Ignore::new(&options.ignore_regex, &options.ignore_glob)?,
            hash_type: options.hash_type,
            hashes: HashCache::default(),
            lists: ListCache::default(),
        })
    }

    /// The one environment.
    pub(crate) fn envs(&self) -> Vec<String> {
        vec![self.env.clone()]
    }

    /// Looks for a file.
    pub(crate) fn find(&self, wanted: &RequestedPath) -> Option<Found<'_>> {
        if wanted.saltenv.as_str() != self.env || wanted.rel.starts_with(CODE) {
            return None;
        }
        let path = match self.mountpoint.as_str() {
            "" => wanted.rel.as_str(),
            above => wanted.rel.strip_prefix(above)?.strip_prefix('/')?,
        };
        let (id, pushed) = path.split_once('/')?;
        if pushed.rsplit('/').next() == Some(TOP) {
            debug!(path, "no top file is served that a minion has pushed");
            return None;
        }
        let id = MinionId::parse(id).ok()?;
        let full = self.path(id.as_str(), pushed);
        if !self.exposure.shows(id.as_str()) || self.ignore.hides(&full.to_string_lossy()) {
            return None;
        }
        let file = self.open(path).ok()?;
        Some(Found {
            stat: Stat::from(&file.metadata().ok()?),
            path: full,
            rel: path.to_owned(),
            backend: "minionfs",
            content: Content::MinionFs(self),
        })
    }

    /// Hashes the file `path`: a minion's id, and the path of its file.
    pub(crate) fn hash(&self, path: &str) -> io::Result<FileHash> {
        let (hash_type, file) = (self.hash_type, self.open(path)?);
        let hsum = self.hashes.of_file(Path::new(path), &file, hash_type)?;
        Ok(FileHash { hash_type, hsum })
    }

    /// Reads at most `bytes_max` bytes from `loc` on of the file `path`, and
    /// tells which content they belong to.
    pub(crate) fn read(
        &self,
        path: &str,
        loc: u64,
        bytes_max: usize,
    ) -> io::Result<(Vec<u8>, String)> {
        serve::read_piece(&self.open(path)?, loc, bytes_max)
    }

    /// The names of what minions have pushed, if it is in that environment.
    pub(crate) fn lists(&self, saltenv: &SaltEnv) -> Arc<Lists> {
        if saltenv.as_str() != self.env {
            return Arc::default();
        }
        self.lists.get(saltenv, || Walk::new(self).run())
    }

    fn path(&self, id: &str, pushed: &str) -> PathBuf {
        // Both were taken apart and have no way up.
        self.minions.join(id).join(FILES).join(pushed)
    }

    /// Opens the regular file `path`: a minion's id, and the path of its file.
    fn open(&self, path: &str) -> io::Result<File> {
        let no_file = || io::Error::new(io::ErrorKind::NotFound, "no such file was pushed");
        let (id, pushed) = path.split_once('/').ok_or_else(no_file)?;
        let (above, name) = match pushed.rsplit_once('/') {
            Some((above, name)) => (Some(above), name),
            None => (None, pushed),
        };
        let mut at = self.files_of(id)?;
        for part in above.into_iter().flat_map(|above| above.split('/')) {
            at = directory_in(&at, part)?;
        }
        // A pipe that somebody has put there is not waited for.
        let flags = OFlag::O_RDONLY | OFlag::O_NONBLOCK | OFlag::O_NOCTTY;
        let flags = flags | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        let file = File::from(openat(&at, name, flags, Mode::empty())?);
        if !file.metadata()?.is_file() {
            return Err(no_file());
        }
        Ok(file)
    }

    /// The directory with a minion's files.
    fn files_of(&self, id: &str) -> io::Result<File> {
        let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
        let minions = File::from(open(&self.minions, flags, Mode::empty())?);
        directory_in(&directory_in(&minions, id)?, FILES)
    }
}

/// Opens the directory `name` of a directory; a link is not followed.
fn directory_in(at: &File, name: &str) -> io::Result<File> {
    let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    Ok(File::from(openat(at, name, flags, Mode::empty())?))
}

/// A path without `salt://` or another protocol in front.
fn without_protocol(path: &str) -> &str {
    match path.split_once("://") {
        Some((protocol, rest)) if !protocol.is_empty() && !protocol.contains([':', '/']) => rest,
        _ => path,
    }
}

/// A walk through all minions' files.
struct Walk<'a> {
    source: &'a MinionFs,
    files: BTreeSet<String>,
    dirs: BTreeSet<String>,
    directories: Vec<(PathBuf, Option<Stamp>)>,
    settled: bool,
    entries: usize,
}

impl<'a> Walk<'a> {
    fn new(source: &'a MinionFs) -> Self {
        Self {
            source,
            files: BTreeSet::new(),
            dirs: BTreeSet::new(),
            directories: Vec::new(),
            settled: true,
            entries: 0,
        }
    }

    fn run(mut self) -> Walked {
        self.minions();
        if self.entries > LIST_ENTRIES_MAX {
            warn!(
                max = LIST_ENTRIES_MAX,
                "minions have pushed more files than can be listed"
            );
        }
        Walked {
            lists: Lists {
                files: self.files.into_iter().collect(),
                dirs: self.dirs.into_iter().collect(),
                ..Lists::default()
            },
            directories: self.directories,
            settled: self.settled,
        }
    }

    fn minions(&mut self) {
        let source = self.source;
        let stamp = Stamp::of(&source.minions);
        self.saw(&source.minions, stamp);
        let Ok(minions) = std::fs::read_dir(&source.minions) else {
            return;
        };
        for minion in minions.flatten() {
            let id = minion.file_name().into_string().ok();
            let Some(id) = id.and_then(|id| MinionId::parse(id).ok()) else {
                continue;
            };
            if !source.exposure.shows(id.as_str()) {
                continue;
            }
            let shown = match source.mountpoint.as_str() {
                "" => id.to_string(),
                above => format!("{above}/{id}"),
            };
            if shown.starts_with(CODE) {
                debug!(%id, "nothing is served as code that a minion has pushed");
                continue;
            }
            let home = minion.path().join(FILES);
            match source.files_of(id.as_str()) {
                Ok(files) => self.directory(files, &home, &shown, 0),
                // It may get some: then this shows.
                Err(_) => self.saw(&home, None),
            }
        }
    }

    /// Takes a directory down as it was looked at.
    fn saw(&mut self, path: &Path, stamp: Option<Stamp>) {
        self.settled &= stamp.is_none_or(|stamp| is_settled(stamp.changed_s()));
        self.directories.push((path.to_owned(), stamp));
    }

    fn directory(&mut self, opened: File, path: &Path, shown: &str, depth: usize) {
        // Looked at before it is read, so that what changes meanwhile shows.
        let stamp = opened.metadata().ok().map(|found| Stamp::from(&found));
        self.saw(path, stamp);
        if depth >= LIST_DEPTH_MAX {
            return warn!(path = %path.display(), "nested too deeply to be listed");
        }
        let entries = opened
            .try_clone()
            .and_then(|opened| Ok(Dir::from_fd(opened.into())?));
        let Ok(mut entries) = entries else {
            return debug!(path = %path.display(), "could not list a directory");
        };
        for entry in entries.iter().flatten() {
            let Ok(name) = entry.file_name().to_str() else {
                continue;
            };
            if name == "." || name == ".." {
                continue;
            }
            self.entries += 1;
            if self.entries > LIST_ENTRIES_MAX {
                return;
            }
            let below = format!("{shown}/{name}");
            match entry.file_type() {
                Some(Type::File) if !self.source.ignore.hides(&below) => {
                    self.files.insert(below);
                }
                // Where the file system does not say what it is, the attempt does.
                Some(Type::Directory) | None => match directory_in(&opened, name) {
                    Ok(inner) => {
                        self.dirs.insert(below.clone());
                        self.directory(inner, &path.join(name), &below, depth + 1);
                    }
                    Err(_) if entry.file_type().is_none() => {
                        debug!(path = below, "left out of the lists");
                    }
                    Err(error) => debug!(path = below, %error, "could not list a directory"),
                },
                _ => {}
            }
        }
    }
}
