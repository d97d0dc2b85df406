//! Changes to the schedule while the minion runs: requests of the functions of
//! `schedule`, in the form of Salt's event `manage_schedule`.

use halite_proto::{Map, Value};
use tracing::{info, warn};

use crate::clock::Now;
use crate::due::Due;
use crate::job::{self, TIME_FORM};
use crate::strptime::strptime;
use crate::table::Table;

/// Jobs that a schedule may have. More are refused.
pub const JOBS_MAX: usize = 1000;

/// What became of a request.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Managed {
    /// The answer, and its tag on the event bus.
    pub answer: Option<(&'static str, Map)>,
    /// Whether the schedule is to be saved.
    pub persist: bool,
    /// A job that is to run now.
    pub run: Option<Due>,
}

impl Table {
    /// Carries a request out.
    pub fn manage(&mut self, request: &Map, now: Now) -> Managed {
        let text = |key: &str| request.get(key).and_then(Value::as_str);
        let name = text("name").unwrap_or_default().to_owned();
        let persist = request.get("persist").is_none_or(Value::is_true);
        match text("func").unwrap_or_default() {
            "list" => {
                let tag = "/salt/minion/minion_schedule_list_complete";
                answered(tag, self.shown(self.part(text("where"))))
            }
            "check" => check(request),
            "get_next_fire_time" => self.next_fire_time_answer(&name, now),
            "job_status" => {
                let data = Map::from([
                    ("complete", Value::Bool(true)),
                    ("data", self.status(&name, now).into()),
                ]);
                answered_as_is("/salt/minion/minion_schedule_job_status_complete", data)
            }
            "run_job" => {
                let run = self.run_now(&name);
                let answer = Map::from([("complete", run.is_some())]);
                let tag = "/salt/minion/minion_schedule_run_job_complete";
                Managed {
                    run,
                    ..answered_as_is(tag, answer)
                }
            }
            func => match self.change(func, &name, request) {
                Some((tag, is_saved)) => Managed {
                    persist: is_saved.unwrap_or(persist),
                    ..answered(tag, self.schedule())
                },
                None => {
                    warn!("Function \"{func}\" is unavailable in the scheduler");
                    Managed::default()
                }
            },
        }
    }

    /// Makes a change: the tag of its answer, and whether it is saved where the
    /// request has no say in that. `None` if there is no such function.
    fn change(
        &mut self,
        func: &str,
        name: &str,
        request: &Map,
    ) -> Option<(&'static str, Option<bool>)> {
        Some(match func {
            "add" => {
                self.add(request.get("schedule"));
                ("/salt/minion/minion_schedule_add_complete", None)
            }
            "delete" => {
                self.delete(name);
                ("/salt/minion/minion_schedule_delete_complete", None)
            }
            "modify" => {
                self.modify(name, request.get("schedule"));
                ("/salt/minion/minion_schedule_modify_complete", None)
            }
            "enable_job" => {
                self.set(name, "enabled", true.into());
                ("/salt/minion/minion_schedule_enabled_job_complete", None)
            }
            "disable_job" => {
                self.set(name, "enabled", false.into());
                ("/salt/minion/minion_schedule_disabled_job_complete", None)
            }
            "enable" => {
                self.opts.insert("enabled", true);
                ("/salt/minion/minion_schedule_enabled_complete", None)
            }
            "disable" => {
                self.opts.insert("enabled", false);
                ("/salt/minion/minion_schedule_disabled_complete", None)
            }
            "skip_job" => {
                self.add_moment(name, "skip_explicit", request, "time");
                (
                    "/salt/minion/minion_schedule_skip_job_complete",
                    Some(false),
                )
            }
            "postpone_job" => {
                self.add_moment(name, "skip_explicit", request, "time");
                self.add_moment(name, "run_explicit", request, "new_time");
                (
                    "/salt/minion/minion_schedule_postpone_job_complete",
                    Some(false),
                )
            }
            "reload" => {
                self.reload(request.get("schedule"));
                ("/salt/minion/minion_schedule_reload_complete", Some(false))
            }
            "save_schedule" => ("/salt/minion/minion_schedule_saved", Some(true)),
            _ => return None,
        })
    }

    /// What is saved: without the pillar's jobs and without what is only known
    /// while the minion runs.
    pub fn to_save(&self) -> Map {
        let plain = |data: &Value| match data {
            Value::Map(data) => {
                let entries = data
                    .iter()
                    .filter(|(key, _)| !key.as_str().is_some_and(|key| key.starts_with('_')));
                Value::Map(
                    entries
                        .map(|(key, value)| (key.clone(), value.clone()))
                        .collect(),
                )
            }
            other => other.clone(),
        };
        let saved = self.opts.iter();
        saved
            .map(|(name, data)| (name.clone(), plain(data)))
            .collect()
    }

    fn part(&self, of: Option<&str>) -> Map {
        match of {
            Some("pillar") => self.pillar.clone(),
            Some("opts") => self.opts.clone(),
            _ => self.schedule(),
        }
    }

