//! The body of a request: how large it may be, and how long it may take.

use axum::body::Body;
use axum::http::{StatusCode, header};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use tokio::sync::SemaphorePermit;

use super::{App, Asked};
use crate::decode;
use crate::fault::Fault;
use crate::limits::{BODY_SMALL, BODY_WITHIN};
use crate::slots::Share;

/// Room for a large body, until dropped.
pub(super) struct Room<'a> {
    _bytes: SemaphorePermit<'a>,
    _share: Option<Share>,
}

impl Asked {
    /// How long the body says that it is.
    fn declared_length(&self) -> Option<usize> {
        self.header(header::CONTENT_LENGTH)?.parse().ok()
    }
}

impl App {
    /// Memory for a large body of a client without a session; others need none. One
    /// address leaves room for others.
    ///
    /// # Errors
    /// With 503 when there is none.
    pub(super) fn room(&self, asked: &Asked) -> Result<Option<Room<'_>>, Fault> {
        let bytes = asked
            .declared_length()
            .unwrap_or(self.settings.body_bytes_max);
        if asked.token.is_some() || bytes <= BODY_SMALL {
            return Ok(None);
        }
        // What is larger than allowed is refused when it is read.
        let bytes = bytes.min(self.settings.body_bytes_max);
        let rooms = u32::try_from(bytes.div_ceil(BODY_SMALL)).unwrap_or(u32::MAX);
        let full = || {
            let full = StatusCode::SERVICE_UNAVAILABLE;
            Fault::new(full, "There are too many large requests already")
        };
        let share = self.large_body_shares.take(asked.peer.origin());
        if share.is_none() && !asked.peer.is_near() {
            return Err(full());
        }
        let bytes = self.large_bodies.try_acquire_many(rooms);
        Ok(Some(Room {
            _bytes: bytes.map_err(|_| full())?,
            _share: share,
        }))
    }

    pub(super) async fn body(&self, asked: &Asked, body: Body) -> Result<decode::Body, Fault> {
        let max = self.settings.body_bytes_max;
        let declared = asked.declared_length();
        if declared.is_some_and(|length| length > max) {
            return Err(Fault::too_large());
        }
        let collecting = Limited::new(body, max).collect();
        let Ok(collected) = tokio::time::timeout(BODY_WITHIN, collecting).await else {
            let late = StatusCode::REQUEST_TIMEOUT;
            return Err(Fault::new(late, "The request took too long."));
        };
        let bytes = collected.map_err(|error| match error.downcast_ref::<LengthLimitError>() {
            Some(_) => Fault::too_large(),
            None => Fault::bad("The request broke off."),
        })?;
        decode::body(asked.header(header::CONTENT_TYPE), &bytes.to_bytes())
    }
}
