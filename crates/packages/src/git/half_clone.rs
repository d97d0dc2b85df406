//! A clone that was cut off, with the minion or by a power cut. What is there
//! then has no branch that could be brought forward, or no files, or not those
//! that were wanted.
//!
//! Invariant: only what a clone makes is removed or written anew, and only
//! where a note says that one has not ended. Where git has come to the index,
//! which it writes last, nobody must have changed or committed anything since:
//! what somebody else has put there stays.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use halite_crypto::{HashType, hash_hex};
use halite_modules::host::Program;
use halite_modules::{Call, CallError};

use super::half_update::HalfUpdate;
use super::note::{Note, notes_of};
use super::run::Git;

/// How long is waited for a clone that has outlived the minion.
const SURVIVOR_WAIT_MAX: Duration = Duration::from_secs(30);
const SURVIVOR_POLL: Duration = Duration::from_millis(50);

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

/// A clone that is being made.
#[derive(Debug)]
pub(crate) struct Clone(Option<Note>);

impl Clone {
    /// Takes down that a repository is about to be cloned to a directory that
    /// is empty or not there.
    pub(crate) fn begin(call: &Call<'_>, target: &Path) -> Self {
        let held = Note::hold(&notes_of(call), &name_for(target), target);
        let note = held.ok().flatten().map(|mut note| {
            // Without a note the clone is as good, as long as nobody kills it.
            note.begin().ok();
            note
        });
        Self(note)
    }

    /// It is whole, the wanted files are there. One that failed may have left
    /// something, if git was killed.
    pub(crate) fn end(self) {
        if let Some(note) = self.0 {
            note.end();
        }
    }
}

/// A clone that an earlier run has not ended.
#[derive(Debug)]
pub(crate) struct HalfClone {
    note: Note,
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
    /// What an earlier run has left at `target`.
    ///
    /// # Errors
    /// When git cannot be run.
    pub(crate) fn at(call: &Call<'_>, git: &Git, target: &Path) -> Result<Option<Self>, CallError> {
        let Some((note, _)) = Note::left(&notes_of(call), &name_for(target), target) else {
            return Ok(None);
        };
        if !call.is_test() {
            wait_for_survivors(target);
        }
        if is_cloning(target) {
            return Ok(None);
        }
        let made = match made_at(target) {
            Some(Made::Clone) if !is_untouched(call, &in_target(call, git), target)? => None,
            made => made,
        };
        let Some(made) = made else {
            // It came to its end, or somebody has seen to it.
            if !call.is_test() {
                note.end();
            }
            return Ok(None);
        };
        let target = target.to_owned();
        Ok(Some(Self { note, target, made }))
    }

    /// Makes it a clone, of the branch that the remote side has checked out, or
    /// nothing at all.
    ///
    /// # Errors
    /// When git or the file system refuses.
    pub(crate) fn settle(self, call: &Call<'_>, git: &Git) -> Result<Option<Clone>, CallError> {
        tracing::warn!(target = %self.target.display(), "an earlier clone was cut off");
        match self.made {
            Made::Repository(paths) => {
                remove(call, git, "-rf", &paths)?;
                self.note.end();
                return Ok(None);
            }
            Made::Files => {
                remove(call, git, "-f", &[self.target.join(".git/index.lock")])?;
                in_target(call, git).go(call, &["reset", "--hard", "HEAD"])?;
            }
            Made::Clone => {}
        }
        Ok(Some(Clone(Some(self.note))))
    }
}

fn in_target(call: &Call<'_>, git: &Git) -> Git {
    Git {
        cwd: call.text_opt("target"),
        ..git.clone()
    }
}

