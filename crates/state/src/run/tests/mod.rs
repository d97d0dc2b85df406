//! Runs against a machine of a few lines: no system is touched.

mod graphs;
mod requisites;
mod single;

use std::collections::BTreeMap;

use super::*;
use crate::chunk::Chunk;
use crate::low::LowOptions;

/// What a state of the pretended machine does, by its name.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Does {
    Succeed,
    Change,
    Fail,
}

struct Known;

impl Functions for Known {
    fn state(&self, full: &str) -> Option<Rc<Parameters>> {
        let known = ["t.do", "t.mod_beacon", "t.mod_watch", "t.mod_init", "n.do"];
        known.contains(&full).then(|| {
            Rc::new(Parameters {
                required: vec!["name".to_owned()],
                optional: Vec::new(),
                any: full != "n.do",
            })
        })
    }

    fn has_execution(&self, fun: &str) -> bool {
        fun == "x.y"
    }
}

/// Answers effects and writes down what was asked for.
#[derive(Default)]
struct FakeMachine {
    does: BTreeMap<String, Does>,
    asked: Vec<String>,
    beside: Vec<StateCall>,
    now: u64,
}

impl FakeMachine {
    fn of(states: &[(&str, Does)]) -> Self {
        let own = |(name, does): &(&str, Does)| ((*name).to_owned(), *does);
        Self {
            does: states.iter().map(own).collect(),
            ..Self::default()
        }
    }

    fn result(&self, call: &StateCall) -> Map {
        let name = call.low.get("name").and_then(Value::as_str).unwrap_or("");
        let does = self.does.get(name).copied().unwrap_or(Does::Succeed);
        let changes = match (does, call.fun.as_str()) {
            (Does::Change, _) | (_, "t.mod_watch") => Map::from([("a", 1)]),
            _ => Map::new(),
        };
        let result = match does {
            Does::Fail => Value::Bool(false),
            Does::Change if call.test => Value::Nil,
            _ => Value::Bool(true),
        };
        Map::from([
            ("name", Value::from(name)),
            ("changes", changes.into()),
            ("result", result),
            ("comment", call.fun.as_str().into()),
        ])
    }

    fn answer(&mut self, effect: Effect) -> Reply {
        match effect {
            Effect::Call(call) => {
                let trial = if call.test { " (test)" } else { "" };
                let name = call.low.get("name").and_then(Value::as_str).unwrap_or("");
                self.asked.push(format!("{} {name}{trial}", call.fun));
                Reply::State(Ok(self.result(&call).into()))
            }
            Effect::Start(call) => {
                self.asked.push(format!("start {}", call.tag));
                self.beside.push(*call);
                Reply::Done
            }
            Effect::Collect { tags, .. } => {
                let (done, still) = std::mem::take(&mut self.beside)
                    .into_iter()
                    .partition(|call| tags.contains(&call.tag));
                self.beside = still;
                let done: Vec<StateCall> = done;
                Reply::Collected(
                    done.iter()
                        .map(|call| (call.tag.clone(), self.result(call)))
                        .collect(),
                )
            }
            Effect::Serve { fun, .. } => {
                self.asked.push(fun);
                Reply::State(Ok(true.into()))
            }
            Effect::Salt { fun, args, .. } => {
                let good = args.first().and_then(Value::as_str) == Some("true");
                let value = match fun.as_str() {
                    "cmd.retcode" => i64::from(!good).into(),
                    _ => Value::from("slotted"),
                };
                Reply::Salt(Ok(Returned { value, retcode: 0 }))
            }
            Effect::Exists(path) => Reply::Yes(path == "/"),
            Effect::Matches(_) => Reply::Yes(true),
            Effect::Sleep { seconds, .. } => {
                self.now += seconds * 1_000_000;
                self.asked.push(format!("sleep {seconds}"));
                Reply::Waited(seconds)
            }
            Effect::Refresh(_) => {
                self.asked.push("refresh".to_owned());
                Reply::Done
            }
            Effect::Fire { tag, .. } => {
                self.asked.push(tag);
                Reply::Done
            }
            Effect::Gate(_) => Reply::Gate(Gate::Open),
        }
    }

    /// Runs to the end; steps are counted so that no run hangs unseen.
    fn run(&mut self, mut chunks: Vec<Chunk>, options: RunOptions) -> Map {
        for (place, chunk) in chunks.iter_mut().enumerate() {
            chunk.set("order", 10_000 + place);
        }
        let low = Low::order(chunks, &low_options(&|_| true)).unwrap();
        let mut run = Run::new(low, options, Rc::new(Known));
        for _ in 0..100_000 {
            self.now += 1000;
            let now = Moment {
                unix_micros: self.now,
                utc_offset_seconds: 0,
            };
            match run.next(now) {
                Step::Do(effect) => {
                    let reply = self.answer(effect);
                    run.answer(reply);
                }
                Step::Waiting => panic!("the run waits for nothing"),
                Step::Done(results) => return results,
            }
        }
        panic!("the run does not end");
    }
}

fn low_options<'a>(has_state: &'a dyn Fn(&str) -> bool) -> LowOptions<'a> {
    LowOptions {
        disabled_requisites: &[],
        aggregate: &Value::Nil,
        disabled_states: &[],
        orchestration_jid: None,
        has_state,
    }
}

/// A chunk of `t.do`; `more` are further arguments.
fn chunk(name: &str, more: &[(&str, Value)]) -> Chunk {
    let mut chunk = Chunk::new(Map::from([
        ("state", "t"),
        ("fun", "do"),
        ("name", name),
        ("__id__", name),
        ("__sls__", "s"),
    ]));
    for (key, value) in more {
        chunk.set(key, value.clone());
    }
    chunk
}

fn on(names: &[&str]) -> Value {
    let one = |name: &&str| Map::from([("t", *name)]).into();
    Value::List(names.iter().map(one).collect())
}

fn field(results: &Map, name: &str, key: &str) -> Value {
    let tag = format!("t_|-{name}_|-{name}_|-do");
    results
        .get(&tag)
        .and_then(|record| record.get(key))
        .cloned()
        .unwrap_or_else(|| panic!("no {key} of {name} in {results:?}"))
}

fn run(states: &[(&str, Does)], chunks: Vec<Chunk>) -> (Map, Vec<String>) {
    let mut machine = FakeMachine::of(states);
    let results = machine.run(chunks, RunOptions::default());
    let asked = machine
        .asked
        .into_iter()
        .filter(|asked| asked != "t.mod_init");
    (results, asked.collect())
}
