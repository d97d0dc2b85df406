//! States that run in parallel (`parallel: true`).
//!
//! Invariant: not more than `state_max_parallel` (and [`BESIDE_MAX`]) run at a
//! time; the others wait for a place.

use halite_proto::{Map, Value};

use super::effect::{Patience, StateCall};
use super::machine::Machine;
use super::record;
use super::retry::{Retry, attempt_comment};

/// How many states run beside the run at most, whatever the options say.
pub const BESIDE_MAX: usize = 64;

impl Machine {
    /// Starts the call, or lets it wait for a place; what the result says
    /// until there is one.
    pub(super) async fn run_beside(&mut self, call: StateCall) -> &'static str {
        let tag = call.tag.clone();
        if self.has_place() {
            self.port.start(call).await;
            self.beside.insert(tag, None);
            "Started in a separate process"
        } else {
            self.beside.insert(tag, Some(call));
            "Waiting to be started in a separate process, max_parallel hit"
        }
    }

    /// Takes in what is done: what is there, or all there is.
    pub(super) async fn reap(&mut self, patience: Patience) {
        while !self.beside.is_empty() {
            self.start_waiting().await;
            let tags = self.started(|_| true);
            self.take_in(tags, patience).await;
            if patience != Patience::All {
                break;
            }
        }
    }

    /// Takes in the results of `tags`; if patient, waits for every one.
    pub(super) async fn collect(&mut self, tags: Vec<String>, patient: bool) {
        loop {
            self.start_waiting().await;
            let open = |tag: &str| tags.iter().any(|wanted| wanted == tag);
            let wanted = self.started(open);
            let queued = tags
                .iter()
                .any(|tag| matches!(self.beside.get(tag), Some(Some(_))));
            if wanted.is_empty() && !queued {
                return;
            }
            if !patient {
                self.take_in(wanted, Patience::None).await;
                return;
            }
            if wanted.is_empty() {
                // One that is wanted waits for the place of one that is not.
                let any = self.started(|_| true);
                self.take_in(any, Patience::One).await;
            } else {
                self.take_in(wanted, Patience::One).await;
            }
        }
    }

    fn started(&self, wanted: impl Fn(&str) -> bool) -> Vec<String> {
        self.beside
            .iter()
            .filter(|(tag, waiting)| waiting.is_none() && wanted(tag))
            .map(|(tag, _)| tag.clone())
            .collect()
    }

    fn has_place(&self) -> bool {
        let most = self.options.parallel_max.unwrap_or(BESIDE_MAX);
        let started = self.beside.values().filter(|call| call.is_none()).count();
        started < most.clamp(1, BESIDE_MAX)
    }

    async fn start_waiting(&mut self) {
        while self.has_place() {
            let next = self
                .beside
                .iter_mut()
                .find_map(|(tag, waiting)| Some((tag.clone(), waiting.take()?)));
            let Some((tag, call)) = next else {
                return;
            };
            self.port.start(call).await;
            if let Some(record) = self.results.get_mut(&tag) {
                record.insert("comment", "Started in a separate process");
            }
        }
    }

    async fn take_in(&mut self, tags: Vec<String>, patience: Patience) {
        if tags.is_empty() {
            return;
        }
        let asked = tags.clone();
        let finished = self.port.collect(tags, patience).await;
        let any = !finished.is_empty();
        for (tag, returned) in finished {
            self.beside.shift_remove(&tag);
            self.settle(&tag, returned);
        }
        if !any && patience != Patience::None {
            // A world that cannot say what became of them has lost them.
            for tag in asked {
                self.beside.shift_remove(&tag);
                self.settle(&tag, lost());
            }
        }
    }

    fn settle(&mut self, tag: &str, returned: Map) {
        let retry = self.options.test.then(|| self.retry_of(tag)).flatten();
        if let Some(record) = self.results.get_mut(tag) {
            let checked = record::checked(returned.into());
            record.extend(checked);
            if let Some(retry) = retry {
                retry.announce(record);
            }
            record.insert("__parallel__", true);
        }
    }

    fn retry_of(&self, tag: &str) -> Option<Retry> {
        let chunk = self.chunks.iter().find(|chunk| chunk.tag() == tag)?;
        chunk.get("retry").map(Retry::read)
    }
}

fn lost() -> Map {
    Map::from([
        ("result", Value::Bool(false)),
        ("name", Value::Nil),
        ("changes", Map::new().into()),
        ("comment", "Parallel process failed to return".into()),
    ])
}

/// Calls of one state that run beside the run: the one who runs them asks
/// after each whether another is to follow. Salt does one more attempt here
/// than `attempts` says; so does this.
#[derive(Debug, Default)]
pub struct Attempts {
    retry: Option<Retry>,
    number: i64,
    micros: u64,
    start_time: Option<Value>,
    last: Option<Map>,
}

impl Attempts {
    /// Attempts as `retry` asks for them.
    pub fn new(retry: Option<Retry>) -> Self {
        Self {
            retry,
            number: 1,
            ..Self::default()
        }
    }

    /// Takes the result of an attempt that began at `start_time`, after
    /// `waited` seconds, and took `micros`; seconds to wait, and the most to
    /// add, before the next one, or nothing when this was the last.
    pub fn next(
        &mut self,
        returned: Map,
        start_time: String,
        micros: u64,
        waited: u64,
    ) -> Option<(u64, u64)> {
        let mut returned = returned;
        self.micros += micros + waited * 1_000_000;
        if let Some(earlier) = self.last.take() {
            let said = if record::says(&returned, "comment") {
                attempt_comment(self.number, &returned)
            } else {
                String::new()
            };
            let before = earlier.get("comment").and_then(Value::as_str).unwrap_or("");
            returned.insert("comment", format!("{before}\n{said}"));
            self.number += 1;
        } else {
            self.start_time = Some(start_time.into());
        }
        let result = returned.get("result").cloned().unwrap_or_default();
        self.last = Some(returned);
        let retry = self.retry.as_ref()?;
        (retry.attempts >= self.number && !retry.is_content(&result))
            .then_some((retry.interval, retry.splay))
    }

    /// The result of all attempts.
    pub fn finish(self) -> Map {
        let mut record = self.last.unwrap_or_else(lost);
        if let Some(start_time) = self.start_time {
            record.insert("start_time", start_time);
        }
        record.insert("duration", record::milliseconds(self.micros));
        record
    }
}
