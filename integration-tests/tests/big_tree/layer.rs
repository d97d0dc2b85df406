//! What was written to the machine: the upper layer of an overlay.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::explained;

/// Files and directories by their paths in the root.
pub(crate) type Layer = BTreeMap<String, Entry>;

/// Older than every run: times that somebody has set.
const LONG_AGO: i64 = 1_700_000_000;

/// One of them.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// `file`, `gone` ...
    pub(crate) kind: &'static str,
    pub(crate) mode: u32,
    pub(crate) owner: (u32, u32),
    /// What it leads to, or which device it is.
    pub(crate) target: String,
    pub(crate) content: Vec<u8>,
    /// Another name of the same file, the first one.
    pub(crate) same_as: Option<String>,
    /// When it was last changed, for what is older than the run.
    pub(crate) changed: Option<i64>,
    pub(crate) attributes: BTreeMap<String, Vec<u8>>,
}

/// Reads all that lies there, but for what is nobody's contract.
pub(crate) fn read(root: &Path) -> Result<Layer> {
    let mut layer = Layer::new();
    let mut names: BTreeMap<u64, String> = BTreeMap::new();
    let mut left = vec![root.to_owned()];
    while let Some(dir) = left.pop() {
        let mut paths: Vec<PathBuf> = fs::read_dir(&dir)
            .with_context(|| dir.display().to_string())?
            .map(|entry| entry.map(|entry| entry.path()))
            .collect::<std::io::Result<_>>()?;
        paths.sort();
        for path in paths {
            let name = format!("/{}", path.strip_prefix(root)?.display());
            if explained::why_not_compared(&name).is_some() {
                continue;
            }
            let entry = entry(&path, &name, &mut names)
                .with_context(|| format!("could not look at {name}"))?;
            if entry.kind == "directory" {
                left.push(path);
            }
            layer.insert(name, entry);
        }
    }
    Ok(layer)
}

fn entry(path: &Path, name: &str, names: &mut BTreeMap<u64, String>) -> Result<Entry> {
    let data = fs::symlink_metadata(path)?;
    let kind = data.file_type();
    let mut entry = Entry {
        kind: "other",
        mode: data.mode() & 0o7777,
        owner: (data.uid(), data.gid()),
        target: String::new(),
        content: Vec::new(),
        same_as: None,
        changed: None,
        attributes: attributes(path)?,
    };
    if kind.is_symlink() {
        entry.kind = "link";
        entry.target = fs::read_link(path)?.display().to_string();
    } else if kind.is_dir() {
        entry.kind = "directory";
    } else if kind.is_file() {
        entry.kind = "file";
        entry.content = fs::read(path)?;
        entry.changed = Some(data.mtime()).filter(|time| *time < LONG_AGO);
        if data.nlink() > 1 {
            let first = names.entry(data.ino()).or_insert_with(|| name.to_owned());
            entry.same_as = Some(first.clone());
        }
    } else if kind.is_char_device() && data.rdev() == 0 {
        // How an overlay says that what is below is not there.
        entry.kind = "gone";
    } else if kind.is_char_device() || kind.is_block_device() {
        entry.kind = "device";
        entry.target = format!("{} {}", kind.is_block_device(), data.rdev());
    } else if kind.is_fifo() {
        entry.kind = "pipe";
    }
    Ok(entry)
}

/// Extended attributes, without those that the overlay keeps for itself.
fn attributes(path: &Path) -> Result<BTreeMap<String, Vec<u8>>> {
    const BYTES_MAX: usize = 64 * 1024;
    let mut names = vec![0; BYTES_MAX];
    let length = rustix::fs::llistxattr(path, names.as_mut_slice())?;
    let mut found = BTreeMap::new();
    for name in names[..length].split(|byte| *byte == 0) {
        let name = String::from_utf8_lossy(name).into_owned();
        let is_own = name.starts_with("trusted.overlay.") && !name.ends_with(".opaque");
        if name.is_empty() || is_own {
            continue;
        }
        let mut value = vec![0; BYTES_MAX];
        let length = rustix::fs::lgetxattr(path, name.as_str(), value.as_mut_slice())?;
        value.truncate(length);
        found.insert(name, value);
    }
    Ok(found)
}
