//! Why a sign-in yields nothing.

use halite_crypto::KeyError;
use halite_proto::{ComeAgain, MessageError, chain};
use thiserror::Error;

use crate::core::link::SignInFailure;

/// The file with the key of an earlier contact, as messages name it.
pub(super) const KNOWN_KEY_FILE: &str = "minion_master.pub in pki_dir";

/// Why a sign-in yields nothing.
#[derive(Debug, Error)]
pub enum SignInError {
    /// The master holds the key until an administrator accepts it.
    #[error("the key waits for acceptance on the master")]
    Pending,
    /// The key is rejected or denied.
    #[error("the master has rejected this minion's key")]
    Rejected,
    /// The master has as many minions as `max_minions` lets it.
    #[error("the master is full (max_minions)")]
    Full,
    /// The master does not know an algorithm.
    #[error("the master does not support the {option} of this minion")]
    Algorithm {
        /// The option that names it.
        option: &'static str,
    },
    /// The reply is not a reply to a sign-in.
    #[error("the reply to the sign-in cannot be read")]
    Reply(#[source] MessageError),
    /// The master did not handle the request.
    #[error("the master did not handle the sign-in: {0}")]
    NotHandled(String),
    /// The reply answers another request.
    #[error("invalid nonce in the sign-in reply")]
    Nonce,
    /// The signature over the reply is not the trusted master's.
    #[error("invalid signature on the sign-in reply")]
    Signature,
    /// The answer of a master that lets nobody in is not the known one's; it
    /// holds no key to compare.
    #[error(
        "invalid signature on the sign-in reply: the master does not let this minion in, and it \
         has another key than the one this minion knows (known {known})"
    )]
    RefusedByAnother {
        /// The fingerprint of the key that is known.
        known: String,
    },
    /// The master has another key than the one known.
    #[error(
        "invalid master key: this master has another key than the one this minion knows \
         (known {known}, offered {offered}), the salt master could have been \
         subverted; verify its public key, and if it is right remove {remedy} and restart"
    )]
    MasterKeyChanged {
        /// The fingerprint of the key that is known.
        known: String,
        /// The fingerprint of the key that the master offers.
        offered: String,
        /// The file that holds the known key.
        remedy: &'static str,
    },
    /// The stored master key is invalid.
    #[error(
        "the known master key cannot be used; remove {remedy} and restart to accept the \
         key that the master then shows"
    )]
    KnownKey {
        /// The file that holds it.
        remedy: &'static str,
        /// Why not.
        #[source]
        source: KeyError,
    },
    /// The master could not read the token of this minion.
    #[error("invalid master key: the master did not return this minion's token")]
    Token,
    /// The options of master and minion about signed keys disagree.
    #[error("{0}")]
    SigningConfig(&'static str),
    /// The signature over the master's key is wrong.
    #[error("the signature of the master's public key does not match the signing key")]
    PubSig,
    /// The master's key does not have the configured fingerprint.
    #[error("the master's key has the fingerprint {found}, but master_finger requires {wanted}")]
    Finger {
        /// The fingerprint it has.
        found: String,
        /// The fingerprint it should have.
        wanted: String,
    },
    /// A key in the reply cannot be used.
    #[error("{what} of the sign-in reply cannot be used")]
    Key {
        /// Which key.
        what: &'static str,
        /// Why.
        #[source]
        source: KeyError,
    },
    /// The master is busy with other sign-ins, and names a time.
    #[error("the master is busy: sign in again after {:?}", .0.wait)]
    Busy(ComeAgain),
    /// A symmetric key in the reply is invalid.
    #[error("{0} of the sign-in reply is not a key")]
    Symmetric(&'static str),
}

impl SignInError {
    /// The failure for the link.
    pub fn failure(&self) -> SignInFailure {
        match self {
            Self::Pending => SignInFailure::Pending,
            Self::Rejected => SignInFailure::Rejected,
            Self::Full => SignInFailure::Full,
            Self::Busy(answer) => SignInFailure::Busy(answer.wait),
            other => SignInFailure::Mistrusted(chain(other)),
        }
    }

    pub(super) fn known_key(source: KeyError) -> Self {
        Self::KnownKey {
            remedy: KNOWN_KEY_FILE,
            source,
        }
    }
}
