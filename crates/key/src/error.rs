//! Errors of a pki directory.

use std::path::PathBuf;

use halite_crypto::KeyError;
use halite_crypto::files::FileError;
use halite_store::StoreError;
use thiserror::Error;

/// Why something was not done to a pki directory. The text is one line, with
/// the path; the cause is the source.
#[derive(Debug, Error)]
pub enum KeyStoreError {
    /// A file or directory could not be used.
    #[error(transparent)]
    File(#[from] FileError),
    /// The server with the keys could not be used.
    #[error("could not use the store of minion keys")]
    Store(#[from] StoreError),
    /// The store of keys does not answer.
    #[error("the store of minion keys does not answer")]
    Away,
    /// The pki directory itself is not there.
    #[error("the key directory {} does not exist", path.display())]
    NoDirectory {
        /// The directory.
        path: PathBuf,
    },
    /// A file that should hold a key does not, or its passphrase is wrong.
    #[error("could not read the key in {}", path.display())]
    Key {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        #[source]
        source: KeyError,
    },
    /// A key pair could not be made or written as text.
    #[error("could not make the key pair {}", path.display())]
    Generate {
        /// The private key's file.
        path: PathBuf,
        /// The reason.
        #[source]
        source: KeyError,
    },
    /// There are two private keys where the master's is looked for.
    #[error(
        "{} and {} are different keys (public keys {first_finger} and {second_finger}): \
         remove the wrong pair, or replace the first by a link to the second",
        first.display(), second.display()
    )]
    TwoKeys {
        /// `master.pem`.
        first: PathBuf,
        /// The fingerprint of its public key.
        first_finger: String,
        /// The key of the master's own name.
        second: PathBuf,
        /// The fingerprint of its public key.
        second_finger: String,
    },
    /// The key's file is a link to one that is not there.
    #[error(
        "{} is a link to a key that is not there; put the key back, or remove the link to have \
         a new key made",
        path.display()
    )]
    DanglingLink {
        /// The link.
        path: PathBuf,
    },
    /// A file that should hold text holds something else.
    #[error("{} is not a text file", path.display())]
    NotText {
        /// The file.
        path: PathBuf,
    },
    /// A key file that should be there is not.
    #[error("the key {} does not exist", path.display())]
    NoKey {
        /// The file.
        path: PathBuf,
    },
    /// Another master of the cluster has this name, or this one had another key.
    #[error("{} is not the key of this master: remove it to continue", path.display())]
    OtherPeer {
        /// The file with the public key.
        path: PathBuf,
    },
    /// The cluster's key is not the one that the option names.
    #[error(
        "the public key of the cluster in {} has the fingerprint {found}, which differs from the \
         option cluster_pub_fingerprint",
        path.display()
    )]
    OtherCluster {
        /// The file with the private key.
        path: PathBuf,
        /// The fingerprint of its public half.
        found: String,
    },
    /// There is no key, and a new one could not have the fingerprint of the option.
    #[error(
        "{} does not exist, and a new key would not have the fingerprint in the option \
         cluster_pub_fingerprint",
        path.display()
    )]
    NoCluster {
        /// The file of the private key.
        path: PathBuf,
    },
    /// The file of the publish key holds none.
    #[error("{} holds no key for publications: remove it to have a new one made", path.display())]
    NoPublishKey {
        /// The file.
        path: PathBuf,
    },
    /// A new key would replace one that exists.
    #[error("the key {} exists already", path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// The id begins with a dot: such files are hidden from every listing.
    #[error("the id {id:?} begins with a dot and cannot have a key")]
    HiddenId {
        /// The id.
        id: String,
    },
    /// The name of a key pair is not a file name.
    #[error("{name:?} cannot be the name of a key file")]
    Name {
        /// The name.
        name: String,
    },
    /// The option for a stored signature is set, but the signature does not exist.
    #[error(
        "master_use_pubkey_signature is set and {} does not exist; make it with `salt-key --gen-signature`",
        path.display()
    )]
    NoSignature {
        /// The signature's file.
        path: PathBuf,
    },
    /// A signature could not be made.
    #[error("could not sign {}", path.display())]
    Sign {
        /// The file that was to be signed.
        path: PathBuf,
        /// The reason.
        #[source]
        source: KeyError,
    },
}

impl KeyStoreError {
    /// Whether the server with the keys is to blame, and the same may work later.
    pub fn is_of_server(&self) -> bool {
        match self {
            Self::Store(error) => error.is_of_server() && !error.is_of_content(),
            Self::Away => true,
            _ => false,
        }
    }
}
