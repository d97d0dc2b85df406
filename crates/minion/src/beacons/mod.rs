//! The beacons around their table: they are looked at again and again, and
//! what they see goes to the masters as events.
//!
//! There is one set of beacons, whatever the number of masters; each master
//! that is connected is told of each event once. Invariant: without a beacon
//! nothing wakes the minion up for them, and one that hangs holds up no other.

mod counters;
mod error;
mod inotify;
mod log;
mod outbox;
mod processes;
mod service;
mod status;

use std::collections::HashMap;
use std::future::pending;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use halite_modules::{Call, Job, within_call};
use halite_proto::{Map, Value};
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::sleep;
use tracing::{debug, error, info};

use self::error::BeaconError;
use self::outbox::Outbox;
use crate::context::{JobContext, Route};
use crate::core::beacons::{Due, Settings, Table, validate};
use crate::core::link::Phase;
use crate::limits::BEACON_INTERVAL_MIN;
use crate::state::Minion;

/// The tag of requests on the event bus.
pub const REQUEST_TAG: &str = "manage_beacons";

/// The local event that tells of what beacons have seen.
const SEEN_TAG: &str = "__beacons_return";

/// One beacon while it is in use: what it remembers between two looks.
/// Dropping it gives back what it holds.
trait Beacon: Send {
    /// What there is to tell.
    fn look(&mut self, settings: &Settings, call: &Call<'_>) -> Result<Vec<Map>, BeaconError>;
}

fn make(module: &str) -> Option<Box<dyn Beacon>> {
    Some(match module {
        "diskusage" => Box::new(counters::DiskUsage),
        "inotify" => Box::<inotify::Inotify>::default(),
        "load" => Box::<counters::Load>::default(),
        "log" => Box::<log::Log>::default(),
        "memusage" => Box::new(counters::MemoryUsage),
        "network_info" => Box::new(counters::NetworkInfo),
        "ps" => Box::new(processes::Processes),
        "service" => Box::<service::Services>::default(),
        "status" => Box::new(status::Status),
        "swapusage" => Box::new(counters::SwapUsage),
        _ => return None,
    })
}

/// A beacon in use.
struct InUse {
    module: String,
    /// None while somebody looks.
    beacon: Option<Box<dyn Beacon>>,
    /// What was complained about last: said once, not each second.
    complaint: Option<String>,
}

/// The beacons of a running minion.
pub struct Beacons {
    minion: Arc<Minion>,
    table: Mutex<Table>,
    in_use: Mutex<HashMap<String, InUse>>,
    outbox: Outbox,
    wake: Notify,
    started: Instant,
}

impl Beacons {
    /// The beacons of the minion's configuration; nobody looks yet.
    pub fn new(minion: Arc<Minion>) -> Arc<Self> {
        let own = minion.opts.get("beacons").and_then(Value::as_map);
        let table = Table::new(own.cloned().unwrap_or_default());
        Arc::new(Self {
            outbox: Outbox::new(&minion),
            minion,
            table: Mutex::new(table),
            in_use: Mutex::default(),
            wake: Notify::new(),
            started: Instant::now(),
        })
    }

    /// Looks and tells for as long as the minion runs.
    pub async fn run(self: Arc<Self>) {
        let mut pillars = JoinSet::new();
        for master in 0..self.minion.masters.len() {
            pillars.spawn(Arc::clone(&self).follow_pillar(master));
        }
        tokio::join!(
            self.look_again_and_again(),
            self.hear(),
            self.outbox.carry()
        );
    }

    async fn look_again_and_again(self: &Arc<Self>) {
        let before_connect = self.minion.opts.get("beacons_before_connect");
        if !before_connect.is_some_and(Value::is_true) {
            self.until_connected().await;
        }
        let pause = self
            .minion
            .opt_seconds("loop_interval", 1.0)
            .max(BEACON_INTERVAL_MIN);
        loop {
            let (due, is_idle) = {
                let mut table = self.table();
                (table.due(self.started.elapsed()), table.is_idle())
            };
            self.tidy();
            for due in due {
                self.look(due);
            }
            tokio::select! {
                () = self.wake.notified() => {}
                () = sleep_for((!is_idle).then_some(pause)) => {}
            }
        }
    }

