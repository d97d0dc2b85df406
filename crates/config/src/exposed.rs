//! Warns of configuration files, and of users' Python code, that somebody other than
//! root and `user` can write: they decide what the daemon runs. Salt reads such files
//! without a warning.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use halite_proto::{Map, Value};
use nix::unistd::{User, geteuid};

use crate::doubts::OWN_DIRS;
use crate::error::Warning;
use crate::load::Loaded;

/// Modes by which others write.
const OTHERS_WRITE: u32 = 0o022;

/// Files and directories of one directory of code that are looked at, and how deep.
const CODE_ENTRIES_MAX: usize = 2000;
const CODE_DEPTH_MAX: usize = 3;

/// The directories that users' Python code is taken from.
pub fn code_dirs(opts: &Map) -> Vec<PathBuf> {
    let named = OWN_DIRS.iter().chain(&["extension_modules"]);
    let mut dirs = Vec::new();
    for value in named.filter_map(|option| opts.get(option)) {
        let one = value.as_str().into_iter();
        let many = value.as_list().unwrap_or_default().iter();
        let all = one.chain(many.filter_map(Value::as_str));
        dirs.extend(all.filter(|dir| !dir.is_empty()).map(PathBuf::from));
    }
    dirs
}

impl<C> Loaded<C> {
    /// Adds a warning for each file that somebody else may write than root, who
    /// starts the daemon, and `user`, as whom it runs; and for its directory. Of each
    /// directory of `code` the first such place is enough.
    pub fn warn_of_writers(&mut self, user: Option<&str>, code: &[PathBuf]) {
        let user = user.and_then(|user| User::from_name(user).ok().flatten());
        let user = user.map(|user| user.uid.as_raw());
        let own = [Some(0), Some(geteuid().as_raw()), user];
        let mut places: Vec<&Path> = Vec::new();
        for file in self.files() {
            let dir = file.parent().filter(|dir| !places.contains(dir));
            places.extend(dir);
            places.push(file);
        }
        let warnings = places.into_iter().filter_map(|path| {
            let text = writer(path, &own)?;
            let path = path.to_owned();
            Some(Warning::Found { path, text })
        });
        let mut warnings: Vec<Warning> = warnings.collect();
        for dir in code {
            let mut left = CODE_ENTRIES_MAX;
            let found = match dir.is_absolute() {
                true => writer_within(dir, &own, 0, &mut left),
                false => Some((
                    dir.clone(),
                    "code is taken from whole paths only: elsewhere it would be another \
                     directory for each program"
                        .to_owned(),
                )),
            };
            warnings.extend(found.map(|(path, text)| Warning::Found { path, text }));
        }
        self.warnings.extend(warnings);
    }
}

/// The first place below a directory, or itself, that somebody else may write, and who.
fn writer_within(
    path: &Path,
    own: &[Option<u32>],
    depth: usize,
    left: &mut usize,
) -> Option<(PathBuf, String)> {
    *left = left.checked_sub(1)?;
    if let Some(text) = writer(path, own) {
        return Some((path.to_owned(), text));
    }
    if depth == CODE_DEPTH_MAX || !path.is_dir() {
        return None;
    }
    let mut below: Vec<PathBuf> = fs::read_dir(path)
        .ok()?
        .flatten()
        .take(*left)
        .map(|entry| entry.path())
        .collect();
    below.sort();
    below
        .iter()
        .find_map(|below| writer_within(below, own, depth + 1, left))
}

/// Who else may write something.
fn writer(path: &Path, own: &[Option<u32>]) -> Option<String> {
    let about = fs::metadata(path).ok()?;
    let owner = about.uid();
    if !own.contains(&Some(owner)) {
        return Some(format!(
            "user {owner} owns it, and so decides what the daemon runs: `chown root` it"
        ));
    }
    let is_open = about.permissions().mode() & OTHERS_WRITE != 0;
    is_open.then(|| {
        "its group or others may write it, and so decide what the daemon runs: `chmod go-w` it"
            .to_owned()
    })
}
