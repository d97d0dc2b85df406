//! The keys of a master: its own ([`PkiDir`]) and those of its minions
//! ([`KeyStore`]); and the keys of a minion.
//!
//! The minion keys are behind an enum of backends, files and Salt's cache on a
//! server, both in Salt's layout. Programs of both makes may work on them at the
//! same time, so nothing here is kept in memory without checking its version again.
//!
//! Invariant: a file name is only ever built from a checked [`MinionId`], and a
//! change of state is written before the old state is removed, so that a reader
//! always sees the stricter of the two.
//!
//! [`MinionId`]: halite_proto::MinionId

pub mod autosign;
mod backend;
mod cached;
pub mod cluster;
pub mod dropfile;
pub mod error;
pub mod generate;
mod key_file;
pub mod limits;
mod local_fs;
pub mod master;
#[cfg(feature = "test-backends")]
mod memory;
pub mod minion;
pub mod patterns;
mod pki_dir;
pub mod renew;
pub mod select;
pub mod signing;
pub mod state;
pub mod store;
pub mod token;

pub use autosign::{Autosign, AutosignOptions};
pub use backend::KeyVersion;
pub use cluster::{ClusterDir, ClusterKeyOptions};
pub use error::KeyStoreError;
pub use generate::{GeneratedPair, gen_keys};
pub use master::{MasterKeyOptions, MasterKeys, master_id};
#[cfg(feature = "test-backends")]
pub use memory::MemoryKeys;
pub use minion::{MinionKeys, TrustedMaster};
pub use patterns::PatternList;
pub use pki_dir::PkiDir;
pub use renew::{Renewed, renew_master_key};
pub use select::matches_any;
pub use signing::{MasterSigning, SignatureRequest, gen_signature};
pub use state::{Change, FingerForm, KeyState, Listing, StoredKey};
pub use store::{KeyStore, MIRROR_DIR};
pub use token::TokenCheck;
