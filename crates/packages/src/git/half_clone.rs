//! A clone that was interrupted, with the minion or by a power cut. Such a
//! repository has no branch that could be updated, or no files, or not the wanted
//! ones.
//!
//! Invariant: only what a clone makes is removed or written again, and only if a
//! record says that one has not ended. If git has reached the index, which it
//! writes last, nobody may have changed, added or committed anything since: other
//! people's files stay.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use halite_call::host::Program;
use halite_call::{Call, CallError};
use halite_git::{Pending, Record, running_gits, user_id, wait_until_ended};

use super::half_update::{HalfUpdate, is_begun};
use super::run::{Git, records_of};

const KIND: &str = "clone";

/// What a bare clone has before its first reference.
const BARE: [&str; 9] = [
    "FETCH_HEAD",
    "HEAD",
    "branches",
    "config",
    "description",
    "hooks",
    "info",
    "objects",
    "refs",
];

/// What it makes then under another name first.
const BEGUN: [&str; 2] = ["packed-refs", "shallow"];

/// Records that a repository is about to be cloned to a directory that is
/// empty or not there. It has come to its end with the wanted files.
pub(crate) fn cloning(call: &Call<'_>, target: &Path) -> Pending {
    let mut pending = Pending::hold(&records_of(call), KIND, target);
    pending.towards("");
    pending
}

/// A clone that an earlier run has not ended.
#[derive(Debug)]
pub(crate) struct HalfClone {
    record: Record,
    target: PathBuf,
    made: Made,
}

/// How far it has come.
#[derive(Debug, PartialEq, Eq)]
enum Made {
    /// These are there, and no file of the work tree.
    Repository(Vec<PathBuf>),
    /// Some files are there.
    Files,
    /// All are there, of the branch that the remote side has checked out.
    Clone,
}

impl HalfClone {
    /// What an earlier run has left at `target`, where a bare clone was made or
    /// one with files.
    ///
    /// # Errors
    /// When git cannot be run.
    pub(crate) fn at(
        call: &Call<'_>,
        git: &Git,
        target: &Path,
        is_bare: bool,
    ) -> Result<Option<Self>, CallError> {
        let Some(record) = Record::left(&records_of(call), KIND, target) else {
            return Ok(None);
        };
        let is_left_alone = match call.is_test() {
            true => !is_cloning(target),
            false => wait_until_ended(|| is_cloning(target)),
        };
        let owner = fs::symlink_metadata(target).map(|data| data.uid());
        if !is_left_alone || owner.is_ok_and(|owner| user_id(git.user.as_deref()) != Some(owner)) {
            return Ok(None);
        }
        let own = in_target(call, git);
        let made = match made_at(target, is_bare) {
            Some(Made::Clone) if !is_untouched(call, &own, target)? => None,
            Some(Made::Files) if own.commit_of(call, "HEAD")?.is_none() => None,
            made => made,
        };
        let Some(made) = made else {
            // It came to its end, or somebody has seen to it.
            if !call.is_test() {
                record.end();
            }
            return Ok(None);
        };
        let target = target.to_owned();
        Ok(Some(Self {
            record,
            target,
            made,
        }))
    }

    /// Makes it a clone, of the branch that the remote side has checked out, or
    /// nothing at all; nothing is told, too, of one that somebody has changed.
    ///
    /// # Errors
    /// When git or the file system refuses.
    pub(crate) fn settle(self, call: &Call<'_>, git: &Git) -> Result<Option<Pending>, CallError> {
        tracing::warn!(target = %self.target.display(), "an earlier clone was interrupted");
        let is_clone = match &self.made {
            Made::Repository(paths) => {
                remove(call, git, "-rf", paths)?;
                false
            }
            Made::Files => {
                remove(call, git, "-f", &[self.target.join(".git/index.lock")])?;
                complete(
                    call,
                    &in_target(call, git),
                    &self.target,
                    self.record.word(),
                )?
            }
            Made::Clone => true,
        };
        if is_clone {
            return Ok(Some(Pending::resume(self.record)));
        }
        self.record.end();
        Ok(None)
    }
}

/// Checks the files out, where those of `commit`, or else of HEAD, are not all
/// there. Not if one is not that of the commit, and not empty: somebody else has
/// written it.
fn complete(call: &Call<'_>, git: &Git, target: &Path, commit: &str) -> Result<bool, CallError> {
    let commit = match commit {
        "" => "HEAD",
        commit => commit,
    };
    git.go(call, &["read-tree", commit])?;
    let names = git.go(call, &["diff", "--name-only", "-z", "--no-renames"])?;
    let differing = names.split('\0').filter(|name| !name.is_empty());
    let begun: Vec<PathBuf> = differing.map(|name| target.join(name)).collect();
    let mut there = begun
        .iter()
        .filter(|path| fs::symlink_metadata(path).is_ok());
    let first = there.next();
    if there.next().is_some() || !begun.iter().all(|path| is_begun(path)) {
        return Ok(false);
    }
    if let Some(empty) = first {
        remove(call, git, "-f", std::slice::from_ref(empty))?;
    }
    // It writes over nothing.
    git.go(call, &["checkout-index", "--all", "--index"])?;
    Ok(true)
}

fn in_target(call: &Call<'_>, git: &Git) -> Git {
    let mut own = git.clone();
    own.cwd = call.text_opt("target");
    own
}

