//! The objects of a repository. No type of `gix` leaves this file.
//!
//! Invariant: an object is read only if it is of the kind that is wanted and no
//! larger than that kind may be.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use gix_hash::{ObjectId, Prefix};
use gix_object::{Find, FindHeader, Kind, TagRef, TagRefIter, TreeRefIter};
use gix_odb::Store;
use gix_odb::store::init::{Options, Slots};

use crate::GitError;
use crate::limits::{ABBREVIATED_MIN, OBJECT_BYTES_MAX, PACKS_TO_COME, TAGS_MAX};

/// The objects of a repository. May be shared between threads.
#[derive(Clone)]
pub(crate) struct Objects {
    store: Arc<Store>,
    repository: Arc<Path>,
}

/// The id of an object.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Id(ObjectId);

/// What an entry of a tree is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EntryKind {
    /// A directory.
    Directory,
    /// A file; whether it is executable.
    File(bool),
    /// A symbolic link.
    Link,
    /// A commit of another repository.
    Submodule,
}

impl Id {
    /// An id in hexadecimal.
    pub fn parse(hex: &str) -> Option<Self> {
        ObjectId::from_hex(hex.as_bytes()).ok().map(Self)
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for Objects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Objects")
    }
}

impl Objects {
    /// The objects in a repository without a work tree that others fetch into: the
    /// packs that they bring are found, too.
    pub(crate) fn open(repository: &Path) -> Result<Self, GitError> {
        Self::with_room(repository, PACKS_TO_COME)
    }

    /// The objects that are there now, for the holder of the lock of updates.
    pub(crate) fn open_locked(repository: &Path) -> Result<Self, GitError> {
        Self::with_room(repository, 1)
    }

    /// With room for so many packs, or for half as many again as there are.
    fn with_room(repository: &Path, packs: usize) -> Result<Self, GitError> {
        let options = Options {
            slots: Slots::AsNeededByDiskState {
                multiplier: 1.5,
                minimum: packs,
            },
            alloc_limit_bytes: Some(OBJECT_BYTES_MAX),
            ..Options::default()
        };
        let objects = repository.join("objects");
        let store = Store::at_opts(
            objects,
            gix_hash::Kind::Sha1,
            &mut std::iter::empty(),
            options,
        );
        let store = store.map_err(GitError::disk("opening its objects"))?;
        Ok(Self {
            store: Arc::new(store),
            repository: repository.into(),
        })
    }

    /// Where they are.
    pub(crate) fn repository(&self) -> &Path {
        &self.repository
    }

    /// The kind of an object and its size; `None` if it is not there.
    fn header(&self, id: Id) -> Result<Option<(Kind, u64)>, GitError> {
        let header = self.store.to_handle_arc().try_header(&id.0);
        let header = header.map_err(|error| unreadable(id, &error))?;
        Ok(header.map(|header| (header.kind, header.size)))
    }

    /// Fails where an object is missing.
    pub(crate) fn expect(&self, id: Id) -> Result<(), GitError> {
        match self.header(id)? {
            Some(_) => Ok(()),
            None => Err(unreadable(id, &"it is missing")),
        }
    }

    /// Whether an object is there.
    ///
    /// # Errors
    /// When it is damaged.
    fn has(&self, id: Id) -> Result<bool, GitError> {
        Ok(self.header(id)?.is_some())
    }

    fn read(&self, id: Id, wanted: Kind, bytes_max: u64) -> Result<Vec<u8>, GitError> {
        let wrong = |why: &str| unreadable(id, &why);
        let (kind, size) = self.header(id)?.ok_or_else(|| wrong("it is missing"))?;
        if kind != wanted {
            return Err(unfit(id, "it is of another kind than its name says"));
        }
        if size > bytes_max {
            return Err(unfit(id, "it is too large"));
        }
        let mut bytes = Vec::new();
        let found = self.store.to_handle_arc();
        let found = found.try_find(&id.0, &mut bytes);
        match found.map_err(|error| unreadable(id, &error))? {
            Some(_) => Ok(bytes),
            None => Err(wrong("it is missing")),
        }
    }

    /// The size of a file, in bytes.
    pub(crate) fn blob_size(&self, id: Id) -> Result<u64, GitError> {
        match self.header(id)? {
            Some((Kind::Blob, size)) => Ok(size),
            Some(_) => Err(unfit(id, "it is no file")),
            None => Err(unreadable(id, &"it is missing")),
        }
    }

