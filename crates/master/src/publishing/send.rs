//! Stores, announces and sends jobs.

use std::time::Duration;

use halite_proto::clear::{Credentials, PublishRequest};
use halite_proto::publish::{FunSpec, PublishLoad};
use halite_proto::{Jid, Map, MinionId, Value};
use halite_store::jobs::Begun;

use super::Publishing;
use crate::cluster::message::{Message, Published as ToPeers};
use crate::core::jobs;
use crate::core::meant::is_by_ids;
use crate::core::targets::Resolved;
use crate::error::chain;
use crate::limits::BATCH_PART_TOLD_MAX;

/// Whether the other masters of a cluster know of a job before its minions do.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Announcement {
    Awaited,
    Meanwhile,
}

impl Publishing {
    /// Stores, announces and sends a checked job.
    ///
    /// # Errors
    /// With what the caller is told.
    pub(crate) fn send(
        &self,
        request: &PublishRequest,
        resolved: &Resolved,
        restricted: bool,
    ) -> Result<Jid, String> {
        self.send_after(request, resolved, restricted, |_| {})
    }

    /// As `send`, but the minions get it only when the other masters know of it, or do not
    /// say so in time: one that goes on with the job knows who has it. Not for threads of
    /// the runtime.
    ///
    /// # Errors
    /// As those of `send`.
    pub(crate) fn send_known(
        &self,
        request: &PublishRequest,
        resolved: &Resolved,
    ) -> Result<Jid, String> {
        self.send_as(request, resolved, false, |_| {}, Announcement::Awaited)
    }

    /// As `send`, after something that is done with the job's id.
    pub(crate) fn send_after(
        &self,
        request: &PublishRequest,
        resolved: &Resolved,
        restricted: bool,
        before: impl FnOnce(&Jid),
    ) -> Result<Jid, String> {
        self.send_as(
            request,
            resolved,
            restricted,
            before,
            Announcement::Meanwhile,
        )
    }

    fn send_as(
        &self,
        request: &PublishRequest,
        resolved: &Resolved,
        restricted: bool,
        before: impl FnOnce(&Jid),
        announcement: Announcement,
    ) -> Result<Jid, String> {
        let nocache = request.kwargs.get("nocache").is_some_and(Value::is_true);
        if let Some(jid) = &request.jid {
            // For whom it was before: then it is stored anew.
            self.groups.jobs.remember(jid);
        }
        // Who has to make room on a full disk may want to do so with a command.
        let (jid, no_room, kept) = self.begin(request, resolved, nocache);
        if let Some(why) = &no_room {
            tracing::error!(%jid, "the job is published, but not stored: {why}");
        }
        before(&jid);
        let load = self.load_of(request, &jid, resolved, restricted);
        let job = jid.as_str();
        let bus = &self.groups.bus;
        bus.fire_under("job", [job, "new"], jobs::new_event(&load, resolved));
        let by_ids = is_by_ids(&load.tgt_type);
        self.groups
            .jobs
            .record_meant_at_first(&jid, &resolved.minions, by_ids);
        bus.fire_under("job", [job, "publish"], load.to_map());
        self.groups.jobs.missed.record(&load, &resolved.minions);
        if let Some(cluster) = &self.groups.cluster {
            // Of a job in parts a peer may be given returns before it hears of their part.
            let is_all = by_ids && request.jid.is_none();
            let number = cluster.tell(&Message::Publish(Box::new(ToPeers {
                load: load.clone(),
                minions: resolved.minions.clone(),
                by_ids: is_all,
                kept: kept.filter(|_| !nocache),
                age: Duration::ZERO,
            })));
            if let Some(number) = number.filter(|_| announcement == Announcement::Awaited) {
                cluster.wait_for(number, BATCH_PART_TOLD_MAX);
            }
        }
        if let Err(error) = self.publisher.publish(&load, &resolved.minions) {
            tracing::error!(jid = job, "{}", chain(&error));
            return Err(chain(&error));
        }
        if let Some(meters) = &self.groups.telemetry.meters {
            meters.published(request.fun.names());
        }
        tracing::info!(
            user = request.user.as_deref(),
            jid = job,
            "published {} for {} minions",
            request.fun.to_text(),
            resolved.minions.len()
        );
        Ok(jid)
    }

