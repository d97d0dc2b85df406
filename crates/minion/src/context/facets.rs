//! What functions may request from a minion beyond its data.

use std::collections::BTreeMap;
use std::sync::Weak;
use std::time::Duration;

use halite_call::{Ahead, ContextError, Daemon, Files, Jobs, LocalBus, MasterBus, Upstream};
use halite_proto::request::{Commits, CommitsOf, HeldFile, HeldFiles, MinionRequest};
use halite_proto::{Jid, Map, SaltEnv, Value};

use super::daemon_bus;
use super::line::{InLine, Wish};
use super::{JobContext, event, event_request, stopping};

/// How long `status.ping_master` waits.
const PING_TIMEOUT: Duration = Duration::from_secs(5);

impl Files for JobContext {
    fn ask(&self, load: Map) -> Result<Value, ContextError> {
        self.request(load)
    }

    fn ask_beyond(&self, load: Map, beyond: Map) -> Result<Value, ContextError> {
        self.request_beyond(load, beyond)
    }

    fn held(&self, files: &[HeldFile], commits: &Commits) -> Option<Vec<bool>> {
        let first = self.order(true).first().copied();
        let channel = &self.minion.masters.get(first?)?.channel;
        if files.is_empty() || !channel.capabilities().pieces {
            return None;
        }
        let held = HeldFiles {
            files: files.iter().cloned().map(Some).collect(),
            commits: commits.clone(),
        };
        let held = MinionRequest::HeldFiles(held).to_map(&self.minion.id);
        // Should another master have to be asked, it tells nothing.
        let load = Map::from([("cmd", "_file_envs")]);
        match self.request_beyond(load, held) {
            Ok(Value::List(answers)) if answers.len() == files.len() => Some(
                answers
                    .iter()
                    .map(|held| *held == Value::Bool(true))
                    .collect(),
            ),
            _ => None,
        }
    }

    fn commits(&self, saltenv: &SaltEnv) -> Option<BTreeMap<String, String>> {
        let first = self.order(true).first().copied();
        let channel = &self.minion.masters.get(first?)?.channel;
        if !channel.capabilities().commits {
            return None;
        }
        let of = CommitsOf {
            saltenv: saltenv.clone(),
        };
        let asked = MinionRequest::Commits(of).to_map(&self.minion.id);
        // Should another master have to be asked, it tells nothing.
        let load = Map::from([("cmd", "_file_envs")]);
        let answer = self.request_beyond(load, asked).ok()?;
        Commits::from_value(&answer).of_env(saltenv).cloned()
    }

    fn ahead(&self) -> Option<Box<dyn Ahead + '_>> {
        Some(Box::new(InLine::new(self.line(true))))
    }
}

impl Upstream for JobContext {
    fn request(&self, load: Map) -> Result<Value, ContextError> {
        let wish = Wish::new(load, None, self.minion.patience);
        self.ask(wish.reads(), move |channel| wish.send_to(channel))
    }

    fn request_beyond(&self, load: Map, beyond: Map) -> Result<Value, ContextError> {
        let wish = Wish::new(load, Some(beyond), self.minion.patience);
        self.ask(wish.reads(), move |channel| wish.send_to(channel))
    }

    fn request_every(&self, load: Map) -> Result<Value, ContextError> {
        self.ask_every(&load)
    }

    fn is_connected(&self, master: Option<&str>) -> bool {
        let mut masters = self.minion.masters.iter();
        masters.any(|known| master.is_none_or(|name| known.name == name) && known.is_ready())
    }

    fn ping(&self, master: &str) -> bool {
        let known = self
            .minion
            .masters
            .iter()
            .find(|known| known.name == master);
        known.is_some_and(|known| {
            let channel = known.channel.clone();
            let answered = async move { channel.ping(PING_TIMEOUT).await };
            self.minion.wait(answered).unwrap_or_default()
        })
    }
}

impl LocalBus for JobContext {
    fn fire_local(&self, tag: &str, data: Map) -> Result<bool, ContextError> {
        if self.minion.scheduler.get().is_none() {
            // Nobody hears `salt-call`, but the minion beside it is heard.
            let bus = self.minion.daemon_bus.clone();
            let (tag, minion) = (tag.to_owned(), &self.minion);
            let told = bus.and_then(|bus| {
                minion.wait(async move { daemon_bus::tell(&bus, &tag, data).await })
            });
            return Ok(told.is_some_and(|told| told.is_ok()));
        }
        self.minion
            .fire_local(tag, data)
            .map(|()| true)
            .map_err(ContextError::Other)
    }
}

