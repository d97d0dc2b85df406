//! One run of a runner, from its place to the event that ends it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use halite_proto::msgpack::{Entries, Packing, unpack_modern};
use halite_proto::{Jid, Map, PackError, Value};
use tokio::runtime::Handle;

use super::places::Place;
use super::registry::{Seat, Timer};
use super::table::Found;
use super::{Asked, Call, NotStarted, RunnerError, Runners, proc_files, table};
use crate::error::chain;
use crate::jobs::stop::{Stop, Why};

/// How the answer of a runner begins that could not be called. To whoever asked
/// it counts as an answer, as with Salt: the documentation is in it.
pub(super) const BAD_ARGUMENTS: &str = "\nPassed invalid arguments: ";

/// Runners whose events name their job id among the arguments, as with Salt.
const ORCHESTRATIONS: [&str; 2] = ["state.orch", "state.orchestrate"];

/// One run of a runner.
pub(crate) struct Run {
    pub(crate) jid: Jid,
    pub(crate) tag: String,
    pub(super) asked: Asked,
    pub(super) stop: Stop,
    seat: Mutex<Option<Seat>>,
}

impl Run {
    pub(super) fn begin(
        runners: &Arc<Runners>,
        asked: Asked,
        stop: Stop,
        place: Place,
    ) -> Result<Arc<Self>, NotStarted> {
        let jid = match &asked.jid {
            Some(jid) => {
                let prepared = runners.jobs.cache.prepare(jid, false);
                prepared.map_err(NotStarted::Jid)?;
                jid.clone()
            }
            None => runners.jobs.allocate(false),
        };
        Ok(Arc::new(Self {
            tag: format!("salt/run/{jid}"),
            jid,
            asked,
            stop,
            seat: Mutex::new(Some(Seat::of(place))),
        }))
    }

    /// The function.
    pub(super) fn fun(&self) -> &str {
        &self.asked.fun
    }

    pub(super) fn seat(&self) -> MutexGuard<'_, Option<Seat>> {
        self.seat.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What its events begin with.
    fn data(&self) -> Map {
        let asked = &self.asked;
        let mut fun_args = asked.args.clone();
        let mut by_name = without_password(&asked.kwargs);
        by_name.extend(asked.told.clone());
        if ORCHESTRATIONS.contains(&asked.fun.as_str()) {
            by_name.insert("orchestration_jid", &self.jid);
        }
        if !by_name.is_empty() {
            fun_args.push(by_name.into());
        }
        Map::from([
            ("fun", Value::from(format!("runner.{}", asked.fun))),
            ("jid", (&self.jid).into()),
            ("user", asked.user.as_str().into()),
            ("fun_args", fun_args.into()),
        ])
    }

    /// Runs to the end and tells of it; what the `ret` event carries.
    pub(super) fn run(self: &Arc<Self>, runners: &Arc<Runners>, runtime: &Handle) -> Map {
        let _timer = Timer::start(runners, runtime, self);
        let data = self.ran(runners, runtime);
        *self.seat() = None;
        data
    }

    fn ran(&self, runners: &Arc<Runners>, runtime: &Handle) -> Map {
        let asked = &self.asked;
        let found = match table::find(runners, &asked.fun) {
            Ok(found) => found,
            Err(why) => return self.not_available(runners, why),
        };
        let mut data = self.data();
        if let Some(under_way) = &runners.under_way {
            let by = asked.proven_by.as_ref();
            under_way.runner_begins(&self.jid, &data, asked.is_kept, by);
        }
        runners.bus.fire(&format!("{}/new", self.tag), data.clone());
        let running = proc_files::Running::write(&runners.general.cachedir, &self.jid, &data);
        let (value, success) = match self.called(runners, runtime, &found) {
            Ok((Returned::Packed(list), 0)) if self.stop.why().is_none() => {
                drop(running);
                return self.tell_packed(runners, data, list);
            }
            Ok((Returned::Value(value), 0)) if self.stop.why().is_none() => {
                let success = is_success(&value);
                (value, success)
            }
            Ok((returned, retcode)) => {
                data.insert("retcode", retcode.max(1));
                (returned.into_value(), false)
            }
            Err(RunnerError::BadArguments(why)) => {
                let text = format!("{BAD_ARGUMENTS}{why}\n\nUsage:\n{}", found.doc_text());
                (text.into(), true)
            }
            Err(error) => {
                data.insert("retcode", 1);
                (self.failed(&error), false)
            }
        };
        data.insert("return", value);
        data.insert("success", success);
        // Who hears of its end does not find it among those that run.
        drop(running);
        self.tell(runners, data)
    }

    fn failed(&self, error: &RunnerError) -> Value {
        let fun = self.fun();
        match self.stop.why() {
            Some(why) => format!("Exception occurred in runner {fun}: {why}").into(),
            None => format!("Exception occurred in runner {fun}: {}", chain(error)).into(),
        }
    }

    /// Announces the end, unless another thread has. The data may be large and is
    /// returned to the caller.
    fn tell(&self, runners: &Runners, mut data: Map) -> Map {
        if !self.claims_end() {
            return data;
        }
        if self.asked.is_kept {
            let by = self.asked.proven_by.as_ref();
            data = runners.jobs.store_runner_return(&self.jid, by, data);
        }
        let data = runners.bus.fire_kept(&self.end_tag(), data);
        self.record_end(runners);
        data
    }

