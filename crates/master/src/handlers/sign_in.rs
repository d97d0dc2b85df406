//! Sign-ins: gathers the facts, lets `core::auth` decide, and does what was
//! decided.

mod filing;
mod key_text;
mod remarks;

use halite_crypto::files::FileError;
use halite_crypto::{EncAlgo, KeyError, PublicKey, SigAlgo};
use halite_key::KeyStoreError;
use halite_proto::auth::{
    AuthAnswer, AuthGrant, AuthRefusal, AuthReply, AuthRequest, SignedAuthReply,
};
use halite_proto::clear::AuthBadId;
use halite_proto::publisher::{PublishedBefore, add_keeps_no_jobs};
use halite_proto::{Capabilities, Map, Nonce, PackError, Refusal, add_cluster_name, key_changes};
use halite_transport::fleet::Origin;
use thiserror::Error;

use self::key_text::is_plain_pem;
use crate::clock::now_s;
use crate::cluster::Cluster;
use crate::core::auth::{Act, Filing, KnownKey, Verdict};
use crate::core::sign_pace::sign_every;
use crate::error::chain;
use crate::events::bus::Bus;
use crate::files::Files;
use crate::fleet::Fleet;
use crate::jobs::Jobs;
use crate::keys::{KEY_MARK, Keys};
use crate::publishing::publisher::Publisher;
use crate::telemetry::Telemetry;

/// The first protocol version whose answers are signed and carry the nonce.
const VERSION_SIGNED: u32 = 2;

/// Why a sign-in could not be answered as it was decided.
#[derive(Debug, Error)]
enum SignInError {
    #[error("could not read or store the key")]
    Keys(#[from] KeyStoreError),
    #[error("could not make the session")]
    Session(#[from] FileError),
    #[error("could not encrypt or sign the answer")]
    Key(#[from] KeyError),
    #[error("could not pack the answer")]
    Pack(#[from] PackError),
    #[error("the key was accepted, but removed meanwhile")]
    KeyGone,
    #[error("other masters keep changing the state of the key at the same time")]
    Contested,
}

/// The parts of the master that sign-ins use.
#[derive(Clone, Copy)]
pub(crate) struct SignIns<'a> {
    /// Where the sign-in comes from.
    pub(super) from: Origin,
    pub(super) telemetry: &'a Telemetry,
    pub(super) bus: &'a Bus,
    pub(super) keys: &'a Keys,
    pub(super) fleet: &'a Fleet,
    pub(super) publisher: &'a Publisher,
    pub(super) jobs: &'a Jobs,
    pub(super) files: &'a Files,
    pub(super) cluster: Option<&'a Cluster>,
}

impl SignIns<'_> {
    /// Answers a sign-in; `None` if there is to be no answer.
    pub(crate) fn answer(self, request: &AuthRequest, version: u32) -> Option<AuthAnswer> {
        match SignIn::new(self, request, version).answer() {
            Ok(answer) => answer,
            Err(error) => {
                if self.may_log(request.id.as_str(), "sign-in") {
                    tracing::error!(minion = %request.id, "could not answer a sign-in: {}", chain(&error));
                }
                Some(AuthAnswer::Refused(Refusal::HandlerFailed))
            }
        }
    }

    fn may_log(self, peer: &str, what: &'static str) -> bool {
        self.telemetry.may_log_from(self.from, peer, what)
    }

    /// Answers a sign-in under a name that no minion can have.
    /// `None` if there is to be no answer.
    pub(crate) fn refuse_bad_id(self, bad: AuthBadId, version: u32) -> Option<AuthAnswer> {
        if self.may_log("", "bad id") {
            tracing::info!(from = %self.from, "refused a sign-in: {}", bad.why);
        }
        if !self.keys.may_refuse(self.from) {
            return None;
        }
        let Ok(algorithm) = SigAlgo::parse(&bad.sig_algo) else {
            return Some(AuthAnswer::BadSigAlgo);
        };
        let nonce = bad.nonce.filter(|_| version >= VERSION_SIGNED);
        let reply = AuthReply::Refused(AuthRefusal::Rejected, nonce);
        let answer = sign(self.keys, reply, algorithm, version).unwrap_or_else(|error| {
            tracing::error!("could not answer a sign-in: {}", chain(&error));
            AuthAnswer::Refused(Refusal::HandlerFailed)
        });
        Some(answer)
    }
}

/// A sign-in being answered.
struct SignIn<'a> {
    parts: SignIns<'a>,
    request: &'a AuthRequest,
    version: u32,
    key: Option<PublicKey>,
    enc_algo: Option<EncAlgo>,
    sig_algo: Option<SigAlgo>,
}

impl<'a> SignIn<'a> {
    fn new(parts: SignIns<'a>, request: &'a AuthRequest, version: u32) -> Self {
        Self {
            parts,
            request,
            version,
            key: Some(&request.public_key)
                .filter(|text| is_plain_pem(text))
                .and_then(|text| PublicKey::from_pem(text).ok()),
            enc_algo: EncAlgo::parse(&request.enc_algo).ok(),
            sig_algo: SigAlgo::parse(&request.sig_algo).ok(),
        }
    }

