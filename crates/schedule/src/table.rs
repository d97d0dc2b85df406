//! The schedule: the jobs of the configuration and of the pillar, and when each
//! runs next.
//!
//! Invariant: a job runs once for each moment at which it is due, and its
//! concurrent runs stay within its limit.

use std::collections::BTreeMap;
use std::time::Duration;

use halite_proto::{Map, Value};

use crate::clock::{Local, Now};
use crate::due::Due;
use crate::job::{Job, Timing};
use crate::job_state::JobState;
use crate::judge::{Verdict, judge};
use halite_proto::chance::Chance;

/// How often a job that is due and held up by its range is looked at.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// Longest time between two looks: the wall clock may be set.
const LOOK_AGAIN_MAX: Duration = Duration::from_secs(60);

/// Names in a schedule that are settings of all jobs.
pub const SETTINGS: [&str; 4] = ["enabled", "skip_function", "skip_during_range", "splay"];

/// Jobs that Salt's minion writes into its own saved schedule; here other
/// parts of the minion do what they are for.
const OF_SALT: [&str; 4] = [
    "__mine_interval",
    "__master_alive",
    "__master_failback",
    "__ping_interval",
];

/// The schedule of a minion.
#[derive(Debug)]
pub struct Table {
    pub(super) opts: Map,
    pub(super) pillar: Map,
    whens: Map,
    states: BTreeMap<String, JobState>,
    running: BTreeMap<String, usize>,
    chance: Chance,
}

impl Table {
    /// The schedule of the configuration. `seed` is for splays.
    pub fn new(opts: &Map, seed: u64) -> Self {
        let is_own = |name: &Value| {
            let name = name.as_str().unwrap_or_default();
            !OF_SALT.iter().any(|other| name.starts_with(other))
        };
        let opts = opts.iter().filter(|(name, _)| is_own(name));
        Self {
            opts: opts
                .map(|(name, data)| (name.clone(), data.clone()))
                .collect(),
            pillar: Map::new(),
            whens: Map::new(),
            states: BTreeMap::new(),
            running: BTreeMap::new(),
            chance: Chance::new(seed),
        }
    }

    /// Takes the schedule of the pillar, and the names of moments in pillar
    /// and grains.
    pub fn set_pillar(&mut self, pillar: &Map, grains: &Map) {
        let map = |from: &Map, key: &str| from.get(key).and_then(Value::as_map).cloned();
        self.pillar = map(pillar, "schedule").unwrap_or_default();
        self.whens = map(grains, "whens").unwrap_or_default();
        self.whens.extend(map(pillar, "whens").unwrap_or_default());
    }

    /// All jobs and settings: what the configuration says wins.
    pub fn schedule(&self) -> Map {
        let mut all = self.pillar.clone();
        all.extend(self.opts.clone());
        all
    }

    /// Whether there is no job at all.
    pub fn is_empty(&self) -> bool {
        jobs(&self.opts).next().is_none() && jobs(&self.pillar).next().is_none()
    }

    /// A job has come to its end.
    pub fn finished(&mut self, name: &str) {
        if let Some(count) = self.running.get_mut(name) {
            *count = count.saturating_sub(1);
        }
    }

    /// Forgets what is known of a job, so that it starts anew.
    pub(super) fn forget(&mut self, name: &str) {
        self.states.remove(name);
    }

    /// The jobs that are to run now.
    pub fn poll(&mut self, now: Now) -> Vec<Due> {
        let schedule = self.schedule();
        let is_on = schedule.get("enabled").is_none_or(Value::is_true);
        let jobs: Vec<(String, Map)> = jobs(&schedule).collect();
        self.states
            .retain(|name, _| jobs.iter().any(|(job, _)| job == name));
        let mut due = Vec::new();
        for (name, data) in jobs {
            due.extend(self.look(&name, data, &schedule, is_on, now));
        }
        due
    }

    /// How long it is until the next job may be due; none if there is no job.
    pub fn next_timeout(&self, now: Now) -> Option<Duration> {
        let waits = self.states.values().filter(|state| state.error.is_none());
        let wait = |state: &JobState| {
            let steady = state.steady.map(|at| at.saturating_sub(now.steady));
            let local = state.local.map(|at| at.since(now.local));
            let held = state.skipped.is_some() && state.is_due(now);
            match (steady.or(local), held) {
                (Some(_), true) => Some(LOOK_AGAIN),
                (wait, _) => wait,
            }
        };
        let explicit = self
            .states
            .values()
            .any(|state| state.data.contains_key("run_explicit"));
        let next = waits.filter_map(wait).min();
        match (next, explicit) {
            (next, true) => Some(next.unwrap_or(LOOK_AGAIN).min(LOOK_AGAIN)),
            (Some(next), false) => Some(next.min(LOOK_AGAIN_MAX)),
            (None, false) => None,
        }
    }

