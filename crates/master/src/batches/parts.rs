//! The parts of a job in batches that are in progress: each is sent to some
//! minions, and its returns are collected.

use std::sync::Arc;
use std::time::{Duration, Instant};

use halite_gather::{CollectOptions, Collector, Output};
use halite_proto::clear::PublishRequest;
use halite_proto::event::Event;
use halite_proto::{Jid, MinionId, Value};
use halite_transport::ipc::LocalEvents;
use tokio::runtime::Handle;
use tokio::time::sleep_until;

use super::{Batches, Job};
use crate::core::targets::Resolved;
use crate::jobs::stop::Stop;
use crate::limits::{AWAY_CHECK, AWAY_GRACE};

/// The shortest wait; a timer that is due needs none.
const WAIT_MIN: Duration = Duration::from_millis(1);

/// What came of a job on one minion.
pub(super) struct Ended {
    pub(super) id: String,
    pub(super) is_missing: bool,
    pub(super) has_failed: bool,
}

/// The parts of a job that run, and the ping before them.
pub(super) struct Parts<'a> {
    batches: &'a Arc<Batches>,
    runtime: &'a Handle,
    job: &'a Job,
    events: LocalEvents,
    /// One for each part that has not ended.
    collectors: Vec<Collector>,
    next_check: Instant,
}

impl<'a> Parts<'a> {
    /// Nothing is under way. Before anything leaves: no return may be missed.
    pub(super) fn new(batches: &'a Arc<Batches>, runtime: &'a Handle, job: &'a Job) -> Self {
        Self {
            batches,
            runtime,
            job,
            events: batches.bus.subscribe("salt/job/".to_owned()),
            collectors: Vec::new(),
            next_check: Instant::now(),
        }
    }

    /// Whether all are over.
    pub(super) fn is_empty(&self) -> bool {
        self.collectors.is_empty()
    }

    /// Sends the job, or a ping, to some minions and begins to collect.
    pub(super) fn send(&mut self, request: &PublishRequest, ids: &[String]) -> Result<(), String> {
        let minions: Vec<MinionId> = ids
            .iter()
            .filter_map(|id| MinionId::parse(id.as_str()).ok())
            .collect();
        let is_job = request.fun == self.job.request.fun && request.arg == self.job.request.arg;
        let request = PublishRequest {
            tgt: Value::List(ids.iter().map(|id| id.as_str().into()).collect()),
            tgt_type: "list".to_owned(),
            jid: is_job.then(|| self.job.jid.clone()),
            ..request.clone()
        };
        let resolved = Resolved {
            minions,
            ..Resolved::default()
        };
        let jid = self.batches.publishing.send_known(&request, &resolved)?;
        self.collect(jid, ids);
        Ok(())
    }

    /// Begins to collect what has been sent.
    pub(super) fn collect(&mut self, jid: Jid, ids: &[String]) {
        let general = &self.batches.general;
        self.collectors.push(Collector::new(
            Instant::now(),
            CollectOptions {
                jid,
                minions: ids.to_vec(),
                missing: Vec::new(),
                timeout: general.timeout,
                gather_job_timeout: general.gather_job_timeout,
                syndic_wait: None,
            },
        ));
    }

    /// The parts that have ended since the last call.
    pub(super) fn poll(&mut self) -> Vec<Ended> {
        let now = Instant::now();
        let looks = now >= self.next_check;
        if looks {
            self.next_check = now + AWAY_CHECK;
        }
        let mut ended = Vec::new();
        let (batches, job) = (self.batches, self.job);
        self.collectors.retain_mut(|collector| {
            if looks {
                let pending: Vec<String> = collector.pending().map(str::to_owned).collect();
                let grace = u64::try_from(AWAY_GRACE.as_micros()).unwrap_or(u64::MAX);
                collector.away(
                    batches
                        .fleet
                        .gone(pending.iter().map(String::as_str), grace),
                );
            }
            while let Some(output) = collector.poll(Instant::now()) {
                match output {
                    Output::Return(ret) => ended.push(Ended {
                        has_failed: ret.retcode.as_i64().unwrap_or(0) != 0,
                        id: ret.id,
                        is_missing: false,
                    }),
                    Output::Missing(id) => ended.push(Ended {
                        id,
                        is_missing: true,
                        has_failed: true,
                    }),
                    Output::Ask(ids) => {
                        let user = job.request.user.as_deref().unwrap_or_default();
                        let question = batches.publishing.ask_working(user, &job.jid, &ids);
                        collector.asked(Instant::now(), question);
                    }
                    Output::Refused | Output::Done => return false,
                }
            }
            true
        });
        ended
    }

    /// Waits for an event that matters, or until there is something to do.
    pub(super) fn wait(&mut self, also: Option<Instant>) {
        let now = Instant::now();
        let timeouts = self
            .collectors
            .iter()
            .filter_map(|part| part.next_timeout(now));
        let until = timeouts.chain(also).fold(self.next_check, Instant::min);
        let until = until.max(now + WAIT_MIN);
        let (events, stop): (&mut LocalEvents, &Stop) = (&mut self.events, &self.job.stop);
        let mut next = self.runtime.block_on(async {
            tokio::select! {
                event = events.recv() => event,
                () = sleep_until(until.into()) => None,
                () = stop.stopped() => None,
            }
        });
        while let Some(event) = next {
            if self.collectors.iter().any(|part| part.wants(event.tag()))
                && let Ok(Event { tag, data }) = event.unpack()
            {
                for part in &mut self.collectors {
                    if part.wants(tag.as_str()) {
                        part.event(Instant::now(), tag.as_str(), &data);
                    }
                }
            }
            next = self.events.try_recv();
        }
    }
}