/// Whether nobody has changed or added a file of the clone, or committed
/// anything.
fn is_untouched(call: &Call<'_>, git: &Git, target: &Path) -> Result<bool, CallError> {
    if let Some(half) = HalfUpdate::at(call, git, target)? {
        if call.is_test() {
            return Ok(true);
        }
        if !half.settle(call, git)? {
            return Ok(false);
        }
    }
    let is_clean = git.ask(call, &["diff", "--quiet", "HEAD"])?.is_some();
    let others = git.ask(call, &["ls-files", "--others"])?;
    let known = ["for-each-ref", "--contains", "HEAD", "refs/remotes"];
    let known = git.ask(call, &known)?;
    Ok(is_clean
        && others.is_some_and(|text| text.is_empty())
        && known.is_some_and(|text| !text.is_empty()))
}

/// Removes files as the user whose git made them.
fn remove(call: &Call<'_>, git: &Git, option: &str, paths: &[PathBuf]) -> Result<(), CallError> {
    let mut words = vec!["rm".to_owned(), option.to_owned(), "--".to_owned()];
    words.extend(paths.iter().map(|path| path.display().to_string()));
    let ran = Program::new(call, &words).user(git.user.as_deref()).run()?;
    match ran.ok() {
        true => Ok(()),
        false => Err(CallError::command(ran.stderr)),
    }
}

/// What of a half clone is in a directory; nothing if it is none.
fn made_at(target: &Path, is_bare: bool) -> Option<Made> {
    let names: Vec<OsString> = fs::read_dir(target)
        .ok()?
        .map(|entry| entry.map(|entry| entry.file_name()))
        .collect::<Result<_, _>>()
        .ok()?;
    let dot_git = target.join(".git");
    let is_own = fs::symlink_metadata(&dot_git).is_ok_and(|data| data.is_dir());
    if is_own {
        let has_index = fs::metadata(dot_git.join("index")).is_ok_and(|data| data.len() > 0);
        return Some(match names.len() {
            // A power cut may leave an empty one.
            _ if has_index => Made::Clone,
            1 => Made::Repository(vec![dot_git]),
            _ => Made::Files,
        });
    }
    let is_known = |name: &OsString| {
        let name = name.to_string_lossy();
        let begun = name
            .strip_suffix(".lock")
            .or_else(|| name.strip_suffix(".new"));
        BARE.contains(&&*name)
            || begun.is_some_and(|stem| BARE.contains(&stem) || BEGUN.contains(&stem))
    };
    let is_half = is_bare
        && target.join("HEAD").is_file()
        && names.iter().all(is_known)
        && !has_files(&target.join("refs"));
    is_half.then(|| Made::Repository(names.iter().map(|name| target.join(name)).collect()))
}

/// Whether there is a file somewhere below a directory.
fn has_files(dir: &Path) -> bool {
    let mut entries = fs::read_dir(dir).into_iter().flatten().flatten();
    entries.any(|entry| {
        let is_dir = entry.file_type().is_ok_and(|kind| kind.is_dir());
        !is_dir || has_files(&entry.path())
    })
}

/// Whether a git is at work that has `target` in its command line, in whichever
/// way it is written.
fn is_cloning(target: &Path) -> bool {
    let Ok(real) = target.canonicalize() else {
        return false;
    };
    running_gits().into_iter().any(|process| {
        let cwd = fs::read_link(process.join("cwd")).unwrap_or_default();
        let line = fs::read(process.join("cmdline")).unwrap_or_default();
        line.split(|byte| *byte == 0).any(|word| {
            let word = cwd.join(std::ffi::OsStr::from_bytes(word));
            word.canonicalize().is_ok_and(|word| word == real)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn directory(files: &[&str]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for file in files {
            let path = dir.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "text").unwrap();
        }
        dir
    }

    #[test]
    fn what_has_an_index_has_all_files() {
        let dir = directory(&[".git/HEAD", ".git/index", "file"]);
        assert_eq!(made_at(dir.path(), false), Some(Made::Clone));
        fs::write(dir.path().join(".git/index"), "").unwrap();
        assert_eq!(made_at(dir.path(), false), Some(Made::Files));
    }

    #[test]
    fn a_repository_without_files_is_all_that_goes() {
        let dir = directory(&[".git/HEAD", ".git/objects/x"]);
        let made = Made::Repository(vec![dir.path().join(".git")]);
        assert_eq!(made_at(dir.path(), false), Some(made));
        let dir = directory(&[".git/HEAD", "file"]);
        assert_eq!(made_at(dir.path(), false), Some(Made::Files));
    }

    #[test]
    fn a_bare_one_goes_before_it_has_a_reference() {
        let half = [
            "HEAD",
            "config",
            "objects/pack/tmp_pack_1",
            "packed-refs.lock",
        ];
        let dir = directory(&half);
        let made = made_at(dir.path(), true);
        assert!(matches!(made, Some(Made::Repository(paths)) if paths.len() == 4));
        assert_eq!(made_at(dir.path(), false), None, "no bare one was wanted");
        for more in ["packed-refs", "refs/tags/v1", "notes-of-somebody"] {
            let dir = directory(&[&half[..], &[more]].concat());
            assert_eq!(made_at(dir.path(), true), None, "{more}");
        }
        let dir = directory(&["objects/model", "config/x"]);
        assert_eq!(made_at(dir.path(), true), None);
    }

    #[test]
    fn what_is_not_of_git_stays() {
        let dir = directory(&["file"]);
        assert_eq!(made_at(dir.path(), true), None);
        assert_eq!(made_at(&dir.path().join("nowhere"), true), None);
    }
}
