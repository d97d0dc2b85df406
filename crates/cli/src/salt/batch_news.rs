//! The events about a job in batches that this program carries out.
//!
//! Invariant: nothing waits for listeners, and a program that may not write to the
//! bus (which is its owner's) still carries the job out.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use halite_process::clock::{unix_micros, unix_seconds_f64};
use halite_proto::event::Event;
use halite_proto::{Jid, Map, Tag, Value};
use halite_transport::ipc::EventPusher;

use super::returns::Shown;
use halite_client::{ClientSettings, Job};

/// How long a master may take to read an event before it hears no more.
const TIMEOUT: Duration = Duration::from_secs(2);

/// Larger events are trimmed, as `max_event_size` has it by default.
const EVENT_BYTES_MAX: usize = 1024 * 1024;

/// Of a job of more minions not every return is told at once: an event has all results
/// that there are so far.
const TOLD_EACH_MAX: usize = 100;

/// Between two events about such a job.
const PAUSE: Duration = Duration::from_secs(1);

/// What is told of a job before anything comes of it.
pub(super) struct Plan<'a> {
    pub(super) job: &'a Job,
    pub(super) jid: &'a Jid,
    pub(super) minions: &'a [String],
    pub(super) size: usize,
    pub(super) wait: Duration,
    pub(super) timeout: Duration,
    pub(super) failhard: bool,
    pub(super) user: &'a str,
}

/// How far a job is, and who hears of it.
pub(super) struct News {
    bus: Option<EventPusher>,
    jid: Jid,
    head: Map,
    state: Map,
    pending: Vec<String>,
    active: Map,
    done: Map,
    failed: Map,
    /// When the next event may be told.
    due: Instant,
}

impl News {
    /// Of a job that begins.
    pub(super) async fn begin(settings: &ClientSettings, plan: &Plan<'_>) -> Self {
        let bus = match EventPusher::connect(&settings.event_pull).await {
            Ok(bus) => Some(bus),
            Err(error) => {
                tracing::debug!("the event bus hears nothing of the batches: {error}");
                None
            }
        };
        let job = plan.job;
        let head = Map::from([
            ("jid", Value::from(plan.jid)),
            ("fun", job.function.to_value()),
            ("tgt", job.target.clone()),
            ("tgt_type", job.target_kind.as_str().into()),
            ("user", plan.user.into()),
            ("driver", "cli".into()),
        ]);
        let mut state = head.clone();
        let size = i64::try_from(plan.size).unwrap_or(i64::MAX);
        for (name, value) in [
            ("all_minions", ids(plan.minions)),
            ("wait", Value::List(Vec::new())),
            ("batch_size", size.into()),
            ("arg", job.arguments.clone().into()),
            ("kwargs", Map::new().into()),
            ("failhard", plan.failhard.into()),
            ("batch_wait", seconds(plan.wait)),
            ("timeout", seconds(plan.timeout)),
            ("gather_job_timeout", seconds(settings.gather_job_timeout)),
            ("created", now_s()),
            ("last_progress", now_s()),
            ("halted", false.into()),
            ("halted_reason", Value::Nil),
            ("ret", job.returners.as_str().into()),
        ] {
            state.insert(name, value);
        }
        let mut news = Self {
            bus,
            jid: plan.jid.clone(),
            head,
            state,
            pending: plan.minions.to_vec(),
            active: Map::new(),
            done: Map::new(),
            failed: Map::new(),
            due: Instant::now(),
        };
        news.tell("new").await;
        news
    }

    /// Some minions get the job, or some have ended. Whether it was told: of a large
    /// job it is not before it is [due](Self::due).
    pub(super) async fn progress(&mut self, next: &[String]) -> bool {
        let sent: HashSet<&String> = next.iter().collect();
        self.pending.retain(|id| !sent.contains(id));
        for id in next {
            self.active.insert(id.as_str(), now_s());
        }
        if Instant::now() < self.due {
            return false;
        }
        self.tell("progress").await;
        true
    }

    /// When the next progress may be told.
    pub(super) fn due(&self) -> Instant {
        self.due
    }

    /// What came of it on one minion; told with the next progress.
    pub(super) fn ended(&mut self, shown: &Shown) {
        let id = shown.id.as_str();
        self.active.remove(id);
        if self.bus.is_none() {
            return;
        }
        let mut data = Map::from([
            ("ret", shown.value.clone()),
            ("retcode", shown.raw_retcode.clone()),
        ]);
        if shown.is_missing {
            self.failed.insert(id, data);
        } else {
            data.insert("jid", &self.jid);
            self.done.insert(id, data);
        }
        self.state.insert("last_progress", now_s());
    }

    /// The end.
    pub(super) async fn over(&mut self, is_halted: bool) {
        if is_halted {
            self.state.insert("halted", true);
            self.state.insert("halted_reason", "failhard");
        }
        self.tell(if is_halted { "halted" } else { "complete" })
            .await;
    }

    async fn tell(&mut self, what: &str) {
        let count = self.pending.len() + self.active.len() + self.done.len() + self.failed.len();
        if count > TOLD_EACH_MAX {
            self.due = Instant::now() + PAUSE;
        }
        let Some(bus) = &mut self.bus else { return };
        let mut state = self.state.clone();
        state.insert("pending", ids(&self.pending));
        state.insert("active", self.active.clone());
        state.insert("done", self.done.clone());
        state.insert("failed", self.failed.clone());
        let mut data = self.head.clone();
        data.insert("state", state);
        let Ok(tag) = Tag::parse(format!("salt/batch/{}/{what}", self.jid)) else {
            return;
        };
        let mut event = Event::new(tag, data);
        event.stamp(unix_micros(), true);
        let Ok(bytes) = event.pack_trimmed(EVENT_BYTES_MAX) else {
            return;
        };
        let pushed = tokio::time::timeout(TIMEOUT, bus.push(&bytes)).await;
        if !matches!(pushed, Ok(Ok(()))) {
            tracing::debug!("the event bus hears no more of the batches");
            self.bus = None;
        }
    }
}

fn ids(ids: &[String]) -> Value {
    Value::List(ids.iter().map(|id| id.as_str().into()).collect())
}

/// A number of seconds, a whole one where it is.
fn seconds(time: Duration) -> Value {
    match (i64::try_from(time.as_secs()), time.subsec_nanos()) {
        (Ok(whole), 0) => whole.into(),
        _ => time.as_secs_f64().into(),
    }
}

fn now_s() -> Value {
    unix_seconds_f64().into()
}
