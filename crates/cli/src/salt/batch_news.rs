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
    pace: Pace,
}

/// When the next event about a job may be told.
struct Pace {
    due: Instant,
}

impl Pace {
    /// Of a job that begins: its first event may be told at once.
    fn new(now: Instant) -> Self {
        Self { due: now }
    }

    fn is_due(&self, now: Instant) -> bool {
        now >= self.due
    }

    /// An event is told that is as large as the number of the job's minions.
    fn tell(&mut self, now: Instant, minions: usize) {
        if minions > TOLD_EACH_MAX {
            self.due = now + PAUSE;
        }
    }
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
        let gather = settings.gather_job_timeout;
        let mut news = Self::about(plan, gather, bus, Instant::now());
        news.tell("new", Instant::now()).await;
        news
    }

    /// Of a job of which nothing has been told.
    fn about(plan: &Plan<'_>, gather: Duration, bus: Option<EventPusher>, now: Instant) -> Self {
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
            ("gather_job_timeout", seconds(gather)),
            ("created", now_s()),
            ("last_progress", now_s()),
            ("halted", false.into()),
            ("halted_reason", Value::Nil),
            ("ret", job.returners.as_str().into()),
        ] {
            state.insert(name, value);
        }
        Self {
            bus,
            jid: plan.jid.clone(),
            head,
            state,
            pending: plan.minions.to_vec(),
            active: Map::new(),
            done: Map::new(),
            failed: Map::new(),
            pace: Pace::new(now),
        }
    }

    /// Some minions get the job, or some have ended. Whether it was told: of a large
    /// job it is not before it is [due](Self::due).
    pub(super) async fn progress(&mut self, next: &[String], now: Instant) -> bool {
        let sent: HashSet<&String> = next.iter().collect();
        self.pending.retain(|id| !sent.contains(id));
        for id in next {
            self.active.insert(id.as_str(), now_s());
        }
        if !self.pace.is_due(now) {
            return false;
        }
        self.tell("progress", now).await;
        true
    }

    /// When the next progress may be told.
    pub(super) fn due(&self) -> Instant {
        self.pace.due
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
        let what = if is_halted { "halted" } else { "complete" };
        self.tell(what, Instant::now()).await;
    }

    async fn tell(&mut self, what: &str, now: Instant) {
        let lists = [&self.active, &self.done, &self.failed];
        let minions = self.pending.len() + lists.map(Map::len).iter().sum::<usize>();
        self.pace.tell(now, minions);
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

#[cfg(test)]
mod tests {
    use super::*;

    /// How often news are told of a job of so many minions, of which another one ends
    /// each millisecond, and the shortest time between two of them.
    fn pace_of(minions: usize) -> (usize, Duration) {
        let begun = Instant::now();
        let mut pace = Pace::new(begun);
        let mut times = Vec::new();
        for ended in 0..minions {
            let now = begun + Duration::from_millis(ended as u64);
            if pace.is_due(now) {
                pace.tell(now, minions);
                times.push(now);
            }
        }
        let gaps = times.windows(2).map(|pair| pair[1] - pair[0]);
        (times.len(), gaps.min().unwrap_or_default())
    }

    #[test]
    fn news_of_a_large_job_are_told_once_a_second_and_of_a_small_one_each_time() {
        assert_eq!(pace_of(TOLD_EACH_MAX), (100, Duration::from_millis(1)));
        assert_eq!(pace_of(TOLD_EACH_MAX + 1), (1, Duration::ZERO));
        assert_eq!(pace_of(10_000), (10, PAUSE));
    }

    fn news(minions: usize, now: Instant) -> (News, Vec<String>) {
        let ids: Vec<String> = (0..minions).map(|n| format!("web{n}")).collect();
        let jid = Jid::parse("20260101000000000000").unwrap();
        let job = Job {
            target: "*".into(),
            target_kind: "glob".into(),
            function: halite_proto::publish::FunSpec::One("test.ping".into()),
            arguments: Vec::new(),
            returners: String::new(),
            options: Map::new(),
            jid: Some(jid.clone()),
        };
        let plan = Plan {
            job: &job,
            jid: &jid,
            minions: &ids,
            size: 10,
            wait: Duration::ZERO,
            timeout: PAUSE,
            failhard: false,
            user: "root",
        };
        (News::about(&plan, PAUSE, None, now), ids)
    }

    #[tokio::test]
    async fn who_has_more_to_tell_hears_when() {
        let now = Instant::now();
        let (mut large, ids) = news(TOLD_EACH_MAX + 1, now);
        assert!(large.progress(&ids[..10], now).await);
        assert_eq!(large.due(), now + PAUSE);
        let early = now + PAUSE - Duration::from_millis(1);
        assert!(!large.progress(&ids[10..20], early).await);
        assert_eq!(large.active.len(), 20, "what is not told is not forgotten");
        assert!(large.progress(&[], large.due()).await);
        let (mut small, ids) = news(TOLD_EACH_MAX, now);
        for id in &ids {
            assert!(small.progress(std::slice::from_ref(id), now).await);
        }
    }
}
