//! The keys of a master as one value, and back into a directory.
//!
//! Invariant: writing adds and never replaces.

use std::fs;
use std::io;
use std::path::Path;

use halite_crypto::files::{FileError, MODE_KEY, WriteOptions, read_limited, write_atomic};
use halite_crypto::{HashType, fingerprint_text};
use halite_key::{KeyState, KeyStore, KeyStoreError, master_id};
use halite_proto::{Map, MinionId, Value};

use super::{KEY_BYTES_MAX, TransferError};
use crate::salt_key::ActionError;

/// What older masters call their own pair.
const OLD_NAME: &str = "master";

/// The keys of a master. It has no `Debug`: there are private ones among them.
#[derive(Default)]
#[cfg_attr(test, derive(PartialEq))]
pub(super) struct KeySet {
    /// The master's private key, as its file has it.
    private: String,
    /// Its public key.
    public: String,
    /// Other files beside it, signing keys and signatures.
    others: Vec<(String, String)>,
    /// The keys of minions.
    pub(super) minions: Vec<(KeyState, MinionId, String)>,
}

/// What an import did.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Imported {
    pub(super) lines: Vec<String>,
    pub(super) added: usize,
    pub(super) known: usize,
    pub(super) conflicts: Vec<String>,
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
    pub(super) fn read(dir: &Path, id: &str) -> Result<Self, ActionError> {
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

    pub(super) fn into_value(self) -> Value {
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

    pub(super) fn from_value(value: Value) -> Option<Self> {
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

    pub(super) fn write(&self, store: &KeyStore, id: &str) -> Result<Imported, ActionError> {
        let dir = store.pki().path();
        let mut done = Imported::default();
        let finger = |text: &str| fingerprint_text(text.as_bytes(), HashType::Sha256);
        let options = |mode| WriteOptions::new(mode).owned_by(store.pki().owner());
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
        assert!(read == set());
        let again = KeySet::from_value(read.into_value()).unwrap();
        assert!(again == set());

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