    /// The job's id, and either why nothing of it is stored or what is.
    fn begin(
        &self,
        request: &PublishRequest,
        resolved: &Resolved,
        nocache: bool,
    ) -> (Jid, Option<String>, Option<Map>) {
        let jobs = &self.groups.jobs;
        let meant = resolved.minions.as_slice();
        let begun = match &request.jid {
            Some(jid) => jobs.cache.prepare(jid, nocache).map(|()| Begun {
                jid: jid.clone(),
                stored: jobs
                    .cache
                    .save_load(jid, &self.kept(request, jid), Some(meant)),
            }),
            None => {
                let next = || jobs.next_id();
                let load = |jid: &Jid| self.kept(request, jid);
                jobs.cache.begin(nocache, next, load, meant)
            }
        };
        let Begun { jid, stored } = match begun {
            Ok(begun) => begun,
            Err(error) => {
                let jid = request.jid.clone().unwrap_or_else(|| jobs.next_id());
                return (jid, Some(chain(&error)), None);
            }
        };
        if let Err(error) = stored {
            tracing::error!(%jid, "could not store the job: {}", chain(&error));
        }
        if !nocache {
            let load = jobs::saved_load(request, &jid);
            jobs.mirror.load(&jid, &load, Some(meant));
            jobs.save_in_ext(&jid, &load, Some(meant));
        }
        let kept = self.kept(request, &jid);
        (jid, None, Some(kept))
    }

    /// What minions get.
    fn load_of(
        &self,
        request: &PublishRequest,
        jid: &Jid,
        resolved: &Resolved,
        restricted: bool,
    ) -> PublishLoad {
        let mut load = jobs::publish_load(request, jid.clone(), self.settings.master_id.as_deref());
        // Minions need not ask a range server: the master has resolved the target.
        if restricted || jobs::asks_range(request) {
            jobs::restrict(&mut load, &resolved.minions);
        }
        // Only Halite minions show their connections: no other is told of this.
        let is_ours = |id| self.groups.fleet.attendance.presence(id).is_some();
        if jobs::asks_for_progress(request) && resolved.minions.iter().all(is_ours) {
            load.extra.insert(jobs::PROGRESS, true);
        }
        load
    }

    /// The load of a job for the job cache.
    fn kept(&self, request: &PublishRequest, jid: &Jid) -> Map {
        let publisher = self.groups.jobs.publisher;
        let mut kept = jobs::saved_load(request, jid);
        jobs::note_publisher(&mut kept, publisher.draws(jid).then_some(publisher));
        kept
    }

    /// Pings all minions, so that they notice a new publish key before it matters.
    pub(crate) fn ping_all_minions(&self) {
        let request = PublishRequest {
            tgt: "*".into(),
            tgt_type: "glob".to_owned(),
            fun: "test.ping".into(),
            arg: Vec::new(),
            credentials: Credentials::default(),
            ret: String::new(),
            jid: None,
            kwargs: Map::new(),
            user: Some(self.groups.general.user.clone()),
            to: None,
            extra: Map::new(),
        };
        let resolved = self.groups.fleet.targets_of(&request);
        if let Err(error) = self.send(&request, &resolved, false) {
            tracing::warn!("could not ping the minions: {error}");
        }
    }

    /// Asks minions whether they work on a job; the job that asks.
    pub(crate) fn ask_working(&self, user: &str, jid: &Jid, ids: &[String]) -> Option<Jid> {
        let ids = ids
            .iter()
            .filter_map(|id| MinionId::parse(id.as_str()).ok());
        let accepted: Vec<MinionId> = ids
            .filter(|id| self.groups.keys.accepted.get(id).is_some())
            .collect();
        if accepted.is_empty() {
            return None;
        }
        let request = PublishRequest {
            tgt: Value::List(accepted.iter().map(Value::from).collect()),
            tgt_type: "list".to_owned(),
            fun: FunSpec::One("saltutil.find_job".to_owned()),
            arg: vec![Value::from(jid)],
            credentials: Credentials::default(),
            ret: String::new(),
            jid: None,
            kwargs: Map::new(),
            user: Some(user.to_owned()),
            to: None,
            extra: Map::new(),
        };
        let resolved = Resolved {
            minions: accepted,
            ..Resolved::default()
        };
        self.send(&request, &resolved, false)
            .map_err(|error| {
                tracing::warn!("could not ask the minions whether they run a job: {error}")
            })
            .ok()
    }
}
