//! Logging in: `/login`, `/token`.
//!
//! Invariant: a password goes to the master and nowhere else, and after too many
//! failures the master is not asked at all.

use std::time::{Duration, Instant, SystemTime};

use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::Response;
use halite_proto::clear::TokenRequest;
use halite_proto::{Map, Value, python};

use super::{App, Asked, NO_STORE, Peer};
use crate::decode::{self, Body};
use crate::encode::Format;
use crate::fault::Fault;
use crate::limits::SESSION_LASTS_MAX;
use crate::low::{credentials, fault, user_of};
use crate::sessions::AUTH_HEADER;
use crate::static_files::http_date;

const COOKIE: &str = "session_id";

/// An id of a session is not longer.
pub(super) const ID_BYTES_MAX: usize = 128;

/// The session that a request names: in the header, or in the last of its cookies, as with
/// Salt.
pub(super) fn named_session(headers: &HeaderMap) -> Option<String> {
    let given = headers.get(AUTH_HEADER).and_then(|id| id.to_str().ok());
    let cookies = headers.get_all(header::COOKIE).iter();
    let cookie = cookies
        .filter_map(|cookies| cookies.to_str().ok())
        .flat_map(|cookies| cookies.split(';'))
        .filter_map(|cookie| cookie.trim().split_once('='))
        .rfind(|(name, _)| *name == COOKIE)
        .map(|(_, value)| value.trim_matches('"'));
    let id = given.filter(|id| !id.is_empty()).or(cookie)?;
    (id.len() <= ID_BYTES_MAX).then(|| id.to_owned())
}

/// `GET /login`
pub(super) fn please_log_in(asked: &Asked) -> Result<Response, Fault> {
    asked.bare()?;
    let words = Map::from([("status", Value::Nil), ("return", "Please log in".into())]);
    let mut response = format_of(asked)?.answer(&words.into())?;
    let session = HeaderValue::from_static("Session");
    response
        .headers_mut()
        .insert(header::WWW_AUTHENTICATE, session);
    Ok(response)
}

/// `POST /login`
pub(super) async fn login(app: &App, asked: &Asked, body: Body) -> Result<Response, Fault> {
    asked.bare()?;
    let format = format_of(asked)?;
    app.runner.check_running(app.has_others(asked.peer))?;
    let asks = match body.data {
        Value::Map(asks) => asks,
        data => {
            let first = decode::low_data(data)?.into_iter().next();
            first.ok_or_else(|| Fault::bad("Lowstates must be a list"))?
        }
    };
    let made = make_token(app, asked.peer, asks).await?;
    let token =
        made.ok_or_else(|| Fault::denied("Could not authenticate using provided credentials"))?;
    let now = SystemTime::now();
    let expire = token
        .get("expire")
        .and_then(Value::as_f64)
        .unwrap_or_default();
    let unix = now
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default();
    let lifetime = Duration::try_from_secs_f64(expire).unwrap_or_default();
    let lifetime = lifetime.saturating_sub(unix).min(SESSION_LASTS_MAX);
    let text = token.get("token").map(python::str).unwrap_or_default();
    let field = |name: &str| token.get(name).cloned().unwrap_or_default();
    let user = user_of_token(&token);
    // Who has too many connections is let in, and this one stays unproven.
    asked.prove(&user);
    let begun = app.sessions.begin(text, user, lifetime, Instant::now());
    let id = begun.ok_or_else(|| {
        let full = StatusCode::SERVICE_UNAVAILABLE;
        Fault::new(full, "There are too many sessions already")
    })?;
    let session = Map::from([
        ("token", Value::from(id.as_str())),
        ("expire", field("expire")),
        ("start", field("start")),
        ("user", field("name")),
        ("eauth", field("eauth")),
        ("perms", permissions(&app.settings.external_auth, &token)),
    ]);
    let words = Map::from([("return", Value::List(vec![session.into()]))]);
    let mut response = format.answer(&words.into())?;
    let headers = response.headers_mut();
    if let Ok(id) = HeaderValue::from_str(&id) {
        headers.insert(AUTH_HEADER, id);
    }
    headers.insert(header::CACHE_CONTROL, NO_STORE);
    set_cookie(headers, asked, &id, now, lifetime);
    Ok(response)
}

