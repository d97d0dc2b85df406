//! Signing in to one master: the request, and the checks of the answer.
//!
//! The order of the checks is that of Salt's minions (3006 to 3008,
//! `salt.crypt.AsyncAuth`); nothing of an answer is used before all of them have
//! passed.

mod error;

use halite_crypto::{
    Crypticle, EncAlgo, HashType, KeyError, PrivateKey, PublicKey, SigAlgo, SymmetricKey,
    clean_key, constant_time_eq, fingerprint_path, hash_hex, master_sign,
};
use halite_proto::auth::{AuthAnswer, AuthGrant, AuthRefusal, AuthReply, AuthRequest};

pub(crate) use halite_proto::chain;
use halite_proto::{Map, MinionId, Nonce, key_changes};

use self::error::KNOWN_KEY_FILE;
use super::succession::leads_to;
pub use error::SignInError;

/// The identity of this minion.
#[derive(Clone)]
pub struct Identity {
    /// Its id.
    pub id: MinionId,
    /// Its private key.
    pub key: PrivateKey,
    /// Its public key as masters store it.
    pub public_pem: String,
    /// The proof of the private key that goes with every request.
    pub request_token: Vec<u8>,
    /// How requests are signed (`minion_sign_messages`); none: not at all.
    pub signing: Option<SigAlgo>,
}

impl Identity {
    /// The identity behind an id and a key.
    ///
    /// # Errors
    /// When the key cannot be used to sign.
    pub fn new(id: MinionId, key: PrivateKey) -> Result<Self, KeyError> {
        let public_pem = key.public()?.clean_pem()?;
        let request_token = key.request_token()?;
        Ok(Self {
            id,
            key,
            public_pem,
            request_token,
            signing: None,
        })
    }
}

/// Which master keys this minion trusts, and how it wants to talk.
#[derive(Clone)]
pub struct Trust {
    /// The master key from an earlier contact, clean PEM.
    pub known: Option<String>,
    /// The key that master keys have to be signed with
    /// (`verify_master_pubkey_sign`).
    pub signing_key: Option<PublicKey>,
    /// Check that signature even when the master's key has not changed.
    pub always_verify_signature: bool,
    /// `master_finger`: the fingerprint the master's key must have.
    pub finger: Option<String>,
    /// The hash of that fingerprint.
    pub hash_type: HashType,
    /// `open_mode`: take any master key.
    pub open_mode: bool,
    /// `encryption_algorithm`.
    pub enc_algo: EncAlgo,
    /// `signing_algorithm`.
    pub sig_algo: SigAlgo,
}

/// The result of a sign-in.
#[derive(Clone)]
pub struct Credentials {
    /// Opens publications.
    pub publish: Crypticle,
    /// A hash of that key, by which it is known again.
    pub publish_hash: String,
    /// Seals requests and opens their replies.
    pub session: Crypticle,
    /// Where the master publishes.
    pub publish_port: u16,
    /// The master's key.
    pub master_key: PublicKey,
    /// The master's key as received, to be stored if it is not the known one.
    pub master_pem: String,
    /// The fields of the reply beyond Salt's own.
    pub extra: Map,
}

/// One try to sign in.
pub struct Attempt {
    nonce: Nonce,
    token: Option<SymmetricKey>,
    enc_algo: EncAlgo,
    sig_algo: SigAlgo,
}

impl Attempt {
    /// Prepares a try and what is to be sent. `capabilities` are fields that
    /// Salt's masters ignore.
    ///
    /// # Errors
    /// When the known master key cannot be used.
    pub fn new(
        identity: &Identity,
        trust: &Trust,
        nonce: Nonce,
        autosign_grains: Option<Map>,
        extra: Map,
    ) -> Result<(Self, AuthRequest), SignInError> {
        let mut attempt = Self {
            nonce,
            token: None,
            enc_algo: trust.enc_algo,
            sig_algo: trust.sig_algo,
        };
        let mut sealed_token = None;
        if let Some(known) = &trust.known {
            let master = PublicKey::from_pem(known).map_err(SignInError::known_key)?;
            let token = SymmetricKey::generate();
            let sealed = master
                .encrypt(trust.enc_algo, token.expose().as_bytes())
                .map_err(SignInError::known_key)?;
            sealed_token = Some(sealed);
            attempt.token = Some(token);
        }
        let request = AuthRequest {
            id: identity.id.clone(),
            nonce: Some(attempt.nonce.clone()),
            enc_algo: trust.enc_algo.name().to_owned(),
            sig_algo: trust.sig_algo.name().to_owned(),
            autosign_grains,
            token: sealed_token,
            public_key: identity.public_pem.clone(),
            extra,
        };
        Ok((attempt, request))
    }

