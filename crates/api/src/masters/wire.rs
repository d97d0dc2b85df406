//! Requests to the API of another master: one connection for each.
//!
//! Invariant: an error says whether the other side may have received the request.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderValue, Method, Request, StatusCode, header};
use halite_proto::Value;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use nix::sys::socket::setsockopt;
use nix::sys::socket::sockopt::{
    KeepAlive, TcpKeepCount, TcpKeepIdle, TcpKeepInterval, TcpUserTimeout,
};
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::names::Names;
use crate::address::Address;
use crate::fault::UNTOUCHED;
use crate::limits::{
    OTHER_CONNECTED_WITHIN, OTHER_SILENT_MAX, RELAYED_ANSWER_BYTES_MAX, RELAYED_BYTES_MAX,
    WRITE_WITHIN,
};
use crate::sessions::AUTH_HEADER;
use crate::tls::{Dialer, TlsError};

/// The header of a request that one API has from another: it is answered with what
/// its own master says. The value says which one has sent it.
pub(crate) const RELAYED: &str = "halite-relayed";

/// How to reach the API of another master.
pub(super) struct Wire {
    pub(super) address: Address,
    dialer: Option<Dialer>,
    /// Where its name leads.
    names: Names,
    /// The identity of this API.
    instance: HeaderValue,
    /// The room of the answers of all other masters.
    room: Arc<Semaphore>,
}

