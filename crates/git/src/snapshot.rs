//! What a remote has at one time: the commits of its branches and tags.
//!
//! Invariant: a snapshot never changes, and its file is replaced as a whole.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use halite_crypto::files::{WriteOptions, read_limited, write_atomic};

use crate::limits::{EARLIER_FOR, KEPT_MAX, REFS_MAX, SNAPSHOT_BYTES_MAX};
use crate::objects::{Id, Objects};
use crate::promotion::Promotions;
use crate::remote::{RefType, is_hex};
use crate::tree::Tree;
use crate::{GitError, Remote};

const MODE: u32 = 0o600;
const BRANCHES: &str = "refs/remotes/origin/";
/// What the names of tags begin with.
pub(crate) const TAGS: &str = "refs/tags/";

/// What a line begins with that says what a reference was before.
const EARLIER: &str = "earlier";

/// What the line begins with that says which keys have signed all of it. Another
/// word when what counts as signed changes: all is checked anew then.
const SIGNERS: &str = "signers-2";

const FIRST_LINE: &str = "halite snapshot 1";

/// What a line begins with that names a commit at which an environment is held
/// and that counts as signed.
const HELD: &str = "held-signed";

/// What a line begins with that names what nobody has signed.
const REFUSED: &str = "refused";

/// The branches and tags of a remote when it was fetched.
#[derive(Clone, Debug)]
pub struct Snapshot {
    objects: Objects,
    refs: Refs,
    promotions: Promotions,
}

/// Names and what they point to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Refs {
    branches: BTreeMap<String, Id>,
    tags: BTreeMap<String, Id>,
    fetched_s: u64,
    /// What branches and tags were before, the youngest first.
    earlier: Vec<Earlier>,
    /// How all of it was checked; `None` if it was not.
    checked: Option<Checked>,
}

/// What a check of signatures has found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Checked {
    /// The keys, see [`crate::signatures::Signers::mark`].
    pub(crate) signers: String,
    /// The commits at which environments are held and that count as signed.
    pub(crate) held: BTreeSet<Id>,
    /// What nobody has signed, and since which second since 1970 that is known.
    pub(crate) refused: BTreeMap<Id, u64>,
}

/// What a branch or tag was before.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Earlier {
    /// Until when, in seconds since 1970.
    until_s: u64,
    id: Id,
    /// The reference, as git calls it.
    name: String,
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

impl Earlier {
    /// Reads what stands behind [`EARLIER`].
    fn parse(text: &str) -> Option<Self> {
        let (until_s, rest) = text.split_once(' ')?;
        let (id, name) = rest.split_once(' ')?;
        Some(Self {
            until_s: until_s.parse().ok()?,
            id: Id::parse(id)?,
            name: name.to_owned(),
        })
    }

    /// Whether it was the branch or the tag of that name.
    fn is(&self, name: &str) -> bool {
        let own = self.name.strip_prefix(BRANCHES);
        own.or_else(|| self.name.strip_prefix(TAGS)) == Some(name)
    }
}

impl Checked {
    /// Reads a line of it.
    fn read(&mut self, word: &str, rest: &str) {
        if word == HELD {
            self.held.extend(Id::parse(rest));
        } else if let Some((since_s, id)) = rest.split_once(' ')
            && let (Ok(since_s), Some(id)) = (since_s.parse(), Id::parse(id))
        {
            self.refused.insert(id, since_s);
        }
    }

