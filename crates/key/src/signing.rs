//! The key pair that signs the master's public key, and its signature file.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use halite_crypto::files::{MODE_KEY, WriteOptions, write_atomic};
use halite_crypto::master_sign::sign_master_key;
use halite_crypto::{KeyError, PrivateKey, Secret, SigAlgo, clean_key};

use crate::error::KeyStoreError;
use crate::generate::{close_private, gen_keys, key_path, read_private};
use crate::key_file::{Links, read_key_text};
use crate::master::master_id;
use crate::pki_dir::PkiDir;

/// Default name of the signing pair (`master_sign_key_name`).
pub const SIGN_KEY_NAME: &str = "master_sign";

/// Default name of the signature file in 3006 and 3007.
const OLD_SIGNATURE_NAME: &str = "master_pubkey_signature";

/// How the master's public key is signed for minions.
pub enum MasterSigning<'a> {
    /// It is not (`master_sign_pubkey: False`).
    None,
    /// With a second key pair, which is made if it is missing.
    Key {
        /// Its name (`master_sign_key_name`).
        name: &'a str,
        /// Its passphrase (`signing_key_pass`).
        passphrase: Option<&'a Secret<String>>,
    },
    /// With a signature made beforehand (`master_use_pubkey_signature`).
    Stored {
        /// Its file's name (`master_pubkey_signature`), if one is configured.
        file_name: Option<&'a str>,
    },
}

/// What gives the signature of a sign-in reply.
#[derive(Debug, Clone)]
pub(crate) enum Signer {
    Key(Arc<CachedSigner>),
    Stored(String),
}

/// A signing key and what it has signed: there is one master key and there
/// are two algorithms, so two signatures are all that is ever needed.
#[derive(Debug)]
pub(crate) struct CachedSigner {
    key: PrivateKey,
    sha1: OnceLock<String>,
    sha224: OnceLock<String>,
}

impl Signer {
    pub(crate) fn load(
        pki: &PkiDir,
        id: &str,
        bits: u32,
        signing: &MasterSigning<'_>,
    ) -> Result<Option<Self>, KeyStoreError> {
        match signing {
            MasterSigning::None => Ok(None),
            MasterSigning::Key { name, passphrase } => {
                let path = key_path(pki.path(), name, "pem")?;
                let key = if path.exists() {
                    close_private(&path)?;
                    read_private(&path, *passphrase)?
                } else {
                    tracing::info!(path = %path.display(), "generating the signing key");
                    gen_keys(pki.path(), name, bits, pki.owner(), *passphrase)?.private
                };
                Ok(Some(Self::Key(Arc::new(CachedSigner {
                    key,
                    sha1: OnceLock::new(),
                    sha224: OnceLock::new(),
                }))))
            }
            MasterSigning::Stored { file_name } => {
                stored_signature(pki.path(), id, *file_name).map(|text| Some(Self::Stored(text)))
            }
        }
    }

    pub(crate) fn pub_sig(&self, algorithm: SigAlgo, public_pem: &str) -> Result<String, KeyError> {
        match self {
            Self::Stored(text) => Ok(text.clone()),
            Self::Key(signer) => {
                let made = match algorithm {
                    SigAlgo::Pkcs1v15Sha1 => &signer.sha1,
                    SigAlgo::Pkcs1v15Sha224 => &signer.sha224,
                };
                if let Some(text) = made.get() {
                    return Ok(text.clone());
                }
                let text = sign_master_key(&signer.key, algorithm, public_pem)?;
                Ok(made.get_or_init(|| text).clone())
            }
        }
    }
}

/// The signature file's name where none is configured: that of 3008.
pub fn signature_file_name(id: &str) -> String {
    format!("{id}_pubkey_signature")
}

fn stored_signature(
    dir: &Path,
    id: &str,
    file_name: Option<&str>,
) -> Result<String, KeyStoreError> {
    let default = signature_file_name(id);
    let first = dir.join(file_name.unwrap_or(&default));
    let second = match file_name {
        Some(_) => None,
        None => Some(dir.join(OLD_SIGNATURE_NAME)),
    };
    for path in [Some(&first), second.as_ref()].into_iter().flatten() {
        if let Some(text) = read_key_text(path, Links::Followed)? {
            return Ok(clean_key(&text));
        }
    }
    Err(KeyStoreError::NoSignature { path: first })
}

/// What `salt-key --gen-signature` is asked for.
pub struct SignatureRequest<'a> {
    /// The signing key (`--priv`); `None` is the pair of this name in the pki directory.
    pub private_path: Option<&'a Path>,
    /// The name of the signing pair (`master_sign_key_name`).
    pub key_name: &'a str,
    /// The key to sign (`--pub`); `None` is the master's.
    pub public_path: Option<&'a Path>,
    /// The file to write; `None` is the default in the pki directory.
    pub signature_path: Option<&'a Path>,
    /// The option `id`, for the default names.
    pub id: &'a str,
    /// Whether a missing signing pair is made (`--auto-create`).
    pub auto_create: bool,
    /// Bits of a new signing key.
    pub bits: u32,
    /// The algorithm minions will expect.
    pub algorithm: SigAlgo,
    /// The signing key's passphrase.
    pub passphrase: Option<&'a Secret<String>>,
}

/// Signs the master's public key and stores the signature for masters that
/// shall not have the signing key. Gives the file written.
///
/// # Errors
/// When a key is missing or unusable, or the file cannot be written.
pub fn gen_signature(
    pki: &PkiDir,
    request: &SignatureRequest<'_>,
) -> Result<PathBuf, KeyStoreError> {
    let public_path = match request.public_path {
        Some(path) => path.to_owned(),
        None => master_public_path(pki.path(), request.id)?,
    };
    let Some(public_pem) = read_key_text(&public_path, Links::Followed)? else {
        return Err(KeyStoreError::NoKey { path: public_path });
    };
    let private_path = match request.private_path {
        Some(path) => path.to_owned(),
        None => key_path(pki.path(), request.key_name, "pem")?,
    };
    let private = if private_path.exists() {
        read_private(&private_path, request.passphrase)?
    } else if request.auto_create && request.private_path.is_none() {
        let (bits, owner) = (request.bits, pki.owner());
        gen_keys(
            pki.path(),
            request.key_name,
            bits,
            owner,
            request.passphrase,
        )?
        .private
    } else {
        return Err(KeyStoreError::NoKey { path: private_path });
    };
    let signature =
        sign_master_key(&private, request.algorithm, &public_pem).map_err(|source| {
            KeyStoreError::Sign {
                path: public_path,
                source,
            }
        })?;
    let path = request.signature_path.map_or_else(
        || pki.path().join(signature_file_name(request.id)),
        Path::to_owned,
    );
    let options = WriteOptions::new(MODE_KEY).owned_by(pki.owner());
    write_atomic(&path, options, signature.as_bytes())?;
    Ok(path)
}

fn master_public_path(dir: &Path, id: &str) -> Result<PathBuf, KeyStoreError> {
    let new = key_path(dir, master_id(id), "pub")?;
    if new.exists() {
        Ok(new)
    } else {
        key_path(dir, "master", "pub")
    }
}
