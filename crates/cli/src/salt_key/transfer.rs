//! `--export` and `--import`: a master's keys in one file with a passphrase, to set
//! up a second master of the same fleet.
//!
//! Invariant: an import adds and never replaces; a master with another key pair of
//! its own keeps it, and nothing is imported then.

mod key_set;

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use halite_crypto::Secret;
use halite_crypto::files::{FileError, MODE_SECRET, create_private, read_limited};
use halite_crypto::passphrase::{self, PassphraseError};
use halite_proto::msgpack::{pack_modern, unpack_modern};
use thiserror::Error;

use self::key_set::KeySet;
use super::{ActionError, Program};
use crate::login::prompt;
use crate::{Exit, Screen};

/// A file of keys larger than this is none: some hundred thousand minions.
const FILE_BYTES_MAX: u64 = 512 * 1024 * 1024;

/// A single key file, or a passphrase, larger than this is none.
const KEY_BYTES_MAX: u64 = 64 * 1024;

/// Why keys were not exported or imported.
#[derive(Debug, Error)]
pub(super) enum TransferError {
    /// There is nothing to export.
    #[error("there is no master key in {}; start the master once, or make one with --gen-keys=master", .0.display())]
    NoMasterKey(PathBuf),
    /// An export does not replace a file.
    #[error("{} exists already", .0.display())]
    Exists(PathBuf),
    /// A file cannot be read or written.
    #[error("could not use a file")]
    File(#[from] FileError),
    /// The passphrase does not fit.
    #[error("could not use {}", path.display())]
    Passphrase {
        path: PathBuf,
        #[source]
        source: PassphraseError,
    },
    /// Two different passphrases were typed.
    #[error("the passphrases differ")]
    PassphrasesDiffer,
    /// No passphrase can be had.
    #[error("could not read the passphrase")]
    NoPassphrase(#[source] io::Error),
    /// The content is not what an export makes.
    #[error("{} has no keys that can be read", .0.display())]
    Content(PathBuf),
    /// This master has its own pair.
    #[error(
        "this master has another key pair ({ours}) than the file ({theirs}); nothing was imported"
    )]
    OtherPair { ours: String, theirs: String },
}

impl Program<'_> {
    pub(super) fn export(&self, file: &Path, screen: &mut Screen<'_>) -> Result<Exit, ActionError> {
        if file.exists() {
            return Err(TransferError::Exists(file.to_owned()).into());
        }
        let set = KeySet::read(&self.settings.pki_dir, &self.settings.master_id)?;
        let count = set.minions.len();
        let packed = Secret::new(
            pack_modern(&set.into_value())
                .map_err(|_| TransferError::Content(self.settings.pki_dir.clone()))?,
        );
        let passphrase = self.passphrase(screen, true)?;
        let sealed = passphrase::seal(&passphrase, packed.expose())
            .map_err(|source| not_opened(file, source))?;
        create_private(file, MODE_SECRET, &sealed).map_err(TransferError::File)?;
        screen.line(&format!(
            "The master's key pair and the keys of {count} minions are in {}",
            file.display()
        ));
        Ok(Exit::Ok)
    }

    pub(super) fn import(&self, file: &Path, screen: &mut Screen<'_>) -> Result<Exit, ActionError> {
        let sealed = read_limited(file, FILE_BYTES_MAX).map_err(TransferError::File)?;
        let passphrase = self.passphrase(screen, false)?;
        let opened =
            passphrase::open(&passphrase, &sealed).map_err(|source| not_opened(file, source))?;
        let set = unpack_modern(opened.expose())
            .ok()
            .and_then(KeySet::from_value)
            .ok_or_else(|| TransferError::Content(file.to_owned()))?;
        let store = self.settings.open_keys()?;
        let done = set.write(&store, &self.settings.master_id)?;
        for line in &done.lines {
            screen.line(line);
        }
        screen.line(&format!(
            "{} keys of minions were imported, {} were here already",
            done.added, done.known
        ));
        for conflict in &done.conflicts {
            screen.error_line(&format!("Not imported: {conflict}"));
        }
        Ok(match done.conflicts.is_empty() {
            true => Exit::Ok,
            false => Exit::Failure,
        })
    }

    /// The passphrase, from its file or typed; twice where it is new.
    fn passphrase(
        &self,
        screen: &mut Screen<'_>,
        is_new: bool,
    ) -> Result<Secret<String>, TransferError> {
        if let Some(path) = &self.options.passphrase_file {
            let bytes = read_limited(path, KEY_BYTES_MAX)?;
            if is_open_to_others(path) {
                tracing::warn!("{} can be read by other users", path.display());
            }
            let text = String::from_utf8_lossy(&bytes);
            let line = text.lines().next().unwrap_or_default();
            return Ok(Secret::new(line.to_owned()));
        }
        let mut ask = |text: &str| {
            prompt(screen, text, false)
                .map(Secret::new)
                .map_err(TransferError::NoPassphrase)
        };
        let first = ask("Passphrase: ")?;
        if is_new && *ask("Passphrase again: ")?.expose() != *first.expose() {
            return Err(TransferError::PassphrasesDiffer);
        }
        Ok(first)
    }
}

/// Whether the mode of a file lets others read it.
fn is_open_to_others(path: &Path) -> bool {
    const OTHERS: u32 = 0o077;
    fs::metadata(path).is_ok_and(|found| found.permissions().mode() & OTHERS != 0)
}

fn not_opened(file: &Path, source: PassphraseError) -> TransferError {
    TransferError::Passphrase {
        path: file.to_owned(),
        source,
    }
}
