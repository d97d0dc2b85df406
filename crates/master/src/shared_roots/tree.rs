//! The files below this master's roots, for sending and comparing.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use halite_call::paths::HeldName;
use halite_cluster::roots::{LEFT_OUT, RootEnv, RootFile, RootPath, Which};
use halite_crypto::{HashType, Hasher};
use halite_proto::Value;

use crate::limits::{ROOT_DEPTH_MAX, ROOT_FILES_MAX};
use crate::settings::General;

/// The placeholder for the environment's name in a root.
const ANY_ENV: &str = "__env__";

/// Bytes that are read at once.
const READ_BYTES: usize = 64 * 1024;

/// A file of this master.
#[derive(Debug)]
pub(crate) struct OwnFile {
    pub(crate) path: RootPath,
    pub(crate) root: PathBuf,
}

/// The files of an environment.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    /// The files. If several roots have a path, that of the first.
    pub(crate) files: Vec<OwnFile>,
    /// Links, and what has a name that no path has.
    pub(crate) left_out: usize,
}

/// The environments of an option, with their roots.
pub(crate) fn envs(general: &General, which: Which) -> Vec<(RootEnv, Vec<PathBuf>)> {
    let envs = general.opts.get(which.option()).and_then(Value::as_map);
    let env = |(name, dirs): (&Value, &Value)| {
        let saltenv = name.as_str()?.to_owned();
        let dirs = dirs.as_list()?.iter().filter_map(Value::as_str);
        let dirs: Vec<PathBuf> = dirs.map(PathBuf::from).collect();
        Some((RootEnv { which, saltenv }, dirs))
    };
    envs.into_iter().flatten().filter_map(env).collect()
}

/// Where files of an environment from another master are written, or `None` if the
/// environment has no root of its own.
pub(crate) fn first_root(general: &General, env: &RootEnv) -> Option<PathBuf> {
    let mut envs = envs(general, env.which).into_iter();
    let (_, roots) = envs.find(|(known, _)| known == env)?;
    let first = roots.into_iter().next()?;
    (!stands_for_many(&first)).then_some(first)
}

/// Whether a root is one for each environment.
pub(crate) fn stands_for_many(root: &Path) -> bool {
    root.to_string_lossy().contains(ANY_ENV)
}

/// Lists the files of an environment.
///
/// # Errors
/// When a directory cannot be read, or there are more than can be given.
pub(crate) fn list(roots: &[PathBuf]) -> io::Result<Tree> {
    let mut tree = Tree::default();
    let mut known = std::collections::BTreeSet::new();
    for root in roots {
        let mut found = Vec::new();
        if root.is_dir() {
            walk(root, "", 0, &mut found, &mut tree.left_out)?;
        }
        for path in found {
            if known.insert(path.clone()) {
                let root = root.clone();
                tree.files.push(OwnFile { path, root });
            }
        }
        if tree.files.len() > ROOT_FILES_MAX {
            return Err(too_many());
        }
    }
    Ok(tree)
}

fn too_many() -> io::Error {
    io::Error::other(format!("more than {ROOT_FILES_MAX} files"))
}

fn walk(
    dir: &Path,
    rel: &str,
    depth: usize,
    found: &mut Vec<RootPath>,
    left_out: &mut usize,
) -> io::Result<()> {
    if depth > ROOT_DEPTH_MAX || found.len() > ROOT_FILES_MAX {
        return Err(too_many());
    }
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        let name = entry.file_name();
        let name = name.to_str().unwrap_or_default();
        let path = match rel {
            "" => name.to_owned(),
            rel => format!("{rel}/{name}"),
        };
        if kind.is_dir() {
            if name.is_empty() {
                *left_out += 1;
            } else if !LEFT_OUT.contains(&name) {
                walk(&entry.path(), &path, depth + 1, found, left_out)?;
            }
            continue;
        }
        match RootPath::parse(&path) {
            Ok(path) if kind.is_file() && !name.is_empty() => found.push(path),
            _ => *left_out += 1,
        }
    }
    Ok(())
}

