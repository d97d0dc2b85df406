//! The sequence of a run: whose turn it is, the state of its requisites, and what
//! comes after it.
//!
//! Invariant: every chunk of the order ends with exactly one record, unless the run
//! itself ends before (`failhard`, a kill); a chain of requisites costs no stack.

use std::collections::HashSet;
use std::rc::Rc;

use halite_proto::{Map, Value};
use indexmap::IndexMap;

use super::effect::{Patience, StateCall};
use super::options::{Functions, RunOptions};
use super::port::Port;
use super::record;
use super::verdict::{Answer, Answers, Verdict, verdict};
use crate::chunk::Chunk;
use crate::graph::{Graph, Turn};
use crate::requisite::Requisite;

/// A run as it proceeds.
pub(super) struct Machine {
    pub(super) port: Port,
    pub(super) functions: Rc<dyn Functions>,
    pub(super) options: RunOptions,
    pub(super) chunks: Vec<Chunk>,
    tags: Vec<String>,
    pub(super) graph: Graph,
    /// How many chunks the run has; part of every event.
    pub(super) length: usize,
    /// Results by tag, in the order in which they came.
    pub(super) results: IndexMap<String, Map>,
    /// Results of trials.
    trials: IndexMap<String, Map>,
    /// The number of the next result.
    pub(super) number: u64,
    /// Chunks that are part of an aggregate already.
    pub(super) aggregated: HashSet<usize>,
    /// State modules whose `mod_init` has been heard.
    pub(super) initialised: HashSet<String>,
    /// What runs beside, by tag: started, or waiting for a place.
    pub(super) beside: IndexMap<String, Option<StateCall>>,
    /// Whether the run ends here.
    pub(super) ended: bool,
}

/// The chunks that each kind of requisite of a state names.
type Needs = Vec<(Requisite, Vec<Turn>)>;

impl Machine {
    pub(super) fn new(
        port: Port,
        functions: Rc<dyn Functions>,
        options: RunOptions,
        chunks: Vec<Chunk>,
        graph: Graph,
    ) -> Self {
        Self {
            port,
            functions,
            options,
            tags: chunks.iter().map(Chunk::tag).collect(),
            chunks,
            graph,
            length: 0,
            results: IndexMap::new(),
            trials: IndexMap::new(),
            number: 0,
            aggregated: HashSet::new(),
            initialised: HashSet::new(),
            beside: IndexMap::new(),
            ended: false,
        }
    }

    /// Carries out all turns, in their order.
    pub(super) async fn carry_out(&mut self, order: &[Turn]) {
        self.length = order.len();
        let mut waiting: Vec<Turn> = Vec::new();
        for turn in order {
            self.try_again(&mut waiting).await;
            if self.ended {
                break;
            }
            self.reap(Patience::None).await;
            if self.has_result(*turn) {
                continue;
            }
            if !self.gate(*turn).await {
                break;
            }
            if self.turn(*turn).await {
                waiting.push(*turn);
            }
            if self.ended {
                break;
            }
        }
        while !self.ended && !waiting.is_empty() {
            if !self.beside.is_empty() {
                self.reap(Patience::One).await;
            }
            let before = waiting.len();
            self.try_again(&mut waiting).await;
            if waiting.len() == before && self.beside.is_empty() {
                // Nothing runs that they could wait for.
                break;
            }
        }
        self.reap(Patience::All).await;
    }

    async fn try_again(&mut self, waiting: &mut Vec<Turn>) {
        let mut still = Vec::new();
        for turn in std::mem::take(waiting) {
            if self.ended || (!self.has_result(turn) && self.turn(turn).await) {
                still.push(turn);
            }
        }
        *waiting = still;
    }

    async fn gate(&self, turn: Turn) -> bool {
        if self.options.jid.is_none() {
            return true;
        }
        let id = self.chunk(turn).id().to_owned();
        self.port.may_go_on(&id).await
    }

    /// One turn and, before it, what it depends on that has not run; `true`
    /// if it has to wait for something that runs beside.
    pub(super) async fn turn(&mut self, turn: Turn) -> bool {
        let mut missing = self.missing(turn);
        missing.push(turn);
        for each in missing {
            if self.has_result(each) && each != turn {
                continue;
            }
            self.aggregate(each).await;
            let chunk = self.chunk(each).clone();
            self.init_module(&chunk).await;
            let (needs, verdict) = self.judge(each).await;
            if verdict == Verdict::Pending {
                return true;
            }
            self.follow(each, &needs, verdict).await;
            self.ended |= self.must_end(each);
            if self.ended {
                return false;
            }
        }
        false
    }

