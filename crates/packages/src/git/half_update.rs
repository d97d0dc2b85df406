//! A work tree that was being brought to another commit when git was killed:
//! some files are those of that commit, while the repository is still at the one
//! before. Git takes that for changes of somebody's, and Salt's states for a
//! reason to leave the tree alone from then on.
//!
//! Invariant: files are written anew only where a note says which commit they
//! were on the way to, and each file that differs from the commit before is as
//! in that one; but for one, which git may have been at. Then nothing is lost.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use halite_crypto::{HashType, hash_hex};
use halite_modules::{Call, CallError};

use super::note::{MTIME_SLACK, Note, notes_of};
use super::run::Git;

/// A work tree without changes of its own that is about to get other files.
#[derive(Debug)]
pub(crate) struct Update(Option<Note>);

impl Update {
    /// Of the work tree at `target`; `is_clean` is whether nobody has changed
    /// anything in it.
    pub(crate) fn begin(call: &Call<'_>, target: &Path, is_clean: bool) -> Self {
        let held = || Note::hold(&notes_of(call), &name_for(target), target).ok()?;
        Self(is_clean.then(held).flatten())
    }

    /// Its next files are those of a commit.
    pub(crate) fn towards(&mut self, commit: &str) {
        if let Some(note) = &mut self.0 {
            // Without a note the update is as good, as long as nobody kills it.
            note.begin_with(commit).ok();
        }
    }

    /// It has the files that it was to have.
    pub(crate) fn end(self) {
        if let Some(note) = self.0 {
            note.end();
        }
    }
}

/// An update that an earlier run has not ended.
#[derive(Debug)]
pub(crate) struct HalfUpdate {
    note: Note,
    commit: String,
}

impl HalfUpdate {
    /// What an earlier run has left in the work tree of `git` at `target`.
    ///
    /// # Errors
    /// When git cannot be run.
    pub(crate) fn at(call: &Call<'_>, git: &Git, target: &Path) -> Result<Option<Self>, CallError> {
        let Some((note, begun)) = Note::left(&notes_of(call), &name_for(target), target) else {
            return Ok(None);
        };
        let commit = note.with().to_owned();
        let is_id = commit.len() >= 40 && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !is_id || !is_half(call, git, target, &commit, begun)? {
            if !call.is_test() {
                note.end();
            }
            return Ok(None);
        }
        Ok(Some(Self { note, commit }))
    }

    /// Brings all files to the commit before.
    ///
    /// # Errors
    /// When git refuses.
    pub(crate) fn settle(self, call: &Call<'_>, git: &Git) -> Result<(), CallError> {
        tracing::warn!(
            target = git.cwd.as_deref().unwrap_or_default(),
            "an earlier update of a work tree was cut off: its files are set back first"
        );
        // The first takes charge of all files that the killed git may have
        // written, those that are new too.
        for commit in [self.commit.as_str(), "HEAD"] {
            git.go(call, &["read-tree", "--reset", "-u", commit])?;
        }
        self.note.end();
        Ok(())
    }
}

fn name_for(target: &Path) -> String {
    let hash = hash_hex(HashType::Sha256, target.as_os_str().as_bytes());
    format!("update-{hash}")
}

/// Whether the files are on the way from the commit that is checked out to
/// another one, all that differ.
fn is_half(
    call: &Call<'_>,
    git: &Git,
    target: &Path,
    commit: &str,
    begun: SystemTime,
) -> Result<bool, CallError> {
    let list = |words: &[&str]| git.ask(call, words);
    let raw = [
        "diff",
        "--raw",
        "-z",
        "--no-renames",
        "--no-abbrev",
        "HEAD",
        commit,
    ];
    let Some(between) = list(&raw)? else {
        return Ok(false);
    };
    let (Some(differing), Some(others)) = (
        list(&["diff", "--name-only", "-z", "--no-renames", "HEAD"])?,
        list(&["ls-files", "--others", "-z"])?,
    ) else {
        return Ok(false);
    };
    let wanted = parse_raw(&between);
    let names = |text: &str| -> BTreeSet<String> {
        let names = text.split('\0').filter(|name| !name.is_empty());
        names.map(str::to_owned).collect()
    };
    let mut touched = names(&differing);
    touched.extend(
        names(&others)
            .into_iter()
            .filter(|name| wanted.contains_key(name)),
    );
    if touched.is_empty() || touched.iter().any(|name| !wanted.contains_key(name)) {
        return Ok(false);
    }
    let hashes = hashes(call, git, target, &touched)?;
    let odd: Vec<&String> = touched
        .iter()
        .filter(|name| hashes.get(*name) != wanted.get(*name).and_then(Option::as_ref))
        .collect();
    // The one that git was at is not there, or not whole.
    let is_gits = |name: &str| match fs::symlink_metadata(target.join(name)) {
        Ok(data) => data
            .modified()
            .is_ok_and(|modified| modified + MTIME_SLACK >= begun),
        Err(_) => true,
    };
    Ok(odd.len() <= 1 && odd.iter().all(|name| is_gits(name)))
}

/// The files that differ between two commits, with the hashes that they have in
/// the second; none where the file is not in it.
fn parse_raw(text: &str) -> BTreeMap<String, Option<String>> {
    let mut fields = text.split('\0');
    let mut all = BTreeMap::new();
    while let (Some(head), Some(name)) = (fields.next(), fields.next()) {
        let hash = head.split(' ').nth(3).unwrap_or_default();
        let is_there = hash.bytes().any(|byte| byte != b'0');
        all.insert(name.to_owned(), is_there.then(|| hash.to_owned()));
    }
    all
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
        let path: PathBuf = target.join(name);
        let Ok(data) = fs::symlink_metadata(&path) else {
            continue;
        };
        if data.is_symlink() {
            let link = fs::read_link(&path).unwrap_or_default();
            let link = link.display().to_string();
            let hash = git.fed(call, &["hash-object", "--stdin"], &link)?;
            hashes.insert(name.clone(), hash.unwrap_or_default());
        } else if data.is_file() && !name.contains('\n') {
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
        let wanted = parse_raw(text);
        let hash = |name: &str| wanted.get(name).unwrap().as_deref();
        assert_eq!(wanted.len(), 3);
        assert_eq!(hash("a b"), Some("bb"));
        assert_eq!(hash("new"), Some("cc"));
        assert_eq!(hash("gone"), None);
        assert!(parse_raw("").is_empty());
    }
}
