//! What `salt-minion status` shows: requested over the minion's own event bus, and
//! answered on it.
//!
//! Everybody who may send events to the bus may ask; the answer goes to every
//! listener and holds no secret. Invariant: asking changes nothing.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use halite_proto::{Map, Value};
use tokio::task::JoinSet;
use tracing::debug;

use crate::core::link::Phase;
use crate::courier::Courier;
use crate::minion::{Master, Minion};

/// The tag of the question; its data names the tag of the answer (`reply`).
pub const ASK_TAG: &str = "halite/status/ask";

/// The prefix of an answer's tag.
pub const ANSWER_TAG: &str = "halite/status/answer/";

/// How long a master may take for the round trip that is measured.
const ROUND_TRIP_TIMEOUT: Duration = Duration::from_secs(2);

/// Questions that are answered at the same time; more are dropped, who asks
/// asks again.
const ANSWERS_MAX: usize = 16;

/// Answers questions for as long as the minion runs.
pub async fn answer_again_and_again(minion: Arc<Minion>, courier: Arc<Courier>) {
    let mut questions = minion.bus.subscribe_to(vec![ASK_TAG.to_owned()]);
    let mut answers = JoinSet::new();
    // Whoever waits for an answer asks again and again.
    let mut open: HashSet<String> = HashSet::new();
    loop {
        let question = tokio::select! {
            question = questions.recv() => question,
            Some(answered) = answers.join_next() => {
                match answered {
                    Ok(reply) => open.remove(&reply),
                    Err(_) => false,
                };
                continue;
            }
        };
        let Some(question) = question else {
            return;
        };
        let Ok(event) = question.unpack() else {
            continue;
        };
        let reply = event.data.get("reply").and_then(Value::as_str);
        let Some(reply) = reply.filter(|tag| tag.starts_with(ANSWER_TAG)) else {
            continue;
        };
        if open.len() >= ANSWERS_MAX || !open.insert(reply.to_owned()) {
            continue;
        }
        let (minion, courier) = (Arc::clone(&minion), Arc::clone(&courier));
        let reply = reply.to_owned();
        answers.spawn(async move {
            let report = report(&minion, &courier).await;
            if let Err(error) = minion.fire_local(&reply, report) {
                debug!(error, "could not answer a request for the status");
            }
            reply
        });
    }
}

/// The status of the minion and of each of its links.
pub async fn report(minion: &Arc<Minion>, courier: &Courier) -> Map {
    let measured = minion.masters.iter().map(|master| {
        let channel = master.channel.clone();
        let is_ready = master.is_ready();
        tokio::spawn(async move {
            let started = Instant::now();
            let answered = is_ready && channel.ping(ROUND_TRIP_TIMEOUT).await;
            answered.then(|| started.elapsed())
        })
    });
    let measured: Vec<_> = measured.collect();
    let mut links = Vec::with_capacity(measured.len());
    for (master, measured) in minion.masters.iter().zip(measured) {
        let round_trip = measured.await.ok().flatten();
        links.push(Value::Map(link(master, round_trip)));
    }
    Map::from([
        ("id", Value::from(&minion.id)),
        ("pid", std::process::id().into()),
        ("version", env!("CARGO_PKG_VERSION").into()),
        (
            "master_type",
            minion
                .opts
                .get("master_type")
                .cloned()
                .unwrap_or(Value::Nil),
        ),
        ("jobs_running", count(minion.jobs().all_running().count())),
        ("returns_waiting", count(courier.waiting())),
        ("returns_on_disk", courier.keeps_on_disk().into()),
        ("claims_on_disk", minion.claims.keeps_on_disk().into()),
        ("masters", Value::List(links)),
    ])
}

fn link(master: &Master, round_trip: Option<Duration>) -> Map {
    let status = master.reports.status();
    let time = |time: SystemTime| Value::Float(unix_seconds(time));
    let error = status.last_error.as_ref();
    let mut link = Map::from([
        ("master", Value::from(master.name.as_str())),
        ("state", phase_name(status.phase).into()),
        ("since", time(status.since)),
    ]);
    let known = [
        ("address", status.address.map(|at| at.to_string().into())),
        (
            "round_trip_ms",
            round_trip.map(|took| Value::Float(rounded(took.as_secs_f64() * 1000.0))),
        ),
        ("last_error", error.map(|(_, why)| why.as_str().into())),
        ("last_error_at", error.map(|(at, _)| time(*at))),
        ("next_try", status.next_try.map(time)),
    ];
    for (name, value) in known {
        link.insert(name, value.unwrap_or(Value::Nil));
    }
    let others = master.others().into_iter().map(Value::from);
    link.insert("same_key_at", Value::List(others.collect()));
    link
}

/// The name of a phase on the screen and in JSON.
pub fn phase_name(phase: Phase) -> &'static str {
    match phase {
        Phase::Idle => "standby",
        Phase::Resolving => "resolving",
        Phase::SigningIn => "signing in",
        Phase::Subscribing => "subscribing",
        Phase::Ready => "ready",
        Phase::Paused => "waiting",
    }
}

fn count(number: usize) -> Value {
    Value::from(u64::try_from(number).unwrap_or(u64::MAX))
}

fn unix_seconds(time: SystemTime) -> f64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    rounded(since.as_secs_f64())
}

/// To a thousandth: more is noise.
fn rounded(number: f64) -> f64 {
    (number * 1000.0).round() / 1000.0
}