    /// What `turn` depends on that has no result, dependencies of dependencies
    /// first.
    fn missing(&self, turn: Turn) -> Vec<Turn> {
        let mut found = Vec::new();
        let mut seen = HashSet::from([turn]);
        // Each turn on the way, and those of its dependencies to look at.
        let mut way = vec![(turn, self.open_dependencies(turn))];
        while let Some((at, open)) = way.last_mut() {
            let at = *at;
            match open.pop() {
                Some(next) => {
                    if seen.insert(next) {
                        way.push((next, self.open_dependencies(next)));
                    }
                }
                None => {
                    way.pop();
                    if at != turn {
                        found.push(at);
                    }
                }
            }
        }
        found
    }

    /// In reverse, to be popped.
    fn open_dependencies(&self, turn: Turn) -> Vec<Turn> {
        let all = self.graph.dependencies(turn).into_iter();
        let mut open: Vec<Turn> = all
            .map(|dependency| dependency.on)
            .filter(|on| !self.has_result(*on))
            .collect();
        open.reverse();
        open
    }

    /// Asks the requisites of a turn; waits for those that run beside, unless
    /// the state is to run beside itself.
    async fn judge(&mut self, turn: Turn) -> (Needs, Verdict) {
        let mut needs = Needs::new();
        for dependency in self.graph.dependencies(turn) {
            let kind = dependency.requisite;
            match needs.iter_mut().find(|(known, _)| *known == kind) {
                Some((_, turns)) => turns.push(dependency.on),
                None => needs.push((kind, vec![dependency.on])),
            }
        }
        let tags: Vec<String> = needs
            .iter()
            .flat_map(|(_, turns)| turns)
            .map(|on| self.tag(*on).to_owned())
            .filter(|tag| self.beside.contains_key(tag))
            .collect();
        if !tags.is_empty() {
            let patient = !record::says(self.chunk(turn).map(), "parallel");
            self.collect(tags, patient).await;
        }
        let answers: Vec<Answers<'_>> = needs
            .iter()
            .map(|(kind, turns)| Answers {
                kind: *kind,
                results: turns.iter().map(|on| self.answer(*on)).collect(),
            })
            .collect();
        let verdict = verdict(&answers);
        (needs, verdict)
    }