/// `POST /token`
pub(super) async fn tokens(app: &App, asked: &Asked, body: Body) -> Result<Response, Fault> {
    asked.bare()?;
    let format = format_of(asked)?;
    app.runner.check_running(app.has_others(asked.peer))?;
    let chunks = decode::low_data(body.data)?;
    let is_whole = |chunk: &Map| {
        let names = ["username", "password", "eauth"];
        names.iter().all(|name| chunk.contains_key(name))
    };
    if !chunks.iter().all(is_whole) {
        let why = "Require \"username\", \"password\", and \"eauth\" params";
        return Err(Fault::bad(why));
    }
    let mut tokens = Vec::new();
    for chunk in chunks {
        let user = chunk.get("username").map(python::str).unwrap_or_default();
        let Some(token) = make_token(app, asked.peer, chunk).await? else {
            return Err(Fault::denied(format!(
                "Authentication failure of type \"eauth\" occurred for user {user}."
            )));
        };
        asked.prove(&user_of_token(&token));
        tokens.push(token.into());
    }
    let mut response = format.answer(&Value::List(tokens))?;
    response
        .headers_mut()
        .insert(header::CACHE_CONTROL, NO_STORE);
    Ok(response)
}

/// The user of a token: the `eauth` and the name of the login.
fn user_of_token(token: &Map) -> String {
    let [eauth, name] = ["eauth", "name"].map(|field| token.get(field).map(python::str));
    user_of(&eauth.unwrap_or_default(), &name.unwrap_or_default())
}

/// Records that an authentication has failed, wherever it came from.
pub(super) fn login_failed(app: &App, peer: Peer, name: &str) {
    app.throttle.failed(peer.origin(), name, Instant::now());
    app.stats.login_failed();
    if let Some(meters) = &app.meters {
        meters.login(false);
    }
}

/// Asks the master for a token; nothing if it does not believe.
async fn make_token(app: &App, peer: Peer, asks: Map) -> Result<Option<Map>, Fault> {
    let name = asks.get("username").map(python::str).unwrap_or_default();
    check_login(app, peer, Some(&name))?;
    let Some(_under_way) = app.logins.take(peer.origin()) else {
        tracing::warn!(from = %peer.caller, "refused a login: too many are under way");
        return Err(too_many(Duration::ZERO));
    };
    match ask_token(app, peer, asks).await {
        Ok(token) => {
            match &token {
                None => login_failed(app, peer, &name),
                Some(_) => app.meters.iter().for_each(|meters| meters.login(true)),
            }
            Ok(token)
        }
        Err(fault) => {
            // To one wrong password too many a master says nothing.
            if fault.is_unanswered {
                login_failed(app, peer, &name);
            }
            Err(fault)
        }
    }
}

/// Asks the master of this machine, or another one while it is away.
async fn ask_token(app: &App, peer: Peer, mut asks: Map) -> Result<Option<Map>, Fault> {
    if app.has_others(peer) && !app.masters.own_is_there().await {
        return app.masters.make_token(asks).await;
    }
    app.check_relayed(peer).await?;
    let request = TokenRequest {
        credentials: credentials(&mut asks),
        token_expire: asks.remove("token_expire"),
        fields: asks,
    };
    let answer = app.runner.client.ask_token(&request).await;
    Ok(match answer.map_err(|error| fault(&error))? {
        Value::Map(token) if token.contains_key("token") => Some(token),
        _ => None,
    })
}

/// Refuses a login that `api_acl` does not list, and one of somebody who has
/// failed too often; `user` is nobody for a token.
pub(super) fn check_login(app: &App, peer: Peer, user: Option<&str>) -> Result<(), Fault> {
    if user.is_some() && !app.settings.may_log_in(user, peer.address) {
        tracing::warn!(from = %peer.caller, "refused a login: api_acl does not list it");
        return Err(Fault::no_session());
    }
    let name = user.unwrap_or_default();
    match app.throttle.wait(peer.origin(), name, Instant::now()) {
        None => Ok(()),
        Some(wait) => {
            tracing::warn!(from = %peer.caller, "refused a login: too many have failed");
            Err(too_many(wait))
        }
    }
}

/// The refusal of a login that may be tried again in a while.
fn too_many(wait: Duration) -> Fault {
    let why = "Too many logins have failed or are under way; try again later";
    let mut fault = Fault::new(StatusCode::TOO_MANY_REQUESTS, why);
    let seconds = HeaderValue::from(wait.as_secs().max(1));
    fault.headers.push((header::RETRY_AFTER, seconds));
    fault
}

