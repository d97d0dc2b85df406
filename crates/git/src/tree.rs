//! A tree of a commit: its entries, and the way to a file.
//!
//! Invariant: no name leads out of a tree, whoever wrote it. A name that could is
//! treated as missing, a link is resolved within the tree, and a submodule is
//! ignored.

use std::sync::Arc;

use tracing::debug;

use crate::GitError;
use crate::limits::{
    LINK_BYTES_MAX, LINKS_MAX, PATH_BYTES_MAX, PATHS_BYTES_MAX, TREE_DEPTH_MAX, TREE_ENTRIES_MAX,
};
use crate::objects::{EntryKind, Id, Objects};

/// A directory of a commit with all that is below it. It never changes.
#[derive(Clone, Debug)]
pub struct Tree {
    pub(crate) objects: Objects,
    pub(crate) id: Id,
}

/// A file of a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TreeFile {
    /// Its content.
    pub id: Id,
    /// Whether it is executable.
    pub executable: bool,
}

/// What a walk through a tree finds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    /// A directory.
    Directory,
    /// A file.
    File(TreeFile),
    /// A link, with its target as it is written.
    Link(Arc<str>),
}

/// How far a walk through a tree has come.
#[derive(Default)]
struct Walk {
    entries: usize,
    path_bytes: usize,
    has_left_out: bool,
}

impl Walk {
    /// Counts an entry with a path of so many bytes; whether it may be walked to.
    const fn has_room(&mut self, bytes: usize) -> bool {
        self.entries += 1;
        self.path_bytes = self.path_bytes.saturating_add(bytes);
        let has_room = self.entries <= TREE_ENTRIES_MAX && self.path_bytes <= PATHS_BYTES_MAX;
        self.has_left_out |= !has_room;
        has_room
    }
}

impl Tree {
    /// The id of the tree: it changes when anything in it does.
    pub const fn id(&self) -> Id {
        self.id
    }

    /// The directory at `path`, which has no links in it; an empty one is the
    /// tree itself. `None` if it is not there.
    ///
    /// # Errors
    /// When an object is missing or damaged.
    pub fn below(&self, path: &str) -> Result<Option<Self>, GitError> {
        let mut tree = self.clone();
        for name in path.split('/').filter(|name| !name.is_empty()) {
            match tree.entry(name)? {
                Some((EntryKind::Directory, id)) => tree.id = id,
                _ => return Ok(None),
            }
        }
        Ok(Some(tree))
    }

    /// The file at `path`, also behind links that stay within the tree. `None`
    /// if it is not there or is none.
    ///
    /// # Errors
    /// When an object is missing or damaged.
    pub fn find(&self, path: &str) -> Result<Option<TreeFile>, GitError> {
        // The directories on the way, and the names that are still to go.
        let mut above: Vec<Id> = vec![self.id];
        let mut left: Vec<String> = parts(path);
        let mut links = 0;
        while let Some(name) = left.pop() {
            match name.as_str() {
                "." => continue,
                ".." => {
                    above.pop();
                    if above.is_empty() {
                        return Ok(None);
                    }
                    continue;
                }
                _ => {}
            }
            let Some(here) = above.last() else {
                return Ok(None);
            };
            let here = Self {
                objects: self.objects.clone(),
                id: *here,
            };
            match here.entry(&name)? {
                Some((EntryKind::Directory, id)) => above.push(id),
                Some((EntryKind::File(executable), id)) if left.is_empty() => {
                    return Ok(Some(TreeFile { id, executable }));
                }
                Some((EntryKind::Link, id)) => {
                    links += 1;
                    let Some(target) = self.target(id)? else {
                        return Ok(None);
                    };
                    if links > LINKS_MAX || target.starts_with('/') {
                        return Ok(None);
                    }
                    left.extend(parts(&target));
                    if left.len() > TREE_DEPTH_MAX * 2 {
                        return Ok(None);
                    }
                }
                _ => return Ok(None),
            }
        }
        Ok(None)
    }

