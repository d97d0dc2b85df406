//! Which page belongs to a path, and its methods.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;

use crate::fault::Fault;
pub(super) use crate::pages::{FAVICON, FIXED, Page};
use crate::settings::ApiSettings;

/// The page of a path, and the rest of the path.
///
/// # Errors
/// With 404 where there is none.
pub(super) fn page(settings: &ApiSettings, path: &str) -> Result<(Page, Vec<String>), Fault> {
    let missing = || Fault::no_page(path);
    let mut parts = parts(&settings.root_prefix, path).ok_or_else(missing)?;
    if parts.is_empty() {
        return Ok((Page::Root, parts));
    }
    let first = parts.remove(0);
    match named(settings, &first) {
        Some(page) => Ok((page, parts)),
        None => Err(missing()),
    }
}

/// The decoded parts of a path below the prefix, without empty ones; `None` if it is not
/// below it, or not UTF-8.
pub(super) fn parts(root_prefix: &str, path: &str) -> Option<Vec<String>> {
    let inner = path.strip_prefix(root_prefix)?;
    if !inner.is_empty() && !inner.starts_with('/') {
        return None;
    }
    let parts = inner.split('/').filter(|part| !part.is_empty());
    let decoded = parts.map(|part| percent_decode_str(part).decode_utf8().ok());
    decoded.map(|part| part.map(Cow::into_owned)).collect()
}

fn named(settings: &ApiSettings, name: &str) -> Option<Page> {
    let fixed = FIXED.iter().find(|(fixed, _)| *fixed == name);
    if let Some((_, page)) = fixed {
        return (settings.has_sessions || !is_of_sessions(*page)).then_some(*page);
    }
    let is_static = settings.static_path.strip_prefix('/') == Some(name);
    match name {
        FAVICON if settings.favicon.is_some() => Some(Page::Favicon),
        _ if name == settings.webhook_url => Some(Page::Hook),
        _ if name == settings.app_path && settings.app.is_some() => Some(Page::App),
        _ if settings.page_path.as_deref() == Some(name) => Some(Page::Fleet),
        _ if is_static && settings.static_dir.is_some() => Some(Page::Static),
        _ => None,
    }
}

/// Whether a page is only there with `enable_sessions`.
fn is_of_sessions(page: Page) -> bool {
    matches!(
        page,
        Page::Login
            | Page::Logout
            | Page::Minions
            | Page::Jobs
            | Page::History
            | Page::Connections
            | Page::Masters
    )
}

/// The methods that a page takes, as the header `Allow` lists them.
pub(super) fn allow(page: Page) -> &'static str {
    match page {
        Page::Hook | Page::Logout | Page::Masters => "POST",
        Page::History
        | Page::Connections
        | Page::Events
        | Page::WebSocket
        | Page::Stats
        | Page::Health
        | Page::App
        | Page::Fleet
        | Page::OpenApi
        | Page::Static
        | Page::Favicon => "GET, HEAD",
        _ => "GET, HEAD, POST",
    }
}
