//! Protects users whose browser has a session here from other pages.
//!
//! Invariant: a page of an origin that is not listed can neither read an answer nor
//! cause an action.

use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};

use super::{Asked, Page};
use crate::fault::Fault;
use crate::settings::ApiSettings;

const FORWARDED_HOST: &str = "x-forwarded-host";

/// Lets a listed origin read the answer.
pub(super) fn allow_origin(
    settings: &ApiSettings,
    headers: &mut HeaderMap,
    origin: Option<&HeaderValue>,
) {
    let Some(origin) = origin.filter(|origin| is_listed(settings, origin)) else {
        return;
    };
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
    let mut set = |name, value| headers.insert(name, HeaderValue::from_static(value));
    set(header::ACCESS_CONTROL_ALLOW_CREDENTIALS, "true");
    set(
        header::ACCESS_CONTROL_EXPOSE_HEADERS,
        "GET, POST, X-Auth-Token",
    );
    headers.append(header::VARY, HeaderValue::from_static("Origin"));
}

/// Answers the question of a browser whether a page may ask.
///
/// # Errors
/// With 405 unless the origin is listed.
pub(super) fn preflight(
    settings: &ApiSettings,
    headers: &HeaderMap,
    allow: &'static str,
) -> Result<Response, Fault> {
    let origin = headers.get(header::ORIGIN);
    if !origin.is_some_and(|origin| is_listed(settings, origin)) {
        return Err(Fault::no_method(allow));
    }
    let mut response = StatusCode::OK.into_response();
    let headers = response.headers_mut();
    let mut set = |name, value| headers.insert(name, HeaderValue::from_static(value));
    set(header::ACCESS_CONTROL_ALLOW_METHODS, "GET, POST");
    set(
        header::ACCESS_CONTROL_ALLOW_HEADERS,
        "Content-Type, X-Auth-Token, X-Requested-With",
    );
    set(header::ACCESS_CONTROL_MAX_AGE, "1400");
    Ok(response)
}

/// Refuses what a page of another origin has sent with the cookie of this one.
///
/// # Errors
/// With 403.
pub(super) fn check_origin(settings: &ApiSettings, asked: &Asked) -> Result<(), Fault> {
    let does_something = asked.method == Method::POST || asked.page == Page::WebSocket;
    // No page can send this header to another origin without having asked.
    let has_header = asked.headers.contains_key(crate::sessions::AUTH_HEADER);
    let is_open_hook = asked.page == Page::Hook && settings.webhook_is_open;
    if !does_something || has_header || is_open_hook {
        return Ok(());
    }
    let refused = || {
        tracing::warn!(
            from = %asked.peer.address,
            "refused a request from a page of another origin"
        );
        let why = "Requests from pages of another origin are not allowed; see cors_origins";
        Err(Fault::new(StatusCode::FORBIDDEN, why))
    };
    let Some(origin) = asked.headers.get(header::ORIGIN) else {
        return match asked
            .headers
            .get("sec-fetch-site")
            .map(HeaderValue::as_bytes)
        {
            Some(b"cross-site" | b"same-site") => refused(),
            _ => Ok(()),
        };
    };
    let host = origin
        .to_str()
        .ok()
        .and_then(|origin| origin.split_once("://"));
    let is_own = host.is_some_and(|(_, host)| {
        let named = [header::HOST.as_str(), FORWARDED_HOST];
        let mut named = named.iter().filter_map(|name| asked.headers.get(*name));
        named.any(|named| named.as_bytes().eq_ignore_ascii_case(host.as_bytes()))
    });
    match is_own || is_listed(settings, origin) {
        true => Ok(()),
        false => refused(),
    }
}

fn is_listed(settings: &ApiSettings, origin: &HeaderValue) -> bool {
    let mut listed = settings.cors_origins.iter();
    listed.any(|listed| listed.as_bytes() == origin.as_bytes())
}
