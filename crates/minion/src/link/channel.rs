//! Sealed requests to one master: signs in if necessary, sends the request, checks
//! that the reply answers it, and signs in again when the master says so.

use std::sync::Arc;
use std::time::Duration;

use halite_crypto::{KeyError, Opened, random_bytes};
use halite_process::clock::unix_seconds;
use halite_proto::envelope::{Reply, RequestEnvelope};
use halite_proto::request::signed_bytes;
use halite_proto::{
    Capabilities, Map, MinionId, Nonce, PackError, PublisherId, Refusal, UnpackError, Value,
    msgpack, presence,
};
use halite_transport::fleet::{Answer, RequestError, Requester};
use thiserror::Error;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, timeout_at};

use super::signing_in::ping;
use super::words::LinkInput;
use crate::core::cluster_mark::ClusterMark;
use crate::core::private_reply::{self, PrivateReplyError};
use crate::core::sign_in::{Credentials, Identity};

/// The session of a link while it is signed in.
#[derive(Clone)]
pub struct Session {
    /// Which sign-in this is from; larger is later.
    pub number: u64,
    /// The way to the master.
    pub requester: Requester,
    /// The keys.
    pub credentials: Arc<Credentials>,
}

/// How long to wait for an answer, and how often to ask.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// For one try (`request_channel_timeout`).
    pub timeout: Duration,
    /// Tries (`request_channel_tries`).
    pub tries: u32,
}