    /// A file.
    pub(crate) fn blob(&self, id: Id, bytes_max: u64) -> Result<Vec<u8>, GitError> {
        self.read(id, Kind::Blob, bytes_max)
    }

    /// The commit that an object is or that a tag points to, and its tree; `None`
    /// if it leads to something else.
    ///
    /// # Errors
    /// When an object on the way is missing, damaged or too large.
    pub(crate) fn commit(&self, mut id: Id) -> Result<Option<(Id, Id)>, GitError> {
        for _ in 0..TAGS_MAX {
            match self.header(id)? {
                Some((Kind::Commit, _)) => {
                    let bytes = self.read(id, Kind::Commit, OBJECT_BYTES_MAX as u64)?;
                    let mut fields =
                        gix_object::CommitRefIter::from_bytes(&bytes, gix_hash::Kind::Sha1);
                    let tree = fields.tree_id().map_err(|error| unreadable(id, &error))?;
                    return Ok(Some((id, Id(tree))));
                }
                Some((Kind::Tag, _)) => {
                    let bytes = self.read(id, Kind::Tag, OBJECT_BYTES_MAX as u64)?;
                    let fields = TagRefIter::from_bytes(&bytes, gix_hash::Kind::Sha1);
                    let target = fields.target_id().map_err(|error| unreadable(id, &error))?;
                    id = Id(target);
                }
                Some(_) => return Ok(None),
                None => return Err(unreadable(id, &"it is missing")),
            }
        }
        Ok(None)
    }

    /// The name that a tag gives itself; `None` if it is no tag.
    ///
    /// # Errors
    /// When the object is missing, damaged or too large.
    pub(crate) fn tag_name(&self, id: Id) -> Result<Option<String>, GitError> {
        let Some((Kind::Tag, _)) = self.header(id)? else {
            return Ok(None);
        };
        let bytes = self.read(id, Kind::Tag, OBJECT_BYTES_MAX as u64)?;
        let tag = TagRef::from_bytes(&bytes, gix_hash::Kind::Sha1);
        let tag = tag.map_err(|error| unreadable(id, &error))?;
        Ok(Some(String::from_utf8_lossy(tag.name).into_owned()))
    }

    /// The object whose id begins so, if there is one and no other.
    ///
    /// # Errors
    /// When it is damaged.
    pub(crate) fn beginning_with(&self, hex: &str) -> Result<Option<Id>, GitError> {
        if let Some(id) = Id::parse(hex) {
            return Ok(self.has(id)?.then_some(id));
        }
        let prefix = Prefix::from_hex(hex).ok();
        let prefix = prefix.filter(|_| hex.len() >= ABBREVIATED_MIN);
        let found = prefix.map(|prefix| self.store.to_handle_arc().lookup_prefix(prefix, None));
        // Several, none, or no list of objects that could be read.
        let found = found.and_then(Result::ok).flatten();
        Ok(found.and_then(Result::ok).map(Id))
    }

    /// The entries of a tree, in its order. Names are as they are in it.
    pub(crate) fn tree(&self, id: Id) -> Result<Vec<(EntryKind, Vec<u8>, Id)>, GitError> {
        let bytes = self.read(id, Kind::Tree, OBJECT_BYTES_MAX as u64)?;
        let mut entries = Vec::new();
        for entry in TreeRefIter::from_bytes(&bytes, gix_hash::Kind::Sha1) {
            let entry = entry.map_err(|error| unreadable(id, &error))?;
            let kind = match entry.mode {
                mode if mode.is_tree() => EntryKind::Directory,
                mode if mode.is_link() => EntryKind::Link,
                mode if mode.is_commit() => EntryKind::Submodule,
                mode => EntryKind::File(mode.is_executable()),
            };
            entries.push((kind, entry.filename.to_vec(), Id(entry.oid.to_owned())));
        }
        Ok(entries)
    }
}

fn unfit(id: Id, why: &'static str) -> GitError {
    GitError::Unfit {
        id: id.to_string(),
        why,
    }
}

fn unreadable(id: Id, why: &impl ToString) -> GitError {
    GitError::Object {
        id: id.to_string(),
        why: why.to_string(),
    }
}