    /// Calls `on_entry` with the path of each entry, below a directory after
    /// the directory itself; whether nothing was left out.
    ///
    /// # Errors
    /// When an object is missing or damaged.
    pub fn walk(&self, on_entry: &mut dyn FnMut(&str, Entry)) -> Result<bool, GitError> {
        let mut walk = Walk::default();
        self.walk_below("", 0, &mut walk, on_entry)?;
        Ok(!walk.has_left_out)
    }

    fn walk_below(
        &self,
        prefix: &str,
        depth: usize,
        walk: &mut Walk,
        on_entry: &mut dyn FnMut(&str, Entry),
    ) -> Result<(), GitError> {
        if depth > TREE_DEPTH_MAX {
            walk.has_left_out = true;
            return Ok(());
        }
        for (kind, name, id) in self.objects.tree(self.id)? {
            // A name and the slash in front of it.
            let bytes = prefix.len() + 1 + name.len();
            if !walk.has_room(bytes) {
                return Ok(());
            }
            let Some(name) = allowed(&name) else {
                debug!(prefix, name = %String::from_utf8_lossy(&name), "left out of a tree");
                continue;
            };
            if bytes > PATH_BYTES_MAX {
                walk.has_left_out = true;
                continue;
            }
            let path = match prefix {
                "" => name.to_owned(),
                _ => format!("{prefix}/{name}"),
            };
            match kind {
                EntryKind::Directory => {
                    on_entry(&path, Entry::Directory);
                    let below = Self {
                        objects: self.objects.clone(),
                        id,
                    };
                    below.walk_below(&path, depth + 1, walk, on_entry)?;
                }
                EntryKind::File(executable) => {
                    on_entry(&path, Entry::File(TreeFile { id, executable }));
                }
                EntryKind::Link => {
                    if let Some(target) = self.target(id)? {
                        on_entry(&path, Entry::Link(target.into()));
                    }
                }
                EntryKind::Submodule => {}
            }
        }
        Ok(())
    }

    fn entry(&self, name: &str) -> Result<Option<(EntryKind, Id)>, GitError> {
        if allowed(name.as_bytes()).is_none() {
            return Ok(None);
        }
        let entries = self.objects.tree(self.id)?;
        let mut found = entries.into_iter().filter(|(_, n, _)| n == name.as_bytes());
        Ok(found.next().map(|(kind, _, id)| (kind, id)))
    }

    /// The target of a link; `None` if it is too long or no text.
    fn target(&self, id: Id) -> Result<Option<String>, GitError> {
        if self.objects.blob_size(id)? > LINK_BYTES_MAX {
            return Ok(None);
        }
        let target = String::from_utf8(self.objects.blob(id, LINK_BYTES_MAX)?).ok();
        Ok(target.filter(|target| !target.is_empty() && !target.contains('\0')))
    }
}

/// A name of a tree that may be shown: one that means itself wherever it is
/// written.
fn allowed(name: &[u8]) -> Option<&str> {
    let name = std::str::from_utf8(name).ok()?;
    let leads_out = matches!(name, "" | "." | "..")
        || name.eq_ignore_ascii_case(".git")
        || name.contains(['/', '\\', '\0', '\n']);
    (!leads_out).then_some(name)
}

/// The names of a path, the first one last.
fn parts(path: &str) -> Vec<String> {
    let parts = path.split('/').rev().filter(|part| !part.is_empty());
    parts.map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_walk_ends_with_so_many_entries_and_so_many_bytes_of_paths() {
        let room_for = |bytes: usize| {
            let mut walk = Walk::default();
            let count = (0..).take_while(|_| walk.has_room(bytes)).count();
            assert!(walk.has_left_out);
            count
        };
        assert_eq!(room_for(1), TREE_ENTRIES_MAX);
        assert_eq!(room_for(PATH_BYTES_MAX), PATHS_BYTES_MAX / PATH_BYTES_MAX);
    }
}
