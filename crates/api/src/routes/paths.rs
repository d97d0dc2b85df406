//! Which page belongs to a path, and its methods.

use percent_encoding::percent_decode_str;

use crate::fault::Fault;
use crate::settings::ApiSettings;

/// A page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Page {
    Root,
    Login,
    Logout,
    Token,
    Minions,
    Run,
    Jobs,
    Keys,
    History,
    Connections,
    Masters,
    Events,
    WebSocket,
    Hook,
    Stats,
    Health,
    App,
    Fleet,
    OpenApi,
    Static,
    Favicon,
}

impl Page {
    /// Its name in metrics.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Root => "root",
            Self::Login => "login",
            Self::Logout => "logout",
            Self::Token => "token",
            Self::Minions => "minions",
            Self::Run => "run",
            Self::Jobs => "jobs",
            Self::Keys => "keys",
            Self::History => "history",
            Self::Connections => "connections",
            Self::Masters => "masters",
            Self::Events => "events",
            Self::WebSocket => "ws",
            Self::Hook => "hook",
            Self::Stats => "stats",
            Self::Health => "health",
            Self::App => "app",
            Self::Fleet => "fleet",
            Self::OpenApi => "openapi.json",
            Self::Static => "static",
            Self::Favicon => "favicon",
        }
    }
}

/// The pages with names that no option changes.
pub(super) const FIXED: [(&str, Page); 16] = [
    ("index", Page::Root),
    ("login", Page::Login),
    ("logout", Page::Logout),
    ("minions", Page::Minions),
    ("jobs", Page::Jobs),
    ("token", Page::Token),
    ("run", Page::Run),
    ("keys", Page::Keys),
    ("history", Page::History),
    ("connections", Page::Connections),
    ("masters", Page::Masters),
    ("events", Page::Events),
    ("ws", Page::WebSocket),
    ("stats", Page::Stats),
    ("health", Page::Health),
    ("openapi.json", Page::OpenApi),
];

/// The page of a path, and the rest of the path.
///
/// # Errors
/// With 404 where there is none.
pub(super) fn page(settings: &ApiSettings, path: &str) -> Result<(Page, Vec<String>), Fault> {
    let missing = || Fault::no_page(path);
    let inner = path
        .strip_prefix(&settings.root_prefix)
        .ok_or_else(missing)?;
    if !inner.is_empty() && !inner.starts_with('/') {
        return Err(missing());
    }
    let mut parts = Vec::new();
    for part in inner.split('/').filter(|part| !part.is_empty()) {
        let part = percent_decode_str(part).decode_utf8();
        parts.push(part.map_err(|_| missing())?.into_owned());
    }
    if parts.is_empty() {
        return Ok((Page::Root, parts));
    }
    let first = parts.remove(0);
    match named(settings, &first) {
        Some(page) => Ok((page, parts)),
        None => Err(missing()),
    }
}

fn named(settings: &ApiSettings, name: &str) -> Option<Page> {
    let fixed = FIXED.iter().find(|(fixed, _)| *fixed == name);
    if let Some((_, page)) = fixed {
        return (settings.has_sessions || !is_of_sessions(*page)).then_some(*page);
    }
    let is_static = settings.static_path.strip_prefix('/') == Some(name);
    match name {
        "favicon.ico" if settings.favicon.is_some() => Some(Page::Favicon),
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