pub(super) fn format_of(asked: &Asked) -> Result<Format, Fault> {
    Format::accepted(asked.header(header::ACCEPT))
}

/// What `external_auth` says about a user, for people to look at.
fn permissions(external: &Map, token: &Map) -> Value {
    let text = |name: &str| token.get(name).and_then(Value::as_str).unwrap_or_default();
    let users = external.get(text("eauth")).and_then(Value::as_map);
    let Some(users) = users else {
        return Map::new().into();
    };
    let groups = token
        .get("groups")
        .and_then(Value::as_list)
        .unwrap_or_default();
    let groups = groups
        .iter()
        .map(|group| format!("{}%", python::str(group)));
    let names = [text("name").to_owned(), "*".to_owned()]
        .into_iter()
        .chain(groups);
    let mut texts = std::collections::BTreeSet::new();
    let mut others = std::collections::BTreeMap::new();
    for name in names {
        let listed = users.get(name.as_str()).and_then(Value::as_list);
        for permission in listed.unwrap_or_default() {
            match permission {
                Value::Str(text) => {
                    texts.insert(text.clone());
                }
                other => {
                    others.insert(python::repr(other), other.clone());
                }
            }
        }
    }
    let all: Vec<Value> = texts
        .into_iter()
        .map(Value::from)
        .chain(others.into_values())
        .collect();
    match all.is_empty() {
        true => Map::new().into(),
        false => all.into(),
    }
}

/// Hands the session to a browser, or takes it away.
pub(super) fn set_cookie(
    headers: &mut HeaderMap,
    asked: &Asked,
    id: &str,
    now: SystemTime,
    lifetime: Duration,
) {
    let forwarded = asked.headers.get("x-forwarded-proto");
    // Only a trusted proxy is believed.
    let is_behind_tls =
        asked.peer.is_proxy && forwarded.is_some_and(|proto| proto.as_bytes() == b"https");
    let secure = match asked.peer.is_encrypted || is_behind_tls {
        true => "; Secure",
        false => "",
    };
    let expires = http_date(now + lifetime);
    let expires = expires
        .as_ref()
        .and_then(|date| date.to_str().ok())
        .unwrap_or_default();
    let cookie = format!(
        "{COOKIE}={id}; expires={expires}; Max-Age={}; Path=/; HttpOnly; SameSite=Strict{secure}",
        lifetime.as_secs()
    );
    if let Ok(cookie) = HeaderValue::from_str(&cookie) {
        headers.insert(header::SET_COOKIE, cookie);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_wins_over_the_cookie() {
        let headers = |pairs: &[(&'static str, &'static str)]| {
            let pairs = pairs.iter().map(|(name, value)| {
                (
                    header::HeaderName::from_static(name),
                    HeaderValue::from_static(value),
                )
            });
            named_session(&pairs.collect())
        };
        assert_eq!(headers(&[]), None);
        assert_eq!(
            headers(&[("cookie", "a=b; session_id=c1")]).as_deref(),
            Some("c1")
        );
        let two = headers(&[("cookie", "session_id=c1; session_id=c2; a=b")]);
        assert_eq!(two.as_deref(), Some("c2"));
        let both = headers(&[("cookie", "session_id=c1"), ("x-auth-token", "h1")]);
        assert_eq!(both.as_deref(), Some("h1"));
    }

    #[test]
    fn permissions_are_those_of_user_everybody_and_groups() {
        let list = |items: &[&str]| Value::List(items.iter().map(|item| (*item).into()).collect());
        let runner = Map::from([("@runner", list(&["jobs.*"]))]);
        let users = Map::from([
            (
                "ali",
                Value::List(vec!["test.*".into(), runner.clone().into(), "a".into()]),
            ),
            ("*", list(&["test.*"])),
            ("ops%", list(&["@wheel"])),
            ("dev%", list(&["x"])),
        ]);
        let external = Map::from([("pam", users)]);
        let token = Map::from([
            ("name", Value::from("ali")),
            ("eauth", "pam".into()),
            ("groups", list(&["ops"])),
        ]);
        let expected = vec!["@wheel".into(), "a".into(), "test.*".into(), runner.into()];
        assert_eq!(permissions(&external, &token), Value::List(expected));
        assert_eq!(permissions(&Map::new(), &token), Map::new().into());
    }
}
