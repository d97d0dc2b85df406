//! The pages: from a request to its answer.
//!
//! Invariant: a request passes, in this order, the addresses that may ask, the
//! page that it means, whose page has sent it, who has logged in, and the method;
//! only then its body is read.

mod access;
mod body;
mod browser;
mod collections;
mod commands;
mod hook;
mod openapi;
mod page;
mod paths;
mod peer;
mod stats;
mod streams;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, Method, Request, StatusCode, header};
use axum::response::{IntoResponse, Response};
use halite_client::{Caller, ClientSettings, LocalClient};
use halite_config::MasterConfig;
use halite_metrics::Instruments;
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinHandle;

use crate::decode;
use crate::encode::accepted;
use crate::error::ServeError;
use crate::events::Events;
use crate::fault::Fault;
use crate::limits::{
    BODY_SMALL, LARGE_BODIES_BYTES_MAX, LOGINS_MAX, LOGINS_PER_ORIGIN_MAX, STREAMS_MAX,
    TOKENS_ASKED_MAX, UNPROVEN_PART,
};
use crate::low::Runner;
use crate::masters::{AWAY, Masters, RELAYED};
use crate::meters::{self, Gauge, Meters};
use crate::sessions::Sessions;
use crate::settings::ApiSettings;
use crate::slots::{Shares, Slots};
use crate::static_files;
use crate::throttle::Throttle;
use paths::{Page, allow};
pub use peer::Peer;
use peer::shown;
use stats::Stats;

/// Everything that requests share.
pub struct App {
    settings: Arc<ApiSettings>,
    runner: Runner,
    sessions: Sessions,
    throttle: Throttle,
    events: Events,
    masters: Arc<Masters>,
    /// A place for each command that may run.
    commands: Slots,
    /// Those of them that commands with a password may have.
    unproven: Slots,
    /// Logins that the master is asked about.
    logins: Shares,
    /// Tokens that the master is asked about.
    tokens: Semaphore,
    /// Room for large bodies without a session, in parts of [`BODY_SMALL`] bytes.
    large_bodies: Semaphore,
    /// A place for each stream of events.
    streams: Arc<Semaphore>,
    stats: Stats,
    meters: Option<Meters>,
    /// The page of metrics, until it is served.
    instruments: Mutex<Option<Instruments>>,
    ending: watch::Sender<bool>,
}

/// A request without its body.
struct Asked {
    method: Method,
    page: Page,
    /// What stands in the path behind the page.
    rest: Vec<String>,
    query: Vec<(String, String)>,
    headers: HeaderMap,
    /// The path as it came.
    path: String,
    peer: Peer,
    /// The session that is named, whether there is one or not.
    session: Option<String>,
    /// The token of the session, where there is one.
    token: Option<String>,
}

impl Asked {
    fn header(&self, name: header::HeaderName) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// A parameter of a page, in the path or in the query.
    fn parameter(&self, name: &str) -> Result<Option<String>, Fault> {
        let strange = self
            .query
            .iter()
            .any(|(given, _)| given != name && given != "timeout");
        match (self.rest.as_slice(), self.query.as_slice()) {
            _ if strange => Err(Fault::no_match()),
            ([one], []) => Ok(Some(one.clone())),
            ([], query) => {
                let given = query.iter().find(|(given, _)| given == name);
                Ok(given.map(|(_, value)| value.clone()))
            }
            _ => Err(Fault::no_match()),
        }
    }

    /// Whether masters have a part in the answer, and strangers have none.
    fn is_of_masters(&self) -> bool {
        match self.page {
            Page::Root | Page::Run | Page::Login | Page::Token => self.method == Method::POST,
            Page::Minions | Page::Jobs | Page::Keys | Page::Events | Page::WebSocket => true,
            _ => false,
        }
    }

    /// Checks that nothing but the page itself is asked for.
    fn bare(&self) -> Result<(), Fault> {
        let is_bare =
            self.rest.is_empty() && (self.method == Method::POST || self.query.is_empty());
        is_bare.then_some(()).ok_or_else(Fault::no_match)
    }
}

