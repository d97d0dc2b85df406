//! Running low data: `/` and `/run`.

use std::time::Instant;

use axum::http::{StatusCode, header};
use axum::response::Response;
use halite_proto::{Map, Value};

use super::access::check_wait;
use super::{App, Asked, Peer};
use crate::decode::{self, Body};
use crate::encode::Format;
use crate::fault::Fault;
use crate::settings::CLIENTS;

/// `GET /`
pub(super) fn welcome(_: &App, asked: &Asked) -> Result<Response, Fault> {
    asked.bare()?;
    let clients = CLIENTS.iter().map(|client| Value::from(*client)).collect();
    let words = Map::from([
        ("return", Value::from("Welcome")),
        ("clients", Value::List(clients)),
    ]);
    Format::accepted(asked.header(header::ACCEPT))?.answer(&words.into())
}

/// `POST /` with the token of the session, `POST /run` with what is in the low
/// data.
pub(super) async fn run(
    app: &App,
    asked: &Asked,
    body: Body,
    has_session: bool,
) -> Result<Response, Fault> {
    asked.bare()?;
    let format = Format::accepted(asked.header(header::ACCEPT))?;
    let token = asked.token.as_deref().filter(|_| has_session);
    let returns = low(app, asked.peer, decode::low_data(body.data)?, token).await?;
    format.answer(&Map::from([("return", Value::List(returns))]).into())
}

/// Runs low data, chunk by chunk, until one fails.
pub(super) async fn low(
    app: &App,
    peer: Peer,
    chunks: Vec<Map>,
    token: Option<&str>,
) -> Result<Vec<Value>, Fault> {
    let mut returns = Vec::new();
    for mut chunk in chunks {
        if let Some(token) = token {
            chunk.insert("token", token);
        }
        let name = login_name(&chunk);
        if let Some(name) = &name {
            check_wait(app, peer, name)?;
        }
        // The semaphore is never closed.
        let place = app.commands.acquire().await;
        let ran = app.runner.run(chunk).await;
        drop(place);
        app.stats.command(ran.is_ok());
        match (ran, name) {
            (Ok(values), _) => returns.extend(values),
            (Err(fault), Some(name)) if is_failed_login(&fault) => {
                app.throttle.failed(peer.address, &name, Instant::now());
                app.stats.login_failed();
                return Err(fault);
            }
            (Err(fault), _) => return Err(fault),
        }
    }
    Ok(returns)
}

/// Who logs in with a chunk, where it has a password in the place of a token.
fn login_name(chunk: &Map) -> Option<String> {
    let has_password = chunk.contains_key("eauth") && !chunk.contains_key("token");
    let name = chunk.get("username").and_then(Value::as_str);
    has_password.then(|| name.unwrap_or_default().to_owned())
}

/// Whether a password was wrong; a missing right is none of that.
fn is_failed_login(fault: &Fault) -> bool {
    fault.status == StatusCode::UNAUTHORIZED && fault.message.starts_with("Authentication")
}
