//! A work tree in which git was killed during an update to another commit: some
//! files are those of that commit, while the repository is still at the one before.
//! Git takes that for somebody's changes, and Salt's states for a reason to leave
//! the tree alone from then on.
//!
//! Invariant: files are written again only if a record names the commit of the
//! update, and each file that differs from the commit before is as in that one. One
//! file may be missing or empty, if the update changes it. Then nothing is lost.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::Path;

use halite_call::{Call, CallError};
use halite_git::{Pending, Record, is_left_alone};

use super::run::{Git, records_of};

const KIND: &str = "update";

/// The mode of a submodule in a tree. Those are not looked into.
const GITLINK: &str = "160000";

/// A work tree that is about to get other files. Without a record if it is not
/// clean: then they cannot be told from changes of somebody's.
pub(crate) fn updating(call: &Call<'_>, target: &Path, is_clean: bool) -> Pending {
    match is_clean {
        true => Pending::hold(&records_of(call), KIND, target),
        false => Pending::default(),
    }
}

/// An update that an earlier run has not ended.
#[derive(Debug)]
pub(crate) struct HalfUpdate {
    record: Record,
    commit: String,
}

impl HalfUpdate {
    /// What an earlier run has left in the work tree of `git` at `target`.
    ///
    /// # Errors
    /// When git cannot be run.
    pub(crate) fn at(call: &Call<'_>, git: &Git, target: &Path) -> Result<Option<Self>, CallError> {
        let Some(record) = Record::left(&records_of(call), KIND, target) else {
            return Ok(None);
        };
        if !call.is_test() && !is_left_alone(git.user.as_deref(), target) {
            return Ok(None);
        }
        let commit = record.word().to_owned();
        let is_id = commit.len() >= 40 && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !is_id || !is_half(call, git, target, &commit)? {
            if !call.is_test() {
                record.end();
            }
            return Ok(None);
        }
        Ok(Some(Self { record, commit }))
    }

    /// Brings all files to the commit before; whether git has done it.
    ///
    /// # Errors
    /// When git cannot be run.
    pub(crate) fn settle(self, call: &Call<'_>, git: &Git) -> Result<bool, CallError> {
        tracing::warn!(
            target = git.cwd.as_deref().unwrap_or_default(),
            "an earlier update of a work tree was interrupted: its files are reset first"
        );
        // The first takes charge of all files that the killed git may have
        // written, those that are new too.
        for commit in [self.commit.as_str(), "HEAD"] {
            let words = [
                "read-tree",
                "--reset",
                "-u",
                "--no-recurse-submodules",
                commit,
            ];
            if git.ask(call, &words)?.is_none() {
                // What it refuses is for who has changed something.
                self.record.end();
                return Ok(false);
            }
        }
        self.record.end();
        Ok(true)
    }
}

/// What differs between two commits, or between one and the index: the names of
/// the files, and the hashes that they have in the second.
type Differing = BTreeMap<String, Option<String>>;

/// Whether the files are on the way from the commit that is checked out to
/// another one, all that differ.
fn is_half(call: &Call<'_>, git: &Git, target: &Path, commit: &str) -> Result<bool, CallError> {
    let list = |more: &[&str]| {
        let words = ["diff", "-z", "--no-renames", "--no-ext-diff"];
        git.ask(call, &[&words, more].concat())
    };
    let raw = ["--raw", "--no-abbrev", "HEAD"];
    let (Some(wanted), Some(staged), Some(differing), Some(others)) = (
        list(&[&raw[..], &[commit]].concat())?,
        list(&[&raw[..], &["--cached"]].concat())?,
        list(&["--name-only", "HEAD"])?,
        git.ask(call, &["ls-files", "--others", "-z"])?,
    ) else {
        return Ok(false);
    };
    let (Some(wanted), Some(staged)) = (parse_raw(&wanted), parse_raw(&staged)) else {
        return Ok(false);
    };
    let names = |text: &str| -> BTreeSet<String> {
        let names = text.split('\0').filter(|name| !name.is_empty());
        names.map(str::to_owned).collect()
    };
    let (differing, others) = (names(&differing), names(&others));
    // What git has staged is what it was to stage.
    let is_foreign = |(name, hash): (&String, &Option<String>)| wanted.get(name) != Some(hash);
    if staged.iter().any(is_foreign) || others.iter().any(|name| is_in_the_way(name, &wanted)) {
        return Ok(false);
    }
    let mut touched = differing;
    touched.extend(others.into_iter().filter(|name| wanted.contains_key(name)));
    let is_certain = |name: &String| wanted.contains_key(name) && is_plain(name);
    if touched.is_empty() || !touched.iter().all(is_certain) {
        return Ok(false);
    }
    let hashes = hashes(call, git, target, &touched)?;
    let mut odd = touched
        .iter()
        .filter(|name| hashes.get(*name) != wanted.get(*name).and_then(Option::as_ref));
    Ok(match (odd.next(), odd.next()) {
        (None, _) => true,
        // One that is to go, and was changed, is somebody's.
        (Some(name), None) => {
            wanted.get(name).is_some_and(Option::is_some) && is_begun(&target.join(name))
        }
        (Some(_), Some(_)) => false,
    })
}