    fn answer(&self, on: Turn) -> Answer<'_> {
        let tag = self.tag(on);
        if on.trial {
            return self.trials.get(tag).map_or(Answer::None, Answer::Result);
        }
        if self.beside.contains_key(tag) {
            return Answer::Pending;
        }
        self.results.get(tag).map_or(Answer::None, Answer::Result)
    }

    /// Does what the requisites have decided.
    async fn follow(&mut self, turn: Turn, needs: &Needs, verdict: Verdict) {
        let mut chunk = self.chunk(turn).clone();
        let tag = chunk.tag();
        let not_run = match verdict {
            Verdict::Unmet => Some((false, "Recursive requisite found".to_owned())),
            Verdict::Fail => match self.trials.get(&tag).cloned() {
                Some(trial) if !turn.trial => {
                    // It would have changed something, and did not.
                    self.keep_trial(&chunk, &tag, trial);
                    self.after_result(&chunk, &tag).await;
                    return;
                }
                _ => Some((false, self.failures(needs))),
            },
            Verdict::SkipRequisite => Some((
                true,
                "State was not run because requisites were skipped by another state".to_owned(),
            )),
            Verdict::NothingAhead => Some((true, "No changes detected".to_owned())),
            Verdict::Onfail => Some((
                true,
                "State was not run because onfail req did not change".to_owned(),
            )),
            Verdict::Onchanges => Some((
                true,
                "State was not run because none of the onchanges reqs changed".to_owned(),
            )),
            Verdict::Change | Verdict::SkipWatch | Verdict::Met | Verdict::Pending => None,
        };
        if let Some((result, comment)) = not_run {
            let now = self.port.now();
            let record = record::not_run(&chunk, result, &comment, self.take_number(), now);
            if turn.trial {
                self.trials.insert(tag.clone(), record.clone());
            }
            self.results.insert(tag.clone(), record);
        } else if turn.trial {
            let mut record = self.call(&mut chunk, true, Map::new()).await;
            if verdict == Verdict::Change && !record::changed(&record) {
                record.insert("changes", Map::from([("watch", "watch")]));
                record.insert("result", Value::Nil);
            }
            self.trials.insert(tag, record);
            return;
        } else {
            self.run_state(chunk.clone(), needs, verdict).await;
        }
        self.after_result(&chunk, &tag).await;
    }

    /// Calls the state's function, and `mod_watch` where changes ask for it.
    async fn run_state(&mut self, mut chunk: Chunk, needs: &Needs, verdict: Verdict) {
        // Whether it is tried has been decided by whose turn it is.
        chunk.remove("__prereq__");
        let tag = chunk.tag();
        let mut record = self.call(&mut chunk, false, Map::new()).await;
        match verdict {
            Verdict::Change
                if !record::changed(&record) && !record::says(&record, "skip_watch") =>
            {
                let mut watch = chunk.clone();
                watch.set("sfun", chunk.fun());
                watch.set("fun", "mod_watch");
                watch.set("__reqs__", self.needs_value(needs));
                let watched = self.watched(needs);
                record = self.call(&mut watch, false, watched).await;
            }
            Verdict::SkipWatch => {
                if let Some(Value::Str(comment)) = record.get_mut("comment") {
                    comment.push_str(
                        " mod_watch was not run because requisites were skipped by another state",
                    );
                }
            }
            _ => {}
        }
        self.results.insert(tag, record);
    }

    /// The result of a trial stands for a state that could not run for real.
    fn keep_trial(&mut self, chunk: &Chunk, tag: &str, mut record: Map) {
        if record::changed(&record) {
            record.insert("changes", Map::new());
        }
        record.insert("__run_num__", record::count(self.take_number()));
        record::identify(&mut record, chunk);
        self.results.insert(tag.to_owned(), record);
    }

    /// Which requisites failed, in words.
    fn failures(&self, needs: &Needs) -> String {
        let mut failed: Vec<String> = Vec::new();
        for on in needs.iter().flat_map(|(_, turns)| turns) {
            let chunk = self.chunk(*on);
            let tag = self.tag(*on);
            let result = self.trials.get(tag).or_else(|| self.results.get(tag));
            let name = format!("{}.{}", chunk.sls(), chunk.id());
            if result.is_some_and(record::failed) && !failed.contains(&name) {
                failed.push(name);
            }
        }
        format!("One or more requisite failed: {}", failed.join(", "))
    }

    fn needs_value(&self, needs: &Needs) -> Map {
        let chunks = |turns: &Vec<Turn>| -> Value {
            Value::List(turns.iter().map(|on| self.chunk(*on).to_value()).collect())
        };
        let kinds = needs.iter();
        kinds
            .map(|(kind, turns)| (kind.name(), chunks(turns)))
            .collect()
    }

    /// Whether a failure of this turn ends the run.
    fn must_end(&self, turn: Turn) -> bool {
        self.results.get(self.tag(turn)).is_some_and(record::failed)
            && self.is_hard(self.chunk(turn))
    }

    pub(super) fn is_hard(&self, chunk: &Chunk) -> bool {
        let hard = match chunk.get("failhard") {
            Some(hard) => hard.is_true(),
            None => self.options.failhard,
        };
        hard && !self.options.test
    }

    pub(super) fn take_number(&mut self) -> u64 {
        let number = self.number;
        self.number += 1;
        number
    }

    pub(super) fn chunk(&self, turn: Turn) -> &Chunk {
        static NONE: std::sync::LazyLock<Chunk> = std::sync::LazyLock::new(Chunk::default);
        self.chunks.get(turn.chunk).unwrap_or(&NONE)
    }

    fn tag(&self, turn: Turn) -> &str {
        self.tags.get(turn.chunk).map_or("", String::as_str)
    }

    fn has_result(&self, turn: Turn) -> bool {
        let tag = self.tag(turn);
        (turn.trial && self.trials.contains_key(tag)) || self.results.contains_key(tag)
    }

    /// The results of what a state watches, for its `mod_watch`.
    fn watched(&self, needs: &Needs) -> Map {
        let turns = needs.iter().flat_map(|(_, turns)| turns);
        turns
            .filter_map(|on| {
                let tag = self.tag(*on);
                Some((tag, self.results.get(tag)?.clone()))
            })
            .collect()
    }
}