    fn answer(&self) -> Result<Option<AuthAnswer>, SignInError> {
        let (facts, decision) = self.decided()?;
        self.log(decision.verdict, decision.filing, facts.known);
        // A refusal is signed, which is what it costs.
        let is_refused = matches!(decision.verdict, Verdict::Refused | Verdict::BadId);
        if is_refused && !self.parts.keys.may_refuse(self.parts.from) {
            return Ok(None);
        }
        let answer = match decision.verdict {
            Verdict::Granted => self.grant(),
            Verdict::Pending => self.refusal(AuthRefusal::Pending),
            Verdict::Refused | Verdict::BadId => self.refusal(AuthRefusal::Rejected),
            Verdict::Full => self.refusal(AuthRefusal::Full),
            Verdict::BadEncAlgo => Ok(AuthAnswer::BadEncAlgo),
            Verdict::BadSigAlgo => Ok(AuthAnswer::BadSigAlgo),
        };
        if let Some(act) = decision.event {
            self.fire(act);
        }
        answer.map(Some)
    }

    fn grant(&self) -> Result<AuthAnswer, SignInError> {
        let (Some(key), Some(enc_algo), Some(sig_algo)) = (&self.key, self.enc_algo, self.sig_algo)
        else {
            return self.refusal(AuthRefusal::Rejected);
        };
        let SignIns {
            keys,
            fleet,
            publisher,
            ..
        } = self.parts;
        let id = &self.request.id;
        let accepted = keys.accepted.get(id).filter(|key| self.signs_in_with(key));
        let accepted = accepted.ok_or(SignInError::KeyGone)?;
        let capabilities = Capabilities::of(&self.request.extra);
        let session = keys.sessions.sign_in(id, &accepted, now_s())?;
        let (publish_key, last) = publisher.key_and_last();
        let sealed = |text: &str| key.encrypt(enc_algo, text.as_bytes());
        let (token, trusts_another) = match self.token(key, enc_algo)? {
            Token::None => (None, false),
            Token::Returned(token) => (Some(token), false),
            Token::OfAnotherMaster => (None, true),
        };
        fleet.attendance.signed_in(id, trusts_another);
        let grant = AuthGrant {
            public_key: keys.identity.public_pem().to_owned(),
            publish_port: fleet.settings.publish_port,
            pub_sig: keys.identity.pub_sig(sig_algo)?,
            token,
            aes: sealed(publish_key.key.expose())?,
            session: sealed(session.key.expose())?,
            sig: publish_key.sig.clone(),
            nonce: self.nonce(),
            extra: match capabilities == Capabilities::default() {
                // A minion of Salt is told nothing that it would not know.
                true => Map::new(),
                false => self.extra(trusts_another, last),
            },
        };
        self.sign(AuthReply::Accepted(Box::new(grant)))
    }