/// Why there is no answer.
#[derive(Debug, Error)]
pub(super) enum WireError {
    /// No connection could be opened: nothing was sent.
    #[error("could not connect")]
    Unreached(#[source] io::Error),
    /// No connection could be opened in time: nothing was sent.
    #[error("could not connect within {} s", OTHER_CONNECTED_WITHIN.as_secs())]
    Slow,
    /// The other side is not who it should be, or has no TLS: nothing was asked.
    #[error("could not encrypt the connection")]
    Tls(#[source] TlsError),
    /// The request cannot be written.
    #[error("the request cannot be sent")]
    Request(#[source] axum::http::Error),
    /// The connection ended. The request may have been read.
    #[error("the connection ended before the answer")]
    Broken(#[source] hyper::Error),
    /// The answer does not come. The request may have been read.
    #[error("no answer within {} s", .0.as_secs())]
    Silent(Duration),
    /// The answer is too large.
    #[error("the answer has more than {RELAYED_ANSWER_BYTES_MAX} bytes")]
    TooLarge,
    /// The answers of all that are asked are too large together.
    #[error("the answers of other masters have more than {RELAYED_BYTES_MAX} bytes together")]
    NoRoom,
    /// The answer ended half-way.
    #[error("the answer cannot be read")]
    Answer(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl WireError {
    /// Whether nobody has seen the request.
    pub(super) const fn is_unsent(&self) -> bool {
        matches!(
            self,
            Self::Unreached(_) | Self::Slow | Self::Tls(_) | Self::Request(_)
        )
    }
}

/// A connection, as far as HTTP cares.
trait Connection: AsyncRead + AsyncWrite + Send + Unpin {}

impl<C: AsyncRead + AsyncWrite + Send + Unpin> Connection for C {}

/// An answer whose body is there.
pub(super) struct Answered {
    pub(super) status: StatusCode,
    /// Whether the API says that nobody has acted on the request.
    pub(super) is_untouched: bool,
    pub(super) body: Bytes,
    /// The room of the body, until it is read.
    pub(super) _room: Option<OwnedSemaphorePermit>,
}

impl Wire {
    pub(super) fn new(
        address: Address,
        dialer: Option<Dialer>,
        instance: HeaderValue,
        room: Arc<Semaphore>,
    ) -> Self {
        Self {
            names: Names::new(&address.host, address.port),
            address,
            dialer,
            instance,
            room,
        }
    }

    /// Asks for a page, or posts JSON to it, and waits for the whole answer, within
    /// a time.
    pub(super) async fn ask(
        &self,
        method: Method,
        page: &str,
        token: Option<&str>,
        json: Option<String>,
        within: Duration,
    ) -> Result<Answered, WireError> {
        let asking = async {
            let response = self.send(method, page, token, json).await?;
            let status = response.status();
            let is_untouched = response.headers().contains_key(UNTOUCHED);
            let (body, room) = self.whole(response.into_body()).await?;
            Ok(Answered {
                status,
                is_untouched,
                body,
                _room: room,
            })
        };
        tokio::time::timeout(within, asking)
            .await
            .unwrap_or(Err(WireError::Silent(within)))
    }

    /// The whole body, and its part of the room of all answers.
    async fn whole(
        &self,
        mut body: Incoming,
    ) -> Result<(Bytes, Option<OwnedSemaphorePermit>), WireError> {
        let mut bytes = Vec::new();
        let mut room: Option<OwnedSemaphorePermit> = None;
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|error| WireError::Answer(Box::new(error)))?;
            let Some(more) = frame.data_ref() else {
                continue;
            };
            if bytes.len() + more.len() > RELAYED_ANSWER_BYTES_MAX {
                return Err(WireError::TooLarge);
            }
            let taken = u32::try_from(more.len())
                .ok()
                .and_then(|more| Arc::clone(&self.room).try_acquire_many_owned(more).ok());
            let taken = taken.ok_or(WireError::NoRoom)?;
            match &mut room {
                Some(room) => room.merge(taken),
                None => room = Some(taken),
            }
            bytes.extend_from_slice(more);
        }
        Ok((bytes.into(), room))
    }

    /// Asks, and waits for the head of the answer.
    pub(super) async fn send(
        &self,
        method: Method,
        page: &str,
        token: Option<&str>,
        json: Option<String>,
    ) -> Result<axum::http::Response<Incoming>, WireError> {
        let mut request = Request::builder()
            .method(method)
            .uri(format!("{}{page}", self.address.prefix))
            .header(header::HOST, self.address.authority())
            .header(header::ACCEPT, "application/json")
            .header(RELAYED, self.instance.clone());
        if let Some(token) = token {
            let mut token =
                HeaderValue::try_from(token).map_err(|error| WireError::Request(error.into()))?;
            token.set_sensitive(true);
            request = request.header(AUTH_HEADER, token);
        }
        let body = match json {
            None => Body::empty(),
            Some(json) => {
                request = request.header(header::CONTENT_TYPE, "application/json");
                Body::from(json)
            }
        };
        let request = request.body(body).map_err(WireError::Request)?;
        let mut sender = tokio::time::timeout(OTHER_CONNECTED_WITHIN, self.connect())
            .await
            .unwrap_or(Err(WireError::Slow))?;
        sender
            .send_request(request)
            .await
            .map_err(WireError::Broken)
    }

    async fn connect(&self) -> Result<SendRequest<Body>, WireError> {
        let at = self.names.addresses().await;
        let at = at.map_err(WireError::Unreached)?;
        let stream = TcpStream::connect(at.as_slice()).await;
        let stream = stream.map_err(WireError::Unreached)?;
        notice_death(&stream).map_err(WireError::Unreached)?;
        let stream: Box<dyn Connection> = match &self.dialer {
            None => Box::new(stream),
            Some(dialer) => {
                let encrypted = dialer.connect(&self.address.host, stream).await;
                Box::new(encrypted.map_err(WireError::Tls)?)
            }
        };
        let (sender, connection) = http1::handshake(TokioIo::new(stream))
            .await
            .map_err(WireError::Broken)?;
        // It ends with the request or its answer, whichever is dropped last.
        tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!("a connection to another API ended: {error}");
            }
        });
        Ok(sender)
    }
}

/// Lets the kernel end a connection whose other end has vanished.
fn notice_death(stream: &TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let silent = u32::try_from(OTHER_SILENT_MAX.as_secs()).unwrap_or(u32::MAX);
    let writing = u32::try_from(WRITE_WITHIN.as_millis()).unwrap_or(u32::MAX);
    setsockopt(stream, KeepAlive, &true)?;
    setsockopt(stream, TcpKeepIdle, &(silent / 3).max(1))?;
    setsockopt(stream, TcpKeepInterval, &(silent / 6).max(1))?;
    setsockopt(stream, TcpKeepCount, &4)?;
    setsockopt(stream, TcpUserTimeout, &writing)?;
    Ok(())
}

/// What an answer in JSON returns.
pub(super) fn returned(body: &[u8]) -> Option<Vec<Value>> {
    let text = std::str::from_utf8(body).ok()?;
    let Value::Map(mut answer) = halite_proto::json::read(text).ok()? else {
        return None;
    };
    match answer.remove("return") {
        Some(Value::List(returns)) => Some(returns),
        _ => None,
    }
}

/// The text of an error page; ours and CherryPy's have it in a paragraph.
pub(super) fn message(body: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(body).ok()?;
    let (_, rest) = text.split_once("<p>")?;
    let (message, _) = rest.split_once("</p>")?;
    let plain = message
        .replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&quot;", "\"")
        .replace("&#x27;", "'")
        .replace("&amp;", "&");
    Some(plain)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::Fault;
    use axum::response::IntoResponse;

    #[tokio::test]
    async fn the_words_of_an_error_are_read_from_its_page() {
        let why = "No <such> & such 'thing'";
        let page = Fault::bad(why).into_response().into_body();
        let page = page.collect().await.unwrap().to_bytes();
        assert_eq!(message(&page).as_deref(), Some(why));
        assert_eq!(message(b"no page"), None);
    }

    #[test]
    fn what_is_no_answer_returns_nothing() {
        assert_eq!(
            returned(b"{\"return\": [{\"web1\": true}]}"),
            Some(vec![halite_proto::Map::from([("web1", true)]).into()])
        );
        for bad in [&b"{}"[..], b"[]", b"\xff", b"{\"return\": 5}"] {
            assert_eq!(returned(bad), None);
        }
    }
}
