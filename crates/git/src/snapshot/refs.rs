//! The file of a snapshot: the names of branches and tags, their commits, and how
//! they were checked.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use halite_crypto::files::{WriteOptions, read_limited, write_atomic};

use crate::GitError;
use crate::limits::{EARLIER_FOR, KEPT_MAX, REFS_MAX, SNAPSHOT_BYTES_MAX};
use crate::objects::Id;

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

/// Names and what they point to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Refs {
    pub(super) branches: BTreeMap<String, Id>,
    pub(super) tags: BTreeMap<String, Id>,
    fetched_s: u64,
    /// What branches and tags were before, the youngest first.
    pub(super) earlier: Vec<Earlier>,
    /// How all of it was checked; `None` if it was not.
    pub(super) checked: Option<Checked>,
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
pub(super) struct Earlier {
    /// Until when, in seconds since 1970.
    until_s: u64,
    pub(super) id: Id,
    /// The reference, as git calls it.
    name: String,
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
    pub(super) fn is(&self, name: &str) -> bool {
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
