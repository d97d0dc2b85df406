//! The pki directory of a master and everything that is done to it, and the
//! smaller one of a minion.
//!
//! The directory is Salt's: one file per key, the directory it lies in is its
//! state. Programs of both makes may work on it at the same time, so nothing
//! here is kept in memory without looking at the file again.
//!
//! Invariant: a file name is only ever built from a checked [`MinionId`], and
//! a change of state is written before the old state is removed, so that at
//! any moment the stricter of the two is what a reader sees.
//!
//! [`MinionId`]: halite_proto::MinionId

pub mod autosign;
pub mod dropfile;
pub mod error;
pub mod generate;
pub mod limits;
pub mod master;
pub mod minion;
pub mod patterns;
pub mod renew;
pub mod select;
pub mod signing;
pub mod state;
pub mod store;
pub mod token;

pub use autosign::{Autosign, AutosignOptions};
pub use error::KeyStoreError;
pub use generate::{GeneratedPair, gen_keys};
pub use master::{MasterKeyOptions, MasterKeys, master_id};
pub use minion::{MinionKeys, TrustedMaster};
pub use patterns::PatternList;
pub use renew::{Renewed, renew_master_key};
pub use select::matches_any;
pub use signing::{MasterSigning, SignatureRequest, gen_signature};
pub use state::{Change, FingerForm, KeyState, Listing};
pub use store::{KeyStore, StoredKey};
pub use token::TokenCheck;
