//! Which unknown minions are accepted or rejected automatically.
//!
//! Invariant: a file that cannot be read, or that somebody else could have written,
//! accepts no key.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use halite_proto::MinionId;

use crate::limits::LIST_FILE_BYTES_MAX;
use crate::local_fs::FileVersion;
use crate::patterns::PatternList;

/// The directory of the stubs that approve one id once.
pub const STUB_DIR: &str = "minions_autosign";

/// How long a stub approves where the configuration does not say.
pub const STUB_LIFETIME_DEFAULT: Duration = Duration::from_secs(120 * 60);

/// The options that decide about unknown minions.
#[derive(Debug, Clone)]
pub struct AutosignOptions {
    /// Take in everybody.
    pub auto_accept: bool,
    /// A list of ids to take in.
    pub autosign_file: Option<PathBuf>,
    /// A list of ids to turn away.
    pub autoreject_file: Option<PathBuf>,
    /// A directory with a file per grain: the values to take in.
    pub autosign_grains_dir: Option<PathBuf>,
    /// How long a stub approves (`autosign_timeout`); `None` means for ever.
    pub stub_lifetime: Option<Duration>,
    /// Whether a file that its group may write is believed.
    pub permissive_pki_access: bool,
}

impl Default for AutosignOptions {
    fn default() -> Self {
        Self {
            auto_accept: false,
            autosign_file: None,
            autoreject_file: None,
            autosign_grains_dir: None,
            stub_lifetime: Some(STUB_LIFETIME_DEFAULT),
            permissive_pki_access: false,
        }
    }
}

/// Decides about unknown minions. Lists are read again when they change.
#[derive(Debug)]
pub struct Autosign {
    options: AutosignOptions,
    stubs: PathBuf,
    /// At most the two files that the options name.
    lists: Mutex<HashMap<PathBuf, (FileVersion, Arc<PatternList>)>>,
}

impl Autosign {
    /// Decides by these options for the master with this pki directory.
    pub fn new(pki_dir: &Path, options: AutosignOptions) -> Self {
        Self {
            options,
            stubs: pki_dir.join(STUB_DIR),
            lists: Mutex::default(),
        }
    }

    /// Whether an unknown or waiting minion is to be turned away.
    pub fn rejects(&self, id: &MinionId) -> bool {
        self.in_list(self.options.autoreject_file.as_deref(), id)
    }

    /// Whether an unknown or waiting minion is to be taken in. `grain` gives
    /// the text (Python's `str`) of a grain that the minion sent along. A stub
    /// that approves it is used up.
    pub fn accepts(
        &self,
        id: &MinionId,
        grain: impl Fn(&str) -> Option<String>,
        now: SystemTime,
    ) -> bool {
        self.options.auto_accept
            || self.in_list(self.options.autosign_file.as_deref(), id)
            || self.takes_stub(id, now)
            || self.has_grain(grain)
    }

    fn in_list(&self, path: Option<&Path>, id: &MinionId) -> bool {
        let Some(path) = path else {
            return false;
        };
        match self.list(path) {
            Ok(list) => list.is_some_and(|list| list.matches(id.as_str())),
            Err(error) => {
                warn_ignored(path, &error);
                false
            }
        }
    }

    fn list(&self, path: &Path) -> io::Result<Option<Arc<PatternList>>> {
        let Some(file) = self.open_trusted(path)? else {
            return Ok(None);
        };
        let identity = FileVersion::of(&file.metadata()?);
        let lists = || self.lists.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, list)) = lists().get(path)
            && *known == identity
        {
            return Ok(Some(Arc::clone(list)));
        }
        let list = Arc::new(PatternList::parse(&read_list(file)?));
        if list.skipped() > 0 {
            tracing::warn!(
                path = %path.display(),
                lines = list.skipped(),
                "too many regular expressions: the last lines only match literally"
            );
        }
        lists().insert(path.to_owned(), (identity, Arc::clone(&list)));
        Ok(Some(list))
    }

    fn takes_stub(&self, id: &MinionId, now: SystemTime) -> bool {
        self.remove_old_stubs(now);
        if id.as_str().starts_with('.') {
            return false;
        }
        let stub = self.stubs.join(id.as_str());
        match fs::remove_file(&stub) {
            Ok(()) => true,
            Err(error) if error.kind() == io::ErrorKind::NotFound => false,
            Err(error) => {
                // It would approve again and again.
                warn_ignored(&stub, &error);
                false
            }
        }
    }

    fn remove_old_stubs(&self, now: SystemTime) {
        let Some(lifetime) = self.options.stub_lifetime else {
            return;
        };
        let Ok(entries) = fs::read_dir(&self.stubs) else {
            return;
        };
        for entry in entries.flatten() {
            let is_old = entry
                .metadata()
                .and_then(|meta| meta.modified())
                .is_ok_and(|made| now.duration_since(made).is_ok_and(|age| age > lifetime));
            if is_old {
                let path = entry.path();
                match fs::remove_file(&path) {
                    Ok(()) => tracing::info!(path = %path.display(), "removed an old stub"),
                    Err(error) => warn_ignored(&path, &error),
                }
            }
        }
    }

    fn has_grain(&self, grain: impl Fn(&str) -> Option<String>) -> bool {
        let Some(dir) = &self.options.autosign_grains_dir else {
            return false;
        };
        let entries = match fs::read_dir(dir) {
            Ok(entries) => entries,
            Err(error) => {
                warn_ignored(dir, &error);
                return false;
            }
        };
        // A grain's name comes from the directory, never from the minion: it
        // would be a path of its choice.
        entries.flatten().any(|entry| {
            let name = entry.file_name();
            let Some(value) = name.to_str().and_then(&grain) else {
                return false;
            };
            self.has_line(&entry.path(), &value)
                .unwrap_or_else(|error| {
                    warn_ignored(&entry.path(), &error);
                    false
                })
        })
    }

    fn has_line(&self, path: &Path, value: &str) -> io::Result<bool> {
        let Some(file) = self.open_trusted(path)? else {
            return Ok(false);
        };
        Ok(read_list(file)?
            .lines()
            .map(str::trim)
            .any(|line| !line.is_empty() && !line.starts_with('#') && line == value))
    }

    /// Opens a file unless others could have written it.
    fn open_trusted(&self, path: &Path) -> io::Result<Option<File>> {
        const GROUP_WRITES: u32 = 0o020;
        const OTHERS_WRITE: u32 = 0o002;
        let file = match File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let meta = file.metadata()?;
        let mode = meta.mode();
        let by_others = mode & OTHERS_WRITE != 0;
        let by_group = mode & GROUP_WRITES != 0 && !self.options.permissive_pki_access;
        if !meta.is_file() {
            Ok(None)
        } else if by_others || by_group {
            tracing::warn!(
                path = %path.display(),
                "ignored the file: its permissions are not safe"
            );
            Ok(None)
        } else {
            Ok(Some(file))
        }
    }
}

fn warn_ignored(path: &Path, error: &io::Error) {
    tracing::warn!(path = %path.display(), %error, "ignored a file that could not be read");
}

fn read_list(file: File) -> io::Result<String> {
    let mut bytes = Vec::new();
    file.take(LIST_FILE_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LIST_FILE_BYTES_MAX {
        return Err(io::Error::from(io::ErrorKind::FileTooLarge));
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
