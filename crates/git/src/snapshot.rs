//! What a remote has at one time: the commits of its branches and tags.
//!
//! Invariant: a snapshot never changes, and its file is replaced as a whole.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use halite_crypto::files::{WriteOptions, read_limited, write_atomic};

use crate::limits::{REFS_MAX, SNAPSHOT_BYTES_MAX};
use crate::objects::{Id, Objects};
use crate::remote::{RefType, is_hex};
use crate::tree::Tree;
use crate::{GitError, Remote};

const MODE: u32 = 0o600;
const FIRST_LINE: &str = "halite snapshot 1";

/// The branches and tags of a remote when it was fetched.
#[derive(Clone, Debug)]
pub struct Snapshot {
    objects: Objects,
    refs: Refs,
}

/// Names and what they point to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Refs {
    branches: BTreeMap<String, Id>,
    tags: BTreeMap<String, Id>,
    fetched_s: u64,
}

/// A commit and its files.
#[derive(Clone, Debug)]
pub struct Commit {
    /// Its id.
    pub id: Id,
    /// Its files.
    pub tree: Tree,
}

impl Snapshot {
    pub(crate) const fn new(objects: Objects, refs: Refs) -> Self {
        Self { objects, refs }
    }

    /// The names of the branches, sorted.
    pub fn branches(&self) -> impl Iterator<Item = &str> {
        self.refs.branches.keys().map(String::as_str)
    }

    /// The names of the tags, sorted.
    pub fn tags(&self) -> impl Iterator<Item = &str> {
        self.refs.tags.keys().map(String::as_str)
    }

    /// When it was fetched.
    pub fn fetched(&self) -> SystemTime {
        let since = Duration::from_secs(self.refs.fetched_s);
        UNIX_EPOCH.checked_add(since).unwrap_or(UNIX_EPOCH)
    }

    /// The commit that a name means, looked for in the order of `kinds`; `None`
    /// if there is none.
    ///
    /// # Errors
    /// When an object is damaged, or that of a branch or tag is missing.
    pub fn resolve(
        &self,
        kinds: impl IntoIterator<Item = RefType>,
        name: &str,
    ) -> Result<Option<Commit>, GitError> {
        for kind in kinds {
            let id = match kind {
                RefType::Branch => self.refs.branches.get(name).copied(),
                RefType::Tag => self.refs.tags.get(name).copied(),
                RefType::Sha if is_hex(name) => self.objects.beginning_with(name)?,
                RefType::Sha => None,
            };
            let Some(id) = id else { continue };
            if let Some((id, tree)) = self.objects.commit(id)? {
                let objects = self.objects.clone();
                let tree = Tree { objects, id: tree };
                return Ok(Some(Commit { id, tree }));
            }
        }
        Ok(None)
    }

    /// The commit of an environment, or that of `fallback`; `None` if it has
    /// none or is not to be seen.
    ///
    /// # Errors
    /// When an object is damaged.
    pub fn commit(&self, remote: &Remote, saltenv: &str) -> Result<Option<Commit>, GitError> {
        if !remote.exposed.shows(saltenv) {
            return Ok(None);
        }
        let Some(reference) = remote.reference(saltenv) else {
            return Ok(None);
        };
        if let Some(commit) = self.resolve(remote.kinds(saltenv), reference)? {
            return Ok(Some(commit));
        }
        match &remote.fallback {
            Some(fallback) => self.resolve(remote.ref_types.iter().copied(), fallback),
            None => Ok(None),
        }
    }

    /// Whether it has an environment.
    pub fn has_env(&self, remote: &Remote, saltenv: &str) -> bool {
        remote.has_env(saltenv, |kind, name| match kind {
            RefType::Branch => self.refs.branches.contains_key(name),
            RefType::Tag => self.refs.tags.contains_key(name),
            RefType::Sha => false,
        })
    }

    /// The environments of a remote.
    pub fn envs(&self, remote: &Remote) -> Vec<String> {
        let envs = remote.envs(self.branches(), self.tags());
        envs.into_iter().collect()
    }
}

impl Refs {
    /// Reads lines of an id, a space and the name of a reference.
    pub(crate) fn parse<'a>(lines: impl Iterator<Item = &'a str>, fetched: SystemTime) -> Self {
        let since = fetched.duration_since(UNIX_EPOCH).unwrap_or_default();
        let mut refs = Self {
            fetched_s: since.as_secs(),
            ..Self::default()
        };
        for (id, name) in lines.filter_map(|line| line.split_once(' ')) {
            if refs.branches.len() + refs.tags.len() >= REFS_MAX {
                break;
            }
            let Some(id) = Id::parse(id) else { continue };
            if let Some(name) = name.strip_prefix("refs/remotes/origin/") {
                if name != "HEAD" {
                    refs.branches.insert(name.to_owned(), id);
                }
            } else if let Some(name) = name.strip_prefix("refs/tags/") {
                refs.tags.insert(name.to_owned(), id);
            }
        }
        refs
    }

    /// Leaves out those whose objects are not used, by their ids; what is to be
    /// said about each.
    pub(crate) fn leave_out(&mut self, unfit: &BTreeMap<Id, String>) -> Vec<String> {
        let mut left_out = Vec::new();
        for names in [&mut self.branches, &mut self.tags] {
            names.retain(|name, id| {
                let why = unfit.get(id);
                left_out.extend(why.map(|why| format!("{name} is left out: {why}")));
                why.is_none()
            });
        }
        left_out
    }

    /// All that they point to.
    pub(crate) fn ids(&self) -> impl Iterator<Item = Id> {
        self.branches.values().chain(self.tags.values()).copied()
    }

    /// When they were fetched, in seconds since 1970.
    pub(crate) const fn fetched_s(&self) -> u64 {
        self.fetched_s
    }

    /// Whether both name the same.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.branches == other.branches && self.tags == other.tags
    }

    /// The snapshot that a file has; `None` if there is none that can be read.
    pub(crate) fn load(path: &Path) -> Option<Self> {
        let text = String::from_utf8(read_limited(path, SNAPSHOT_BYTES_MAX).ok()?).ok()?;
        let mut lines = text.lines();
        let time = lines.next()?.strip_prefix(FIRST_LINE)?.trim();
        let time = Duration::from_secs(time.parse().ok()?);
        Some(Self::parse(lines, UNIX_EPOCH.checked_add(time)?))
    }

    pub(crate) fn store(&self, path: &Path) -> Result<(), GitError> {
        use std::fmt::Write;

        let mut text = format!("{FIRST_LINE} {}\n", self.fetched_s);
        for (name, id) in &self.branches {
            let _ = writeln!(text, "{id} refs/remotes/origin/{name}");
        }
        for (name, id) in &self.tags {
            let _ = writeln!(text, "{id} refs/tags/{name}");
        }
        write_atomic(path, WriteOptions::new(MODE), text.as_bytes())?;
        Ok(())
    }
}
