//! Which publications this minion accepts: those whose target matches it and that
//! are new.

use std::sync::Arc;

use halite_proto::{Map, Value};
use halite_range::RangeServer;
use halite_target::{DEFAULT_DELIMITER, Reading, Subject, Target, TargetError, range};
use tracing::{debug, warn};

use crate::core::publication::Verified;
use crate::core::sign_in::chain;
use crate::jobs::executor::Executor;
use crate::minion::Minion;

/// Hands a publication on if it targets this minion and is new.
pub(crate) fn take(minion: &Arc<Minion>, executor: &Arc<Executor>, master: usize, job: Verified) {
    let load = job.load();
    let delimiter = load.delimiter.as_deref().unwrap_or(DEFAULT_DELIMITER);
    if asks_range(&load.tgt, &load.tgt_type) {
        // The server may take its time, the link goes on meanwhile.
        let (minion, executor) = (Arc::clone(minion), Arc::clone(executor));
        let (tgt, tgt_type) = (load.tgt.clone(), load.tgt_type.clone());
        let (delimiter, server) = (delimiter.to_owned(), RangeServer::from_opts(&minion.opts));
        tokio::spawn(async move {
            let read = tokio::task::spawn_blocking(move || {
                let reading = Reading {
                    delimiter: &delimiter,
                    ranges: Some(&server),
                    ..Reading::default()
                };
                Target::parse_with(&tgt, &tgt_type, &reading)
            });
            if let Ok(read) = read.await {
                take_for(&minion, &executor, master, job, read);
            }
        });
        return;
    }
    let read = Target::parse(&load.tgt, &load.tgt_type, delimiter);
    take_for(minion, executor, master, job, read);
}

/// Whether a server has to be asked to resolve the target. A Halite master has done so
/// itself.
fn asks_range(tgt: &Value, tgt_type: &str) -> bool {
    match tgt_type {
        "range" => true,
        "compound" => tgt.as_str().is_some_and(range::is_in),
        _ => false,
    }
}

fn take_for(
    minion: &Arc<Minion>,
    executor: &Arc<Executor>,
    master: usize,
    job: Verified,
    read: Result<Target, TargetError>,
) {
    let load = job.load();
    let target = match read {
        Ok(target) => target,
        Err(error) => {
            warn!(jid = %load.jid, "a job was dropped: {}", chain(&error));
            return;
        }
    };
    let pillar = minion
        .masters
        .get(master)
        .and_then(|m| m.pillar.borrow().clone());
    if pillar.is_none() && target.needs_data() {
        // The first pillar is on its way: the target may depend on it.
        let (minion, executor) = (Arc::clone(minion), Arc::clone(executor));
        tokio::spawn(async move {
            let pillar = minion.first_pillar(master).await;
            claim(&minion, &executor, master, job, &target, &pillar);
        });
    } else {
        claim(
            minion,
            executor,
            master,
            job,
            &target,
            &pillar.unwrap_or_default(),
        );
    }
}

fn claim(
    minion: &Minion,
    executor: &Arc<Executor>,
    master: usize,
    job: Verified,
    target: &Target,
    pillar: &Map,
) {
    let name = minion.masters.get(master).map(|m| m.name.as_str());
    let name = job.name(name.unwrap_or_default());
    let jid = &name.jid;
    let me = Me {
        id: minion.id.as_str(),
        grains: &minion.grains(),
        pillar,
    };
    if !target.matches(&me) {
        debug!(%jid, "not for this minion");
        return;
    }
    let claimed = minion.jobs().claim(&name);
    match claimed {
        Some(ticket) => executor.submit(master, job, ticket),
        None => debug!(%jid, "the job was already received"),
    }
}

/// This minion as targets see it.
struct Me<'a> {
    id: &'a str,
    grains: &'a Map,
    pillar: &'a Map,
}

impl Subject for Me<'_> {
    fn id(&self) -> &str {
        self.id
    }

    fn grains(&self) -> Option<&Map> {
        Some(self.grains)
    }

    fn pillar(&self) -> Option<&Map> {
        Some(self.pillar)
    }
}
