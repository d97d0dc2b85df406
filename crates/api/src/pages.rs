//! The pages, and those of their names that no option changes.

/// A page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Page {
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
    pub(crate) const fn name(self) -> &'static str {
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
pub(crate) const FIXED: [(&str, Page); 16] = [
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

/// The name of the icon that browsers ask for.
pub(crate) const FAVICON: &str = "favicon.ico";
