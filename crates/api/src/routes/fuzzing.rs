//! Decodes the path and the headers of a request, for the fuzz targets.

use std::net::{IpAddr, Ipv4Addr};

use axum::http::{HeaderMap, HeaderName, HeaderValue, header};

use super::access::{ID_BYTES_MAX, named_session};
use super::peer::shown;
use super::{Peer, hook, paths};
use crate::encode::{Format, accepted};
use crate::limits::HEADERS_MAX;

const PREFIXES: [&str; 2] = ["", "/salt"];

/// A head: the path, and headers below it. Only a trusted proxy names a caller, a session
/// is short, a hook fires no event of others, and the log does not have what follows the
/// name of a hook.
pub(crate) fn head(bytes: &[u8]) {
    let mut lines = bytes.split(|byte| *byte == b'\n');
    let path = lines.next().unwrap_or_default();
    if let Ok(path) = std::str::from_utf8(path) {
        PREFIXES.iter().for_each(|prefix| read_path(prefix, path));
    }
    let mut headers = HeaderMap::new();
    for (name, value) in lines.filter_map(read_header).take(HEADERS_MAX) {
        headers.append(name, value);
    }
    if let Some(id) = named_session(&headers) {
        assert!(id.len() <= ID_BYTES_MAX, "a long session");
    }
    let accept = headers
        .get(header::ACCEPT)
        .and_then(|accept| accept.to_str().ok());
    let _ = Format::accepted(accept);
    let at = accepted(accept, &["text/html", "application/json"]);
    assert!(at.is_none_or(|at| at < 2), "a type that is not offered");
    let address = IpAddr::from(Ipv4Addr::new(192, 0, 2, 1));
    let stranger = Peer::new(address, false, false).behind_proxy(&headers);
    assert_eq!(stranger.caller, address, "a stranger has another address");
    let proxy = Peer::new(address, false, true).behind_proxy(&headers);
    assert_eq!(proxy.caller, proxy.caller.to_canonical());
}

fn read_header(line: &[u8]) -> Option<(HeaderName, HeaderValue)> {
    let at = line.iter().position(|byte| *byte == b':')?;
    let (name, value) = line.split_at_checked(at)?;
    let value = value.get(1..)?.trim_ascii();
    Some((
        HeaderName::from_bytes(name).ok()?,
        HeaderValue::from_bytes(value).ok()?,
    ))
}

fn read_path(prefix: &str, path: &str) {
    const HOOK: &str = "hook";
    let Some(parts) = paths::parts(prefix, path) else {
        return;
    };
    let Some((first, rest)) = parts.split_first() else {
        return;
    };
    if first == HOOK && !rest.is_empty() {
        let logged = shown(path, prefix, HOOK);
        assert_eq!(logged, format!("{prefix}/{HOOK}/…"));
    }
    if let Ok(tag) = hook::tag(rest) {
        let tag = tag.as_str();
        assert!(tag.starts_with(&hook::TAG_BASE.join("/")), "{tag}");
        assert!(!tag.chars().any(char::is_control), "{tag}");
    }
}