impl MasterBus for JobContext {
    fn fire_master(&self, tag: &str, data: Value) -> Result<bool, ContextError> {
        // As Salt: what `salt-call` fires is a little shorter.
        let request = match self.minion.scheduler.get() {
            Some(_) if !data.is_true() => event_request(&self.minion, tag, Map::new().into()),
            Some(_) => event_request(&self.minion, tag, data),
            None => event(&self.minion, tag, data),
        };
        self.ask_every(&request).map(|_| true)
    }

    fn fire_with(&self, fields: &Map, tag: &str, data: Value) -> Result<bool, ContextError> {
        let mut request = event(&self.minion, tag, data);
        // Who asks, and for what, is not theirs to say.
        let fields = fields.iter().filter(|(name, _)| {
            let own = ["id", "cmd"];
            name.as_str().is_some_and(|name| !own.contains(&name))
        });
        request.extend(fields.map(|(name, value)| (name.clone(), value.clone())));
        self.ask_every(&request).map(|_| true)
    }
}

impl Jobs for JobContext {
    fn running(&self) -> Vec<Map> {
        let own_pid = i64::from(std::process::id());
        let mut running: Vec<Map> = self
            .minion
            .jobs()
            .all_running()
            .map(|(_, job)| job.load.clone())
            .collect();
        let of_others = self.minion.proc.running().into_iter();
        running.extend(
            of_others.filter(|load| load.get("pid").and_then(Value::as_i64) != Some(own_pid)),
        );
        running
    }

    fn find(&self, jid: &str) -> Option<Map> {
        let jid = Jid::parse(jid).ok()?;
        let jobs = self.minion.jobs();
        let here = jobs.running(&jid, self.asker());
        let here = here.map(|job| job.load.clone());
        drop(jobs);
        here.or_else(|| {
            let own_pid = i64::from(std::process::id());
            let mut others = self.minion.proc.running().into_iter();
            others.find(|load| {
                let field = |name| load.get(name);
                field("jid").and_then(Value::as_str) == Some(jid.as_str())
                    && field("pid").and_then(Value::as_i64) != Some(own_pid)
            })
        })
    }

    fn signal(&self, jid: &str, signal: i32) -> Result<Option<i64>, ContextError> {
        let Ok(jid) = Jid::parse(jid) else {
            return Ok(None);
        };
        let jobs = self.minion.jobs();
        let cancel = jobs.running(&jid, self.asker());
        let cancel = cancel.map(|job| job.cancel.clone());
        drop(jobs);
        Ok(cancel.map(|cancel| {
            cancel.signal(signal);
            i64::from(std::process::id())
        }))
    }

    fn part_is_over(&self) {
        // `salt-call` ends soon.
        if self.minion.scheduler.get().is_some() {
            halite_process::memory::give_back();
        }
    }
}

impl Daemon for JobContext {
    fn manage_schedule(&self, request: Map) -> Result<Map, ContextError> {
        let own = self.minion.scheduler.get().and_then(Weak::upgrade);
        if let Some(scheduler) = own {
            return self.fire_and_return(scheduler.manage(&request));
        }
        let Some(bus) = self.minion.daemon_bus.clone() else {
            return Err(ContextError::Unsupported {
                what: "the scheduler",
            });
        };
        let asked = async move { daemon_bus::ask(&bus, &daemon_bus::SCHEDULE, request).await };
        self.minion.wait(asked).ok_or_else(stopping)?
    }

    fn manage_beacons(&self, request: Map) -> Result<Map, ContextError> {
        let own = self.minion.beacons.get().and_then(Weak::upgrade);
        if let Some(beacons) = own {
            return self.fire_and_return(beacons.manage(&request));
        }
        let Some(bus) = self.minion.daemon_bus.clone() else {
            return Err(ContextError::Unsupported { what: "beacons" });
        };
        let asked = async move { daemon_bus::ask(&bus, &daemon_bus::BEACONS, request).await };
        self.minion.wait(asked).ok_or_else(stopping)?
    }
}