impl OwnFile {
    /// Opens the file; also returns its mode. Links are not followed.
    ///
    /// # Errors
    /// When it is no file any more, or cannot be read.
    pub(crate) fn open(&self) -> io::Result<(File, u32)> {
        let file = open(&self.root, &self.path)?;
        let mode = file.metadata()?.permissions().mode();
        Ok((file, mode))
    }

    /// What other masters compare it by.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub(crate) fn described(&self) -> io::Result<RootFile> {
        let (mut file, _) = self.open()?;
        let (size, sha256) = summed(&mut file)?;
        Ok(RootFile {
            path: self.path.clone(),
            size,
            sha256,
        })
    }
}

fn open(root: &Path, path: &RootPath) -> io::Result<File> {
    let place = HeldName::below(root, &root.join(path.as_path()))?;
    if !place.data()?.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    place.open_to_read()
}

/// How many bytes a file has, and their hash.
fn summed(file: &mut File) -> io::Result<(u64, String)> {
    let mut hasher = Hasher::new(HashType::Sha256);
    let mut buffer = vec![0; READ_BYTES];
    let mut size = 0;
    loop {
        let read = file.read(&mut buffer)?;
        if read == 0 {
            return Ok((size, hasher.finish_hex()));
        }
        size += read as u64;
        hasher.update(&buffer[..read]);
    }
}

/// Whether a file is there, and has these contents.
pub(crate) fn is_same(root: &Path, file: &RootFile) -> bool {
    let same = || {
        let mut own = open(root, &file.path)?;
        if own.metadata()?.len() != file.size {
            return Ok(false);
        }
        let (size, sha256) = summed(&mut own)?;
        Ok::<_, io::Error>(size == file.size && sha256 == file.sha256)
    };
    // What cannot be read is said when the file comes.
    same().unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn paths(tree: &Tree) -> Vec<&str> {
        let mut paths: Vec<_> = tree.files.iter().map(|file| file.path.as_str()).collect();
        paths.sort_unstable();
        paths
    }

    #[test]
    fn the_first_root_wins_and_links_stay() {
        let dir = tempfile::tempdir().unwrap();
        let (a, b) = (dir.path().join("a"), dir.path().join("b"));
        for (root, text) in [(&a, "first"), (&b, "second")] {
            fs::create_dir_all(root.join("web/.git")).unwrap();
            fs::write(root.join("web/init.sls"), text).unwrap();
            fs::write(root.join("web/.git/config"), "").unwrap();
        }
        fs::write(b.join("top.sls"), "").unwrap();
        symlink("/etc/passwd", a.join("passwd")).unwrap();
        let tree = list(&[a.clone(), b, dir.path().join("absent")]).unwrap();
        assert_eq!(paths(&tree), ["top.sls", "web/init.sls"]);
        assert_eq!(tree.left_out, 1);
        let web = tree
            .files
            .iter()
            .find(|file| file.path.as_str() == "web/init.sls");
        assert_eq!(web.unwrap().root, a);
        assert_eq!(web.unwrap().described().unwrap().size, 5);
    }

    #[test]
    fn a_file_is_the_same_by_its_contents_alone() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        fs::write(root.join("a"), "text").unwrap();
        symlink("a", root.join("link")).unwrap();
        let own = OwnFile {
            path: RootPath::parse("a").unwrap(),
            root: root.to_owned(),
        };
        let file = own.described().unwrap();
        assert!(is_same(root, &file));
        let at = |path: &str| RootFile {
            path: RootPath::parse(path).unwrap(),
            ..file.clone()
        };
        assert!(!is_same(root, &at("link")) && !is_same(root, &at("absent")));
        fs::write(root.join("a"), "texT").unwrap();
        assert!(!is_same(root, &file));
    }
}
