//! A request, from the view of a page.

use std::sync::Arc;

use axum::http::{HeaderMap, Method, header};

use super::Peer;
use super::paths::Page;
use crate::connections::Held;
use crate::fault::Fault;
use crate::slots::Holder;

/// A request without its body.
#[derive(Clone)]
pub(super) struct Asked {
    pub(super) method: Method,
    pub(super) page: Page,
    /// The parts of the path behind the page.
    pub(super) rest: Vec<String>,
    pub(super) query: Vec<(String, String)>,
    pub(super) headers: HeaderMap,
    /// The path, unchanged.
    pub(super) path: String,
    pub(super) peer: Peer,
    /// The session that is named, whether there is one or not.
    pub(super) session: Option<String>,
    /// The token of the session, where there is one.
    pub(super) token: Option<String>,
    /// Whose session it is.
    pub(super) user: Option<String>,
    /// The connection, where there is one.
    pub(super) held: Option<Arc<Held>>,
}

impl Asked {
    /// Records that the client has authenticated; false if its user has their share of the
    /// connections already, and this one stays unproven.
    pub(super) fn prove(&self, user: &str) -> bool {
        let held = self.held.as_deref();
        held.is_none_or(|held| held.prove(Holder::user(user)))
    }

    /// The same, asked of the master of this machine alone.
    pub(super) fn of_own_master(&self) -> Self {
        let mut own = self.clone();
        own.peer.is_relayed = true;
        own
    }

    /// A header that is text.
    pub(super) fn header(&self, name: header::HeaderName) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// A parameter of a page, in the path or in the query.
    pub(super) fn parameter(&self, name: &str) -> Result<Option<String>, Fault> {
        let strange = self
            .query
            .iter()
            .any(|(given, _)| given != name && given != "timeout");
        match (self.rest.as_slice(), self.query.as_slice()) {
            _ if strange => Err(Fault::no_match()),
            ([one], []) => Ok(Some(one.clone())),
            ([], query) => {
                let given = query.iter().find(|(given, _)| given == name);
                Ok(given.map(|(_, value)| value.clone()))
            }
            _ => Err(Fault::no_match()),
        }
    }

    /// Whether masters have a part in the answer, and strangers have none.
    pub(super) fn is_of_masters(&self) -> bool {
        match self.page {
            Page::Root | Page::Run | Page::Login | Page::Token => self.method == Method::POST,
            Page::Minions
            | Page::Jobs
            | Page::Keys
            | Page::History
            | Page::Connections
            | Page::Masters
            | Page::Events
            | Page::WebSocket => true,
            _ => false,
        }
    }

    /// Checks that nothing but the page itself is asked for.
    pub(super) fn bare(&self) -> Result<(), Fault> {
        let is_bare =
            self.rest.is_empty() && (self.method == Method::POST || self.query.is_empty());
        is_bare.then_some(()).ok_or_else(Fault::no_match)
    }
}
