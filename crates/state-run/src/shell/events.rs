//! Events of a run for the master, sent in the background: the run does not wait
//! for the master's answers.
//!
//! Invariant: events leave in the order of the states, and all of them before the
//! run returns.

use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::{Builder, Scope};

use halite_call::MinionContext;
use halite_proto::Map;
use tracing::{debug, warn};

use super::drive::Stage;
use crate::limits::EVENTS_WAITING_MAX;

/// Where events go; the thread behind it starts with the first one.
#[derive(Default)]
pub(super) struct Events(Option<SyncSender<(String, Map)>>);

impl Events {
    /// Tells the master.
    pub(super) fn fire<'scope, 'env: 'scope>(
        &mut self,
        threads: &'scope Scope<'scope, 'env>,
        stage: &'env Stage<'_>,
        tag: String,
        data: Map,
    ) {
        if self.0.is_none() {
            self.0 = start(threads, stage);
        }
        match &self.0 {
            // The thread ends only after this end is dropped.
            Some(queue) => drop(queue.send((tag, data))),
            None => tell(stage, &tag, data),
        }
    }
}

fn start<'scope, 'env: 'scope>(
    threads: &'scope Scope<'scope, 'env>,
    stage: &'env Stage<'_>,
) -> Option<SyncSender<(String, Map)>> {
    let (queue, events) = sync_channel::<(String, Map)>(EVENTS_WAITING_MAX);
    let run = move || {
        for (tag, data) in events {
            if stage.cancel().ended_by().is_some() {
                break;
            }
            tell(stage, &tag, data);
        }
    };
    match Builder::new()
        .name("events".to_owned())
        .spawn_scoped(threads, run)
    {
        Ok(_) => Some(queue),
        Err(error) => {
            warn!(%error, "the run itself fires the events of this run");
            None
        }
    }
}

fn tell(stage: &Stage<'_>, tag: &str, data: Map) {
    let mut fields = Map::new();
    if !stage.jid().is_empty() {
        fields.insert("jid", stage.jid());
    }
    let bus = stage.ctx().master_bus();
    if let Err(error) = bus.and_then(|bus| bus.fire_with(&fields, tag, data.into())) {
        debug!(%error, tag, "the master was not told");
    }
}
