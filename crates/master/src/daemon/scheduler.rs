//! `schedule` of the configuration: runners by the clock.
//!
//! They run like runners on request, and their results are also fired as
//! `__schedule_return`, as Salt's master does. Invariant: without a job nothing
//! wakes the master up for it, and a job that cannot run stops no other one.

use std::future::pending;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use halite_crypto::random_bytes;
use halite_proto::{Map, Value};
use halite_schedule::{Due, Now, Returned, Table, stamped};
use tokio::sync::Notify;
use tokio::task::spawn_blocking;
use tokio::time::sleep;

use crate::cluster::Cluster;
use crate::error::chain;
use crate::runner::{self, Asked, Runners};

/// The event tag of the results of scheduled jobs.
const RETURN_TAG: &str = "__schedule_return";

/// The schedule of a running master.
struct Scheduler {
    runners: Arc<Runners>,
    cluster: Option<Arc<Cluster>>,
    table: Mutex<Table>,
    wake: Notify,
    started: Instant,
}

/// Runs the jobs of the schedule until it is dropped.
/// Of the masters of a cluster one does.
pub(crate) async fn keep_schedule(runners: Arc<Runners>, jobs: Map, cluster: Option<Arc<Cluster>>) {
    warn_of_returners(&jobs);
    let table = Table::new(&jobs, u64::from_le_bytes(random_bytes()));
    if table.is_empty() {
        return;
    }
    let scheduler = Arc::new(Scheduler {
        runners,
        cluster,
        table: Mutex::new(table),
        wake: Notify::new(),
        started: Instant::now(),
    });
    loop {
        let (due, wait) = {
            let now = scheduler.now();
            let mut table = scheduler.table();
            (table.poll(now), table.next_timeout(now))
        };
        for due in due {
            let scheduler = Arc::clone(&scheduler);
            spawn_blocking(move || scheduler.start(due));
        }
        tokio::select! {
            () = scheduler.wake.notified() => {}
            () = sleep_for(wait) => {}
        }
    }
}

impl Scheduler {
    /// Starts a job, if it is this master's to start: now, and not when a thread was asked
    /// for, which may be long ago. Notes it on disk: not for async threads.
    fn start(self: &Arc<Self>, due: Due) {
        let cluster = self.cluster.clone();
        let may = move || cluster.as_ref().is_none_or(|cluster| cluster.leads());
        if !may() {
            self.finished(&due.name);
            return;
        }
        let asked = Asked {
            args: due.args.clone(),
            kwargs: due.kwargs.clone(),
            is_kept: due.returned == Returned::Stored,
            ..Asked::new(&due.function, &self.runners.general.running_user)
        };
        let name = due.name.clone();
        tracing::info!(job = name, "the schedule runs {}", due.function);
        let this = Arc::clone(self);
        let begun = runner::start_if(&self.runners, asked, may, move |ran| this.ended(due, ran));
        if let Err(error) = begun {
            tracing::error!(
                job = name,
                "could not start a scheduled runner: {}",
                chain(&error)
            );
            self.finished(&name);
        }
    }

    /// Reports the end of a scheduled job.
    fn ended(&self, due: Due, ran: &Map) {
        let name = due.name.clone();
        if !ran.get("success").is_some_and(Value::is_true) {
            let told = ran.get("return").map(halite_proto::python::str);
            let told = told.unwrap_or_default();
            tracing::error!(
                job = name,
                "the scheduled runner {} failed: {told}",
                due.function
            );
        }
        if due.returned != Returned::No {
            let told = report(&self.runners.general.id, due, ran, &jiff::Zoned::now());
            self.runners.bus.fire(RETURN_TAG, told);
        }
        self.finished(&name);
    }

    fn finished(&self, name: &str) {
        self.table().finished(name);
        // One that was held up by it may run now.
        self.wake.notify_one();
    }

    fn now(&self) -> Now {
        Now {
            local: jiff::Zoned::now().datetime().into(),
            steady: self.started.elapsed(),
        }
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The event of a job that has run, in Salt's form.
fn report(id: &str, due: Due, ran: &Map, now: &jiff::Zoned) -> Map {
    let of_run = |name: &str| ran.get(name).cloned().unwrap_or_default();
    let mut fun_args = due.args;
    if !due.kwargs.is_empty() {
        fun_args.push(due.kwargs.into());
    }
    let mut told = Map::from([
        ("cmd", Value::from("_return")),
        ("id", id.into()),
        ("fun", due.function.into()),
        ("fun_args", fun_args.into()),
        ("schedule", due.name.into()),
        ("jid", of_run("jid")),
        ("pid", std::process::id().into()),
    ]);
    if let Some(metadata) = due.metadata {
        told.insert("metadata", stamped(metadata, now));
    }
    told.insert("return", of_run("return"));
    told.insert(
        "retcode",
        ran.get("retcode").cloned().unwrap_or_else(|| 0.into()),
    );
    told.insert("success", of_run("success"));
    told
}

/// The results of the master's jobs go to its job cache and its event bus.
fn warn_of_returners(jobs: &Map) {
    for (name, job) in jobs {
        if job.get("returner").is_some_and(Value::is_true) {
            tracing::warn!(
                "schedule: the job {} names a returner, which runners of the master do not use; \
                 their results go to event_return",
                halite_proto::python::str(name)
            );
        }
    }
}

async fn sleep_for(wait: Option<Duration>) {
    match wait {
        Some(wait) => sleep(wait).await,
        None => pending().await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_of_a_job_is_what_salt_tells() {
        let job = "{function: test.arg, args: [1], kwargs: {x: 2}, seconds: 3, metadata: {a: b}}";
        let job = halite_yaml::load(job, "test").unwrap().into_value();
        let due = Due::from_definition("tick", job.as_map().unwrap());
        let ran = Map::from([
            ("jid", Value::from("20261121104332797423")),
            ("return", true.into()),
            ("success", true.into()),
        ]);
        let now = "2026-11-21T10:43:32+00:00[UTC]".parse().unwrap();
        let told = report("m_master", due, &ran, &now);
        let names: Vec<&str> = told.keys().filter_map(Value::as_str).collect();
        assert_eq!(
            names,
            [
                "cmd", "id", "fun", "fun_args", "schedule", "jid", "pid", "metadata", "return",
                "retcode", "success"
            ]
        );
        let args = halite_yaml::load("[1, {x: 2}]", "test")
            .unwrap()
            .into_value();
        assert_eq!(told.get("fun_args"), Some(&args));
        assert_eq!(told.get("retcode"), Some(&0.into()));
    }
}
