//! Recognises masters of Salt, which speak to the same port: without TLS, in frames
//! that begin with their subject. They do not prove their identity to each other,
//! so none becomes a peer.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::net::TcpStream;
use tokio::time::sleep;

use crate::error::MeshError;
use crate::limits::{SALT_TOLD_EVERY, SALT_WAIT_MAX};

/// What a connection with TLS begins with: a record of its handshake.
const TLS_HANDSHAKE: u8 = 0x16;

/// What every frame of Salt's masters is about, a few bytes after its length.
const ABOUT: &[u8] = b"cluster/";

/// Bytes that are looked at.
const LOOKED_AT: usize = 64;

/// How long to wait for more bytes than have come.
const PAUSE: Duration = Duration::from_millis(20);

/// When it was said last that a master of Salt has come.
#[derive(Default)]
pub(crate) struct SaltSeen(Mutex<Option<Instant>>);

impl SaltSeen {
    /// Whether to say it now. Anybody can send such bytes.
    pub(crate) fn is_due(&self, now: Instant) -> bool {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_due = last.is_none_or(|last| now.saturating_duration_since(last) > SALT_TOLD_EVERY);
        if is_due {
            *last = Some(now);
        }
        is_due
    }
}

/// Looks at what a connection begins with, and leaves it there.
///
/// # Errors
/// When it is not TLS.
pub(crate) async fn check_tls(stream: &TcpStream) -> Result<(), MeshError> {
    let mut first = [0; LOOKED_AT];
    let mut came = stream.peek(&mut first).await?;
    if came == 0 || first.first() == Some(&TLS_HANDSHAKE) {
        return Ok(());
    }
    let begun = Instant::now();
    while came < LOOKED_AT && !is_of_salt(&first[..came]) && begun.elapsed() < SALT_WAIT_MAX {
        sleep(PAUSE).await;
        came = stream.peek(&mut first).await?;
    }
    Err(match is_of_salt(&first[..came]) {
        true => MeshError::OfSalt,
        false => MeshError::Frame {
            what: "something else than TLS",
        },
    })
}

fn is_of_salt(first: &[u8]) -> bool {
    first.windows(ABOUT.len()).any(|part| part == ABOUT)
}
