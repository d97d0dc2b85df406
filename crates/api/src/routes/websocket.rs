//! The master's events over a websocket: `/ws`.
//!
//! A large event is sent in fragments, so that a slow reader does not hold a copy
//! of all of it.

use std::sync::Arc;
use std::time::Instant;

use axum::body::{Body, Bytes};
use axum::http::Request;
use axum::response::Response;
use futures_util::{SinkExt, StreamExt};
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::server::create_response;
use tokio_tungstenite::tungstenite::protocol::frame::Frame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::{Data, OpCode};
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};

use super::streams::{News, Watched, told_of_lost};
use super::{App, Asked};
use crate::event_text::Text;
use crate::events::Next;
use crate::fault::Fault;
use crate::limits::{EVENT_PIECE_BYTES, WS_MESSAGE_BYTES_MAX};

type Socket = WebSocketStream<TokioIo<Upgraded>>;

/// A websocket is of no use any more.
struct Gone;

/// `GET /ws`, `GET /ws/SESSION`
pub(super) async fn websocket(
    app: &Arc<App>,
    asked: &Asked,
    mut request: Request<Body>,
) -> Result<Response, Fault> {
    if asked.query.iter().any(|(name, _)| name == "format_events") {
        return Err(Fault::bad(
            "format_events is not supported: events are sent as they are fired",
        ));
    }
    let named = match asked.rest.as_slice() {
        [] => asked.session.clone(),
        [session] => Some(session.clone()),
        _ => return Err(Fault::no_match()),
    };
    let named = named.filter(|id| app.sessions.token(id, Instant::now()).is_some());
    let proof = named.ok_or_else(Fault::no_session)?;
    let watched = Watched::begin(app, proof, asked).await?;
    let upgrade = hyper::upgrade::on(&mut request);
    let response = create_response(&request.map(drop));
    let response = response.map_err(|refused| Fault::bad(refused.to_string()))?;
    // It is a connection until it ends.
    let held = asked.held.clone();
    tokio::spawn(async move {
        let _held = held;
        let Ok(upgraded) = upgrade.await else { return };
        let io = TokioIo::new(upgraded);
        let config = Some(config());
        let socket = WebSocketStream::from_raw_socket(io, Role::Server, config).await;
        messages(socket, watched).await;
    });
    Ok(response.map(|()| Body::empty()))
}

/// Little is heard, and what is sent is not gathered.
fn config() -> WebSocketConfig {
    WebSocketConfig::default()
        .read_buffer_size(WS_MESSAGE_BYTES_MAX)
        .write_buffer_size(0)
        .max_message_size(Some(WS_MESSAGE_BYTES_MAX))
        .max_frame_size(Some(WS_MESSAGE_BYTES_MAX))
}

/// Sends events once the client has said anything, as those of Salt expect.
async fn messages(mut socket: Socket, mut watched: Watched) {
    let mut is_ready = false;
    loop {
        let news = tokio::select! {
            news = watched.next() => news,
            heard = socket.next() => match heard {
                Some(Ok(Message::Close(_)) | Err(_)) | None => return,
                Some(Ok(Message::Text(_) | Message::Binary(_))) => {
                    is_ready = true;
                    continue;
                }
                Some(Ok(_)) => continue,
            },
        };
        let sent = match news {
            None => break,
            Some(News::Events(Next::Event(text))) if is_ready => {
                send(&mut socket, &mut watched, text).await
            }
            Some(News::Events(Next::Lost(count))) if is_ready => {
                say(&mut socket, Message::Text(told_of_lost(count).into())).await
            }
            Some(News::Events(_)) => continue,
            Some(News::Heartbeat) => say(&mut socket, Message::Ping(Bytes::new())).await,
        };
        if sent.is_err() {
            return;
        }
    }
    // The other end may be gone already.
    let _ = say(&mut socket, Message::Close(None)).await;
}

async fn send(socket: &mut Socket, watched: &mut Watched, text: Text) -> Result<(), Gone> {
    let length = text.len();
    if length <= EVENT_PIECE_BYTES {
        return say(socket, Message::Text(text.message())).await;
    }
    // Behind the tag, which stands before the message.
    let mut sent = length - text.message().len();
    drop(text);
    let mut kind = Data::Text;
    while sent < length {
        let piece = watched.piece(sent).map_err(|_| Gone)?;
        sent += piece.len();
        let frame = Frame::message(piece, OpCode::Data(kind), sent == length);
        say(socket, Message::Frame(frame)).await?;
        kind = Data::Continue;
    }
    Ok(())
}

async fn say(socket: &mut Socket, message: Message) -> Result<(), Gone> {
    socket.send(message).await.map_err(|_| Gone)
}
