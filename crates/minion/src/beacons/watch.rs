//! Checks the beacons regularly, and reports what they see.

use std::collections::HashMap;
use std::future::pending;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Instant;

use halite_call::{Call, Job, within_call};
use halite_proto::{Map, Value};
use tokio::sync::Notify;
use tokio::task::spawn_blocking;
use tokio::time::{self, sleep_until};
use tracing::{debug, error, info};

use super::error::BeaconError;
use super::outbox::Outbox;
use super::{Beacon, make, python};
use crate::context::{JobContext, Route};
use crate::core::beacons::{AVAILABLE, Due, Table, validate};
use crate::limits::BEACON_INTERVAL_MIN;
use crate::managed;
use crate::minion::{Answer, BEACON_REQUESTS, Managed, ManagedBeacons, Minion};

/// The local event that tells of what beacons have seen.
const SEEN_TAG: &str = "__beacons_return";

/// A beacon in use.
struct InUse {
    module: String,
    /// It is a custom beacon.
    is_users: bool,
    /// None while somebody looks, or nobody has yet.
    beacon: Option<Box<dyn Beacon>>,
    /// It is being checked.
    is_taken: bool,
    /// The last complaint: it is logged once, not every second.
    complaint: Option<String>,
}

/// The beacons of a running minion.
pub(crate) struct Beacons {
    minion: Arc<Minion>,
    table: Mutex<Table>,
    in_use: Mutex<HashMap<String, InUse>>,
    outbox: Arc<Outbox>,
    wake: Notify,
    started: Instant,
}

