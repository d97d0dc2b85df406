//! Running low data: `/` and `/run`.

use axum::http::{StatusCode, header};
use axum::response::Response;
use halite_proto::{Map, Value};

use super::access::{check_login, login_failed};
use super::{App, Asked, Peer};
use crate::decode::{self, Body};
use crate::encode::Format;
use crate::fault::{Fault, UNTOUCHED};
use crate::low::{Returned, answer, user_of};
use crate::settings::CLIENTS;
use crate::slots::Holder;

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
    let returns = returned(app, asked, decode::low_data(body.data)?, has_session).await?;
    answer(format, returns)
}

/// What low data returns, as values: see [`returned`].
pub(super) async fn low(
    app: &App,
    asked: &Asked,
    chunks: Vec<Map>,
    has_session: bool,
) -> Result<Vec<Value>, Fault> {
    let returns = returned(app, asked, chunks, has_session).await?;
    returns.into_iter().map(Returned::into_value).collect()
}

/// Runs low data, chunk by chunk, until one fails: with the session, or with the proofs
/// in the chunks.
pub(super) async fn returned(
    app: &App,
    asked: &Asked,
    chunks: Vec<Map>,
    has_session: bool,
) -> Result<Vec<Returned>, Fault> {
    let token = asked.token.as_deref().filter(|_| has_session);
    let mut returns = Vec::new();
    for (number, mut chunk) in chunks.into_iter().enumerate() {
        if let Some(token) = token {
            chunk.insert("token", token);
        }
        let name = login_name(&chunk);
        let client = known_client(&chunk);
        let user = asked.user.as_deref().filter(|_| token.is_some());
        let mut ran = one(app, asked, chunk, user, name.as_deref()).await;
        if let Err(fault) = &mut ran
            && number > 0
        {
            // The chunks before it have run.
            fault.headers.retain(|(name, _)| *name != UNTOUCHED);
        }
        app.stats.command(ran.is_ok());
        if let Some(meters) = &app.meters {
            meters.command(client, ran.is_ok());
        }
        if let (Err(fault), Some(name)) = (&ran, &name)
            && is_failed_login(fault)
        {
            login_failed(app, asked.peer, name);
        }
        returns.extend(ran?);
    }
    Ok(returns)
}

/// The client of a chunk, if it is one.
fn known_client(chunk: &Map) -> &'static str {
    let named = chunk.get("client").and_then(Value::as_str);
    let known = CLIENTS.iter().find(|client| Some(**client) == named);
    known.copied().unwrap_or("unknown")
}

/// Runs one chunk, once there is a place for it; `user` is whose session it is run with,
/// `login` who logs in with it.
async fn one(
    app: &App,
    asked: &Asked,
    chunk: Map,
    user: Option<&str>,
    login: Option<&str>,
) -> Result<Vec<Returned>, Fault> {
    let peer = asked.peer;
    let has_others = app.has_others(peer);
    app.check_relayed(peer).await?;
    let chunk = app.runner.checked(chunk, has_others).map_err(|fault| {
        match peer.is_relayed && fault == Fault::no_master() {
            true => Fault::untouched(),
            false => fault,
        }
    })?;
    let holder = match (user, chunk.credentials.token.as_deref()) {
        (Some(user), _) => Holder::user(user),
        (None, Some(token)) => {
            let holder = token_holder(app, peer, token).await?;
            if !asked.prove(&holder) {
                return Err(Fault::too_many_connections());
            }
            Holder::user(&holder)
        }
        (None, None) => Holder::Login(peer.origin()),
    };
    let Some(name) = login else {
        let _place = app.commands.take(&holder).await?;
        check_master(app, peer).await?;
        return app.runner.run(chunk, has_others).await;
    };
    check_login(app, peer, Some(name))?;
    let _own = app.unproven.take(&holder).await?;
    let _place = app.commands.take(&holder).await?;
    // Those that it has waited behind may have failed.
    check_login(app, peer, Some(name))?;
    check_master(app, peer).await?;
    let eauth = chunk.credentials.eauth.as_deref().unwrap_or_default();
    let user = user_of(eauth, name);
    let ran = app.runner.run(chunk, has_others).await?;
    // It has run: who has too many connections is answered, and this one stays unproven.
    asked.prove(&user);
    Ok(ran)
}

/// Tells another API that its command was not run, while that is certain: when the master
/// cannot be reached before it was asked. Later this is not said any more.
async fn check_master(app: &App, peer: Peer) -> Result<(), Fault> {
    match peer.is_relayed && !app.masters.own_is_there().await {
        true => Err(Fault::untouched()),
        false => Ok(()),
    }
}

/// Whose token it is. One that the master does not know is refused before anything waits
/// for it. One that it knows is good, whoever else has failed from there: behind an
/// address there can be many, as behind another API.
async fn token_holder(app: &App, peer: Peer, token: &str) -> Result<String, Fault> {
    // The semaphore is never closed.
    let asking = app.tokens.acquire().await.ok();
    let holder = app.runner.token_holder(token, app.has_others(peer)).await;
    drop(asking);
    match holder {
        Ok(Some(holder)) => return Ok(holder),
        Ok(None) => {}
        // Nothing was asked but whether the token is good.
        Err(fault) if peer.is_relayed && fault == Fault::no_master() => {
            return Err(Fault::untouched());
        }
        Err(fault) => return Err(fault),
    }
    check_login(app, peer, None)?;
    login_failed(app, peer, "");
    Err(Fault::denied(
        "Authentication failure of type \"token\" occurred.",
    ))
}

/// The user who logs in with a chunk that has a password instead of a token.
fn login_name(chunk: &Map) -> Option<String> {
    let has_password = chunk.contains_key("eauth") && !chunk.contains_key("token");
    let name = chunk.get("username").and_then(Value::as_str);
    has_password.then(|| name.unwrap_or_default().to_owned())
}

/// Whether a password was wrong; a missing right does not count. A master with too many
/// failed logins to check does not say so.
fn is_failed_login(fault: &Fault) -> bool {
    let is_refused =
        fault.status == StatusCode::UNAUTHORIZED && fault.message.starts_with("Authentication");
    is_refused || fault.is_unanswered
}
