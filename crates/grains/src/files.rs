//! Reading the files of the machine, or those of a fixture.

use std::fs;
use std::io::Read;
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
        self.programs(name).next()
    }

    /// The path of the system's Python. A script in its place, as pyenv has one,
    /// chooses a Python by the directory it is called in, and takes fifty
    /// milliseconds to do so: it is asked where there is nothing else.
    pub(crate) fn python(&self) -> Option<PathBuf> {
        let found: Vec<PathBuf> = self.programs("python3").collect();
        let is_script = |path: &PathBuf| {
            let mut begin = [0; 2];
            let read = fs::File::open(path).and_then(|mut file| file.read_exact(&mut begin));
            read.is_ok() && begin == *b"#!"
        };
        let program = found.iter().find(|path| !is_script(path));
        program.or_else(|| found.first()).cloned()
    }

    /// Every program of that name, in the order in which they are looked for.
    fn programs(&self, name: &str) -> impl Iterator<Item = PathBuf> {
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
            .collect::<Vec<_>>()
            .into_iter()
            .filter(|path| {
                path.metadata()
                    .is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_is_not_taken_for_python() {
        let dir = tempfile::tempdir().unwrap();
        let root = Root::new(dir.path());
        let put = |path: &str, text: &str| {
            let path = root.at(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
            path
        };
        assert_eq!(root.python(), None);
        let script = put("bin/python3", "#!/bin/bash\nexec pyenv\n");
        assert_eq!(root.python(), Some(script.clone()));
        assert_eq!(root.which("python3"), Some(script));
        let program = put("usr/bin/python3", "\x7fELF");
        assert_eq!(root.python(), Some(program));
    }
}