    /// Beacons are looked at from the first connection on, unless that is not
    /// to be waited for.
    async fn until_connected(&self) {
        if self.minion.masters.is_empty() {
            return;
        }
        let mut ready = JoinSet::new();
        for master in &self.minion.masters {
            let mut phase = master.phase.clone();
            ready.spawn(async move { phase.wait_for(|at| *at == Phase::Ready).await.is_ok() });
        }
        ready.join_next().await;
    }

    /// Puts down the beacons that are not configured any more.
    fn tidy(&self) {
        let mut in_use = self.in_use();
        if in_use.is_empty() {
            return;
        }
        let active = self.table().active();
        in_use.retain(|name, beacon| active.get(name) == Some(&beacon.module));
    }

    /// Puts down all of them; the next look begins anew.
    pub fn forget(&self) {
        self.in_use().clear();
        self.wake.notify_one();
    }

    fn look(self: &Arc<Self>, due: Due) {
        if due.pauses_for_states && self.states_run() {
            let put_down = self.in_use().remove(&due.name);
            if put_down.is_some() {
                info!(beacon = due.name, "left alone while states run");
            }
            return;
        }
        let config = self.table().config(&due.name).cloned().unwrap_or_default();
        if let Err(why) = validate(&due.module, &config) {
            let text = format!(
                "Beacon {} configuration invalid, not running.\n{why}",
                due.name
            );
            return self.complain(&due, text);
        }
        let Some(mut beacon) = self.take(&due) else {
            debug!(beacon = due.name, "is still being looked at");
            return;
        };
        let this = Arc::clone(self);
        tokio::spawn(async move {
            let minion = Arc::clone(&this.minion);
            let settings = due.settings.clone();
            let seen = tokio::task::spawn_blocking(move || {
                let context = JobContext::new(minion, Route::Any);
                let seen = within_call(&context, &Job::default(), |call| {
                    beacon.look(&settings, call)
                });
                (beacon, seen)
            });
            match seen.await {
                Ok((beacon, seen)) => {
                    this.put_back(&due, beacon);
                    this.tell(&due, seen);
                }
                Err(cause) => {
                    this.in_use().remove(&due.name);
                    error!(beacon = due.name, %cause, "the beacon died");
                }
            }
        });
    }

    /// The beacon, unless somebody has it.
    fn take(&self, due: &Due) -> Option<Box<dyn Beacon>> {
        let mut in_use = self.in_use();
        let entry = in_use.entry(due.name.clone()).or_insert_with(|| InUse {
            module: due.module.clone(),
            beacon: make(&due.module),
            complaint: None,
        });
        if entry.module != due.module {
            entry.module.clone_from(&due.module);
            entry.beacon = make(&due.module);
        }
        if entry.beacon.is_none() && entry.complaint.is_some() {
            // It was only complained about.
            entry.beacon = make(&due.module);
        }
        entry.beacon.take()
    }

    fn put_back(&self, due: &Due, beacon: Box<dyn Beacon>) {
        if let Some(entry) = self.in_use().get_mut(&due.name)
            && entry.module == due.module
        {
            entry.beacon = Some(beacon);
        }
    }

    /// Says once what is wrong with a beacon, until something else is.
    fn complain(&self, due: &Due, text: String) {
        let mut in_use = self.in_use();
        let entry = in_use.entry(due.name.clone()).or_insert_with(|| InUse {
            module: due.module.clone(),
            beacon: None,
            complaint: None,
        });
        if entry.complaint.as_ref() != Some(&text) {
            error!("{text}");
            entry.complaint = Some(text);
        }
    }

