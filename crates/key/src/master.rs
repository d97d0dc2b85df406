//! The master's own key pair, in the layouts of 3006 and of 3008.
//!
//! 3006 keeps it as `master.pem` and `master.pub`. 3008 keeps it as
//! `<master id>.pem` and `.pub` and leaves absolute symbolic links under the
//! old names. Both are read, the second is written.

use std::fs;
use std::os::unix::fs::{lchown, symlink};
use std::path::{Path, PathBuf};

use halite_crypto::files::{
    FileError, MODE_KEY, WriteOptions, read_limited, temp_beside, write_atomic,
};
use halite_crypto::{HashType, KeyError, PrivateKey, Secret, SigAlgo, clean_key, fingerprint_path};
use halite_proto::key_changes::KeyChange;

use crate::error::KeyStoreError;
use crate::generate::{close_private, key_path, read_private, write_pair};
use crate::key_file::{Links, read_key_text};
use crate::limits::KEY_FILE_BYTES_MAX;
use crate::pki_dir::PkiDir;
use crate::renew::{behind_links, read_changes};
use crate::signing::{MasterSigning, Signer};

/// Name of the pair in the layout of 3006 and 3007.
const OLD_NAME: &str = "master";

/// The options about the master's keys.
pub struct MasterKeyOptions<'a> {
    /// The option `id`, with the `_master` that a default id ends in.
    pub id: &'a str,
    /// The passphrase (`key_pass`).
    pub passphrase: Option<&'a Secret<String>>,
    /// Bits of a new key (`keysize`).
    pub bits: u32,
    /// How the public key is signed for minions (`master_sign_pubkey`).
    pub signing: MasterSigning<'a>,
}

/// The master's keys, loaded.
#[derive(Debug, Clone)]
pub struct MasterKeys {
    private: PrivateKey,
    public_pem: String,
    signer: Option<Signer>,
    changes: Vec<KeyChange>,
}

impl MasterKeys {
    /// Loads the master's keys, making those that are missing, and brings
    /// their files into the layout of 3008 where that is possible.
    ///
    /// # Errors
    /// When a key cannot be read or made; a passphrase that does not fit is
    /// never a reason to make a new key.
    pub fn load_or_generate(
        pki: &PkiDir,
        options: &MasterKeyOptions<'_>,
    ) -> Result<Self, KeyStoreError> {
        let files = PairFiles::new(pki, options.id)?;
        let private = files.load_or_generate(options)?;
        let public_pem = files.publish(&private)?;
        let signer = Signer::load(pki, options.id, options.bits, &options.signing)?;
        let changes = read_changes(pki.path(), &public_pem)?;
        Ok(Self {
            private,
            public_pem,
            signer,
            changes,
        })
    }

    /// The keys that the masters of a cluster show to minions, with what this
    /// master signs them with.
    pub(crate) fn of_cluster(
        private: PrivateKey,
        public_pem: String,
        own: &PkiDir,
        options: &MasterKeyOptions<'_>,
    ) -> Result<Self, KeyStoreError> {
        Ok(Self {
            signer: Signer::load(own, options.id, options.bits, &options.signing)?,
            private,
            public_pem,
            changes: Vec::new(),
        })
    }

    /// The private key.
    pub fn private(&self) -> &PrivateKey {
        &self.private
    }

    /// The public key as it is sent.
    pub fn public_pem(&self) -> &str {
        &self.public_pem
    }

    /// The keys before this one, each with its signature over the next.
    pub fn changes(&self) -> &[KeyChange] {
        &self.changes
    }

    /// The signature over the public key that sign-in replies carry, if they
    /// do (`pub_sig`).
    ///
    /// # Errors
    /// When the signing key cannot sign.
    pub fn pub_sig(&self, algorithm: SigAlgo) -> Result<Option<String>, KeyError> {
        match &self.signer {
            None => Ok(None),
            Some(signer) => signer.pub_sig(algorithm, &self.public_pem).map(Some),
        }
    }
}

/// The master id of an option `id`: without the `_master` of a default one.
pub fn master_id(id: &str) -> &str {
    match id.strip_suffix("_master") {
        Some("") | None => id,
        Some(name) => name,
    }
}

/// The two files of a pair.
#[derive(PartialEq, Eq)]
struct Pair {
    private: PathBuf,
    public: PathBuf,
}

impl Pair {
    fn named(dir: &Path, name: &str) -> Result<Self, KeyStoreError> {
        Ok(Self {
            private: key_path(dir, name, "pem")?,
            public: key_path(dir, name, "pub")?,
        })
    }
}

/// The locations of the pair under either name.
struct PairFiles<'a> {
    pki: &'a PkiDir,
    new: Pair,
    old: Pair,
}

impl<'a> PairFiles<'a> {
    fn new(pki: &'a PkiDir, id: &str) -> Result<Self, KeyStoreError> {
        Ok(Self {
            pki,
            new: Pair::named(pki.path(), master_id(id))?,
            old: Pair::named(pki.path(), OLD_NAME)?,
        })
    }

