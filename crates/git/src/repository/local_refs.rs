//! The branches and tags of a remote that is a directory of this machine, read
//! without a program: asking git starts two, which is most of the cost of an update
//! with nothing new.
//!
//! Mirrors what git 2.47 finds in a repository whose references are files. The
//! owner is not checked: git is told to trust a directory that the options name.
//! Invariant: unusual repositories are left to git, no link is followed below the
//! repository, and nothing that is there in place of a file is waited for.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fmt::Write;
use std::fs::{self, File};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use crate::limits::{REFS_DEPTH_MAX, REFS_MAX, REPOSITORY_CONFIG_BYTES_MAX, SNAPSHOT_BYTES_MAX};

/// Whatever says one of these is for git to read: references that are kept in another
/// way, hidden, or said in further files.
const UNUSUAL_WORDS: [&str; 4] = ["include", "extensions", "hiderefs", "namespace"];

/// Its files that are never there where references are read as here.
const UNUSUAL_FILES: [&str; 3] = ["commondir", "reftable", "objects/info/alternates"];

/// A longer file is no reference.
const REFERENCE_BYTES_MAX: u64 = 256;

/// References by their names, each with its id.
type Found = BTreeMap<String, String>;

/// What `git ls-remote --refs --heads --tags` writes of a directory; `None` where git
/// is to be asked.
pub(super) fn list(directory: &str) -> Option<String> {
    // In an address these stand for other bytes.
    if directory.contains('%') {
        return None;
    }
    let git_dir = git_dir(Path::new(directory))?;
    if !is_usual(&git_dir) {
        return None;
    }
    let mut found = Found::new();
    // The single files first: what goes from them into the one file meanwhile is found
    // there.
    for kind in ["refs/heads", "refs/tags"] {
        add_loose(&git_dir, kind, REFS_DEPTH_MAX, &mut found)?;
    }
    add_packed(&git_dir, &mut found)?;
    let mut text = String::new();
    for (name, id) in &found {
        let _ = writeln!(text, "{id}\t{name}");
    }
    Some(text)
}

/// The repository that git takes for that of a directory.
fn git_dir(directory: &Path) -> Option<PathBuf> {
    let within = directory.join(".git");
    match fs::symlink_metadata(&within) {
        Ok(data) if data.is_dir() => Some(within),
        Err(error) if error.kind() == ErrorKind::NotFound => Some(directory.to_owned()),
        _ => None,
    }
}

/// Whether it is a repository without anything that changes what its references are.
fn is_usual(git_dir: &Path) -> bool {
    let is_dir = |name: &&str| {
        let data = fs::symlink_metadata(git_dir.join(name));
        data.is_ok_and(|data| data.is_dir())
    };
    let is_missing = |name: &&str| {
        let data = fs::symlink_metadata(git_dir.join(name));
        data.is_err_and(|error| error.kind() == ErrorKind::NotFound)
    };
    let has_head = || {
        let head = read(&git_dir.join("HEAD"), REFERENCE_BYTES_MAX);
        matches!(head, Ok(Some(head)) if head.starts_with("ref: refs/") || is_id(head.trim_end()))
    };
    ["objects", "refs"].iter().all(is_dir)
        && UNUSUAL_FILES.iter().all(is_missing)
        && has_head()
        && has_usual_config(git_dir)
}

fn has_usual_config(git_dir: &Path) -> bool {
    let Ok(Some(config)) = read(&git_dir.join("config"), REPOSITORY_CONFIG_BYTES_MAX) else {
        return false;
    };
    let config = config.to_ascii_lowercase();
    let mut versions = config
        .lines()
        .filter(|line| line.contains("repositoryformatversion"));
    let is_first = |line: &str| line.split_once('=').is_some_and(|(_, v)| v.trim() == "0");
    UNUSUAL_WORDS.iter().all(|word| !config.contains(word)) && versions.all(is_first)
}

/// Adds what is in files of its own below `name`; `None` if git is to be asked.
fn add_loose(git_dir: &Path, name: &str, depth: usize, found: &mut Found) -> Option<()> {
    let entries = match fs::read_dir(git_dir.join(name)) {
        Ok(entries) => entries,
        // Git removes directories that are empty.
        Err(error) if error.kind() == ErrorKind::NotFound => return Some(()),
        Err(_) => return None,
    };
    for entry in entries {
        let entry = entry.ok()?;
        let own = entry.file_name();
        let own = plain(&own)?;
        let kind = entry.file_type().ok()?;
        let name = format!("{name}/{own}");
        if kind.is_dir() {
            add_loose(git_dir, &name, depth.checked_sub(1)?, found)?;
            continue;
        }
        if !kind.is_file() {
            return None;
        }
        if own.ends_with(".lock") {
            continue;
        }
        // One that is gone meanwhile was removed, or is in the one file now.
        let Some(text) = read(&git_dir.join(&name), REFERENCE_BYTES_MAX).ok()? else {
            continue;
        };
        let id = text.strip_suffix('\n').unwrap_or(&text);
        if !is_id(id) || found.len() >= REFS_MAX {
            return None;
        }
        found.insert(name, id.to_owned());
    }
    Some(())
}

/// Adds what is in the file of many, where no file of its own says something else.
fn add_packed(git_dir: &Path, found: &mut Found) -> Option<()> {
    let packed = read(&git_dir.join("packed-refs"), SNAPSHOT_BYTES_MAX).ok()?;
    for line in packed.iter().flat_map(|text| text.lines()) {
        // The head of the file, and what the tag above points to.
        if line.starts_with(['#', '^']) {
            continue;
        }
        let (id, name) = line.split_once(' ').filter(|(id, _)| is_id(id))?;
        let is_listed = name.starts_with("refs/heads/") || name.starts_with("refs/tags/");
        if !is_listed {
            continue;
        }
        let is_plain = name
            .split('/')
            .all(|part| plain(OsStr::new(part)).is_some());
        if !is_plain || found.len() >= REFS_MAX {
            return None;
        }
        found
            .entry(name.to_owned())
            .or_insert_with(|| id.to_owned());
    }
    Some(())
}

/// A part of a name that git takes for one, whatever its rules are in detail.
fn plain(part: &OsStr) -> Option<&str> {
    let part = part.to_str()?;
    let is_plain = |c: char| c.is_alphanumeric() || "-_.+=,#".contains(c);
    let is_fine = !part.is_empty()
        && part.chars().all(is_plain)
        && !part.starts_with(['.', '-'])
        && !part.ends_with('.')
        && !part.contains("..");
    is_fine.then_some(part)
}

fn is_id(text: &str) -> bool {
    let is_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    text.len() == 40 && text.bytes().all(is_hex) && text.bytes().any(|byte| byte != b'0')
}

/// The text of a file; `None` if there is none.
///
/// # Errors
/// When it is a link or no file, too long, or no text.
fn read(path: &Path, bytes_max: u64) -> std::io::Result<Option<String>> {
    let mut options = File::options();
    let flags = nix::libc::O_NOFOLLOW | nix::libc::O_NONBLOCK;
    let file = match options.read(true).custom_flags(flags).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    if !file.metadata()?.is_file() {
        return Err(ErrorKind::InvalidInput.into());
    }
    let mut text = String::new();
    let length = file.take(bytes_max + 1).read_to_string(&mut text)?;
    match u64::try_from(length).is_ok_and(|length| length <= bytes_max) {
        true => Ok(Some(text)),
        false => Err(ErrorKind::FileTooLarge.into()),
    }
}

#[cfg(test)]
mod tests;
