//! The counters of the API: `/stats`.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use axum::http::{HeaderValue, header};
use axum::response::Response;
use halite_proto::{Map, Value};

use super::{App, Asked};
use crate::encode::Format;
use crate::fault::Fault;

/// Counts of what was answered.
#[derive(Debug)]
pub(super) struct Stats {
    since: Instant,
    under_way: AtomicU64,
    /// By the first digit of the status.
    answers: [AtomicU64; 6],
    took_us: AtomicU64,
    commands: AtomicU64,
    commands_failed: AtomicU64,
    logins_failed: AtomicU64,
}

impl Default for Stats {
    fn default() -> Self {
        Self {
            since: Instant::now(),
            under_way: AtomicU64::default(),
            answers: Default::default(),
            took_us: AtomicU64::default(),
            commands: AtomicU64::default(),
            commands_failed: AtomicU64::default(),
            logins_failed: AtomicU64::default(),
        }
    }
}

/// A request under way, until dropped.
pub(super) struct UnderWay<'a>(&'a AtomicU64);

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

impl Stats {
    pub(super) fn begin(&self) -> UnderWay<'_> {
        self.under_way.fetch_add(1, Relaxed);
        UnderWay(&self.under_way)
    }

    pub(super) fn ended(&self, status: u16, took: Duration) {
        if let Some(count) = self.answers.get(usize::from(status / 100)) {
            count.fetch_add(1, Relaxed);
        }
        let took = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        self.took_us.fetch_add(took, Relaxed);
    }

    pub(super) fn command(&self, is_ok: bool) {
        let count = if is_ok {
            &self.commands
        } else {
            &self.commands_failed
        };
        count.fetch_add(1, Relaxed);
    }

    pub(super) fn login_failed(&self) {
        self.logins_failed.fetch_add(1, Relaxed);
    }
}

/// `GET /stats`
pub(super) fn page(app: &App, asked: &Asked) -> Result<Response, Fault> {
    asked.bare()?;
    let stats = &app.stats;
    let count = |count: &AtomicU64| Value::from(count.load(Relaxed));
    let answers: Map = stats
        .answers
        .iter()
        .enumerate()
        .skip(1)
        .map(|(digit, number)| (Value::from(format!("{digit}xx")), count(number)))
        .collect();
    let mut words = Map::from([
        ("uptime", Value::from(stats.since.elapsed().as_secs_f64())),
        ("requests_under_way", count(&stats.under_way)),
        ("answers", answers.into()),
        ("answer_seconds", {
            let took = Duration::from_micros(stats.took_us.load(Relaxed));
            took.as_secs_f64().into()
        }),
        ("commands", count(&stats.commands)),
        ("commands_failed", count(&stats.commands_failed)),
        ("logins_failed", count(&stats.logins_failed)),
        ("sessions", (app.sessions_now() as u64).into()),
        ("event_streams", (app.streams_now() as u64).into()),
    ]);
    // The page may be open to strangers.
    if asked.token.is_some() {
        let masters = app.masters.standing().into_iter();
        let masters = masters.map(|(name, away)| {
            let standing = Map::from([("away", Value::from(away))]);
            (Value::from(name), Value::from(standing))
        });
        words.insert("masters", masters.collect::<Map>());
    }
    Format::accepted(asked.header(header::ACCEPT))?.answer(&words.into())
}

/// `GET /health`: whether the master of this machine can be reached, for balancers
/// and other APIs.
pub(super) async fn health(app: &App, asked: &Asked) -> Result<Response, Fault> {
    asked.bare()?;
    if !app.masters.own_was_there().await {
        return Err(Fault::untouched());
    }
    let mut response = Response::new("ready\n".into());
    let kind = HeaderValue::from_static("text/plain;charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    Ok(response)
}
