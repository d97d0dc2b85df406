//! `/logout`: ends a session and its token.
//!
//! Invariant: a token ends at every master that holds it and can be reached, and the log
//! says so where one may still hold it.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use axum::response::Response;
use halite_proto::Map;
use halite_store::TokenId;

use super::access::{format_of, set_cookie};
use super::{App, Asked};
use crate::fault::Fault;
use crate::low::is_hex;

/// `POST /logout`
pub(super) async fn logout(app: &Arc<App>, asked: &Asked) -> Result<Response, Fault> {
    asked.bare()?;
    let format = format_of(asked)?;
    let id = asked.session.as_deref().unwrap_or_default();
    match app.sessions.end(id) {
        Some(token) => {
            let has_others = app.has_others(asked.peer);
            // It goes on where the client does not wait for it: the session is gone.
            let ending = tokio::spawn(end(Arc::clone(app), token, has_others));
            if let Err(error) = ending.await {
                tracing::error!("a token may remain valid until it expires: {error}");
            }
        }
        None if asked.peer.is_relayed => end_relayed(app, asked, id).await?,
        None => {}
    }
    let words = Map::from([("return", "Your token has been cleared")]);
    let mut response = format.answer(&words.into())?;
    set_cookie(
        response.headers_mut(),
        asked,
        "",
        SystemTime::UNIX_EPOCH,
        Duration::ZERO,
    );
    Ok(response)
}

/// Ends the token of a session.
async fn end(app: Arc<App>, token: String, has_others: bool) {
    if end_at_master(&app, &token).await {
        return;
    }
    let was_stored = delete(&app, &token).await;
    if !has_others {
        return;
    }
    // What was only deleted from a store may be at a peer, or at the master of the list
    // that made it.
    let was_elsewhere = app.masters.log_out(&token).await;
    if !was_stored && !was_elsewhere {
        tracing::warn!(
            "no reachable master knows the token of an ended session: a master that has it will \
             accept it until it expires"
        );
    }
}

/// Ends a token for the API of another master.
///
/// # Errors
/// With 401 if the master does not know the token.
async fn end_relayed(app: &App, asked: &Asked, token: &str) -> Result<(), Fault> {
    if !is_hex(&token.into()) {
        return Err(Fault::no_session());
    }
    app.check_relayed(asked.peer).await?;
    match end_at_master(app, token).await {
        true => Ok(()),
        false => Err(Fault::no_session()),
    }
}

/// Asks the master of this machine, which tells its peers.
async fn end_at_master(app: &App, token: &str) -> bool {
    if !app.masters.own_was_there().await {
        return false;
    }
    // The semaphore is never closed.
    let _asking = app.tokens.acquire().await.ok();
    let asked = app.runner.client.log_out(token).await;
    asked.unwrap_or_else(|error| {
        let error = halite_proto::chain(&error);
        tracing::warn!("the master did not confirm that it has deleted a token: {error}");
        false
    })
}

/// Deletes a token from the store, in the place of a master that is away or does not know
/// the request; false if there was none.
async fn delete(app: &App, token: &str) -> bool {
    let Some(token) = TokenId::parse(token) else {
        return false;
    };
    let settings = app.runner.client.settings().clone();
    let delete = move || settings.store().tokens.delete(&token);
    match tokio::task::spawn_blocking(delete).await {
        Ok(Ok(was_stored)) => return was_stored,
        Ok(Err(error)) => {
            let error = halite_proto::chain(&error);
            tracing::error!("a token remains valid until it expires: {error}");
        }
        Err(error) => tracing::error!("a token remains valid until it expires: {error}"),
    }
    false
}