impl App {
    /// Makes the API of a configuration. Runs within a runtime: it begins to
    /// listen to the master's events.
    ///
    /// # Errors
    /// When the configuration has a mistake.
    pub fn new(config: &MasterConfig) -> Result<Self, ServeError> {
        let settings = ApiSettings::new(config).map_err(|mistake| {
            ServeError::Settings(format!("{}: {}", mistake.option, mistake.why))
        })?;
        let settings = Arc::new(settings);
        let client = || -> Result<LocalClient, ServeError> {
            let to_master = ClientSettings::from_opts(config.opts())?;
            Ok(LocalClient::without_key(to_master, Caller::current(None)))
        };
        let (meters, instruments) = settings.metrics.as_ref().map(Meters::new).unzip();
        let events = Events::listen(client()?);
        let masters = Masters::new(&settings, client()?, &events)?;
        Ok(Self {
            runner: Runner {
                client: client()?,
                masters: Arc::clone(&masters),
                settings: Arc::clone(&settings),
            },
            sessions: Sessions::default(),
            throttle: Throttle::new(settings.login_failures_max),
            events,
            masters,
            commands: Slots::new(settings.commands_max),
            unproven: Slots::new(settings.commands_max / UNPROVEN_PART),
            logins: Shares::new(LOGINS_PER_ORIGIN_MAX, LOGINS_MAX),
            tokens: Semaphore::new(TOKENS_ASKED_MAX),
            large_bodies: Semaphore::new(
                LARGE_BODIES_BYTES_MAX
                    .max(settings.body_bytes_max)
                    .div_ceil(BODY_SMALL),
            ),
            streams: Arc::new(Semaphore::new(STREAMS_MAX)),
            stats: Stats::default(),
            meters,
            instruments: Mutex::new(instruments),
            ending: watch::Sender::new(false),
            settings,
        })
    }

    /// What the configuration says.
    pub fn settings(&self) -> &ApiSettings {
        &self.settings
    }

    /// Serves the page of metrics, where one is asked for, until the task is ended.
    ///
    /// # Errors
    /// When the address cannot be listened at.
    pub(crate) fn serve_metrics(self: &Arc<Self>) -> Result<Option<JoinHandle<()>>, ServeError> {
        let mut kept = self
            .instruments
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        match (&self.settings.metrics, kept.take()) {
            (Some(settings), Some(on)) => meters::serve(settings, on, self.gauges()).map(Some),
            _ => Ok(None),
        }
    }

    /// What the page of metrics reads whenever it is asked for.
    fn gauges(self: &Arc<Self>) -> Vec<Gauge> {
        let gauge = |name, help, read: fn(&Self) -> usize| -> Gauge {
            let app = Arc::downgrade(self);
            let read = move || app.upgrade().map_or(0, |app| read(&app));
            (name, help, Box::new(read))
        };
        vec![
            gauge("halite.api.sessions", "Sessions", Self::sessions_now),
            gauge(
                "halite.api.event_streams",
                "Streams of events",
                Self::streams_now,
            ),
            gauge(
                "halite.api.masters.away",
                "Masters that cannot be reached",
                Self::masters_away,
            ),
        ]
    }

    /// Sessions that there are.
    pub(crate) fn sessions_now(&self) -> usize {
        self.sessions.len()
    }

    /// Streams of events that are open.
    pub(crate) fn streams_now(&self) -> usize {
        STREAMS_MAX - self.streams.available_permits()
    }

    /// Masters that are known to be away.
    pub(crate) fn masters_away(&self) -> usize {
        self.masters.away_count()
    }

    /// Whether other masters have a part in the answer to somebody.
    fn has_others(&self, peer: Peer) -> bool {
        !peer.is_relayed && !self.masters.is_alone()
    }

    /// Begins to look which masters can be reached.
    pub(crate) fn begin_looking(&self) {
        self.masters.begin_looking();
    }

    /// Tells another API at once that the master is away, where it would be waited for.
    async fn check_relayed(&self, peer: Peer) -> Result<(), Fault> {
        match peer.is_relayed && !self.masters.own_was_there().await {
            true => Err(Fault::untouched()),
            false => Ok(()),
        }
    }

