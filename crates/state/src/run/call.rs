//! One call of a state: conditions, slots, the function, `check_cmd`, and the
//! repetitions of `retry`.
//!
//! Salt 3008.5, `State.call`.

use halite_proto::{Map, Value};

use super::bind::{self, Arguments};
use super::effect::{Effect, Moment, Position, Renew, StateCall};
use super::machine::Machine;
use super::options::Parameters;
use super::retry::{Retry, attempt_comment};
use super::{record, slots};
use crate::chunk::Chunk;

/// A record and the time its state took.
struct Attempt {
    record: Map,
    micros: u64,
    /// The state could be called, or its conditions asked.
    sound: bool,
}

impl Machine {
    /// Calls the state of `chunk` and records what came of it. A trial runs in
    /// test mode and takes no number.
    pub(super) async fn call(&mut self, chunk: &mut Chunk, trial: bool, watched: Map) -> Map {
        let first = self.attempt(chunk, trial, &watched).await;
        let beside = record::says(chunk.map(), "parallel");
        let retry = chunk.get("retry").map(Retry::read);
        let retry = retry.filter(|_| !trial && !beside && first.sound);
        let mut record = match retry {
            None => first.record,
            Some(retry) if self.options.test => {
                let mut record = first.record;
                retry.announce(&mut record);
                record
            }
            Some(retry) => self.attempts(chunk, first, &retry, &watched).await,
        };
        record::join_comment(&mut record);
        record
    }

    async fn attempts(
        &mut self,
        chunk: &mut Chunk,
        first: Attempt,
        retry: &Retry,
        watched: &Map,
    ) -> Map {
        let begun = first.record.get("start_time").cloned().unwrap_or_default();
        let mut comments = Vec::new();
        let mut last = first;
        let mut micros = last.micros;
        let mut number = 1;
        while !retry.is_content(last.record.get("result").unwrap_or(&Value::Nil))
            && retry.attempts > number
        {
            comments.push(attempt_comment(number, &last.record));
            let seconds = self.port.sleep(retry.interval, retry.splay).await;
            last = self.attempt(chunk, false, watched).await;
            micros += last.micros + seconds * 1_000_000;
            number += 1;
        }
        let mut record = last.record;
        if !comments.is_empty() {
            record::join_comment(&mut record);
            comments.push(comment_of(&record));
            record.insert("comment", comments.join("\n"));
            record.insert("duration", record::milliseconds(micros));
            record.insert("start_time", begun);
        }
        record
    }

    async fn attempt(&mut self, chunk: &mut Chunk, trial: bool, watched: &Map) -> Attempt {
        let started = self.port.now();
        let errors = bind::verify(chunk, &*self.functions);
        if !errors.is_empty() {
            let record = record::refused(chunk, &errors, self.number);
            if !trial {
                self.number += 1;
            }
            return Attempt {
                record,
                micros: 0,
                sound: false,
            };
        }
        let mut record = match self.returned(chunk, trial, watched).await {
            Ok(returned) => returned,
            Err(trace) => record::exception(chunk.name().clone(), &trace),
        };
        if trial {
            return Attempt {
                record,
                micros: 0,
                sound: true,
            };
        }
        let micros = self.port.now().micros_since(started);
        self.finish(chunk, &mut record, started, micros);
        self.renew(chunk, &record).await;
        Attempt {
            record,
            micros,
            sound: true,
        }
    }

    fn finish(&mut self, chunk: &Chunk, record: &mut Map, started: Moment, micros: u64) {
        let own = |key: &str| chunk.get(key).cloned().unwrap_or_default();
        *record = record::fitted(std::mem::take(record));
        record.insert("__sls__", own("__sls__"));
        record.insert("__run_num__", record::count(self.take_number()));
        if record::says(chunk.map(), "no_log") {
            record::mask(record);
        }
        record.insert("start_time", started.time_of_day());
        record.insert("duration", record::milliseconds(micros));
        record.insert("__id__", own("__id__"));
    }

