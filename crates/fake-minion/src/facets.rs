//! The surroundings of the fake minion: the master of the test, buses that accept
//! every event, and the running jobs that the test names.

use std::collections::{BTreeMap, VecDeque};

use halite_call::{Ahead, ContextError, Files, Jobs, LocalBus, MasterBus, Upstream};
use halite_proto::request::{Commits, HeldFile};
use halite_proto::{Map, SaltEnv, Value};

use crate::FakeMinion;

impl Files for FakeMinion {
    fn ask(&self, load: Map) -> Result<Value, ContextError> {
        self.request(load)
    }

    fn ask_beyond(&self, load: Map, beyond: Map) -> Result<Value, ContextError> {
        self.request_beyond(load, beyond)
    }

    fn held(&self, _files: &[HeldFile], _commits: &Commits) -> Option<Vec<bool>> {
        None
    }

    fn commits(&self, _saltenv: &SaltEnv) -> Option<BTreeMap<String, String>> {
        None
    }

    fn ahead(&self) -> Option<Box<dyn Ahead + '_>> {
        Some(Box::new(Queue {
            minion: self,
            asked: VecDeque::new(),
        }))
    }
}

/// Requests that are answered when their answers are wanted, as late as can be.
struct Queue<'m> {
    minion: &'m FakeMinion,
    asked: VecDeque<Map>,
}

impl Ahead for Queue<'_> {
    fn ask(&mut self, load: Map, beyond: Option<Map>) {
        self.minion.record(format!("ahead {load:?}"));
        self.asked.push_back(beyond.unwrap_or(load));
    }

    fn answer(&mut self) -> Option<Result<Value, ContextError>> {
        let load = self.asked.pop_front()?;
        Some(self.minion.ask_master(&load))
    }
}

impl Upstream for FakeMinion {
    fn request(&self, load: Map) -> Result<Value, ContextError> {
        self.record(format!("request {load:?}"));
        self.ask_master(&load)
    }

    fn request_beyond(&self, load: Map, beyond: Map) -> Result<Value, ContextError> {
        self.request(if self.takes_pieces { beyond } else { load })
    }

    fn request_every(&self, load: Map) -> Result<Value, ContextError> {
        self.request(load)
    }

    fn is_connected(&self, _master: Option<&str>) -> bool {
        self.master.is_some()
    }

    fn ping(&self, _master: &str) -> bool {
        self.master.is_some()
    }
}

impl MasterBus for FakeMinion {
    fn fire_master(&self, tag: &str, data: Value) -> Result<bool, ContextError> {
        self.record(format!("master {tag} {data:?}"));
        Ok(true)
    }

    fn fire_with(&self, fields: &Map, tag: &str, data: Value) -> Result<bool, ContextError> {
        self.record(format!("master {tag} {data:?} with {fields:?}"));
        Ok(true)
    }
}

impl LocalBus for FakeMinion {
    fn fire_local(&self, tag: &str, data: Map) -> Result<bool, ContextError> {
        self.record(format!("local {tag} {data:?}"));
        Ok(true)
    }
}

impl Jobs for FakeMinion {
    fn running(&self) -> Vec<Map> {
        self.running.clone()
    }

    fn signal(&self, jid: &str, signal: i32) -> Result<Option<i64>, ContextError> {
        self.record(format!("signal {jid} {signal}"));
        let is_meant = |job: &&Map| job.get("jid").and_then(Value::as_str) == Some(jid);
        let job = self.running.iter().find(is_meant);
        Ok(job.and_then(|job| job.get("pid").and_then(Value::as_i64)))
    }

    fn part_is_over(&self) {}
}
