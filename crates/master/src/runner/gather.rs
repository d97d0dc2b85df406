//! Commands for minions whose returns a runner waits for.

use std::time::{Duration, Instant};

use halite_gather::{CollectOptions, Collector, Output, Return, words};
use halite_proto::clear::{Credentials, PublishRequest};
use halite_proto::event::Event;
use halite_proto::publish::FunSpec;
use halite_proto::{Jid, Map, MinionId, Value};
use halite_transport::ipc::LocalEvents;
use tokio::time::sleep_until;

use super::{Call, RunnerError};
use crate::core::owner::note_proof;
use crate::jobs::untrimmed;
use crate::limits::{AWAY_CHECK, AWAY_GRACE};

/// A command for minions.
#[derive(Clone, Debug)]
pub(super) struct Command<'a> {
    pub(super) tgt: Value,
    pub(super) tgt_type: &'a str,
    pub(super) fun: FunSpec,
    pub(super) arg: Vec<Value>,
    /// Returners, separated by commas.
    pub(super) ret: &'a str,
    pub(super) jid: Option<Jid>,
    pub(super) timeout: Duration,
    pub(super) gather_job_timeout: Duration,
    /// How long a minion may be disconnected before it is no longer waited for.
    pub(super) away_grace: Duration,
}

/// What came of it on one minion.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) id: String,
    pub(super) ret: Value,
    pub(super) out: Option<String>,
    pub(super) retcode: Value,
    pub(super) is_missing: bool,
}

impl Row {
    /// The row as Salt's clients have it with `full_return`.
    pub(super) fn into_full(self) -> Map {
        let mut full = Map::from([("ret", self.ret), ("retcode", self.retcode)]);
        if let Some(out) = self.out {
            full.insert("out", out);
        }
        full
    }
}

impl<'a> Command<'a> {
    /// A command with the configuration's timeouts.
    pub(super) fn new(call: &Call, tgt: Value, tgt_type: &'a str, fun: &str) -> Self {
        let general = &call.runners.general;
        Self {
            tgt,
            tgt_type,
            fun: FunSpec::One(fun.to_owned()),
            arg: Vec::new(),
            ret: "",
            jid: None,
            timeout: call.timeout,
            gather_job_timeout: general.gather_job_timeout,
            away_grace: AWAY_GRACE,
        }
    }
}

impl Call<'_> {
    /// Publishes a command and waits for its returns, in the order in which
    /// they come; who does not return is among them.
    pub(super) fn command(&self, command: &Command<'_>) -> Result<Vec<Row>, RunnerError> {
        self.publish(command).map(|(_, rows)| rows)
    }

    /// The same, and the job; `None` if the target matches no minion.
    pub(super) fn publish(
        &self,
        command: &Command<'_>,
    ) -> Result<(Option<Jid>, Vec<Row>), RunnerError> {
        let request = self.request(command);
        let resolved = self.runners.fleet.targets_of(&request);
        if resolved.minions.is_empty() {
            return Ok((None, Vec::new()));
        }
        // Before the job leaves: no return may be missed.
        let events = self.runners.bus.subscribe("salt/job/".to_owned());
        let jid = self
            .runners
            .publishing
            .send(&request, &resolved, false)
            .map_err(RunnerError::Failed)?;
        let collector = Collector::new(
            Instant::now(),
            CollectOptions {
                jid: jid.clone(),
                minions: resolved.minions.iter().map(ToString::to_string).collect(),
                missing: resolved.missing,
                timeout: command.timeout,
                gather_job_timeout: command.gather_job_timeout,
                syndic_wait: None,
            },
        );
        let waiting = Waiting {
            call: self,
            command,
            jid: jid.clone(),
            events,
            collector,
            rows: Vec::new(),
        };
        Ok((Some(jid), waiting.run()?))
    }

    fn request(&self, command: &Command<'_>) -> PublishRequest {
        let mut extra = Map::new();
        note_proof(&mut extra, self.proven_by);
        PublishRequest {
            tgt: command.tgt.clone(),
            tgt_type: command.tgt_type.to_owned(),
            fun: command.fun.clone(),
            arg: command.arg.clone(),
            credentials: Credentials::default(),
            ret: command.ret.to_owned(),
            jid: command.jid.clone(),
            kwargs: Map::new(),
            user: Some(self.user.to_owned()),
            to: None,
            extra,
        }
    }
}

struct Waiting<'a> {
    call: &'a Call<'a>,
    command: &'a Command<'a>,
    jid: Jid,
    events: LocalEvents,
    collector: Collector,
    rows: Vec<Row>,
}

impl Waiting<'_> {
    fn run(mut self) -> Result<Vec<Row>, RunnerError> {
        let mut next_check = Instant::now();
        loop {
            if Instant::now() >= next_check {
                self.look_who_is_away();
                next_check = Instant::now() + AWAY_CHECK;
            }
            while let Some(output) = self.collector.poll(Instant::now()) {
                match output {
                    Output::Return(ret) => self.returned(ret),
                    Output::Missing(id) => self.missing(id),
                    Output::Ask(ids) => {
                        let question = self.call.runners.publishing.ask_working(
                            self.call.user,
                            &self.jid,
                            &ids,
                        );
                        self.collector.asked(Instant::now(), question);
                    }
                    Output::Refused => {
                        return Err(RunnerError::Failed("the job was refused".to_owned()));
                    }
                    Output::Done => return Ok(self.rows),
                }
            }
            let timeout = self.collector.next_timeout(Instant::now());
            let until = timeout.map_or(next_check, |timeout| timeout.min(next_check));
            self.wait(until)?;
        }
    }

    /// Waits for an event, or until then.
    fn wait(&mut self, until: Instant) -> Result<(), RunnerError> {
        let (events, stop) = (&mut self.events, self.call.stop);
        let event = self.call.runtime.block_on(async {
            tokio::select! {
                event = events.recv() => event,
                () = sleep_until(until.into()) => None,
                () = stop.stopped() => None,
            }
        });
        let mut next = event;
        while let Some(event) = next {
            if self.collector.wants(event.tag())
                && let Ok(Event { tag, data }) = event.unpack()
            {
                self.collector.event(Instant::now(), tag.as_str(), &data);
            }
            next = self.events.try_recv();
        }
        Ok(stop.check()?)
    }

    fn look_who_is_away(&mut self) {
        let pending: Vec<String> = self.collector.pending().map(str::to_owned).collect();
        let grace = u64::try_from(self.command.away_grace.as_micros()).unwrap_or(u64::MAX);
        let pending = pending.iter().map(String::as_str);
        self.collector
            .away(self.call.runners.fleet.gone(pending, grace));
    }

    fn returned(&mut self, ret: Return) {
        let cache = &self.call.runners.jobs.cache;
        self.rows.push(Row {
            ret: untrimmed(cache, &self.jid, &ret.id, ret.value),
            id: ret.id,
            out: ret.out,
            retcode: ret.retcode,
            is_missing: false,
        });
    }

    fn missing(&mut self, id: String) {
        let is_away =
            MinionId::parse(id.as_str()).is_ok_and(|id| self.call.runners.fleet.is_away(&id));
        let text = if is_away {
            words::NOT_CONNECTED.to_owned()
        } else {
            words::no_response(&self.jid)
        };
        self.rows.push(Row {
            id,
            ret: text.into(),
            out: Some("no_return".to_owned()),
            retcode: 1.into(),
            is_missing: true,
        });
    }
}