    /// The additional data for a Halite minion. Missed publications are requested by the
    /// minion itself; a minion that trusts another key is told which keys this master
    /// had.
    fn extra(&self, trusts_another: bool, before: PublishedBefore) -> Map {
        let keys = self.parts.keys;
        let capabilities = Capabilities {
            commits: self.parts.files.server.has_repositories(),
            ..Capabilities::OURS
        };
        let wanted = sign_every(keys.sessions.expected());
        let every = self.parts.fleet.attendance.sign_every(wanted);
        let mut extra = capabilities.to_reply(keys.sessions.number_sign_in(), every);
        self.parts.jobs.publisher.add_to(&mut extra);
        before.add_to(&mut extra);
        if let Some(cluster) = self.parts.cluster {
            add_cluster_name(&mut extra, &cluster.settings.id);
        }
        if !self.parts.jobs.missed.is_on() {
            add_keeps_no_jobs(&mut extra);
        }
        let changes = keys.identity.changes();
        if trusts_another && !changes.is_empty() {
            extra.insert(key_changes::KEY_CHANGES, key_changes::to_value(changes));
        }
        extra
    }

    /// The minion's token, given back under its own key. One that was made for
    /// another master's key is left out, and the minion notices.
    fn token(&self, key: &PublicKey, enc_algo: EncAlgo) -> Result<Token, KeyError> {
        let Some(token) = &self.request.token else {
            return Ok(Token::None);
        };
        let error = match self.parts.keys.identity.private().decrypt(enc_algo, token) {
            // Not the minion's to read.
            Ok(token) if token.expose().starts_with(KEY_MARK) => return Ok(Token::None),
            Ok(token) => return key.encrypt(enc_algo, token.expose()).map(Token::Returned),
            Err(error) => error,
        };
        let id = &self.request.id;
        if self.parts.may_log(id.as_str(), "token") {
            tracing::warn!(
                minion = %id,
                "the minion's token was not encrypted for this master's key, it may know another \
                 master key: {}",
                chain(&error)
            );
        }
        Ok(Token::OfAnotherMaster)
    }

    fn refusal(&self, refusal: AuthRefusal) -> Result<AuthAnswer, SignInError> {
        self.sign(AuthReply::Refused(refusal, self.nonce()))
    }

    fn sign(&self, reply: AuthReply) -> Result<AuthAnswer, SignInError> {
        let Some(algorithm) = self.sig_algo else {
            return Ok(AuthAnswer::BadSigAlgo);
        };
        if let Some(meters) = &self.parts.telemetry.meters {
            meters.signed_in(match &reply {
                AuthReply::Accepted(_) => "success",
                AuthReply::Refused(AuthRefusal::Pending, _) => "pending",
                AuthReply::Refused(AuthRefusal::Full, _) => "max_minions",
                AuthReply::Refused(AuthRefusal::Rejected, _) => "rejected",
            });
        }
        sign(self.parts.keys, reply, algorithm, self.version)
    }

    fn nonce(&self) -> Option<Nonce> {
        (self.version >= VERSION_SIGNED)
            .then(|| self.request.nonce.clone())
            .flatten()
    }

    fn fire(&self, act: Act) {
        let settings = &self.parts.keys.settings;
        if !settings.auth_events {
            return;
        }
        let mut data = Map::with_capacity(6);
        data.insert("result", act.result());
        data.insert("act", act.as_str());
        data.insert("id", &self.request.id);
        data.insert("pub", self.request.public_key.as_str());
        let shows_grains = settings
            .auth_events_autosign_grains
            .iter()
            .any(|shown| shown == act.as_str());
        if let Some(grains) = self
            .request
            .autosign_grains
            .as_ref()
            .filter(|_| shows_grains)
        {
            data.insert("autosign_grains", grains.clone());
        }
        self.parts.bus.fire_under("auth", [], data);
    }
}

/// The token in the answer to a minion.
enum Token {
    /// No token to return.
    None,
    /// The token to return.
    Returned(Vec<u8>),
    /// It is for the key of another master.
    OfAnotherMaster,
}

fn sign(
    keys: &Keys,
    reply: AuthReply,
    algorithm: SigAlgo,
    version: u32,
) -> Result<AuthAnswer, SignInError> {
    if version < VERSION_SIGNED {
        return Ok(AuthAnswer::Unsigned(reply));
    }
    let load = reply.encode()?;
    let sig = keys.identity.private().sign(algorithm, &load)?;
    Ok(AuthAnswer::Signed(SignedAuthReply { load, sig }))
}