    fn add(&mut self, jobs: Option<&Value>) {
        let Some(jobs) = jobs.and_then(Value::as_map) else {
            warn!("a job for the schedule is not a map");
            return;
        };
        for (name, data) in jobs.iter() {
            let (Some(name), Value::Map(data)) = (name.as_str(), data) else {
                warn!("Scheduled jobs have to be of type dict.");
                continue;
            };
            if self.pillar.contains_key(name) {
                warn!("Cannot update job {name}, it's in the pillar!");
                continue;
            }
            if self.opts.len() >= JOBS_MAX && !self.opts.contains_key(name) {
                warn!(
                    max = JOBS_MAX,
                    "job {name} is refused, the schedule is full"
                );
                continue;
            }
            let mut data = data.clone();
            data.get_or_insert_with("enabled", || true.into());
            info!("Added new job {name} to scheduler");
            self.forget(name);
            self.opts.insert(name, data);
        }
    }

    fn delete(&mut self, name: &str) {
        if self.opts.remove(name).is_some() {
            self.forget(name);
        } else if self.pillar.contains_key(name) {
            warn!("Cannot delete job {name}, it's in the pillar!");
        }
    }

    fn modify(&mut self, name: &str, data: Option<&Value>) {
        let Some(data) = data.and_then(Value::as_map) else {
            warn!("Scheduled jobs have to be of type dict.");
            return;
        };
        if !self.opts.contains_key(name) && self.pillar.contains_key(name) {
            warn!("Cannot modify job {name}, it's in the pillar!");
            return;
        }
        self.forget(name);
        self.opts.insert(name, data.clone());
    }

    fn set(&mut self, name: &str, key: &str, value: Value) {
        match self.opts.get_mut(name) {
            Some(Value::Map(data)) => {
                data.insert(key, value);
            }
            _ if self.pillar.contains_key(name) => {
                warn!("Cannot modify job {name}, it's in the pillar!");
            }
            _ => {}
        }
    }

    /// Adds a moment of the request to a job's list.
    fn add_moment(&mut self, name: &str, list: &str, request: &Map, key: &str) {
        let form = request.get("time_fmt").cloned();
        let moment = Map::from([
            ("time", request.get(key).cloned().unwrap_or(Value::Nil)),
            ("time_fmt", form.unwrap_or_else(|| TIME_FORM.into())),
        ]);
        let Some(Value::Map(data)) = self.opts.get(name) else {
            return self.set(name, list, Value::Nil);
        };
        let mut moments = data
            .get(list)
            .and_then(Value::as_list)
            .unwrap_or_default()
            .to_vec();
        moments.push(moment.into());
        self.set(name, list, moments.into());
    }

    fn reload(&mut self, schedule: Option<&Value>) {
        let Some(schedule) = schedule.and_then(Value::as_map) else {
            return;
        };
        let inner = schedule.get("schedule").and_then(Value::as_map);
        let schedule = inner.unwrap_or(schedule).clone();
        for (name, data) in schedule.iter() {
            if let Some(name) = name.as_str() {
                self.forget(name);
                self.opts.insert(name, data.clone());
            }
        }
    }

    fn next_fire_time_answer(&self, name: &str, now: Now) -> Managed {
        let next = self.next_fire_time(name, now);
        let next = next.map_or(Value::Nil, |next| next.to_string().into());
        let answer = Map::from([("complete", Value::Bool(true)), ("next_fire_time", next)]);
        Managed {
            answer: Some((
                "/salt/minion/minion_schedule_next_fire_time_complete",
                answer,
            )),
            ..Managed::default()
        }
    }
}

/// Whether moments are ones: `when` as people write it, or `time` in the form
/// `time_fmt`.
fn check(request: &Map) -> Managed {
    let whens = match request.get("when") {
        Some(Value::List(whens)) => whens.clone(),
        Some(one) => vec![one.clone()],
        None => Vec::new(),
    };
    let bad_when = whens.iter().find(|when| job::date(when).is_none());
    let text = |key: &str| request.get(key).and_then(Value::as_str);
    let form = text("time_fmt").unwrap_or(TIME_FORM);
    let bad_time = match request.get("time") {
        Some(Value::Str(time)) => strptime(time, form).is_none(),
        Some(_) => true,
        None => false,
    };
    let answer = Map::from([
        ("complete", Value::Bool(true)),
        ("bad_when", bad_when.cloned().unwrap_or(Value::Nil)),
        ("bad_time", bad_time.into()),
    ]);
    Managed {
        answer: Some(("/salt/minion/minion_schedule_check_complete", answer)),
        ..Managed::default()
    }
}

fn answered(tag: &'static str, schedule: Map) -> Managed {
    let answer = Map::from([
        ("complete", Value::Bool(true)),
        ("schedule", schedule.into()),
    ]);
    answered_as_is(tag, answer)
}

fn answered_as_is(tag: &'static str, answer: Map) -> Managed {
    Managed {
        answer: Some((tag, answer)),
        ..Managed::default()
    }
}