    /// The same for a run whose return is packed, which means that it succeeded. The
    /// packed return is not part of the result.
    fn tell_packed(&self, runners: &Runners, mut data: Map, list: Vec<u8>) -> Map {
        let entries = entries_of(&data, &list);
        let entries = entries.inspect_err(|error| {
            tracing::error!(jid = %self.jid, "could not pack the return of a runner: {error}");
        });
        let Some(entries) = entries
            .ok()
            .filter(|entries| !runners.bus.may_trim(entries))
        else {
            data.insert("return", Returned::Packed(list).into_value());
            data.insert("success", true);
            return self.tell(runners, data);
        };
        if !self.claims_end() {
            return data;
        }
        if self.asked.is_kept {
            let by = self.asked.proven_by.as_ref();
            let jobs = &runners.jobs;
            jobs.store_packed_runner_return(&self.jid, by, &data, &entries);
        }
        runners.bus.fire_packed(&self.end_tag(), &entries);
        self.record_end(runners);
        data
    }

    /// Whether it is for this thread to announce the end.
    fn claims_end(&self) -> bool {
        let claims = self.stop.claim();
        if !claims {
            tracing::info!(
                jid = %self.jid,
                "the runner {}, which was no longer waited for, has ended",
                self.fun()
            );
        }
        claims
    }

    fn end_tag(&self) -> String {
        format!("{}/ret", self.tag)
    }

    fn record_end(&self, runners: &Runners) {
        if let Some(under_way) = &runners.under_way {
            under_way.ended(&self.jid);
        }
    }

    /// Announces the end of a run that does not react to the order to stop.
    pub(super) fn tell_stopped(&self, runners: &Runners, why: Why) {
        let mut data = self.data();
        data.insert("retcode", 1);
        data.insert("return", self.failed(&RunnerError::Stopped(why)));
        data.insert("success", false);
        self.tell(runners, data);
    }

    fn called(
        &self,
        runners: &Arc<Runners>,
        runtime: &Handle,
        found: &Found,
    ) -> Result<(Returned, i64), RunnerError> {
        let call = Call::bind(runners, runtime, self, found)?;
        let ran = catch_unwind(AssertUnwindSafe(|| found.run(&call)));
        let value = ran.unwrap_or(Err(RunnerError::Panic))?;
        let packed = call.take_packed().map(Returned::Packed);
        Ok((packed.unwrap_or(Returned::Value(value)), call.retcode.get()))
    }

    fn not_available(&self, runners: &Runners, why: Option<&'static str>) -> Map {
        let asked = &self.asked;
        let mut text = format!("'{}' is not available.", asked.fun);
        let mut retcode = NOT_AVAILABLE;
        if let Some(why) = why {
            text = format!("{text} {why}");
            // Scripts that rely on it must not go on.
            retcode = 1;
        }
        let data = Map::from([
            ("success", Value::from(false)),
            ("return", text.into()),
            ("retcode", retcode.into()),
            ("fun", asked.fun.as_str().into()),
            ("fun_args", asked.args.clone().into()),
            ("jid", (&self.jid).into()),
        ]);
        if self.stop.claim() {
            runners.bus.fire(&format!("{}/ret", self.tag), data.clone());
        }
        data
    }
}

/// What a runner has returned.
enum Returned {
    Value(Value),
    Packed(Vec<u8>),
}

impl Returned {
    fn into_value(self) -> Value {
        match self {
            Self::Value(value) => value,
            // The master has packed it itself.
            Self::Packed(packed) => unpack_modern(&packed).unwrap_or_default(),
        }
    }
}

/// What the event of an end carries, with what was returned.
fn entries_of(data: &Map, list: &[u8]) -> Result<Entries, PackError> {
    let mut entries = Entries::of(data, Packing::Modern)?;
    entries.push_packed("return", list)?;
    entries.extend(&Map::from([("success", true)]))?;
    Ok(entries)
}

/// Arguments as everybody may hear them.
fn without_password(kwargs: &Map) -> Map {
    const MASK: &str = "**********";
    let mut told = kwargs.clone();
    if told.contains_key("password") {
        told.insert("password", MASK);
    }
    told
}

/// The return code of a runner that does not exist.
const NOT_AVAILABLE: i64 = 254;

/// Whether what a runner returned means that all went well: results of states
/// say so themselves.
fn is_success(value: &Value) -> bool {
    let Some(Value::Map(data)) = value.as_map().and_then(|map| map.get("data")) else {
        return true;
    };
    data.values().all(|of_minion| match of_minion {
        Value::Map(states) => states
            .values()
            .all(|state| state.get("result") != Some(&Value::Bool(false))),
        _ => true,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_told_to_nobody() {
        let given = Map::from([("username", "ali"), ("password", "sesame")]);
        let told = without_password(&given);
        assert_eq!(told.get("password"), Some(&"**********".into()));
        assert_eq!(told.get("username"), Some(&"ali".into()));
        let other = Map::from([("tgt", "*")]);
        assert_eq!(without_password(&other), other);
    }

    #[test]
    fn results_of_states_say_whether_all_went_well() {
        let run = |result: bool| {
            let state = Map::from([("result", result)]);
            let data = Map::from([("m1", Map::from([("x", state)]))]);
            Value::from(Map::from([("data", Value::from(data))]))
        };
        assert!(is_success(&run(true)));
        assert!(!is_success(&run(false)));
        assert!(is_success(&Value::from(false)));
        assert!(is_success(&Map::from([("data", 7)]).into()));
    }
}
