//! The content of a directory at a moment.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};

use super::tree::Tree;

/// Files, links and directories with what is in them.
pub(super) struct View(BTreeMap<PathBuf, Entry>);

#[derive(PartialEq, Eq)]
struct Entry {
    mode: u32,
    what: What,
}

#[derive(PartialEq, Eq)]
enum What {
    Directory,
    Link(PathBuf),
    Content(Vec<u8>),
}

impl View {
    pub(super) fn of(tree: &Tree) -> Result<Self> {
        let mut view = Self(BTreeMap::new());
        view.add(&tree.target(), tree)?;
        Ok(view)
    }

    fn look(&mut self, path: &Path, tree: &Tree) -> io::Result<Entry> {
        let data = fs::symlink_metadata(path)?;
        let what = if data.is_dir() {
            self.add(path, tree)?;
            What::Directory
        } else if data.is_symlink() {
            What::Link(fs::read_link(path)?)
        } else {
            What::Content(fs::read(path)?)
        };
        let mode = data.permissions().mode() & 0o7777;
        Ok(Entry { mode, what })
    }

    fn add(&mut self, dir: &Path, tree: &Tree) -> io::Result<()> {
        for entry in fs::read_dir(dir)? {
            let path = entry?.path();
            if tree.is_foreign(&path) {
                continue;
            }
            match self.look(&path, tree) {
                // What the killed program had started may still be at work.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
                Ok(entry) => drop(self.0.insert(path, entry)),
            }
        }
        Ok(())
    }

    /// What was copied is what it was copied from: a half file would pass for
    /// one that is there already.
    pub(super) fn check_whole(&self, version: u64, tree: &Tree) -> Result<()> {
        let parity = version % 2;
        let folder = tree.roots().join(format!("folder{parity}"));
        let archive = tree.target().join(format!("archives/{version}"));
        let mut pairs = vec![
            (
                tree.roots().join(format!("large{parity}")),
                tree.target().join("large"),
            ),
            (
                tree.at(&format!("copied{parity}")),
                tree.target().join("copied"),
            ),
        ];
        for sub in fs::read_dir(&folder)? {
            for file in fs::read_dir(sub?.path())? {
                let from = file?.path();
                let below = from.strip_prefix(&folder)?;
                pairs.push((from.clone(), tree.target().join("folder").join(below)));
                pairs.push((from.clone(), archive.join(below)));
            }
        }
        for (from, to) in pairs {
            let wanted = What::Content(fs::read(&from)?);
            let is_whole = self.0.get(&to).is_some_and(|entry| entry.what == wanted);
            ensure!(is_whole, "{} is not {}", to.display(), from.display());
        }
        Ok(())
    }

    /// Everything is as it was before or as it is after; and nothing is open
    /// to more people than in one of the two.
    pub(super) fn check_between(&self, before: &Self, after: &Self, tree: &Tree) -> Result<()> {
        for path in before.0.keys().chain(after.0.keys()) {
            let is_there = self.0.contains_key(path);
            let may_be_missing = !before.0.contains_key(path) || !after.0.contains_key(path);
            ensure!(is_there || may_be_missing, "{} was lost", path.display());
        }
        for (path, entry) in &self.0 {
            let name = path.display();
            let known: Vec<&Entry> = [before, after]
                .iter()
                .filter_map(|view| view.0.get(path))
                .collect();
            if known.is_empty() {
                let temporary = is_remnant(path) || *path == tree.at("target/command.new");
                let temporary = temporary || *path == tree.at("target/crontab.new");
                ensure!(temporary, "{name} is neither old nor new");
                continue;
            }
            ensure!(
                known.iter().any(|known| known.what == entry.what),
                "{name} is half written"
            );
            let modes = known.iter().fold(0, |modes, known| modes | known.mode);
            ensure!(
                entry.mode & !modes == 0 || entry.what == What::Directory,
                "{name} has mode {:o}",
                entry.mode
            );
        }
        Ok(())
    }
}

/// A file that is not under its name yet.
fn is_remnant(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.starts_with(".halite-") || name.ends_with(".part") || name.starts_with("salt-cron-")
}

/// What somebody has left below a directory.
pub(super) fn remnants(dir: &Path) -> Vec<PathBuf> {
    let mut left = Vec::new();
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        if is_remnant(&path) {
            left.push(path);
        } else if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            left.extend(remnants(&path));
        }
    }
    left
}
