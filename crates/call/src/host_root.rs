//! Where the files and programs of a machine are.

use std::io;
use std::path::{Path, PathBuf};

use halite_proto::{Map, Value};
use nix::unistd::AccessFlags;

use crate::paths::{self, Handed};

/// Where programs are found beside the directories of `PATH`.
const MORE_DIRECTORIES: &[&str] = &["/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/local/bin"];

/// A machine: the real one, or a directory that stands for it.
#[derive(Debug, Clone, Default)]
pub struct Host {
    root: Option<PathBuf>,
    search: Option<String>,
}

impl Host {
    /// The machine of a minion with these options.
    pub fn new(opts: &Map) -> Self {
        let text = |name| opts.get(name).and_then(Value::as_str);
        Self {
            root: text("__host_root__").map(PathBuf::from),
            search: text("__host_path__").map(str::to_owned),
        }
    }

    /// The place of the absolute `path`.
    pub fn path(&self, path: impl AsRef<Path>) -> PathBuf {
        let path = path.as_ref();
        match &self.root {
            Some(root) => root.join(path.strip_prefix("/").unwrap_or(path)),
            None => path.to_owned(),
        }
    }

    /// What stands for `PATH` on a machine that is made up.
    pub(crate) fn search(&self) -> Option<&str> {
        self.search.as_deref()
    }

    /// Whether this is the machine itself, not a directory.
    pub fn is_real(&self) -> bool {
        self.root.is_none()
    }

    /// What is at a path, for a program ([`Handed::target`]). Programs that stand for
    /// those of a machine get the paths that they know.
    ///
    /// # Errors
    /// As there.
    pub fn hand_target(&self, path: &Path) -> io::Result<Handed> {
        match self.is_real() {
            true => Handed::target(path),
            false => Ok(Handed::unheld(path)),
        }
    }

    /// A name in a directory, for a program ([`Handed::name`]).
    ///
    /// # Errors
    /// As there.
    pub fn hand_name(&self, path: &Path) -> io::Result<Handed> {
        match self.is_real() {
            true => Handed::name(path),
            false => Ok(Handed::unheld(path)),
        }
    }

    /// The same without following a link that is there ([`Handed::link`]).
    ///
    /// # Errors
    /// As there.
    pub fn hand_link(&self, path: &Path) -> io::Result<Handed> {
        match self.is_real() {
            true => Handed::link(path),
            false => Ok(Handed::unheld(path)),
        }
    }

    /// The text of a file, empty if there is none, or what a user put there leads
    /// elsewhere.
    pub fn read(&self, path: impl AsRef<Path>) -> String {
        paths::read(self.path(path))
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
            .unwrap_or_default()
    }

    /// The program `name`, as it would be found.
    pub fn which(&self, name: &str) -> Option<PathBuf> {
        if name.contains('/') {
            let path = self.path(name);
            return is_executable(&path).then_some(path);
        }
        let search = match &self.search {
            Some(search) => search.clone(),
            None => std::env::var("PATH").unwrap_or_default(),
        };
        let more: &[&str] = match self.search {
            Some(_) => &[],
            None => MORE_DIRECTORIES,
        };
        directories(&search, more)
            .into_iter()
            .map(|dir| Path::new(dir).join(name))
            .find(|path| is_executable(path))
    }

    /// Whether there is a program `name`.
    pub fn has(&self, name: &str) -> bool {
        self.which(name).is_some()
    }
}

/// The directories of a search path and these, each once. What counts from the
/// current directory is none: anybody may have put a program there.
fn directories<'a>(search: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let listed = search.split(':').filter(|dir| dir.starts_with('/'));
    let mut all = Vec::new();
    for dir in listed.chain(more.iter().copied()) {
        if !all.contains(&dir) {
            all.push(dir);
        }
    }
    all
}

/// Whether `path` is a file that may be executed.
pub fn is_executable(path: &Path) -> bool {
    path.is_file() && nix::unistd::access(path, AccessFlags::X_OK).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Nobody waits for the other end of a pipe that a user has put there.
    #[test]
    fn a_named_pipe_has_no_text() {
        let dir = tempfile::tempdir().unwrap();
        let (pipe, file) = (dir.path().join("pipe"), dir.path().join("file"));
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
        std::fs::write(&file, "text").unwrap();
        let (said, heard) = std::sync::mpsc::channel();
        std::thread::spawn(move || said.send([pipe, file].map(|path| Host::default().read(path))));
        let texts = heard.recv_timeout(std::time::Duration::from_secs(20));
        assert_eq!(texts.unwrap(), ["", "text"]);
    }

    /// Who writes again what could not be read puts nothing in its place.
    #[test]
    fn what_cannot_be_read_is_not_empty() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        std::fs::write(at("latin"), b"\xe9\n").unwrap();
        std::fs::create_dir(at("directory")).unwrap();
        nix::unistd::mkfifo(&at("pipe"), nix::sys::stat::Mode::S_IRWXU).unwrap();
        for name in ["latin", "directory", "pipe"] {
            assert!(Host::default().read_to_change(at(name)).is_err(), "{name}");
        }
        let none = Host::default().read_to_change(at("none"));
        assert_eq!(none.unwrap(), "");
    }

    #[test]
    fn each_directory_is_searched_once_and_the_current_one_never() {
        let found = directories("/opt/x:/usr/bin::.:bin:/opt/x", &["/bin", "/usr/bin"]);
        assert_eq!(found, ["/opt/x", "/usr/bin", "/bin"]);
    }
}