impl Beacons {
    /// The beacons of the minion's configuration; nobody looks yet.
    pub(crate) fn new(minion: Arc<Minion>) -> Arc<Self> {
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

    /// Checks the beacons for as long as the minion runs.
    pub(crate) async fn run(self: Arc<Self>) {
        let this = Arc::clone(&self);
        tokio::join!(
            self.look_again_and_again(),
            managed::hear(&self.minion, BEACON_REQUESTS, move |request| {
                Arc::clone(&this).manage(request)
            }),
            managed::follow_pillar(&self.minion, |pillar| self.heed_pillar(&pillar)),
        );
    }

    /// Carries what was seen to the masters, for as long as the minion runs.
    pub(crate) async fn carry(self: Arc<Self>) {
        self.outbox.carry().await;
    }

    /// Waits until no master that is there is owed anything.
    pub(crate) async fn until_carried(&self) {
        self.outbox.until_carried().await;
    }

    async fn look_again_and_again(self: &Arc<Self>) {
        let before_connect = self.minion.opts.get("beacons_before_connect");
        if !before_connect.is_some_and(Value::is_true) {
            managed::until_connected(&self.minion).await;
        }
        let pause = self
            .minion
            .opt_seconds("loop_interval", 1.0)
            .max(BEACON_INTERVAL_MIN);
        loop {
            let due = self.table().due(self.started.elapsed());
            for due in due {
                self.look(due);
            }
            self.until_next(time::Instant::now() + pause).await;
        }
    }

    /// Waits for the moment of the next look; without beacons, until there is
    /// one. Whoever asks about beacons meanwhile makes none look earlier.
    async fn until_next(&self, next: time::Instant) {
        loop {
            self.tidy();
            let is_idle = self.table().is_idle();
            tokio::select! {
                () = self.wake.notified() => {}
                () = until((!is_idle).then_some(next)) => return,
            }
        }
    }

    /// Puts down the beacons that are not configured any more.
    fn tidy(&self) {
        let mut in_use = self.in_use();
        if in_use.is_empty() {
            return;
        }
        let active = self.table().active();
        let put_down = in_use
            .extract_if(|name, beacon| active.get(name) != Some(&beacon.module))
            .map(|(_, beacon)| beacon)
            .collect();
        drop(in_use);
        self.put_down(put_down);
    }

    /// Releases the resources of beacons, without waiting for it.
    fn put_down(&self, beacons: Vec<InUse>) {
        let beacons = beacons.into_iter().filter_map(|in_use| in_use.beacon);
        let mut to_close: Vec<_> = beacons.filter(|beacon| beacon.needs_closing()).collect();
        if to_close.is_empty() {
            return;
        }
        let minion = Arc::clone(&self.minion);
        thread::spawn(move || {
            let context = JobContext::new(minion, Route::Any);
            within_call(&context, &Job::default(), |call| {
                for beacon in &mut to_close {
                    beacon.close(call);
                }
            });
        });
    }

    /// Does something as if within a function.
    fn within<T>(&self, body: impl FnOnce(&Call<'_>) -> T) -> T {
        let context = JobContext::new(Arc::clone(&self.minion), Route::Any);
        within_call(&context, &Job::default(), body)
    }

    fn look(self: &Arc<Self>, due: Due) {
        if due.pauses_for_states && self.states_run() {
            let put_down = self.in_use().remove(&due.name);
            if let Some(beacon) = put_down {
                info!(beacon = due.name, "paused the beacon while states run");
                self.put_down(vec![beacon]);
            }
            return;
        }
        let is_users = self.within(|call| python::is_users(call, &due.module));
        if !is_users && AVAILABLE.contains(&due.module.as_str()) {
            let config = self.table().config(&due.name).cloned().unwrap_or_default();
            if let Err(why) = validate(&due.module, &config) {
                return self.complain_of_config(&due, &why);
            }
        }
        let Some(mut beacon) = self.take(&due, is_users) else {
            debug!(
                beacon = due.name,
                "skipped the beacon: its previous run has not ended"
            );
            return;
        };
        let this = Arc::clone(self);
        tokio::spawn(async move {
            let minion = Arc::clone(&this.minion);
            let settings = due.settings.clone();
            let seen = spawn_blocking(move || {
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
                    error!(beacon = due.name, %cause, "the beacon panicked");
                }
            }
        });
    }

    /// The beacon, unless somebody has it.
    fn take(&self, due: &Due, is_users: bool) -> Option<Box<dyn Beacon>> {
        let mut in_use = self.in_use();
        let entry = in_use.entry(due.name.clone()).or_insert_with(|| InUse {
            module: due.module.clone(),
            is_users,
            beacon: Some(make(due, is_users)),
            is_taken: false,
            complaint: None,
        });
        if entry.module != due.module || entry.is_users != is_users {
            entry.module.clone_from(&due.module);
            entry.is_users = is_users;
            entry.beacon = Some(make(due, is_users));
            entry.is_taken = false;
        }
        if entry.beacon.is_none() && !entry.is_taken {
            // It was only complained about.
            entry.beacon = Some(make(due, is_users));
        }
        let taken = entry.beacon.take();
        entry.is_taken |= taken.is_some();
        taken
    }

    fn put_back(&self, due: &Due, beacon: Box<dyn Beacon>) {
        if let Some(entry) = self.in_use().get_mut(&due.name)
            && entry.module == due.module
        {
            entry.beacon = Some(beacon);
            entry.is_taken = false;
        }
    }

    fn complain_of_config(&self, due: &Due, why: &str) {
        let name = &due.name;
        let text = format!("Beacon {name} configuration invalid, not running.\n{why}");
        self.complain(due, text);
    }

    /// Logs an error of a beacon once, until the error changes.
    fn complain(&self, due: &Due, text: String) {
        let mut in_use = self.in_use();
        let entry = in_use.entry(due.name.clone()).or_insert_with(|| InUse {
            module: due.module.clone(),
            is_users: false,
            beacon: None,
            is_taken: false,
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
            Err(BeaconError::Invalid(why)) => return self.complain_of_config(due, &why),
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
            debug!(error, "could not fire an event of beacons on the local bus");
        }
        self.outbox.put(&events);
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

    /// Logs what is lost when the process ends now.
    pub(crate) fn say_what_is_lost(&self) {
        self.outbox.say_what_is_lost();
    }

    /// Uses the beacons of a new pillar.
    fn heed_pillar(&self, pillar: &Map) {
        let beacons = match pillar.get("beacons") {
            None => Map::new(),
            Some(Value::Map(beacons)) => beacons.clone(),
            Some(_) => {
                error!("ignored the pillar's beacons: they must be a dictionary");
                Map::new()
            }
        };
        self.table().set_pillar(beacons);
        self.wake.notify_one();
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn in_use(&self) -> MutexGuard<'_, HashMap<String, InUse>> {
        self.in_use.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Managed for Beacons {
    /// Carries out a request, as Salt's event `manage_beacons` has it.
    fn manage(self: Arc<Self>, request: &Map) -> Answer {
        let mut managed = self.table().manage(request);
        if let Some(managed) = &mut managed {
            self.within(|call| python::answer(call, request, &mut managed.answer));
        }
        // Complaints of before are said again if they still hold.
        self.wake.notify_one();
        managed
            .map(|managed| (managed.tag, managed.answer))
            .ok_or_else(|| "beacons have no such function".to_owned())
    }
}

impl ManagedBeacons for Beacons {
    /// Puts down all of them; the next look begins anew.
    fn forget(&self) {
        let put_down = self.in_use().drain().map(|(_, beacon)| beacon).collect();
        self.put_down(put_down);
        self.wake.notify_one();
    }
}

async fn until(moment: Option<time::Instant>) {
    match moment {
        Some(moment) => sleep_until(moment).await,
        None => pending().await,
    }
}
