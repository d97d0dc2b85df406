//! A file from another master, received piece by piece.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use halite_call::paths::{self, HeldName};
use halite_call::replace::{Dress, place_at};
use halite_cluster::roots::{RootEnv, RootFile};
use halite_crypto::files::MODE_SECRET;
use halite_crypto::{HashType, Hasher};

use crate::limits::ROOT_FILE_BYTES_MAX;

/// What another master may set of a file's permissions: no group writes, nobody becomes
/// another user by it.
const MODE_MASK: u32 = 0o755;

/// A file of which the first pieces have arrived. It has no name in the file system, so
/// nothing remains when the master ends.
pub(super) struct Incoming {
    env: RootEnv,
    root: PathBuf,
    file: RootFile,
    mode: u32,
    staged: File,
    hasher: Hasher,
    written: u64,
}

impl Incoming {
    /// Waits for the first piece. `staged` is a name that is free, in a directory of this
    /// master alone.
    pub(super) fn begin(
        staged: &Path,
        (env, root): (RootEnv, PathBuf),
        file: RootFile,
        mode: u32,
    ) -> Result<Self, String> {
        if file.size > ROOT_FILE_BYTES_MAX {
            return Err(format!(
                "{}: more than {ROOT_FILE_BYTES_MAX} bytes",
                file.path
            ));
        }
        let staged = nameless(staged)
            .map_err(|error| format!("could not create a temporary file: {error}"))?;
        Ok(Self {
            env,
            root,
            file,
            mode: mode & MODE_MASK,
            staged,
            hasher: Hasher::new(HashType::Sha256),
            written: 0,
        })
    }

    /// Whether a piece of this file belongs behind those that are here.
    pub(super) fn is_at(&self, env: &RootEnv, file: &RootFile, offset: u64) -> bool {
        self.env == *env && self.file == *file && self.written == offset
    }

    /// Adds a piece. With the last one the file is moved to its place, and `None` is
    /// returned.
    pub(super) fn take(mut self, data: &[u8]) -> Result<Option<Self>, String> {
        let path = self.file.path.clone();
        let failed = |error: io::Error| format!("{path}: {error}");
        let written = self.written + data.len() as u64;
        if written > self.file.size || data.is_empty() && self.file.size > 0 {
            return Err(format!(
                "{path}: the pieces received do not add up to {} bytes",
                self.file.size
            ));
        }
        self.staged.write_all(data).map_err(failed)?;
        self.hasher.update(data);
        self.written = written;
        if written < self.file.size {
            return Ok(Some(self));
        }
        let mut staged = self.staged;
        if self.hasher.finish_hex() != self.file.sha256 {
            return Err(format!("{path}: the file changed while it was sent"));
        }
        put(&self.root, &self.file, self.mode, &mut staged).map_err(failed)?;
        Ok(None)
    }
}

/// A file that has no name any more.
fn nameless(path: &Path) -> io::Result<File> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true);
    let file = options.mode(MODE_SECRET).open(path)?;
    fs::remove_file(path)?;
    Ok(file)
}

/// Puts a file below a root in one step. No link is followed on the way down.
fn put(root: &Path, file: &RootFile, mode: u32, staged: &mut File) -> io::Result<()> {
    paths::create_dir_all(root)?;
    let path = root.join(file.path.as_path());
    let dirs: Vec<&Path> = path
        .ancestors()
        .skip(1)
        .take_while(|dir| *dir != root)
        .collect();
    for dir in dirs.into_iter().rev() {
        match HeldName::below(root, dir)?.make_directory(MODE_MASK) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
    }
    let place = HeldName::below(root, &path)?;
    match place.data() {
        Ok(data) if !data.is_file() => {
            return Err(io::Error::other("the existing entry is not a regular file"));
        }
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let dress = Dress {
        mode: Some(mode),
        ..Dress::default()
    };
    staged.seek(SeekFrom::Start(0))?;
    place_at(&place, dress, |to| {
        io::copy(staged, to)?;
        to.sync_all()
    })
    .map(drop)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use halite_cluster::roots::{RootPath, Which};
    use halite_crypto::hash_hex;
    use tempfile::TempDir;

    use super::*;

    fn begun(dir: &TempDir, path: &str, bytes: &[u8]) -> Result<Incoming, String> {
        let env = RootEnv {
            which: Which::Files,
            saltenv: "base".to_owned(),
        };
        let file = RootFile {
            path: RootPath::parse(path).unwrap(),
            size: bytes.len() as u64,
            sha256: hash_hex(HashType::Sha256, bytes),
        };
        let staged = dir.path().join("staged");
        Incoming::begin(&staged, (env, dir.path().join("srv")), file, 0o6777)
    }

    fn names(dir: &Path) -> Vec<String> {
        let entries = fs::read_dir(dir).unwrap();
        let name = |entry: fs::DirEntry| entry.file_name().into_string().unwrap();
        entries.map(|entry| name(entry.unwrap())).collect()
    }

    #[test]
    fn a_file_is_there_when_its_last_piece_is() {
        let dir = tempfile::tempdir().unwrap();
        let file = begun(&dir, "web/files/motd", b"hello").unwrap();
        let file = file.take(b"he").unwrap().unwrap();
        assert_eq!(names(dir.path()), [] as [&str; 0]);
        assert!(file.take(b"llo").unwrap().is_none());
        let path = dir.path().join("srv/web/files/motd");
        assert_eq!(fs::read(&path).unwrap(), b"hello");
        let mode = path.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o7777, 0o755);
        assert_eq!(names(path.parent().unwrap()), ["motd"]);
        let empty = begun(&dir, "empty", b"").unwrap();
        assert!(empty.take(b"").unwrap().is_none());
        assert_eq!(fs::read(dir.path().join("srv/empty")).unwrap(), b"");
    }

    #[test]
    fn what_is_not_the_file_is_not_put_there() {
        let dir = tempfile::tempdir().unwrap();
        let taken = begun(&dir, "a", b"hello").unwrap().take(b"hellO");
        assert!(taken.is_err_and(|why| why.contains("changed")));
        let taken = begun(&dir, "a", b"hello").unwrap().take(b"hello!");
        assert!(taken.is_err());
        assert!(begun(&dir, "a", b"hello").unwrap().take(b"").is_err());
        assert!(!dir.path().join("srv/a").exists());
    }

    #[test]
    fn no_link_leads_a_file_out_of_its_root() {
        let dir = tempfile::tempdir().unwrap();
        let (root, out) = (dir.path().join("srv"), dir.path().join("out"));
        fs::create_dir(&root).unwrap();
        fs::create_dir(&out).unwrap();
        fs::write(out.join("secret"), "s").unwrap();
        symlink(&out, root.join("web")).unwrap();
        symlink(out.join("secret"), root.join("motd")).unwrap();
        for path in ["web/a", "web/secret", "web/new/a", "motd"] {
            let taken = begun(&dir, path, b"x").unwrap().take(b"x");
            assert!(taken.is_err(), "{path}");
        }
        assert_eq!(names(&out), ["secret"]);
        assert_eq!(fs::read(out.join("secret")).unwrap(), b"s");
    }
}
