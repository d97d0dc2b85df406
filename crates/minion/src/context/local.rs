//! A minion without a master: `salt-call --local`. Files and pillar come from this
//! machine, and the mine is dropped; events, beacons and the schedule are those of
//! the minion daemon on this machine, if there is one.

use std::sync::{Arc, PoisonError, RwLock};

use halite_call::{
    Commander, ContextError, Daemon, Files, Jobs, LocalBus, MasterBus, MinionContext,
    PillarRequest, Recall, Refresh, Registry, Runners, Upstream,
};
use halite_fileserver::FileServer;
use halite_grains::Want;
use halite_proto::Map;
use halite_transport::Endpoint;
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use crate::context::daemon_bus;
use crate::context::stopping;
use crate::minion::CollectGrains;
use crate::minion::OwnFiles;
use crate::records::proc_files::ProcDir;

/// The minion that a function sees without a master.
pub struct LocalContext {
    opts: Map,
    grains: RwLock<Arc<Map>>,
    collect: Option<CollectGrains>,
    own: OwnFiles,
    daemon: Option<DaemonBus>,
}

/// The minion daemon beside this process, reached over its event bus.
struct DaemonBus {
    bus: (Endpoint, Endpoint),
    runtime: Handle,
}

impl DaemonBus {
    fn wait<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, ContextError>> + Send + 'static,
    ) -> Result<T, ContextError> {
        let (told, done) = oneshot::channel();
        self.runtime.spawn(async move {
            // Whoever waited may be gone.
            let _ = told.send(work.await);
        });
        done.blocking_recv().map_err(|_| stopping())?
    }

    fn tell(&self, tag: &str, data: Map) -> Result<(), ContextError> {
        let (bus, tag) = (self.bus.clone(), tag.to_owned());
        self.wait(async move { daemon_bus::tell(&bus, &tag, data).await })
    }

    fn ask(&self, part: &'static daemon_bus::Part, request: Map) -> Result<Map, ContextError> {
        let bus = self.bus.clone();
        self.wait(async move { daemon_bus::ask(&bus, part, request).await })
    }
}

impl LocalBus for DaemonBus {
    /// A daemon that is gone is nobody to take the event.
    fn fire_local(&self, tag: &str, data: Map) -> Result<bool, ContextError> {
        Ok(self.tell(tag, data).is_ok())
    }
}

impl Daemon for DaemonBus {
    fn manage_schedule(&self, request: Map) -> Result<Map, ContextError> {
        self.ask(&daemon_bus::SCHEDULE, request)
    }

    fn manage_beacons(&self, request: Map) -> Result<Map, ContextError> {
        self.ask(&daemon_bus::BEACONS, request)
    }
}

impl LocalContext {
    /// A minion with these options and grains, and these files.
    pub fn new(opts: Map, grains: Map, files: FileServer) -> Self {
        Self {
            own: OwnFiles::new(files, &opts),
            opts,
            grains: RwLock::new(Arc::new(grains)),
            collect: None,
            daemon: None,
        }
    }

    /// Where the bus of the minion is that runs here, if one does. To be
    /// called within an async runtime.
    #[must_use]
    pub fn beside(mut self, bus: Option<(Endpoint, Endpoint)>) -> Self {
        self.daemon = bus.map(|bus| DaemonBus {
            bus,
            runtime: Handle::current(),
        });
        self
    }

    /// How grains are collected when a function asks for new ones.
    #[must_use]
    pub fn collecting(mut self, collect: CollectGrains) -> Self {
        self.collect = Some(collect);
        self
    }
}

impl MinionContext for LocalContext {
    fn opts(&self) -> &Map {
        &self.opts
    }

    fn registry(&self) -> &'static Registry {
        halite_state_run::registry()
    }

    fn grains(&self) -> Arc<Map> {
        let grains = self.grains.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&grains)
    }

    fn pillar(&self) -> Arc<Map> {
        self.own.pillar(self)
    }

    fn compile_pillar(&self, request: &PillarRequest) -> Result<Map, ContextError> {
        Ok(self.own.compile(self, request))
    }

    fn refresh(&self, what: Refresh, _wait: Option<u64>) -> Result<bool, ContextError> {
        if matches!(what, Refresh::Pillar { .. }) {
            self.own.refresh();
            // Salt asks for it over the bus of a minion, which there is none of.
            return Ok(false);
        }
        if let (Refresh::Beacons, Some(daemon)) = (what, &self.daemon)
            && let Err(error) = daemon.tell("beacons_refresh", Map::new())
        {
            tracing::debug!(%error, "could not notify the minion daemon of new beacons");
        }
        if what == Refresh::Grains
            && let Some(collect) = &self.collect
        {
            let new = Arc::new(collect(Want::New));
            *self.grains.write().unwrap_or_else(PoisonError::into_inner) = new;
        }
        Ok(true)
    }

    fn recall(&self) -> Option<&Recall> {
        None
    }

    fn files(&self) -> &dyn Files {
        self.own.files()
    }

    fn upstream(&self) -> Result<&dyn Upstream, ContextError> {
        Err(ContextError::NoMaster)
    }

    fn master_bus(&self) -> Result<&dyn MasterBus, ContextError> {
        Err(ContextError::NoMaster)
    }

    fn local_bus(&self) -> Option<&dyn LocalBus> {
        self.daemon.as_ref().map(|daemon| daemon as &dyn LocalBus)
    }

    fn jobs(&self) -> Option<&dyn Jobs> {
        Some(self)
    }

    fn daemon(&self) -> Option<&dyn Daemon> {
        self.daemon.as_ref().map(|daemon| daemon as &dyn Daemon)
    }

    fn runners(&self) -> Result<&dyn Runners, ContextError> {
        Err(ContextError::NoRunners)
    }

    fn commander(&self, what: &'static str) -> Result<&dyn Commander, ContextError> {
        Err(ContextError::Unsupported { what })
    }
}

impl Jobs for LocalContext {
    fn running(&self) -> Vec<Map> {
        ProcDir::at(&self.cachedir()).running()
    }

    /// The jobs are those of other processes.
    fn signal(&self, _jid: &str, _signal: i32) -> Result<Option<i64>, ContextError> {
        Ok(None)
    }

    /// This process ends soon.
    fn part_is_over(&self) {}
}
