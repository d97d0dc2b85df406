//! The state of a remote at one time: the commits of its branches and tags.
//!
//! Invariant: a snapshot never changes, and its file is replaced as a whole.

mod refs;

use std::collections::BTreeSet;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

pub(crate) use self::refs::{Checked, Refs, TAGS};
use crate::objects::{Id, Objects};
use crate::promotion::Promotions;
use crate::remote::{RefType, is_hex};
use crate::tree::Tree;
use crate::{GitError, Remote};

/// The branches and tags of a remote when it was fetched.
#[derive(Clone, Debug)]
pub struct Snapshot {
    objects: Objects,
    refs: Refs,
    promotions: Promotions,
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
    pub(crate) fn new(objects: Objects, refs: Refs, promotions: Promotions) -> Self {
        let mut this = Self {
            objects,
            refs,
            promotions,
        };
        this.count_held();
        this
    }

    /// Where signatures count: what was chosen since the last update is signed
    /// if a branch or tag names it.
    fn count_held(&mut self) {
        let Some(checked) = &mut self.refs.checked else {
            return;
        };
        let held = self.promotions.ids();
        let new: BTreeSet<Id> = held.filter(|id| !checked.held.contains(id)).collect();
        if new.is_empty() {
            return;
        }
        let ids = self.refs.branches.values().chain(self.refs.tags.values());
        let commits = ids.filter_map(|id| self.objects.commit(*id).ok().flatten());
        let named = commits.map(|(commit, _)| commit);
        checked.held.extend(named.filter(|id| new.contains(id)));
    }

    /// The names of the branches, sorted.
    pub fn branches(&self) -> impl Iterator<Item = &str> {
        self.refs.branches.keys().map(String::as_str)
    }

    /// The names of the tags, sorted.
    pub fn tags(&self) -> impl Iterator<Item = &str> {
        self.refs.tags.keys().map(String::as_str)
    }

    /// Whether a branch or tag names this commit.
    pub(crate) fn names(&self, id: Id) -> bool {
        let mut commits = self.refs.ids().map(|named| self.objects.commit(named));
        commits.any(|commit| matches!(commit, Ok(Some((commit, _))) if commit == id))
    }

    /// The environments that are held, and where.
    pub fn held(&self) -> impl Iterator<Item = (&str, Id)> {
        self.promotions.all()
    }

    /// When it was fetched.
    pub fn fetched(&self) -> SystemTime {
        let since = Duration::from_secs(self.refs.fetched_s());
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
                RefType::Sha if is_hex(name) => self.named_commit(name)?,
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

    /// The commit whose id begins so. Where signatures count it is one that a
    /// branch or tag names: another one was not checked.
    fn named_commit(&self, beginning: &str) -> Result<Option<Id>, GitError> {
        if self.refs.checked.is_none() {
            return self.objects.beginning_with(beginning);
        }
        for id in self.refs.ids() {
            if let Some((commit, _)) = self.objects.commit(id)?
                && commit.to_string().starts_with(beginning)
            {
                return Ok(Some(commit));
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
        if let Some(held) = self.promotions.now(saltenv) {
            return self.held_commit(held).map(Some);
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

    /// The commit `id` of an environment, if that is its commit now or was it
    /// within [`EARLIER_FOR`]: whoever began with it goes on with it.
    ///
    /// # Errors
    /// When an object is damaged.
    pub fn commit_then(
        &self,
        remote: &Remote,
        saltenv: &str,
        id: &str,
    ) -> Result<Option<Commit>, GitError> {
        let now = self.commit(remote, saltenv)?;
        let Some(id) = Id::parse(id).filter(|_| remote.exposed.shows(saltenv)) else {
            return Ok(None);
        };
        if let Some(now) = now.filter(|now| now.id == id) {
            return Ok(Some(now));
        }
        if self.promotions.was(saltenv, id) {
            return self.held_commit(id).map(Some);
        }
        if let Some(reference) = remote.reference(saltenv)
            && let Some(named) = self.resolve(remote.kinds(saltenv), reference)?
            && named.id == id
        {
            // It was this before it was held elsewhere.
            return Ok(Some(named));
        }
        let names = [remote.reference(saltenv), remote.fallback.as_deref()];
        for name in names.into_iter().flatten() {
            for earlier in self.refs.earlier.iter().filter(|it| it.is(name)) {
                if let Some((known, tree)) = self.objects.commit(earlier.id)?
                    && known == id
                {
                    let objects = self.objects.clone();
                    let tree = Tree { objects, id: tree };
                    return Ok(Some(Commit { id, tree }));
                }
            }
        }
        Ok(None)
    }

    /// A commit that somebody has chosen: it is to be here, and signed where
    /// signatures count.
    fn held_commit(&self, id: Id) -> Result<Commit, GitError> {
        self.objects.expect(id)?;
        if let Some(checked) = &self.refs.checked
            && !checked.held.contains(&id)
        {
            return Err(GitError::Unfit {
                id: id.to_string(),
                why: "an environment is held there, and no key of verify_signatures has signed it",
            });
        }
        let Some((id, tree)) = self.objects.commit(id)? else {
            return Err(GitError::Unfit {
                id: id.to_string(),
                why: "it is no commit",
            });
        };
        let objects = self.objects.clone();
        Ok(Commit {
            id,
            tree: Tree { objects, id: tree },
        })
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
