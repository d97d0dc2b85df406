//! `--export` and `--import`: a master's keys in one file behind a passphrase,
//! to bring up a second master of the same fleet.
//!
//! Invariant: an import adds and never replaces; a master that has another key
//! pair of its own keeps it, and nothing is imported then.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use halite_crypto::files::{
    FileError, MODE_KEY, MODE_SECRET, WriteOptions, create_private, read_limited, write_atomic,
};
use halite_crypto::passphrase::{self, PassphraseError};
use halite_crypto::{HashType, Secret, fingerprint_text};
use halite_key::{KeyState, KeyStore, KeyStoreError, master_id};
use halite_proto::msgpack::{pack_modern, unpack_modern};
use halite_proto::{Map, MinionId, Value};
use thiserror::Error;

use super::{ActionError, Program};
use crate::login::prompt;
use crate::{Exit, Screen};

/// A file of keys larger than this is none: some hundred thousand minions.
const FILE_BYTES_MAX: u64 = 512 * 1024 * 1024;

/// A single key file, or a passphrase, larger than this is none.
const KEY_BYTES_MAX: u64 = 64 * 1024;

const OLD_NAME: &str = "master";

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

/// The keys of a master.
#[derive(Debug, Default, PartialEq)]
struct KeySet {
    /// The master's private key, as its file has it.
    private: String,
    /// Its public key.
    public: String,
    /// Other files beside it, signing keys and signatures.
    others: Vec<(String, String)>,
    /// The keys of minions.
    minions: Vec<(KeyState, MinionId, String)>,
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
        let store = KeyStore::open(&self.settings.pki_dir, self.settings.owner)?;
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

/// What an import did.
#[derive(Debug, Default, PartialEq)]
struct Imported {
    lines: Vec<String>,
    added: usize,
    known: usize,
    conflicts: Vec<String>,
}

/// The text of a key file, links followed; nothing where there is none.
fn text_of(path: &Path) -> Result<Option<String>, FileError> {
    match read_limited(path, KEY_BYTES_MAX) {
        Ok(bytes) => Ok(String::from_utf8(bytes).ok()),
        Err(error) if error.kind() == Some(io::ErrorKind::NotFound) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The pair under the master's own name, else under the old one.
fn pair_of(dir: &Path, id: &str) -> Result<Option<(String, String)>, FileError> {
    for name in [master_id(id), OLD_NAME] {
        let private = text_of(&dir.join(format!("{name}.pem")))?;
        let public = text_of(&dir.join(format!("{name}.pub")))?;
        if let (Some(private), Some(public)) = (private, public) {
            return Ok(Some((private, public)));
        }
    }
    Ok(None)
}

impl KeySet {
    fn read(dir: &Path, id: &str) -> Result<Self, ActionError> {
        let pair = pair_of(dir, id).map_err(TransferError::File)?;
        let (private, public) = pair.ok_or_else(|| TransferError::NoMasterKey(dir.to_owned()))?;
        let mut set = Self {
            private,
            public,
            ..Self::default()
        };
        let own = [master_id(id), OLD_NAME];
        let entries = fs::read_dir(dir).map_err(|source| ActionError::Io {
            path: dir.to_owned(),
            source,
        })?;
        for entry in entries.flatten() {
            let Ok(name) = entry.file_name().into_string() else {
                continue;
            };
            let stem = name
                .rsplit_once('.')
                .map_or(name.as_str(), |(stem, _)| stem);
            let is_key = name.ends_with(".pem") || name.ends_with(".pub");
            let is_signature = name.ends_with("_pubkey_signature");
            let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
            if is_file
                && ((is_key && !own.contains(&stem)) || is_signature)
                && let Some(text) = text_of(&entry.path()).map_err(TransferError::File)?
            {
                set.others.push((name, text));
            }
        }
        set.others.sort();
        let store = KeyStore::open_existing(dir)?;
        for (state, id) in store.list_all()?.entries() {
            if let Some(pem) = store.get(state, id)? {
                set.minions.push((state, id.clone(), pem));
            }
        }
        Ok(set)
    }

    fn into_value(self) -> Value {
        let others: Map = self
            .others
            .into_iter()
            .map(|(name, text)| (Value::from(name), Value::from(text)))
            .collect();
        let mut minions = Map::new();
        for (state, id, pem) in self.minions {
            let of_state = minions.get_or_insert_with(state.dir_name(), || Value::Map(Map::new()));
            if let Some(of_state) = of_state.as_map_mut() {
                of_state.insert(&id, pem);
            }
        }
        Map::from([
            ("private", Value::from(self.private)),
            ("public", self.public.into()),
            ("others", others.into()),
            ("minions", minions.into()),
        ])
        .into()
    }

    fn from_value(value: Value) -> Option<Self> {
        let text = |name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
        let mut set = Self {
            private: text("private")?,
            public: text("public")?,
            ..Self::default()
        };
        for (name, text) in value.get("others")?.as_map()? {
            set.others
                .push((name.as_str()?.to_owned(), text.as_str()?.to_owned()));
        }
        for (state, keys) in value.get("minions")?.as_map()? {
            let state = KeyState::from_dir_name(state.as_str()?)?;
            for (id, pem) in keys.as_map()? {
                let id = MinionId::parse(id.as_str()?).ok()?;
                set.minions.push((state, id, pem.as_str()?.to_owned()));
            }
        }
        Some(set)
    }

    fn write(&self, store: &KeyStore, id: &str) -> Result<Imported, ActionError> {
        let dir = store.dir();
        let mut done = Imported::default();
        let finger = |text: &str| fingerprint_text(text.as_bytes(), HashType::Sha256);
        let options = |mode| WriteOptions::new(mode).owned_by(store.owner());
        match pair_of(dir, id).map_err(TransferError::File)? {
            Some((_, public)) if finger(&public) != finger(&self.public) => {
                return Err(TransferError::OtherPair {
                    ours: finger(&public),
                    theirs: finger(&self.public),
                }
                .into());
            }
            Some(_) => done
                .lines
                .push("The master's key pair is here already".to_owned()),
            None => {
                let put = |name: &str, mode, text: &str| {
                    write_atomic(&dir.join(name), options(mode), text.as_bytes())
                };
                put("master.pub", MODE_PUBLIC, &self.public).map_err(TransferError::File)?;
                put("master.pem", MODE_KEY, &self.private).map_err(TransferError::File)?;
                done.lines.push(format!(
                    "The master's key pair was imported: {}",
                    finger(&self.public)
                ));
            }
        }
        for (name, text) in &self.others {
            self.write_other(dir, name, text, &options, &mut done)?;
        }
        self.write_minions(store, &mut done)?;
        Ok(done)
    }

    fn write_other(
        &self,
        dir: &Path,
        name: &str,
        text: &str,
        options: &dyn Fn(u32) -> WriteOptions,
        done: &mut Imported,
    ) -> Result<(), TransferError> {
        if name.contains(['/', '\0']) || name.starts_with('.') {
            done.conflicts
                .push(format!("{name:?}: not the name of a key file"));
            return Ok(());
        }
        let path = dir.join(name);
        match text_of(&path)? {
            Some(known) if known == text => {}
            Some(_) => done.conflicts.push(format!("{name}: another one is here")),
            None => {
                let mode = if name.ends_with(".pem") {
                    MODE_KEY
                } else {
                    MODE_PUBLIC
                };
                write_atomic(&path, options(mode), text.as_bytes())?;
                done.lines.push(format!("{name} was imported"));
            }
        }
        Ok(())
    }

    fn write_minions(&self, store: &KeyStore, done: &mut Imported) -> Result<(), KeyStoreError> {
        for (state, id, pem) in &self.minions {
            match store.lookup(id)? {
                Some(known) if !known.is_same_key(pem) => {
                    done.conflicts
                        .push(format!("{id}: another key is {} here", known.state));
                }
                Some(known) if known.state != *state => {
                    done.conflicts.push(format!(
                        "{id}: its key is {} here and {state} in the file",
                        known.state
                    ));
                }
                Some(_) => done.known += 1,
                None => {
                    store.put(id, *state, pem)?;
                    done.added += 1;
                }
            }
        }
        Ok(())
    }
}

/// Everybody may read public keys.
const MODE_PUBLIC: u32 = 0o644;

#[cfg(test)]
mod tests {
    use super::*;

    const PEM: &str = "-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----";

    fn pki(pair: Option<(&str, &str)>) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        KeyStore::open(dir.path(), None).unwrap();
        if let Some((private, public)) = pair {
            fs::write(dir.path().join("m1.pem"), private).unwrap();
            fs::write(dir.path().join("m1.pub"), public).unwrap();
        }
        dir
    }

    fn set() -> KeySet {
        let id = MinionId::parse("web1").unwrap();
        KeySet {
            private: "private".to_owned(),
            public: "public".to_owned(),
            others: vec![("master_sign.pem".to_owned(), "sign".to_owned())],
            minions: vec![(KeyState::Accepted, id, PEM.to_owned())],
        }
    }

    #[test]
    fn what_is_exported_is_what_is_imported() {
        let from = pki(Some(("private", "public")));
        fs::write(from.path().join("master_sign.pem"), "sign").unwrap();
        let store = KeyStore::open(from.path(), None).unwrap();
        let id = MinionId::parse("web1").unwrap();
        store.put(&id, KeyState::Accepted, PEM).unwrap();
        let read = KeySet::read(from.path(), "m1").unwrap();
        assert_eq!(read, set());
        let again = KeySet::from_value(read.into_value()).unwrap();
        assert_eq!(again, set());

        let to = pki(None);
        let store = KeyStore::open(to.path(), None).unwrap();
        let done = again.write(&store, "m2").unwrap();
        assert_eq!((done.added, done.conflicts.len()), (1, 0));
        let read = |name: &str| fs::read_to_string(to.path().join(name)).unwrap();
        assert_eq!(read("master.pem"), "private");
        assert_eq!(read("master_sign.pem"), "sign");
        // Once more: nothing is new, nothing is in the way.
        let done = again.write(&store, "m2").unwrap();
        assert_eq!((done.added, done.known, done.conflicts.len()), (0, 1, 0));
    }

    #[test]
    fn a_master_keeps_its_own_pair() {
        let to = pki(Some(("other", "other public")));
        let store = KeyStore::open(to.path(), None).unwrap();
        let error = set().write(&store, "m1").unwrap_err();
        assert!(
            error.to_string().contains("nothing was imported"),
            "{error}"
        );
        assert!(store.list_all().unwrap().is_empty());
    }

    #[test]
    fn a_key_that_is_decided_otherwise_is_not_touched() {
        let to = pki(None);
        let store = KeyStore::open(to.path(), None).unwrap();
        let id = MinionId::parse("web1").unwrap();
        store.put(&id, KeyState::Rejected, PEM).unwrap();
        let done = set().write(&store, "m1").unwrap();
        assert_eq!(
            done.conflicts,
            ["web1: its key is rejected here and accepted in the file"]
        );
        let odd = KeySet {
            others: vec![("../x.pem".to_owned(), "x".to_owned())],
            ..set()
        };
        let done = odd.write(&store, "m1").unwrap();
        assert_eq!(done.conflicts.len(), 2);
    }
}