    fn tell(&self, due: &Due, seen: Result<Vec<Map>, BeaconError>) {
        let base = format!("salt/beacon/{}/{}/", self.minion.id, due.name);
        let events: Vec<Value> = match seen {
            Ok(seen) => {
                if let Some(entry) = self.in_use().get_mut(&due.name) {
                    entry.complaint = None;
                }
                if due.run_once {
                    self.table().was_run_once(&due.name);
                }
                let seen = seen.into_iter();
                seen.map(|data| self.event(due, &base, data)).collect()
            }
            Err(cause) => {
                let text = cause.to_string();
                self.complain(due, format!("Unable to start {} beacon, {text}", due.name));
                let event = Map::from([
                    ("tag", Value::from(base)),
                    ("error", text.into()),
                    ("data", Map::new().into()),
                    ("beacon_name", due.module.as_str().into()),
                ]);
                vec![event.into()]
            }
        };
        if events.is_empty() {
            return;
        }
        let local = Map::from([("beacons", events.clone())]);
        if let Err(error) = self.minion.fire_local(SEEN_TAG, local) {
            debug!(error, "no local event of beacons");
        }
        self.outbox.put(&self.minion, &events);
    }

    fn event(&self, due: &Due, base: &str, mut data: Map) -> Value {
        let rest = data.remove("tag");
        let tag = match rest.as_ref().and_then(Value::as_str) {
            Some(rest) => format!("{base}{rest}"),
            None => base.to_owned(),
        };
        if !data.contains_key("id") {
            data.insert("id", &self.minion.id);
        }
        Map::from([
            ("tag", Value::from(tag)),
            ("data", data.into()),
            ("beacon_name", due.module.as_str().into()),
        ])
        .into()
    }

    fn states_run(&self) -> bool {
        let jobs = self.minion.jobs();
        let mut running = jobs.all_running();
        running.any(|(_, job)| {
            let fun = job.load.get("fun").and_then(Value::as_str);
            fun.is_some_and(|fun| fun.starts_with("state."))
        })
    }

    /// Carries out a request, as Salt's event `manage_beacons` has it.
    ///
    /// # Errors
    /// The text says why there is no answer.
    pub fn manage(&self, request: &Map) -> Result<(&'static str, Map), String> {
        let managed = self.table().manage(request);
        // Complaints of before are said again if they still hold.
        self.wake.notify_one();
        managed
            .map(|managed| (managed.tag, managed.answer))
            .ok_or_else(|| "beacons have no such function".to_owned())
    }

    /// Hears requests on the event bus: of other programs, Salt's own included.
    async fn hear(&self) {
        let mut requests = self.minion.bus.subscribe_to(vec![REQUEST_TAG.to_owned()]);
        while let Some(request) = requests.recv().await {
            let Ok(event) = request.unpack() else {
                continue;
            };
            match self.manage(&event.data) {
                Ok((tag, answer)) => {
                    if let Err(error) = self.minion.fire_local(tag, answer) {
                        debug!(error, "no answer about beacons");
                    }
                }
                Err(error) => debug!(error, "a request to the beacons"),
            }
        }
    }

    /// Takes over the beacons of the pillar whenever that is compiled anew.
    async fn follow_pillar(self: Arc<Self>, master: usize) {
        let Some(master) = self.minion.masters.get(master) else {
            return;
        };
        let mut pillars = master.pillar.subscribe();
        while pillars.changed().await.is_ok() {
            let mut masters = self.minion.masters.iter();
            // The same master's for as long as there is one, whoever is first.
            let pillar = masters.find_map(|master| master.pillar.borrow().clone());
            let pillar = pillar.unwrap_or_default();
            let beacons = match pillar.get("beacons") {
                None => Map::new(),
                Some(Value::Map(beacons)) => beacons.clone(),
                Some(_) => {
                    error!("the pillar's beacons are left out: they must be a dictionary");
                    Map::new()
                }
            };
            self.table().set_pillar(beacons);
            self.wake.notify_one();
        }
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn in_use(&self) -> MutexGuard<'_, HashMap<String, InUse>> {
        self.in_use.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn sleep_for(wait: Option<Duration>) {
    match wait {
        Some(wait) => sleep(wait).await,
        None => pending().await,
    }
}
