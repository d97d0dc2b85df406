//! The tasks of a master besides answering requests. They are stopped in an order
//! in which no task starts something for a part that has ended already.

use std::sync::Arc;

use halite_git::Fetching;
use tokio::sync::oneshot;
use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::timeout;

use super::WAITING_DIR;
use super::agree::{agree, channels, share};
use super::engines::{self, Running};
use super::event_returns::{Plan, return_events};
use super::scheduler::keep_schedule;
use super::settings::TaskSettings;
use super::undecided_jobs::decide;
use super::unused_copies::remove_unused_copies;
use crate::batches::adopt;
use crate::files::remotes::FilesRemote;
use crate::fleet::presence_events::fire_presence;
use crate::jobs::Jobs;
use crate::limits::DRAIN_MAX;
use crate::master::Master;
use crate::reactor::react;
use crate::relay::{self, Relay};
use crate::shared_data::SharedData;

/// The tasks.
pub(super) struct Background {
    /// Tasks that act by themselves; they are ended in this order.
    acting: Vec<JoinHandle<()>>,
    pillars: Fetching,
    files: Fetching,
    engines: Option<Running>,
    telling: Telling,
}

/// The tasks that say what the last requests have changed.
pub(super) struct Telling {
    relay: Option<Relay>,
    returners: Option<EventReturns>,
    jobs: Arc<Jobs>,
    shared_data: Option<Arc<SharedData>>,
}

impl Background {
    /// Begins all of it. `maintenance` has begun already.
    pub(super) fn start(
        master: &Arc<Master>,
        tasks: TaskSettings,
        maintenance: JoinHandle<()>,
    ) -> Self {
        let pillars = Fetching::start(master.pillars.git.all().cloned().collect());
        spawn_blocking({
            let master = Arc::clone(master);
            move || remove_unused_copies(&master)
        });
        let presence = tasks.presence_events.then(|| {
            let (fleet, bus) = (Arc::clone(&master.fleet), Arc::clone(&master.bus));
            let every = master.general.loop_interval;
            tokio::spawn(fire_presence(fleet, bus, every, master.cluster.clone()))
        });
        let registers = master.registers.clone().map(agree);
        let sharing = master.shared_data.clone().map(share);
        let relay = relay::start(master, channels(master));
        let late_jobs = relay.as_ref().map(Relay::late_jobs);
        let deciding = tokio::spawn(decide(Arc::clone(&master.jobs), late_jobs));
        let reactor = tokio::spawn(react(Arc::clone(&master.reactor)));
        let returners = EventReturns::start(tasks.event_returns, master);
        let adopter = tokio::spawn(adopt(Arc::clone(&master.batches)));
        let schedule = tokio::spawn(keep_schedule(
            Arc::clone(&master.runners),
            tasks.schedule,
            master.cluster.clone(),
        ));
        let engines = engines::start(tasks.engines, master);
        let files = Fetching::start(FilesRemote::all(&master.files, &master.bus));
        let mirror = &master.jobs.mirror;
        if let Err(error) = mirror.start(&master.general.opts, &master.functions) {
            tracing::error!("could not start master_job_cache, it gets no jobs: {error}");
        }
        let mut acting = vec![maintenance];
        acting.extend(presence);
        acting.push(reactor);
        acting.extend(registers);
        acting.extend(sharing);
        acting.extend([schedule, adopter, deciding]);
        Self {
            acting,
            pillars,
            files,
            engines,
            telling: Telling {
                relay,
                returners,
                jobs: Arc::clone(&master.jobs),
                shared_data: master.shared_data.clone(),
            },
        }
    }

    /// Ends what does something by itself.
    pub(super) async fn stop(self) -> Telling {
        let Self {
            acting,
            pillars,
            files,
            engines,
            telling,
        } = self;
        pillars.stop();
        files.stop();
        // They wait for threads of theirs to end.
        let _ = spawn_blocking(move || drop((pillars, files))).await;
        if let Some(engines) = engines {
            engines.stop().await;
        }
        for task in acting {
            stop(task).await;
        }
        telling
    }
}

impl Telling {
    /// Passes what has happened to peers, returners and the other job cache, once no more
    /// requests are answered.
    pub(super) async fn finish(self) {
        if let Some(relay) = self.relay {
            relay.stop().await;
        }
        if let Some(returners) = self.returners {
            returners.finish().await;
        }
        let jobs = self.jobs;
        let shared_data = self.shared_data;
        let _ = spawn_blocking(move || {
            if let Some(shared) = shared_data {
                shared.write();
            }
            jobs.finish_unkept_returns();
            jobs.mirror.finish(DRAIN_MAX);
        })
        .await;
    }
}

/// The task that gives events to returners.
struct EventReturns {
    task: JoinHandle<()>,
    end: oneshot::Sender<()>,
}

impl EventReturns {
    /// Begins, if there is a returner.
    fn start(plan: Plan, master: &Master) -> Option<Self> {
        if plan.is_empty() {
            return None;
        }
        let (end, ended) = oneshot::channel::<()>();
        let (bus, functions) = (Arc::clone(&master.bus), Arc::clone(&master.functions));
        let (jobs, general) = (Arc::clone(&master.jobs), Arc::clone(&master.general));
        let task = tokio::spawn(async move {
            let opened = spawn_blocking(move || {
                let mut plan = plan;
                let waiting = general.own_cachedir.join(WAITING_DIR);
                for events in plan.open(&waiting, &general.id) {
                    jobs.health.watch(events);
                }
                plan
            });
            let plan = match opened.await {
                Ok(plan) => plan,
                Err(error) => {
                    return tracing::error!(
                        "could not start the returners of events, no events are stored: {error}"
                    );
                }
            };
            // Told so, or left alone: both are the end.
            let shutdown = async {
                let _ = ended.await;
            };
            return_events(plan, &bus, &functions, shutdown).await;
        });
        Some(Self { task, end })
    }

    /// Passes on what has happened until now.
    async fn finish(self) {
        let _ = self.end.send(());
        if timeout(DRAIN_MAX, self.task).await.is_err() {
            tracing::warn!("stopping before all events are stored");
        }
    }
}

/// Ends a task, and waits until it has.
pub(super) async fn stop(task: JoinHandle<()>) {
    task.abort();
    let _ = task.await;
}
