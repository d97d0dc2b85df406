//! The exchanges with a master before there are keys: a clear ping, and the
//! sign-in from the request to the checked reply.

use std::sync::Arc;
use std::time::Duration;

use halite_crypto::random_bytes;
use halite_proto::envelope::RequestEnvelope;
use halite_proto::{Appointment, Capabilities, Map, Nonce};
use halite_transport::fleet::{RequestError, Requester};
use tracing::error;

use super::trust_store::TrustStore;
use crate::core::link::SignInFailure;
use crate::core::sign_in::{Attempt, Credentials, Identity, SignInError, chain};

/// Why a sign-in failed, for the machine and for people.
pub struct Failed {
    pub(crate) failure: SignInFailure,
    pub(crate) detail: String,
    /// What a busy master wants to hear at the next sign-in.
    pub(crate) appointment: Option<Appointment>,
}

/// Whether a master answers a clear ping, with anything at all.
pub(crate) async fn ping(requester: &Requester, timeout: Duration) -> bool {
    let ping = RequestEnvelope::clear(Map::from([("cmd", "ping")]));
    match ping.encode() {
        Ok(packed) => requester.request(packed, timeout).await.is_ok(),
        Err(_) => false,
    }
}

/// One sign-in from the request to the checked reply; `appointment` is what the master
/// has said to the last one. RSA work is done off the async thread.
pub(crate) async fn sign_in(
    requester: &Requester,
    identity: Arc<Identity>,
    trust: Arc<TrustStore>,
    autosign_grains: Option<Map>,
    appointment: Option<Appointment>,
    timeout: Duration,
) -> Result<Credentials, Failed> {
    let prepared = {
        let (identity, trust) = (Arc::clone(&identity), Arc::clone(&trust));
        blocking(move || {
            let nonce = Nonce::from_random(random_bytes());
            let mut extra = Capabilities::OURS.to_extra();
            if let Some(appointment) = appointment {
                appointment.add_to(&mut extra);
            }
            Attempt::new(&identity, &trust.trust(), nonce, autosign_grains, extra)
        })
        .await?
    };
    let (attempt, request) = prepared.map_err(Failed::from)?;
    let envelope = RequestEnvelope::clear(request.to_map());
    let packed = envelope
        .encode()
        .map_err(|error| Failed::mistrusted(&error))?;
    let reply = requester.request(packed, timeout).await?;
    let concluded = blocking(move || {
        trust.conclude(
            |trust| {
                let credentials = attempt.conclude(&identity, trust, &reply)?;
                let pem = credentials.master_pem.clone();
                Ok((credentials, pem))
            },
            |error| error!("the master's key cannot be stored: {}", chain(&error)),
        )
    })
    .await?;
    concluded.map_err(|error: SignInError| Failed::from(error))
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Failed> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|error| Failed::mistrusted(&error))
}

impl Failed {
    /// The failure for the state machine.
    pub fn failure(&self) -> &SignInFailure {
        &self.failure
    }

    /// The message for people.
    pub fn detail(&self) -> &str {
        &self.detail
    }

    fn mistrusted(error: &dyn std::error::Error) -> Self {
        let detail = chain(error);
        Self {
            failure: SignInFailure::Mistrusted(detail.clone()),
            detail,
            appointment: None,
        }
    }
}

impl From<SignInError> for Failed {
    fn from(error: SignInError) -> Self {
        Self {
            failure: error.failure(),
            detail: chain(&error),
            appointment: match error {
                SignInError::Busy(answer) => answer.appointment,
                _ => None,
            },
        }
    }
}

impl From<RequestError> for Failed {
    fn from(error: RequestError) -> Self {
        Self {
            failure: SignInFailure::NoAnswer,
            detail: chain(&error),
            appointment: None,
        }
    }
}