    /// Ends all streams of events.
    pub fn end(&self) {
        self.ending.send_replace(true);
    }

    /// Answers a request.
    pub async fn answer(self: &Arc<Self>, request: Request<Body>, peer: Peer) -> Response {
        let begun = Instant::now();
        let _under_way = self.stats.begin();
        let method = request.method().clone();
        let path = shown(
            request.uri().path(),
            &self.settings.root_prefix,
            &self.settings.webhook_url,
        );
        let peer = peer.behind_proxy(request.headers());
        let origin = request.headers().get(header::ORIGIN).cloned();
        let answered = self.route(request, peer).await;
        let mut response = answered.unwrap_or_else(IntoResponse::into_response);
        self.finish(&mut response, origin.as_ref());
        if method == Method::HEAD {
            *response.body_mut() = Body::empty();
        }
        let status = response.status().as_u16();
        let took_ms = begun.elapsed().as_millis();
        self.stats.ended(status, begun.elapsed());
        if let Some(meters) = &self.meters {
            let page = response.extensions().get::<Page>();
            let page = page.map_or("none", |page| page.name());
            meters.answered(page, status, begun.elapsed());
        }
        tracing::info!(from = %peer.caller, %method, path, status, took_ms, "answered");
        response
    }

    /// Headers that every answer has.
    fn finish(&self, response: &mut Response, origin: Option<&HeaderValue>) {
        let headers = response.headers_mut();
        let mut set = |name, value| headers.insert(name, HeaderValue::from_static(value));
        set(header::SERVER, "Halite");
        set(header::X_CONTENT_TYPE_OPTIONS, "nosniff");
        browser::allow_origin(&self.settings, headers, origin);
    }

    async fn route(
        self: &Arc<Self>,
        request: Request<Body>,
        peer: Peer,
    ) -> Result<Response, Fault> {
        let (parts, body) = request.into_parts();
        let listed = &self.settings.authorized_ips;
        if !listed.is_empty() && !listed.contains(&peer.address.to_string()) {
            tracing::warn!(from = %peer.address, "refused a request: the address is not listed");
            return Err(Fault::new(StatusCode::FORBIDDEN, "Bad IP"));
        }
        let relayed_by = parts.headers.get(RELAYED);
        if relayed_by.is_some_and(|by| self.masters.is_own_request(by)) {
            let why = "This API is listed in its own other_masters";
            return Err(Fault::new(StatusCode::LOOP_DETECTED, why));
        }
        let path = parts.uri.path().to_owned();
        let (page, rest) = paths::page(&self.settings, &path)?;
        let page = match self.wants_app(page, &parts.headers) {
            true => Page::App,
            false => page,
        };
        if parts.method == Method::OPTIONS {
            return browser::preflight(&self.settings, &parts.headers, allow(page));
        }
        let session = access::named_session(&parts.headers);
        let token = session
            .as_deref()
            .filter(|_| self.settings.has_sessions)
            .and_then(|id| self.sessions.token(id, Instant::now()));
        let asked = Asked {
            method: parts.method.clone(),
            page,
            rest,
            query: decode::query(parts.uri.query().unwrap_or_default()),
            headers: parts.headers.clone(),
            path,
            peer,
            session,
            token,
        };
        let is_private = asked.token.is_some() && self.needs_session(&asked);
        let answered = self.judged(&asked, Request::from_parts(parts, body)).await;
        let mut response = answered.unwrap_or_else(IntoResponse::into_response);
        response.extensions_mut().insert(page);
        let names_away =
            self.has_others(peer) && response.status().is_success() && asked.is_of_masters();
        if let Some(away) = self.masters.away().filter(|_| names_away) {
            response.headers_mut().entry(AWAY).or_insert(away);
        }
        let headers = response.headers_mut();
        let allowed = HeaderValue::from_static(allow(page));
        headers.entry(header::ALLOW).or_insert(allowed);
        if is_private {
            let private = HeaderValue::from_static("private");
            headers.entry(header::CACHE_CONTROL).or_insert(private);
        }
        Ok(response)
    }

