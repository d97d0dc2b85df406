//! Walks through the roots of an environment.
//!
//! Mirrors `_file_lists` of `salt/fileserver/roots.py` (3008.5), with two
//! differences: links that lead in circles are followed once, not until the kernel
//! gives up, and names that are not UTF-8, which no request could name, are left
//! out.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use tracing::{debug, warn};

use crate::hash::is_settled;
use crate::ignore::Ignore;
use crate::limits::{LINKS_MAX, LIST_DEPTH_MAX, LIST_ENTRIES_MAX};
use crate::{Lists, RootsOptions};

/// What a walk has found, and what to look at to know that it is still so.
#[derive(Debug, Default)]
pub(crate) struct Walked {
    pub(crate) lists: Lists,
    pub(crate) directories: Vec<(PathBuf, Option<Stamp>)>,
    /// Whether any later change will show in the stamps.
    pub(crate) settled: bool,
}

/// What changes when a directory gets or loses an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    dev: u64,
    ino: u64,
    mtime: (i64, i64),
}

impl Stamp {
    /// The stamp of a directory now; `None` if there is none.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        fs::metadata(path)
            .ok()
            .map(|metadata| Self::from(&metadata))
    }

    /// When it was last changed, in seconds since the epoch.
    pub(crate) fn changed_s(self) -> i64 {
        self.mtime.0
    }
}

impl From<&Metadata> for Stamp {
    fn from(metadata: &Metadata) -> Self {
        Self {
            dev: metadata.dev(),
            ino: metadata.ino(),
            mtime: (metadata.mtime(), metadata.mtime_nsec()),
        }
    }
}

/// A walk on its way.
pub(crate) struct Walk<'a> {
    options: &'a RootsOptions,
    ignore: &'a Ignore,
    files: BTreeSet<String>,
    dirs: BTreeSet<String>,
    empty_dirs: BTreeSet<String>,
    links: BTreeMap<String, String>,
    directories: Vec<(PathBuf, Option<Stamp>)>,
    settled: bool,
    entries: usize,
    /// The root, as it is and without links.
    root: PathBuf,
    real_root: PathBuf,
}

impl<'a> Walk<'a> {
    pub(crate) fn new(options: &'a RootsOptions, ignore: &'a Ignore) -> Self {
        Self {
            options,
            ignore,
            files: BTreeSet::new(),
            dirs: BTreeSet::new(),
            empty_dirs: BTreeSet::new(),
            links: BTreeMap::new(),
            directories: Vec::new(),
            settled: true,
            entries: 0,
            root: PathBuf::new(),
            real_root: PathBuf::new(),
        }
    }

    pub(crate) fn run(mut self, roots: &[PathBuf]) -> Walked {
        for root in roots {
            self.root.clone_from(root);
            self.real_root = real_path(root);
            self.directory(root, "", &mut Vec::new());
        }
        if self.entries > LIST_ENTRIES_MAX {
            warn!(
                max = LIST_ENTRIES_MAX,
                "file_roots hold more than can be listed"
            );
        }
        Walked {
            lists: Lists {
                files: self.files.into_iter().collect(),
                dirs: self.dirs.into_iter().collect(),
                empty_dirs: self.empty_dirs.into_iter().collect(),
                links: self.links.into_iter().collect(),
            },
            directories: self.directories,
            settled: self.settled,
        }
    }

    /// Walks through a directory and gives how many entries it has, if it can
    /// be read. `above` are the directories this one is in.
    fn directory(&mut self, path: &Path, rel: &str, above: &mut Vec<Stamp>) -> Option<usize> {
        // Looked at before it is read, so that what changes meanwhile shows.
        let metadata = fs::metadata(path).ok();
        let stamp = metadata.as_ref().map(Stamp::from);
        self.settled &= stamp.is_none_or(|stamp| is_settled(stamp.mtime.0));
        self.directories.push((path.to_owned(), stamp));
        let stamp = stamp?;
        if above
            .iter()
            .any(|outer| (outer.dev, outer.ino) == (stamp.dev, stamp.ino))
        {
            debug!(path = %path.display(), "a link leads in a circle");
            return None;
        }
        if above.len() >= LIST_DEPTH_MAX {
            warn!(path = %path.display(), "nested too deeply to be listed");
            return None;
        }
        let entries = match fs::read_dir(path) {
            Ok(entries) => entries,
            Err(error) => {
                debug!(path = %path.display(), %error, "could not list a directory");
                return None;
            }
        };
        above.push(stamp);
        let mut count = 0;
        for entry in entries.flatten() {
            count += 1;
            self.entries += 1;
            if self.entries > LIST_ENTRIES_MAX {
                break;
            }
            self.entry(&entry, rel, above);
        }
        above.pop();
        Some(count)
    }

