//! Finds the files of reactions: paths and globs on this machine, and files of the
//! file server.

use std::borrow::Cow;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use halite_fileserver::FileServer;
use halite_proto::SaltEnv;
use halite_target::glob::{fnmatch, is_glob};

use crate::error::chain;

/// Files that one name may mean; further ones are left out.
const FILES_MAX: usize = 100;

/// A file of reactions.
pub(super) struct ReactionFile {
    /// Where it is.
    pub(super) path: PathBuf,
    /// Its environment.
    pub(super) saltenv: String,
    /// Its content, if it comes from the file server.
    served: Option<Vec<u8>>,
}

impl ReactionFile {
    /// Its content.
    pub(super) fn content(&self) -> io::Result<Cow<'_, [u8]>> {
        match &self.served {
            Some(bytes) => Ok(Cow::Borrowed(bytes)),
            None => fs::read(&self.path).map(Cow::Owned),
        }
    }
}

/// The files that a name in the `reactor` option matches.
///
/// # Errors
/// When there is none.
pub(super) fn found(files: &FileServer, name: &str) -> Result<Vec<ReactionFile>, String> {
    if let Some(rest) = name.strip_prefix("salt://") {
        let (path, saltenv) = rest.split_once("?saltenv=").unwrap_or((rest, "base"));
        let env = SaltEnv::parse(saltenv).map_err(|error| error.to_string())?;
        let found = files.find(path, &env);
        let found = found.ok_or("the file server has no such file")?;
        let bytes = found.read_whole().map_err(|error| chain(&error))?;
        return Ok(vec![ReactionFile {
            path: found.path,
            saltenv: saltenv.to_owned(),
            served: Some(bytes),
        }]);
    }
    let path = Path::new(name);
    if !path.is_absolute() {
        return Err("the path is not absolute".to_owned());
    }
    let found = if is_glob(name) {
        matching(path)
    } else {
        vec![path.to_owned()]
    };
    let files: Vec<_> = found
        .into_iter()
        .filter(|path| path.is_file())
        .take(FILES_MAX)
        .map(|path| ReactionFile {
            path,
            saltenv: "base".to_owned(),
            served: None,
        })
        .collect();
    match files.is_empty() {
        true => Err("there is no such file".to_owned()),
        false => Ok(files),
    }
}

/// The paths that a glob matches, sorted; hidden files are not matched.
fn matching(glob: &Path) -> Vec<PathBuf> {
    let mut found = vec![PathBuf::from("/")];
    for part in glob.components() {
        let Component::Normal(part) = part else {
            continue;
        };
        let part = part.to_string_lossy();
        found = if is_glob(&part) {
            let below = found.iter().flat_map(|dir| names_in(dir, &part));
            below.collect()
        } else {
            // The name is the configuration's own.
            found.iter().map(|dir| dir.join(part.as_ref())).collect()
        };
    }
    found.sort_unstable();
    found
}

fn names_in(dir: &Path, glob: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    entries
        .filter(|entry| {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            fnmatch(glob, &name) && (!name.starts_with('.') || glob.starts_with('.'))
        })
        .map(|entry| entry.path())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_mean_files_on_any_level() {
        let dir = tempfile::tempdir().unwrap();
        for path in ["a/x.sls", "b/y.sls", "b/z.txt", "b/.h.sls"] {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        let names = |glob: &str| -> Vec<String> {
            let found = matching(&dir.path().join(glob)).into_iter();
            let short = |path: PathBuf| path.strip_prefix(dir.path()).unwrap().to_owned();
            found
                .map(|path| short(path).display().to_string())
                .collect()
        };
        assert_eq!(names("*/*.sls"), ["a/x.sls", "b/y.sls"]);
        assert_eq!(names("b/*"), ["b/y.sls", "b/z.txt"]);
        assert!(names("c/*").is_empty());
    }
}