    /// Decides about the reply. `trust` is what is trusted now: another link
    /// may have met a master since the request was made.
    ///
    /// # Errors
    /// When the master refused, or its reply is not to be believed.
    pub fn conclude(
        self,
        identity: &Identity,
        trust: &Trust,
        reply: &[u8],
    ) -> Result<Credentials, SignInError> {
        let signed = match AuthAnswer::decode(reply).map_err(SignInError::Reply)? {
            AuthAnswer::Signed(signed) => signed,
            AuthAnswer::BadEncAlgo => {
                return Err(SignInError::Algorithm {
                    option: "encryption_algorithm",
                });
            }
            AuthAnswer::BadSigAlgo => {
                return Err(SignInError::Algorithm {
                    option: "signing_algorithm",
                });
            }
            // An unsigned decision is a downgrade: version 3 masters sign all.
            AuthAnswer::Unsigned(_) => return Err(SignInError::Signature),
            // It is not signed, and decides nothing: a silence with a hint.
            AuthAnswer::ComeAgain(answer) => return Err(SignInError::Busy(answer)),
            AuthAnswer::Refused(refusal) => {
                return Err(SignInError::NotHandled(refusal.to_string()));
            }
        };
        let decision = AuthReply::decode(&signed.load).map_err(SignInError::Reply)?;
        let signer = match (&decision, &trust.known) {
            (AuthReply::Accepted(grant), _) => Some(self.check_master(trust, grant)?),
            (AuthReply::Refused(..), Some(known)) if !trust.open_mode => {
                Some(PublicKey::from_pem(known).map_err(SignInError::known_key)?)
            }
            // The first contact of a minion that is not accepted yet: there
            // is no key to check against, and nothing is taken from the reply.
            (AuthReply::Refused(..), _) => None,
        };
        if let Some(signer) = &signer
            && !signer.verify(self.sig_algo, &signed.load, &signed.sig)
        {
            return Err(match (&decision, &trust.known) {
                (AuthReply::Refused(..), Some(known)) => SignInError::RefusedByAnother {
                    known: fingerprint_path(known.as_bytes(), trust.hash_type),
                },
                _ => SignInError::Signature,
            });
        }
        let nonce = match &decision {
            AuthReply::Accepted(grant) => grant.nonce.as_ref(),
            AuthReply::Refused(_, nonce) => nonce.as_ref(),
        };
        if nonce != Some(&self.nonce) {
            return Err(SignInError::Nonce);
        }
        match (decision, signer) {
            (AuthReply::Refused(AuthRefusal::Rejected, _), _) => Err(SignInError::Rejected),
            (AuthReply::Refused(AuthRefusal::Pending, _), _) => Err(SignInError::Pending),
            (AuthReply::Refused(AuthRefusal::Full, _), _) => Err(SignInError::Full),
            (AuthReply::Accepted(_), None) => Err(SignInError::Signature),
            (AuthReply::Accepted(grant), Some(master)) => {
                self.unlock(identity, trust, *grant, master)
            }
        }
    }

    /// Whether the key in the reply is one this minion trusts.
    fn check_master(&self, trust: &Trust, grant: &AuthGrant) -> Result<PublicKey, SignInError> {
        let offered = clean_key(&grant.public_key);
        let same = trust
            .known
            .as_deref()
            .map(|known| clean_key(known) == offered);
        match (&trust.signing_key, &grant.pub_sig) {
            (Some(_), None) => {
                return Err(SignInError::SigningConfig(
                    "verify_master_pubkey_sign is set, but the master does not sign its key",
                ));
            }
            (None, Some(_)) => {
                return Err(SignInError::SigningConfig(
                    "the master signs its public key, but verify_master_pubkey_sign is not set",
                ));
            }
            (Some(signing_key), Some(pub_sig)) => {
                let settled = same == Some(true) && !trust.always_verify_signature;
                let good = || {
                    master_sign::verify_master_key(
                        signing_key,
                        self.sig_algo,
                        &grant.public_key,
                        pub_sig.as_bytes(),
                    )
                };
                if !settled && !good() {
                    return Err(SignInError::PubSig);
                }
            }
            (None, None) => {
                if let Some(known) = &trust.known
                    && same == Some(false)
                    && !trust.open_mode
                    && !leads_to(known, &offered, &key_changes::from_extra(&grant.extra))
                {
                    let finger = |pem: &str| fingerprint_path(pem.as_bytes(), trust.hash_type);
                    return Err(SignInError::MasterKeyChanged {
                        known: finger(known),
                        offered: finger(&offered),
                        remedy: KNOWN_KEY_FILE,
                    });
                }
            }
        }
        if let Some(wanted) = &trust.finger {
            let found = fingerprint_path(grant.public_key.as_bytes(), trust.hash_type);
            if !found.eq_ignore_ascii_case(wanted.trim()) {
                return Err(SignInError::Finger {
                    found,
                    wanted: wanted.clone(),
                });
            }
        }
        PublicKey::from_pem(&grant.public_key).map_err(|source| SignInError::Key {
            what: "the master key",
            source,
        })
    }

    fn unlock(
        self,
        identity: &Identity,
        trust: &Trust,
        grant: AuthGrant,
        master: PublicKey,
    ) -> Result<Credentials, SignInError> {
        let decrypt = |what, sealed: &[u8]| {
            let plain = identity
                .key
                .decrypt(self.enc_algo, sealed)
                .map_err(|source| SignInError::Key { what, source })?;
            std::str::from_utf8(plain.expose())
                .ok()
                .and_then(|text| SymmetricKey::parse(text).ok())
                .ok_or(SignInError::Symmetric(what))
        };
        let known = trust.known.as_deref().map(clean_key);
        let met_before = known.as_deref() == Some(clean_key(&grant.public_key).as_str());
        if let (Some(token), true) = (&self.token, met_before) {
            let returned = grant.token.as_deref().ok_or(SignInError::Token)?;
            let returned = decrypt("the token", returned).map_err(|_| SignInError::Token)?;
            if !constant_time_eq(returned.expose().as_bytes(), token.expose().as_bytes()) {
                return Err(SignInError::Token);
            }
        }
        let publish = decrypt("the publish key", &grant.aes)?;
        let session = decrypt("the session key", &grant.session)?;
        if !master.verify_publish_key(publish.expose(), &grant.sig) {
            return Err(SignInError::Signature);
        }
        Ok(Credentials {
            publish: Crypticle::new(&publish),
            publish_hash: hash_hex(HashType::Sha256, publish.expose().as_bytes()),
            session: Crypticle::new(&session),
            publish_port: grant.publish_port,
            master_key: master,
            master_pem: grant.public_key,
            extra: grant.extra,
        })
    }
}