/// Why a request has no result.
#[derive(Debug, Error)]
pub enum ChannelError {
    /// The link was not signed in in time.
    #[error("not signed in to the master")]
    NotSignedIn,
    /// The transport has no answer.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// The request cannot be packed.
    #[error("the request cannot be packed")]
    Pack(#[source] PackError),
    /// The request cannot be signed (`minion_sign_messages`).
    #[error("the request cannot be signed")]
    Sign(#[source] KeyError),
    /// The reply cannot be unpacked.
    #[error("the master's reply cannot be read")]
    Unpack(#[source] UnpackError),
    /// The master refused the request, even after a new sign-in.
    #[error("the master refused the request: {0}")]
    Refused(Refusal),
    /// The reply is not sealed, or not for this request.
    #[error("the master's reply is not authentic")]
    NotAuthentic,
    /// The private reply (pillar) is not to be believed.
    #[error("the master's private reply cannot be used")]
    Private(#[source] PrivateReplyError),
}

/// The way to one master. Clones share the link.
#[derive(Clone)]
pub struct Channel {
    identity: Arc<Identity>,
    session: watch::Receiver<Option<Session>>,
    link: mpsc::Sender<LinkInput>,
    enc_algo: &'static str,
    sig_algo: &'static str,
}

/// Reads the reply to the request with a nonce; a large one in place.
type Open = fn(&Channel, &Session, &Nonce, Answer) -> Result<Exchange, ChannelError>;

/// How one exchange ended.
enum Exchange {
    Done(Value),
    /// The keys are not (or no longer) those of the master.
    StaleKeys(ChannelError),
}

impl Channel {
    /// A channel over a link's sessions; `link` is notified of refused keys.
    pub fn new(
        identity: Arc<Identity>,
        session: watch::Receiver<Option<Session>>,
        link: mpsc::Sender<LinkInput>,
        enc_algo: &'static str,
        sig_algo: &'static str,
    ) -> Self {
        Self {
            identity,
            session,
            link,
            enc_algo,
            sig_algo,
        }
    }

    /// Whose requests these are.
    pub fn id(&self) -> &MinionId {
        &self.identity.id
    }

    /// What the master understands beyond Salt's protocol.
    pub fn capabilities(&self) -> Capabilities {
        let session = self.session.borrow();
        let extra = session.as_ref().map(|session| &session.credentials.extra);
        extra.map(Capabilities::of).unwrap_or_default()
    }

    /// The master's identity among those of this minion, if it sends one.
    pub fn publisher(&self) -> Option<PublisherId> {
        let session = self.session.borrow();
        PublisherId::of(&session.as_ref()?.credentials.extra)
    }

    /// The cluster that this master belongs to, if it sends one.
    pub fn cluster(&self) -> Option<ClusterMark> {
        let session = self.session.borrow();
        ClusterMark::of(&session.as_ref()?.credentials)
    }

    /// Whether the link is signed in now.
    pub fn is_signed_in(&self) -> bool {
        self.session.borrow().is_some()
    }

    /// Sends a command (`cmd` and its fields) and returns the master's result.
    ///
    /// # Errors
    /// When no authentic answer came within `patience`.
    pub async fn request(&self, load: Map, patience: Patience) -> Result<Value, ChannelError> {
        self.request_of(&load, patience).await
    }

    /// Like [`Self::request`], for a command that is kept.
    ///
    /// # Errors
    /// When no authentic answer came within `patience`.
    pub async fn request_of(&self, load: &Map, patience: Patience) -> Result<Value, ChannelError> {
        self.ask(load, patience, Self::open_sealed).await
    }

    /// Sends a command whose answer only this minion's private key opens.
    ///
    /// # Errors
    /// When no authentic answer came within `patience`.
    pub async fn request_private(
        &self,
        load: Map,
        patience: Patience,
    ) -> Result<Value, ChannelError> {
        self.ask(&load, patience, Self::open_private).await
    }

    /// Sends a clear `ping`; true if the master answered anything at all.
    pub async fn ping(&self, timeout: Duration) -> bool {
        let Some(session) = self.session.borrow().clone() else {
            return false;
        };
        ping(&session.requester, timeout).await
    }

    async fn ask(&self, load: &Map, patience: Patience, open: Open) -> Result<Value, ChannelError> {
        let mut last = ChannelError::NotSignedIn;
        let mut renewed = false;
        let mut newer_than = 0;
        let mut tries = patience.tries.max(1);
        while tries > 0 {
            tries -= 1;
            let deadline = Instant::now() + patience.timeout;
            let Some(session) = self.session_after(newer_than, deadline).await else {
                return Err(last);
            };
            match self.exchange(&session, load, deadline, open).await {
                Ok(Exchange::Done(value)) => return Ok(value),
                Ok(Exchange::StaleKeys(error)) if renewed => return Err(error),
                Ok(Exchange::StaleKeys(error)) => {
                    // A new sign-in is not the fault of this request.
                    renewed = true;
                    tries += 1;
                    newer_than = session.number;
                    last = error;
                    let _ = self
                        .link
                        .send(LinkInput::Refused {
                            session: session.number,
                        })
                        .await;
                }
                Err(error @ ChannelError::Request(_)) => last = error,
                Err(error) => return Err(error),
            }
        }
        Err(last)
    }

    async fn exchange(
        &self,
        session: &Session,
        load: &Map,
        deadline: Instant,
        open: Open,
    ) -> Result<Exchange, ChannelError> {
        let nonce = Nonce::from_random(random_bytes());
        let mut more = Map::with_capacity(6);
        more.insert("nonce", &nonce);
        more.insert("ts", unix_seconds());
        more.insert("tok", Value::Bytes(self.identity.request_token.clone()));
        more.insert("id", &self.identity.id);
        if let Some(algorithm) = self.identity.signing {
            let mut whole = load.clone();
            whole.extend(more.clone());
            let signed = signed_bytes(&whole).map_err(ChannelError::Pack)?;
            let signature = self.identity.key.sign(algorithm, &signed);
            let signature = signature.map_err(ChannelError::Sign)?;
            more.insert("sig", Value::Bytes(signature));
        }
        // It is no part of the command, and not signed with it.
        if Capabilities::of(&session.credentials.extra).signs_of_life {
            more.insert(presence::MARK, true);
        }
        let packed = msgpack::pack_map_with(load, &more, msgpack::Packing::Wire)
            .map_err(ChannelError::Pack)?;
        let sealed = session.credentials.session.seal(&packed, None);
        let id = self.identity.id.clone();
        let envelope = RequestEnvelope::aes(sealed, id, self.enc_algo, self.sig_algo);
        let envelope = envelope.encode().map_err(ChannelError::Pack)?;
        let left = deadline.saturating_duration_since(Instant::now());
        let reply = session.requester.request_in_place(envelope, left).await?;
        open(self, session, &nonce, reply)
    }

    fn open_sealed(
        &self,
        session: &Session,
        nonce: &Nonce,
        mut reply: Answer,
    ) -> Result<Exchange, ChannelError> {
        let keys = &session.credentials.session;
        let asked = nonce.as_str().as_bytes();
        if let Some(at) = Reply::large_at(&reply) {
            let message = reply.get_mut(at..).unwrap_or_default();
            return match keys.open_large(message, asked) {
                Ok(packed) => unpacked(packed),
                Err(_) => Ok(Exchange::StaleKeys(ChannelError::NotAuthentic)),
            };
        }
        let decoded;
        let sealed = match Reply::sealed_in(&reply) {
            Some(sealed) => sealed,
            None => match Reply::decode(&reply).map_err(ChannelError::Unpack)? {
                Reply::Sealed(sealed) => {
                    decoded = sealed;
                    &decoded
                }
                Reply::Refused(refusal) => return refused(refusal),
                Reply::Clear(_) => return Err(ChannelError::NotAuthentic),
            },
        };
        match keys.open(sealed, Some(asked)) {
            Ok(Opened::Payload(packed)) => unpacked(&packed),
            Ok(Opened::Empty) => Ok(Exchange::Done(Value::Map(Map::new()))),
            Err(_) => Ok(Exchange::StaleKeys(ChannelError::NotAuthentic)),
        }
    }

    fn open_private(
        &self,
        session: &Session,
        nonce: &Nonce,
        reply: Answer,
    ) -> Result<Exchange, ChannelError> {
        if let Ok(Reply::Refused(refusal)) = Reply::decode(&reply) {
            return refused(refusal);
        }
        let master = &session.credentials.master_key;
        match private_reply::open(
            &self.identity.key,
            master,
            self.enc_algo,
            self.sig_algo,
            nonce,
            &reply,
        ) {
            Ok(map) => Ok(Exchange::Done(Value::Map(map))),
            Err(error @ (PrivateReplyError::NotPrivate | PrivateReplyError::Signature)) => {
                Ok(Exchange::StaleKeys(ChannelError::Private(error)))
            }
            Err(error) => Err(ChannelError::Private(error)),
        }
    }

    /// A session later than the numbered one.
    async fn session_after(&self, number: u64, deadline: Instant) -> Option<Session> {
        let mut sessions = self.session.clone();
        let later = sessions.wait_for(|s| s.as_ref().is_some_and(|s| s.number > number));
        timeout_at(deadline, later).await.ok()?.ok()?.clone()
    }
}

fn unpacked(packed: &[u8]) -> Result<Exchange, ChannelError> {
    msgpack::unpack_wire(packed)
        .map(Exchange::Done)
        .map_err(ChannelError::Unpack)
}

/// `bad load` asks for a new sign-in; every other refusal is final.
fn refused(refusal: Refusal) -> Result<Exchange, ChannelError> {
    match refusal {
        Refusal::BadLoad | Refusal::BadFrame => {
            Ok(Exchange::StaleKeys(ChannelError::Refused(refusal)))
        }
        other => Err(ChannelError::Refused(other)),
    }
}