    /// Answers a request for a page that there is.
    async fn judged(
        self: &Arc<Self>,
        asked: &Asked,
        request: Request<Body>,
    ) -> Result<Response, Fault> {
        browser::check_origin(&self.settings, asked)?;
        if self.needs_session(asked) && asked.token.is_none() {
            return Err(Fault::no_session());
        }
        let allowed = allow(asked.page);
        if !allowed
            .split(", ")
            .any(|name| name == asked.method.as_str())
        {
            return Err(Fault::no_method(allowed));
        }
        match asked.method {
            Method::POST => {
                let _room = self.room(asked)?;
                let body = self.body(asked, request.into_body()).await?;
                self.post(asked, body).await
            }
            _ => self.get(asked, request).await,
        }
    }

    async fn get(
        self: &Arc<Self>,
        asked: &Asked,
        request: Request<Body>,
    ) -> Result<Response, Fault> {
        match asked.page {
            Page::Root | Page::Token | Page::Run => commands::welcome(self, asked),
            Page::Login => access::please_log_in(asked),
            Page::Minions => collections::minions(self, asked).await,
            Page::Jobs => collections::jobs(self, asked).await,
            Page::Keys => collections::keys(self, asked).await,
            Page::Events => streams::events(self, asked).await,
            Page::WebSocket => streams::websocket(self, asked, request).await,
            Page::Stats => stats::page(self, asked),
            Page::Health => stats::health(self, asked).await,
            Page::App => {
                let app = self.settings.app.as_deref();
                let app = app.ok_or_else(|| Fault::no_page(&asked.path))?;
                let mut response = static_files::answer(app, &asked.path, &asked.headers).await?;
                let html = HeaderValue::from_static("text/html;charset=utf-8");
                response.headers_mut().insert(header::CONTENT_TYPE, html);
                Ok(response)
            }
            Page::Fleet => page::file(self, asked),
            Page::OpenApi => openapi::description(asked),
            Page::Static => {
                let root = self.settings.static_dir.as_deref();
                let root = root.ok_or_else(|| Fault::no_page(&asked.path))?;
                let path = asked.rest.join("/");
                let file = static_files::below(root, path, &asked.path).await?;
                static_files::answer(&file, &asked.path, &asked.headers).await
            }
            Page::Favicon => {
                let icon = self.settings.favicon.as_deref();
                let icon = icon.ok_or_else(|| Fault::no_page(&asked.path))?;
                static_files::answer(icon, &asked.path, &asked.headers).await
            }
            Page::Logout | Page::Hook => Err(Fault::no_method(allow(asked.page))),
        }
    }

    async fn post(self: &Arc<Self>, asked: &Asked, body: decode::Body) -> Result<Response, Fault> {
        match asked.page {
            Page::Root => commands::run(self, asked, body, true).await,
            Page::Run => commands::run(self, asked, body, false).await,
            Page::Login => access::login(self, asked, body).await,
            Page::Logout => access::logout(self, asked).await,
            Page::Token => access::tokens(self, asked, body).await,
            Page::Minions => collections::start(self, asked, body).await,
            Page::Keys => collections::make_key(self, asked, body).await,
            Page::Jobs => commands::run(self, asked, body, true).await,
            Page::Hook => hook::fire(self, asked, body).await,
            _ => Err(Fault::no_method(allow(asked.page))),
        }
    }

    /// Whether a browser is to be given the app in the place of a page.
    fn wants_app(&self, page: Page, headers: &HeaderMap) -> bool {
        let accept = headers
            .get(header::ACCEPT)
            .and_then(|accept| accept.to_str().ok());
        self.settings.app.is_some()
            && !matches!(page, Page::Static | Page::App | Page::Fleet | Page::Health)
            && accept != Some("*/*")
            && accepted(accept, &["text/html"]) == Some(0)
    }

    fn needs_session(&self, asked: &Asked) -> bool {
        match asked.page {
            Page::Root => asked.method == Method::POST,
            Page::Minions | Page::Jobs | Page::Logout => true,
            Page::Hook => !self.settings.webhook_is_open,
            Page::Stats => !self.settings.stats_are_open,
            _ => false,
        }
    }
}