/// Whether nobody has changed a file of the clone, or committed anything.
fn is_untouched(call: &Call<'_>, git: &Git, target: &Path) -> Result<bool, CallError> {
    match HalfUpdate::at(call, git, target)? {
        Some(_) if call.is_test() => {}
        Some(half) => half.settle(call, git)?,
        None if git.ask(call, &["diff", "--quiet", "HEAD"])?.is_none() => return Ok(false),
        None => {}
    }
    let known = ["for-each-ref", "--contains", "HEAD", "refs/remotes"];
    let known = git.ask(call, &known)?.unwrap_or_default();
    Ok(!known.is_empty())
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

fn name_for(target: &Path) -> String {
    let hash = hash_hex(HashType::Sha256, target.as_os_str().as_bytes());
    format!("clone-{hash}")
}

/// What of a half clone is in a directory; nothing if it is none.
fn made_at(target: &Path) -> Option<Made> {
    let names: Vec<OsString> = fs::read_dir(target)
        .ok()?
        .map(|entry| entry.map(|entry| entry.file_name()))
        .collect::<Result<_, _>>()
        .ok()?;
    let dot_git = target.join(".git");
    let is_own = fs::symlink_metadata(&dot_git).is_ok_and(|data| data.is_dir());
    if is_own {
        return Some(match names.len() {
            _ if dot_git.join("index").exists() => Made::Clone,
            1 => Made::Repository(vec![dot_git]),
            _ => Made::Files,
        });
    }
    let is_bare = names.iter().any(|name| name == "objects")
        && names
            .iter()
            .all(|name| BARE.iter().any(|known| name == known));
    let heads = fs::read_dir(target.join("refs/heads"));
    let has_branches = heads.is_ok_and(|mut heads| heads.next().is_some());
    (is_bare && !has_branches)
        .then(|| Made::Repository(names.iter().map(|name| target.join(name)).collect()))
}

fn wait_for_survivors(target: &Path) {
    let give_up = Instant::now() + SURVIVOR_WAIT_MAX;
    while is_cloning(target) && Instant::now() < give_up {
        thread::sleep(SURVIVOR_POLL);
    }
}

/// Whether a git is cloning to `target`.
fn is_cloning(target: &Path) -> bool {
    let Ok(processes) = fs::read_dir("/proc") else {
        return false;
    };
    processes.flatten().any(|process| {
        let process = process.path();
        fs::read(process.join("comm")).is_ok_and(|name| name.starts_with(b"git"))
            && fs::read(process.join("cmdline")).is_ok_and(|line| {
                line.split(|byte| *byte == 0)
                    .any(|word| word == target.as_os_str().as_bytes())
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
            fs::write(path, "").unwrap();
        }
        dir
    }

    #[test]
    fn what_has_an_index_has_all_files() {
        let dir = directory(&[".git/HEAD", ".git/index", "file"]);
        assert_eq!(made_at(dir.path()), Some(Made::Clone));
    }

    #[test]
    fn a_repository_without_files_is_all_that_goes() {
        let dir = directory(&[".git/HEAD", ".git/objects/x"]);
        let made = Made::Repository(vec![dir.path().join(".git")]);
        assert_eq!(made_at(dir.path()), Some(made));
        let dir = directory(&[".git/HEAD", "file"]);
        assert_eq!(made_at(dir.path()), Some(Made::Files));
    }

    #[test]
    fn a_bare_one_goes_before_it_has_a_reference() {
        let half = ["HEAD", "config", "objects/pack/tmp_pack_1"];
        let dir = directory(&half);
        assert!(matches!(made_at(dir.path()), Some(Made::Repository(paths)) if paths.len() == 3));
        for more in ["packed-refs", "refs/heads/main", "notes-of-somebody"] {
            let dir = directory(&[&half[..], &[more]].concat());
            assert_eq!(made_at(dir.path()), None, "{more}");
        }
    }

    #[test]
    fn what_is_not_of_git_stays() {
        let dir = directory(&["file"]);
        assert_eq!(made_at(dir.path()), None);
        assert_eq!(made_at(&dir.path().join("nowhere")), None);
    }
}