    /// What the function returned, or its conditions instead of it.
    async fn returned(&mut self, chunk: &Chunk, trial: bool, watched: &Map) -> Result<Map, String> {
        let full = chunk.full_name();
        let parameters = self.functions.state(&full).unwrap_or_default();
        if self.has_conditions(chunk) {
            let checked = self.conditions(chunk).await?;
            if checked.skip {
                let mut record = checked.into_record(chunk);
                if let Some(check) = self.check_cmd(chunk).await? {
                    record.extend(check);
                }
                return Ok(record);
            }
        }
        if self.options.mock {
            return Ok(plain(chunk, Value::Bool(true), "Not called, mocked"));
        }
        if !self.is_allowed(&full, chunk.state()).await {
            const UNMET: &str = "Failed to meet global state conditions. State not called.";
            let mut record = plain(chunk, Value::Nil, UNMET);
            record.extend(self.check_cmd(chunk).await?.unwrap_or_default());
            return Ok(record);
        }
        let call = match self
            .prepared(chunk, full, &parameters, trial, watched)
            .await?
        {
            Ok(call) => call,
            // Salt gives up the whole run here; the other states are sound.
            Err(why) => return Ok(plain(chunk, Value::Bool(false), &why)),
        };
        if !trial && record::says(chunk.map(), "parallel") {
            let comment = self.run_beside(call).await;
            return Ok(Map::from([
                ("name", chunk.name().clone()),
                ("result", Value::Nil),
                ("changes", Map::new().into()),
                ("comment", comment.into()),
            ]));
        }
        let returned = self.port.call(call).await?;
        let Some(check) = self.check_cmd(chunk).await? else {
            return Ok(record::checked(returned));
        };
        let mut record = record::checked(returned);
        record.extend(check);
        Ok(record)
    }

    async fn prepared(
        &self,
        chunk: &Chunk,
        full: String,
        parameters: &Parameters,
        trial: bool,
        watched: &Map,
    ) -> Result<Result<StateCall, String>, String> {
        let bound = match bind::arguments(chunk, &full, parameters) {
            Ok(bound) => bound,
            Err(why) => return Ok(Err(why)),
        };
        let Arguments { args, kwargs } = bound;
        let (args, kwargs) = self.fill_slots(args, kwargs).await?;
        let mask = chunk.get("__umask__").and_then(Value::as_i64);
        Ok(Ok(StateCall {
            tag: chunk.tag(),
            fun: full,
            args,
            kwargs,
            low: chunk.map().clone(),
            test: trial || self.options.test,
            umask: mask.and_then(|mask| u32::try_from(mask).ok()),
            watched: watched.clone(),
            retry: chunk
                .get("retry")
                .filter(|_| !self.options.test)
                .map(Retry::read),
            position: Position {
                number: self.number + 1,
                total: self.length,
            },
        }))
    }

    /// Puts the results of functions where slots stand.
    ///
    /// # Errors
    /// The traceback of such a function.
    pub(super) async fn fill_slots(
        &self,
        mut args: Vec<Value>,
        mut kwargs: Map,
    ) -> Result<(Vec<Value>, Map), String> {
        let values = args
            .iter_mut()
            .chain(kwargs.iter_mut().map(|(_, value)| value));
        for place in values.flat_map(slots::places) {
            let Some(slot) = place.as_str().and_then(slots::read) else {
                continue;
            };
            if !self.functions.has_execution(&slot.fun) {
                continue;
            }
            let returned = self
                .port
                .salt(&slot.fun, slot.args.clone(), slot.kwargs.clone())
                .await
                .map_err(|fault| fault.trace)?;
            *place = slot.fill(returned.value);
        }
        Ok((args, kwargs))
    }

    /// `global_state_conditions`: without any for this state it may run, else
    /// one must mean this minion.
    async fn is_allowed(&self, full: &str, module: &str) -> bool {
        let mut asked = false;
        for (states, expressions) in &self.options.conditions {
            if states != "*" && states != full && states != module {
                continue;
            }
            for expression in expressions {
                asked = true;
                if self.port.matches(expression).await {
                    return true;
                }
            }
        }
        !asked
    }

    /// What the state asks to be made new after it.
    async fn renew(&self, chunk: &Chunk, record: &Map) {
        let says = |key| record::says(chunk.map(), key);
        let changed = record::changed(record);
        let renew = Renew {
            grains: says("reload_grains"),
            pillar: says("reload_pillar"),
            modules: (changed && says("reload_modules")) || says("force_reload_modules"),
        };
        if renew != Renew::default() {
            self.port.tell(Effect::Refresh(renew)).await;
        }
    }
}

fn comment_of(record: &Map) -> String {
    let comment = record.get("comment").filter(|comment| comment.is_true());
    comment.map(halite_proto::python::str).unwrap_or_default()
}

fn plain(chunk: &Chunk, result: Value, comment: &str) -> Map {
    Map::from([
        ("name", chunk.name().clone()),
        ("comment", comment.into()),
        ("changes", Map::new().into()),
        ("result", result),
    ])
}
