//! Walks directories, with patterns of what to skip.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use halite_call::paths::{self, HeldName};
use halite_call::{CallError, python};
use halite_proto::Value;
use halite_target::glob::fnmatch;

use super::common;
use crate::core::regex::Pattern;
use crate::limits::DEPTH_MAX;
use halite_call::os_error;

/// A directory with the names in it: directories (links to such included) and
/// the rest.
pub(super) struct Level {
    /// The directory.
    pub(super) root: PathBuf,
    /// The names of directories in it.
    pub(super) dirs: Vec<String>,
    /// The other names in it.
    pub(super) files: Vec<String>,
}

impl Level {
    /// The paths of the directories.
    pub(super) fn dir_paths(&self) -> impl Iterator<Item = PathBuf> + '_ {
        self.dirs.iter().map(|name| self.root.join(name))
    }

    /// The paths of the rest.
    pub(super) fn file_paths(&self) -> impl Iterator<Item = PathBuf> + '_ {
        self.files.iter().map(|name| self.root.join(name))
    }
}

/// `os.walk` from the top: links are not followed, `max_depth` counts levels.
pub(super) fn walk(top: &Path, max_depth: Option<usize>) -> Vec<Level> {
    let mut levels = Vec::new();
    descend(top, max_depth.unwrap_or(DEPTH_MAX), &mut levels);
    levels
}

fn descend(root: &Path, depth: usize, levels: &mut Vec<Level>) {
    let Some(depth) = depth.checked_sub(1) else {
        return;
    };
    let Ok(entries) = fs::read_dir(root) else {
        return;
    };
    let mut level = Level {
        root: root.to_owned(),
        dirs: Vec::new(),
        files: Vec::new(),
    };
    let mut below = Vec::new();
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = entry.path();
        if path.is_dir() {
            if !entry.file_type().is_ok_and(|kind| kind.is_symlink()) {
                below.push(path);
            }
            level.dirs.push(name);
        } else {
            level.files.push(name);
        }
    }
    level.dirs.sort();
    level.files.sort();
    below.sort();
    levels.push(level);
    for path in below {
        descend(&path, depth, levels);
    }
}

/// Patterns of what to take and what to leave: globs, or regular expressions
/// behind `E@`.
pub(super) struct Choice {
    include: Vec<Matcher>,
    exclude: Vec<Matcher>,
}

enum Matcher {
    Glob(String),
    Regex(Box<Pattern>),
}

impl Matcher {
    fn all(value: &Value) -> Result<Vec<Self>, CallError> {
        common::list(value)
            .iter()
            .filter(|pattern| pattern.is_true())
            .map(|pattern| {
                let text = python::str(pattern);
                Ok(match text.strip_prefix("E@") {
                    Some(regex) => Self::Regex(Box::new(Pattern::new(regex, 0)?)),
                    None => Self::Glob(text),
                })
            })
            .collect()
    }

    fn matches(&self, path: &str) -> bool {
        match self {
            Self::Glob(glob) => fnmatch(glob, path),
            Self::Regex(regex) => regex.is_in(path).unwrap_or(false),
        }
    }
}

impl Choice {
    /// Reads the patterns.
    pub(super) fn new(include: &Value, exclude: &Value) -> Result<Self, CallError> {
        Ok(Self {
            include: Matcher::all(include)?,
            exclude: Matcher::all(exclude)?,
        })
    }

    /// Whether a relative path is meant.
    pub(super) fn takes(&self, path: &str) -> bool {
        let any = |all: &[Matcher]| all.iter().any(|one| one.matches(path));
        (self.include.is_empty() || any(&self.include)) && !any(&self.exclude)
    }
}

/// The path below `root`.
pub(super) fn relative(path: &Path, root: &Path) -> String {
    path.strip_prefix(root)
        .unwrap_or(path)
        .display()
        .to_string()
}

/// What is below `root` and not to be kept: the topmost of each, or, where asked
/// for, also what is in them.
pub(super) fn unwanted(
    root: &Path,
    keep: &HashSet<PathBuf>,
    choice: &Choice,
    with_inside: bool,
) -> Vec<PathBuf> {
    let mut kept: HashSet<&Path> = HashSet::new();
    for path in keep {
        kept.extend(path.ancestors());
    }
    let mut found: Vec<PathBuf> = Vec::new();
    for level in walk(root, None) {
        if !with_inside && found.iter().any(|gone| level.root.starts_with(gone)) {
            continue;
        }
        for path in level.dir_paths().chain(level.file_paths()) {
            if !kept.contains(path.as_path()) && choice.takes(&relative(&path, root)) {
                found.push(path);
            }
        }
    }
    found
}

/// Removes a file, a link or a whole directory.
pub(super) fn remove(path: &Path) -> Result<(), CallError> {
    let wrong = |error: std::io::Error| os_error(&error, path);
    let data = fs::symlink_metadata(path).map_err(wrong)?;
    if data.is_dir() {
        paths::remove_dir_all(path).map_err(wrong)
    } else {
        paths::remove_file(path).map_err(wrong)
    }
}

/// The same for what a look into `root` has found: no link on the way is
/// followed.
pub(super) fn remove_below(root: &Path, path: &Path) -> Result<(), CallError> {
    HeldName::below(root, path)
        .and_then(|place| place.remove())
        .map_err(|error| os_error(&error, path))
}