    /// Jobs as `schedule.list` shows them: with what has been filled in when
    /// they ran.
    pub(super) fn shown(&self, mut jobs: Map) -> Map {
        for (name, state) in &self.states {
            let Some(Value::Map(data)) = jobs.get_mut(name.as_str()) else {
                continue;
            };
            data.get_or_insert_with("name", || name.as_str().into());
            if state.last_run.is_some() && data.get("jid_include").is_none_or(Value::is_true) {
                data.insert("jid_include", true);
                data.get_or_insert_with("maxrunning", || 1.into());
            }
        }
        jobs
    }

    /// What is known of a job, as `schedule.job_status` shows it.
    pub fn status(&self, name: &str, now: Now) -> Map {
        let Some(Value::Map(mut data)) = self.schedule().get(name).cloned() else {
            return Map::new();
        };
        data.get_or_insert_with("name", || name.into());
        let Some(state) = self.states.get(name) else {
            return data;
        };
        let moment =
            |moment: Option<Local>| moment.map_or(Value::Nil, |moment| moment.to_string().into());
        if let Ok(Job {
            timing: Timing::Every(seconds),
            ..
        }) = self.read(name, &data)
        {
            data.insert("_seconds", seconds);
        }
        data.insert("_next_fire_time", moment(self.next_fire_time(name, now)));
        data.insert(
            "_splay",
            match state.is_splayed {
                true => moment(self.next_fire_time(name, now)),
                false => Value::Nil,
            },
        );
        data.insert(
            "_run_on_start",
            !state.has_started && data.get("run_on_start").is_some_and(Value::is_true),
        );
        if let Some(last) = state.last_run {
            data.insert("_last_run", last.to_string());
        }
        if let Some((at, why)) = state.skipped {
            data.insert("_skip_reason", why);
            data.insert("_skipped", true);
            data.insert("_skipped_time", at.to_string());
        }
        if let Some(error) = &state.error {
            data.insert("_error", error.as_str());
        }
        data
    }

    /// When a job runs next, as far as is known.
    pub fn next_fire_time(&self, name: &str, now: Now) -> Option<Local> {
        let state = self.states.get(name)?;
        state
            .local
            .or_else(|| state.steady.map(|at| now.local_at(at)))
    }

    /// Runs a job now, whatever its times are, unless too many of it run.
    pub(super) fn run_now(&mut self, name: &str) -> Option<Due> {
        let schedule = self.schedule();
        let data = schedule.get(name)?.as_map()?;
        let max = self.read(name, data).ok().and_then(|job| job.running_max);
        (!self.is_full(name, max)).then(|| self.start(name, Due::from_definition(name, data)))
    }

    fn read(&self, name: &str, data: &Map) -> Result<Job, String> {
        Job::read(name, data, &|when| self.whens.get(when).cloned())
    }

    fn look(
        &mut self,
        name: &str,
        data: Map,
        schedule: &Map,
        is_on: bool,
        now: Now,
    ) -> Option<Due> {
        let job = self.read(name, &data);
        let state = self.states.entry(name.to_owned()).or_default();
        // What a skipped or put off moment adds is no other job.
        if without_moments(&state.data) != without_moments(&data) {
            *state = JobState::default();
        }
        state.data = data;
        if state.error.is_some() {
            return None;
        }
        let job = match job {
            Ok(job) => job,
            Err(error) => {
                tracing::error!("{error}");
                state.error = Some(error);
                return None;
            }
        };
        state.plan(&job, now);
        state.splay(&job, schedule, name, now, &mut self.chance);
        let at_start = job.run_on_start && !std::mem::replace(&mut state.has_started, true);
        let explicit = state.explicit(&job, now);
        if !at_start && !explicit && !state.is_due(now) {
            return None;
        }
        let due = (!explicit).then(|| state.due_since(now)).flatten();
        let is_late = !at_start && !explicit && state.is_late(&job, now);
        let mut verdict = match (is_on && job.enabled, is_late) {
            (false, _) => Verdict::Skip("disabled"),
            (_, true) => Verdict::Skip("late"),
            _ if at_start => Verdict::Run,
            _ => judge(name, &job, schedule, now.local, due),
        };
        if matches!(verdict, Verdict::Run) && self.is_full(name, job.running_max) {
            // It runs as soon as there is room again.
            verdict = Verdict::Hold("maxrunning");
        }
        let due = self
            .states
            .get_mut(name)?
            .take_turn(name, &job, verdict, now)?;
        Some(self.start(name, due))
    }

    fn is_full(&self, name: &str, max: Option<usize>) -> bool {
        let running = self.running.get(name).copied().unwrap_or(0);
        max.is_some_and(|max| running >= max)
    }

    fn start(&mut self, name: &str, due: Due) -> Due {
        *self.running.entry(name.to_owned()).or_default() += 1;
        due
    }
}

/// The jobs of a schedule, without its settings.
pub(super) fn jobs(schedule: &Map) -> impl Iterator<Item = (String, Map)> {
    schedule.iter().filter_map(|(name, data)| {
        let name = name.as_str()?;
        let data = data.as_map()?;
        (!SETTINGS.contains(&name)).then(|| (name.to_owned(), data.clone()))
    })
}

fn without_moments(data: &Map) -> Map {
    let mut data = data.clone();
    for key in ["skip_explicit", "run_explicit", "enabled"] {
        data.remove(key);
    }
    data
}