    fn write(&self, text: &mut String) {
        use std::fmt::Write;

        let _ = writeln!(text, "{SIGNERS} {}", self.signers);
        for id in &self.held {
            let _ = writeln!(text, "{HELD} {id}");
        }
        for (id, since_s) in &self.refused {
            let _ = writeln!(text, "{REFUSED} {since_s} {id}");
        }
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
            match id {
                SIGNERS => {
                    refs.checked = Some(Checked {
                        signers: name.to_owned(),
                        ..Checked::default()
                    });
                    continue;
                }
                HELD | REFUSED => {
                    if let Some(checked) = &mut refs.checked {
                        checked.read(id, name);
                    }
                    continue;
                }
                EARLIER => {
                    refs.earlier.extend(Earlier::parse(name));
                    continue;
                }
                _ => {}
            }
            if refs.branches.len() + refs.tags.len() >= REFS_MAX {
                break;
            }
            let Some(id) = Id::parse(id) else { continue };
            if let Some(name) = name.strip_prefix(BRANCHES) {
                if name != "HEAD" {
                    refs.branches.insert(name.to_owned(), id);
                }
            } else if let Some(name) = name.strip_prefix(TAGS) {
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

    /// How it was checked.
    pub(crate) const fn checked(&self) -> Option<&Checked> {
        self.checked.as_ref()
    }

    /// The keys that it was checked with.
    pub(crate) fn signers(&self) -> Option<&str> {
        self.checked.as_ref().map(|it| it.signers.as_str())
    }

    /// Only the references in `signed` stay; a branch or tag whose new commit is not is
    /// what it was in `before`, which was checked with the same keys, or left
    /// out. What is to be said about each.
    pub(crate) fn only_signed(
        &mut self,
        signed: &BTreeSet<String>,
        before: Option<&Self>,
    ) -> Vec<String> {
        let mut said = Vec::new();
        for (name, id) in self.names().collect::<Vec<_>>() {
            if signed.contains(&name) {
                continue;
            }
            let earlier = before.and_then(|before| before.get(&name));
            said.push(match earlier {
                Some(earlier) => {
                    format!("{name} stays at {earlier}: {id} is not signed by a key of verify_signatures")
                }
                None => format!("{name} is left out: {id} is not signed by a key of verify_signatures"),
            });
            let (names, name) = match name.strip_prefix(BRANCHES) {
                Some(name) => (&mut self.branches, name),
                // Once: a tag may be called refs/tags/x.
                None => (&mut self.tags, name.strip_prefix(TAGS).unwrap_or(&name)),
            };
            match earlier {
                Some(earlier) => names.insert(name.to_owned(), earlier),
                None => names.remove(name),
            };
        }
        said
    }

    /// Says how it was checked.
    pub(crate) fn set_checked(&mut self, checked: Checked) {
        self.checked = Some(checked);
    }

    /// All that they point to.
    pub(crate) fn ids(&self) -> impl Iterator<Item = Id> {
        self.branches.values().chain(self.tags.values()).copied()
    }

    /// When they were fetched, in seconds since 1970.
    pub(crate) const fn fetched_s(&self) -> u64 {
        self.fetched_s
    }

    /// Remembers what branches and tags were before.
    pub(crate) fn follow(&mut self, before: &Self) {
        if self.signers() != before.signers() {
            // It was not checked with these keys.
            return;
        }
        let replaced = before
            .names()
            .filter(|(name, id)| self.get(name) != Some(*id));
        let replaced = replaced.map(|(name, id)| Earlier {
            until_s: self.fetched_s,
            id,
            name,
        });
        let is_young =
            |it: &Earlier| self.fetched_s.saturating_sub(it.until_s) <= EARLIER_FOR.as_secs();
        let earlier = replaced.chain(before.earlier.iter().cloned());
        self.earlier = earlier.filter(is_young).take(KEPT_MAX).collect();
    }

    /// All references with what they point to.
    pub(crate) fn names(&self) -> impl Iterator<Item = (String, Id)> {
        let branches = self.branches.iter();
        let branches = branches.map(|(name, id)| (format!("{BRANCHES}{name}"), *id));
        let tags = self
            .tags
            .iter()
            .map(|(name, id)| (format!("{TAGS}{name}"), *id));
        branches.chain(tags)
    }

    fn get(&self, name: &str) -> Option<Id> {
        let branch = name
            .strip_prefix(BRANCHES)
            .and_then(|name| self.branches.get(name));
        let tag = || self.tags.get(name.strip_prefix(TAGS)?);
        branch.or_else(tag).copied()
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
        if let Some(checked) = &self.checked {
            checked.write(&mut text);
        }
        for (name, id) in self.names() {
            let _ = writeln!(text, "{id} {name}");
        }
        for Earlier { until_s, id, name } in &self.earlier {
            let _ = writeln!(text, "{EARLIER} {until_s} {id} {name}");
        }
        write_atomic(path, WriteOptions::new(MODE), text.as_bytes())?;
        Ok(())
    }
}
