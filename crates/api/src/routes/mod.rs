//! The pages: from a request to its answer.
//!
//! Invariant: a request passes, in this order, the checks of the caller's address,
//! the page, the origin, the login, and the method; only then its body is read.

mod access;
mod app;
mod asked;
mod body;
mod browser;
mod collections;
mod commands;
mod each_master;
pub(crate) mod fuzzing;
mod hook;
mod lease;
mod logout;
mod openapi;
mod page;
mod paths;
mod peer;
mod stats;
mod streams;
mod websocket;

use std::sync::Arc;
use std::time::Instant;

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, Method, Request, StatusCode, header};
use axum::response::{IntoResponse, Response};

use crate::connections::Held;
use crate::decode;
use crate::encode::accepted;
use crate::fault::Fault;
use crate::masters::{AWAY, RELAYED};
use crate::static_files;
pub use app::App;
use asked::Asked;
use paths::{Page, allow};
pub use peer::Peer;
use peer::shown;

/// `Cache-Control` of what no cache may keep.
const NO_STORE: HeaderValue = HeaderValue::from_static("no-store");

impl App {
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
        let (token, user) = session
            .as_deref()
            .filter(|_| self.settings.has_sessions)
            .and_then(|id| self.sessions.token_and_user(id, Instant::now()))
            .unzip();
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
            user,
            held: parts.extensions.get::<Arc<Held>>().cloned(),
        };
        let has_room = asked.user.as_deref().is_none_or(|user| asked.prove(user));
        let is_private = asked.token.is_some() && self.needs_session(&asked);
        let answered = match has_room || page == Page::Logout {
            true => self.judged(&asked, Request::from_parts(parts, body)).await,
            false => Err(Fault::too_many_connections()),
        };
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
                let _answering = asked.held.as_deref().and_then(Held::answering);
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
            Page::History => collections::history(self, asked).await,
            Page::Connections => collections::connections(self, asked).await,
            Page::Events => streams::events(self, asked).await,
            Page::WebSocket => websocket::websocket(self, asked, request).await,
            Page::Stats => stats::page(self, asked),
            Page::Health => stats::health(self, asked).await,
            Page::App => self.own_app(asked).await,
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
            Page::Logout | Page::Hook | Page::Masters => Err(Fault::no_method(allow(asked.page))),
        }
    }

    /// The administrator's own page.
    async fn own_app(&self, asked: &Asked) -> Result<Response, Fault> {
        let app = self.settings.app.as_deref();
        let app = app.ok_or_else(|| Fault::no_page(&asked.path))?;
        let mut response = static_files::answer(app, &asked.path, &asked.headers).await?;
        let headers = response.headers_mut();
        let html = HeaderValue::from_static("text/html;charset=utf-8");
        headers.insert(header::CONTENT_TYPE, html);
        // Else browsers keep it with its stream of events when it is left, and have no
        // connection for the next pages after six.
        headers.insert(header::CACHE_CONTROL, NO_STORE);
        Ok(response)
    }

    async fn post(self: &Arc<Self>, asked: &Asked, body: decode::Body) -> Result<Response, Fault> {
        match asked.page {
            Page::Root => commands::run(self, asked, body, true).await,
            Page::Run => commands::run(self, asked, body, false).await,
            Page::Login => access::login(self, asked, body).await,
            Page::Logout => logout::logout(self, asked).await,
            Page::Token => access::tokens(self, asked, body).await,
            Page::Minions => collections::start(self, asked, body).await,
            Page::Keys => collections::make_key(self, asked, body).await,
            Page::Jobs => commands::run(self, asked, body, true).await,
            Page::Masters => each_master::run(self, asked, body).await,
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
            Page::Minions | Page::Jobs | Page::History | Page::Connections | Page::Masters => true,
            // Another API shows the token itself.
            Page::Logout => !asked.peer.is_relayed,
            Page::Hook => !self.settings.webhook_is_open,
            Page::Stats => !self.settings.stats_are_open,
            _ => false,
        }
    }
}