/// Whether a file that git does not know is where one of the wanted ones needs a
/// directory, or the other way round.
fn is_in_the_way(name: &str, wanted: &Differing) -> bool {
    // Repositories in it are told of with a slash.
    let (name, is_directory) = match name.strip_suffix('/') {
        Some(name) => (name, true),
        None => (name, false),
    };
    let below = format!("{name}/");
    let mut after = wanted.range(below.clone()..);
    let is_above = after
        .next()
        .is_some_and(|(next, _)| next.starts_with(&below));
    let mut parents = name.match_indices('/').map(|(at, _)| &name[..at]);
    is_above
        || is_directory && wanted.contains_key(name)
        || parents.any(|parent| wanted.contains_key(parent))
}

/// Whether a name is read as it is written by all that it is handed to.
fn is_plain(name: &str) -> bool {
    !name.contains(['\\', '\n', '\u{fffd}']) && !name.starts_with('"')
}

/// Whether a file is not there, or empty: what a git that was killed leaves of
/// the one that it was at, most often. One with some text may be somebody's.
pub(super) fn is_begun(path: &Path) -> bool {
    match fs::symlink_metadata(path) {
        Ok(data) => data.is_file() && data.len() == 0,
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    }
}

/// What `git diff --raw -z` tells. Nothing if submodules are in it.
fn parse_raw(text: &str) -> Option<Differing> {
    let mut fields = text.split('\0');
    let mut all = BTreeMap::new();
    while let (Some(head), Some(name)) = (fields.next(), fields.next()) {
        if head.contains(GITLINK) {
            return None;
        }
        let hash = head.split(' ').nth(3)?;
        let is_there = hash.bytes().any(|byte| byte != b'0');
        all.insert(name.to_owned(), is_there.then(|| hash.to_owned()));
    }
    Some(all)
}

/// The hashes that files have for git; none of those that are not there.
fn hashes(
    call: &Call<'_>,
    git: &Git,
    target: &Path,
    names: &BTreeSet<String>,
) -> Result<BTreeMap<String, String>, CallError> {
    let mut hashes = BTreeMap::new();
    let mut files = Vec::new();
    for name in names {
        let path = target.join(name);
        let Ok(data) = fs::symlink_metadata(&path) else {
            continue;
        };
        if data.is_symlink() {
            let link = fs::read_link(&path).unwrap_or_default();
            let link = link.display().to_string();
            let hash = git.fed(call, &["hash-object", "--stdin"], &link)?;
            hashes.insert(name.clone(), hash.unwrap_or_default());
        } else if data.is_file() {
            files.push(name);
        }
    }
    let list: String = files.iter().map(|name| format!("{name}\n")).collect();
    let told = git.fed(call, &["hash-object", "--stdin-paths"], &list)?;
    for (name, hash) in files.into_iter().zip(told.unwrap_or_default().lines()) {
        hashes.insert(name.clone(), hash.to_owned());
    }
    Ok(hashes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_between_commits_have_the_hash_of_the_second() {
        let text = ":100644 100644 aa bb M\0a b\0:000000 100644 00 cc A\0new\0\
                    :100644 000000 dd 00 D\0gone\0";
        let wanted = parse_raw(text).unwrap();
        let hash = |name: &str| wanted.get(name).unwrap().as_deref();
        assert_eq!(wanted.len(), 3);
        assert_eq!(hash("a b"), Some("bb"));
        assert_eq!(hash("new"), Some("cc"));
        assert_eq!(hash("gone"), None);
        assert!(parse_raw("").unwrap().is_empty());
        assert!(parse_raw(":160000 160000 aa bb M\0module\0").is_none());
    }

    #[test]
    fn a_file_can_be_in_the_way_of_a_directory() {
        let wanted = ["data", "dir/file"].map(|name| (name.to_owned(), None));
        let wanted = Differing::from(wanted);
        assert!(is_in_the_way("data/mine", &wanted));
        assert!(is_in_the_way("dir", &wanted));
        assert!(is_in_the_way("dir/", &wanted), "a repository");
        assert!(is_in_the_way("data/", &wanted), "a repository");
        assert!(!is_in_the_way("dir/other", &wanted));
        assert!(!is_in_the_way("data", &wanted));
        assert!(!is_in_the_way("data.mine", &wanted));
    }

    #[test]
    fn a_file_with_text_may_be_somebodys() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        assert!(is_begun(&file));
        fs::write(&file, "").unwrap();
        assert!(is_begun(&file));
        assert!(!is_begun(&file.join("below")));
        fs::write(&file, "text").unwrap();
        assert!(!is_begun(&file));
        assert!(!is_begun(dir.path()));
    }
}
