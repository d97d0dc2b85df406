//! Reading the files of the machine, or those of a fixture.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Longest file that is read whole, in bytes; of a longer one, the beginning.
const FILE_BYTES_MAX: u64 = 4 << 20;

/// The tree in which `/proc`, `/sys` and `/etc` are looked for.
#[derive(Debug)]
pub(crate) struct Root {
    path: PathBuf,
}

impl Root {
    pub(crate) fn new(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
        }
    }

    /// Whether this is the machine and not a fixture.
    pub(crate) fn is_real(&self) -> bool {
        self.path == Path::new("/")
    }

    /// Where the absolute `path` is in this tree.
    pub(crate) fn at(&self, path: &str) -> PathBuf {
        self.path.join(path.trim_start_matches('/'))
    }

    pub(crate) fn exists(&self, path: &str) -> bool {
        self.at(path).exists()
    }

    pub(crate) fn is_dir(&self, path: &str) -> bool {
        self.at(path).is_dir()
    }

    pub(crate) fn is_file(&self, path: &str) -> bool {
        self.at(path).is_file()
    }

    pub(crate) fn bytes(&self, path: &str) -> Option<Vec<u8>> {
        use std::io::Read;
        let file = fs::File::open(self.at(path)).ok()?;
        let mut bytes = Vec::new();
        file.take(FILE_BYTES_MAX).read_to_end(&mut bytes).ok()?;
        Some(bytes)
    }

    /// The text of a file; what is not UTF-8 is replaced.
    pub(crate) fn text(&self, path: &str) -> Option<String> {
        self.bytes(path)
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    }

    /// The text of a file with one value.
    pub(crate) fn value(&self, path: &str) -> Option<String> {
        self.text(path).map(|text| text.trim().to_owned())
    }

    /// The names in a directory, in the order the system gives them.
    pub(crate) fn names(&self, path: &str) -> Vec<String> {
        fs::read_dir(self.at(path))
            .into_iter()
            .flatten()
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .collect()
    }

    /// The path of a program.
    pub(crate) fn which(&self, name: &str) -> Option<PathBuf> {
        let search = if self.is_real() {
            std::env::var("PATH").unwrap_or_default()
        } else {
            String::new()
        };
        let system = ["/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/local/bin"];
        search
            .split(':')
            .filter(|dir| dir.starts_with('/'))
            .chain(system)
            .map(|dir| self.at(dir).join(name))
            .find(|path| {
                path.metadata()
                    .is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
            })
    }
}
