//! Keys, signatures and sealed messages, without any socket.
//!
//! Bytes come in and bytes go out; their meaning is decided elsewhere. The
//! primitives are those that Salt 3006 to 3008 use between masters and minions: RSA
//! with SHA-1 or SHA-224, ANSI X9.31 signatures, and AES-192-CBC with HMAC-SHA256
//! ("Crypticle"). Two Halite peers also seal large answers with AES-256-GCM, and so
//! do the masters of a cluster for messages on a bus (`broadcast`).
//!
//! Invariant: a secret is held in a type that cannot be printed and that is wiped
//! when it is dropped, and no type of the library underneath is part of the
//! interface.

pub mod algorithm;
mod broadcast;
pub mod crypticle;
mod derive;
pub mod error;
pub mod files;
pub mod hash;
mod hmac;
mod large;
pub mod limits;
pub mod master_sign;
mod own_codes;
pub mod passphrase;
pub mod pem;
pub mod presence;
pub mod random;
mod remnants;
pub mod rsa;
pub mod secret;
pub mod serial;
mod shared_secret;
mod stamp;

pub use algorithm::{EncAlgo, SigAlgo, UnknownAlgorithm};
pub use broadcast::{BroadcastKey, BroadcastOpener, SHARED_KEY_BYTES};
pub use crypticle::{BadSymmetricKey, Crypticle, OpenError, Opened, SymmetricKey};
pub use derive::DerivationRoot;
pub use error::{BackendError, KeyError};
pub use hash::{HashType, Hasher, hash_hex};
pub use own_codes::{CODE_BYTES, OwnCodes};
pub use pem::{clean_key, fingerprint_path, fingerprint_text};
pub use presence::PresenceKey;
pub use random::{constant_time_eq, random_bytes};
pub use rsa::{PrivateKey, PublicKey};
pub use secret::Secret;
pub use serial::SerialGate;
pub use shared_secret::SharedSecret;
pub use stamp::Stamp;