    fn load_or_generate(
        &self,
        options: &MasterKeyOptions<'_>,
    ) -> Result<PrivateKey, KeyStoreError> {
        if self.new.private.exists() {
            close_private(&self.new.private)?;
            let private = read_private(&self.new.private, options.passphrase)?;
            self.refuse_another(&private, options.passphrase)?;
            return Ok(private);
        }
        if self.old.private.exists() {
            close_private(&self.old.private)?;
            let private = read_private(&self.old.private, options.passphrase)?;
            // A link of the admin's own making stays what it is.
            if !is_link(&self.old.private)
                && let Err(error) = self.adopt()
            {
                tracing::warn!(
                    %error,
                    "could not move the master key, it stays in {}",
                    self.old.private.display()
                );
            }
            return Ok(private);
        }
        for path in [&self.new.private, &self.old.private] {
            if is_link(path) {
                return Err(KeyStoreError::DanglingLink { path: path.clone() });
            }
        }
        self.generate(options)
    }

    fn generate(&self, options: &MasterKeyOptions<'_>) -> Result<PrivateKey, KeyStoreError> {
        let Pair { private, public } = &self.new;
        tracing::info!(path = %private.display(), "generating the master key");
        let key = PrivateKey::generate(options.bits).map_err(|source| KeyStoreError::Generate {
            path: private.clone(),
            source,
        })?;
        let owner = self.pki.owner();
        write_pair(&key, private, public, owner, options.passphrase)?;
        self.link_old_names()?;
        Ok(key)
    }

    /// Makes sure that the public file is there and is this key's, and gives
    /// its text.
    fn publish(&self, private: &PrivateKey) -> Result<String, KeyStoreError> {
        let pair = if self.new.private.exists() {
            &self.new
        } else {
            &self.old
        };
        let text = private
            .public()
            .and_then(|key| key.to_pem())
            .map_err(|source| KeyStoreError::Generate {
                path: pair.private.clone(),
                source,
            })?;
        let clean = clean_key(&text);
        match read_key_text(&pair.public, Links::Followed)? {
            Some(found) if clean_key(&found) == clean => return Ok(clean),
            Some(_) => tracing::warn!(
                "{} is not the public key of {}, and is written again",
                pair.public.display(),
                pair.private.display()
            ),
            None => {}
        }
        let options = WriteOptions::new(MODE_KEY).owned_by(self.pki.owner());
        write_atomic(&pair.public, options, text.as_bytes())?;
        Ok(clean)
    }

    /// Brings `master.pem` and `master.pub` under the new name. The private
    /// key comes last: where it is, the new name counts.
    fn adopt(&self) -> Result<(), KeyStoreError> {
        let options = WriteOptions::new(MODE_KEY).owned_by(self.pki.owner());
        for (old, new) in [
            (&self.old.public, &self.new.public),
            (&self.old.private, &self.new.private),
        ] {
            if old.exists() && !new.exists() {
                let bytes = Secret::new(read_limited(old, KEY_FILE_BYTES_MAX)?);
                write_atomic(new, options, bytes.expose())?;
            }
        }
        self.link_old_names()
    }

    /// Puts links under the old names.
    fn link_old_names(&self) -> Result<(), KeyStoreError> {
        if self.new == self.old {
            return Ok(());
        }
        replace_by_link(&self.old.public, &self.new.public, self.pki.owner())?;
        replace_by_link(&self.old.private, &self.new.private, self.pki.owner())
    }

    /// A plain `master.pem` beside the key of the master's own name: whoever
    /// put it there may mean either, and minions trust only one of them.
    fn refuse_another(
        &self,
        used: &PrivateKey,
        passphrase: Option<&Secret<String>>,
    ) -> Result<(), KeyStoreError> {
        let (old, new) = (&self.old.private, &self.new.private);
        if new == old || is_link(old) || !old.exists() {
            return Ok(());
        }
        let finger = |key: &PrivateKey| {
            let pem = key.public().and_then(|key| key.clean_pem());
            pem.map(|pem| fingerprint_path(pem.as_bytes(), HashType::Sha256))
        };
        let other = read_private(old, passphrase)?;
        match (finger(&other), finger(used)) {
            (Ok(first), Ok(second)) if first == second => Ok(()),
            (first, second) => Err(KeyStoreError::TwoKeys {
                first: old.clone(),
                first_finger: first.unwrap_or_default(),
                second: new.clone(),
                second_finger: second.unwrap_or_default(),
            }),
        }
    }
}

/// The files of the pair that the master of this name uses, behind links.
pub(crate) fn pair_in_use(pki: &PkiDir, id: &str) -> Result<(PathBuf, PathBuf), KeyStoreError> {
    let files = PairFiles::new(pki, id)?;
    let pairs = [files.new, files.old];
    let missing = pairs.first().map(|pair| pair.private.clone());
    let pair = pairs.into_iter().find(|pair| pair.private.exists());
    let pair = pair.ok_or_else(|| KeyStoreError::NoKey {
        path: missing.unwrap_or_default(),
    })?;
    Ok((behind_links(pair.private), behind_links(pair.public)))
}

/// Puts an absolute symbolic link to `target` in place of `path`.
fn replace_by_link(path: &Path, target: &Path, owner: Option<u32>) -> Result<(), KeyStoreError> {
    let temp = temp_beside(path);
    std::path::absolute(target)
        .and_then(|target| symlink(target, &temp))
        .and_then(|()| match owner {
            Some(_) => lchown(&temp, owner, None),
            None => Ok(()),
        })
        .and_then(|()| fs::rename(&temp, path))
        .map_err(|source| {
            let _ = fs::remove_file(&temp);
            FileError::Write {
                path: path.to_owned(),
                source,
            }
        })?;
    Ok(())
}

fn is_link(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|meta| meta.is_symlink())
}