    fn entry(&mut self, entry: &fs::DirEntry, parent: &str, above: &mut Vec<Stamp>) {
        let path = entry.path();
        let name = entry.file_name();
        let (Some(name), Ok(kind)) = (name.to_str(), entry.file_type()) else {
            debug!(path = %path.display(), "left out of the lists");
            return;
        };
        let rel = if parent.is_empty() {
            name.to_owned()
        } else {
            format!("{parent}/{name}")
        };
        let is_link = kind.is_symlink();
        let is_dir = kind.is_dir() || is_link && path.is_dir();
        let shown = !(is_link && self.options.ignore_symlinks || self.ignore.hides(&rel));
        if is_dir {
            // What is below a hidden directory may be shown.
            let entries = if is_link && !self.options.follow_symlinks {
                fs::read_dir(&path).ok().map(Iterator::count)
            } else {
                self.directory(&path, &rel, above)
            };
            if shown && entries == Some(0) {
                self.empty_dirs.insert(rel.clone());
            }
        }
        if !shown {
            return;
        }
        if is_link && let Some(target) = self.link_target(&path) {
            self.links.insert(rel.clone(), target);
        }
        if is_dir {
            self.dirs.insert(rel);
        } else {
            self.files.insert(rel);
        }
    }

    /// A link's target, if the link is to be listed: when it leads to something
    /// in its root, or when links are not followed.
    fn link_target(&self, path: &Path) -> Option<String> {
        let target = fs::read_link(path).ok()?;
        let text = target.to_str()?.to_owned();
        // A target that goes up is taken from the link itself, not from its
        // directory: so it counts as one step less up, as in Salt.
        let joined = if text.starts_with("..") {
            path.join(&target)
        } else {
            path.parent()?.join(&target)
        };
        let within = real_path(&normal(&joined)).starts_with(&self.real_root);
        (within || !self.options.follow_symlinks).then_some(text)
    }
}

/// The path without `.` and `..`, by its text alone.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => {
                normal.pop();
            }
            Component::CurDir => {}
            other => normal.push(other),
        }
    }
    normal
}

/// The path without links; what does not exist stays as it is.
fn real_path(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let mut real = PathBuf::from("/");
    let mut left: Vec<_> = path
        .components()
        .rev()
        .map(|c| c.as_os_str().to_owned())
        .collect();
    let mut links = 0;
    while let Some(part) = left.pop() {
        match Path::new(&part).components().next() {
            Some(Component::RootDir) => real = PathBuf::from("/"),
            Some(Component::ParentDir) => {
                real.pop();
            }
            Some(Component::Normal(name)) => {
                let next = real.join(name);
                match fs::read_link(&next) {
                    Ok(target) if links < LINKS_MAX => {
                        links += 1;
                        left.extend(
                            target
                                .components()
                                .rev()
                                .map(|component| component.as_os_str().to_owned()),
                        );
                    }
                    _ => real = next,
                }
            }
            _ => {}
        }
    }
    real
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn paths_lose_their_links_as_far_as_they_exist() {
        let dir = tempfile::tempdir().unwrap();
        let base = fs::canonicalize(dir.path()).unwrap();
        fs::create_dir(base.join("a")).unwrap();
        symlink("a", base.join("b")).unwrap();
        symlink(base.join("b/none"), base.join("c")).unwrap();
        symlink("d", base.join("d")).unwrap();
        assert_eq!(real_path(&base.join("b/x/y")), base.join("a/x/y"));
        assert_eq!(real_path(&base.join("b/../c")), base.join("a/none"));
        assert_eq!(real_path(&base.join("d")), base.join("d"));
    }
}
