//! The periodic work of a minion, whatever its masters do.
//!
//! Invariant: a task that is switched off costs no timer.

use std::sync::Arc;
use std::time::Duration;

use halite_proto::returns::ReturnJid;
use halite_proto::time::JidClock;
use halite_proto::{Jid, Map, Value};
use tokio::sync::watch;
use tokio::time::{Instant, MissedTickBehavior, interval_at};
use tracing::{debug, error, warn};

use crate::context::pillar;
use crate::context::{Round, event_request, others_signed_in};
use crate::core::link::Phase;
use crate::jobs::executor::{self, Executor};
use crate::jobs::own_jobs::{OwnJob, Returns};
use crate::managed;
use crate::minion::{Minion, unix_micros};
use crate::returners::ChosenReturners;

/// First mine update after the start, as Salt has it.
const MINE_FIRST: Duration = Duration::from_secs(1);

/// The minion's own periodic tasks: the mine, and its sign of life.
pub(crate) async fn own_work(executor: Arc<Executor>) {
    let minion = executor.minion();
    tokio::join!(
        update_mine(&executor),
        say_alive(minion),
        renew_grains(minion)
    );
}

/// The job of Salt's schedule that updates the mine.
const MINE_JOB: &str = "__mine_interval";

const MINE_UPDATE: &str = "mine.update";

async fn update_mine(executor: &Arc<Executor>) {
    let minion = executor.minion();
    let Some(period) = mine_period(&minion.opts) else {
        return;
    };
    let is_returned = minion
        .opts
        .get("mine_return_job")
        .is_some_and(Value::is_true);
    let mut jids = JidClock::new();
    let mut ticks = interval_at(Instant::now() + MINE_FIRST, period);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    managed::until_connected(minion).await;
    // The other masters are about to come, most often.
    others_signed_in(minion).await;
    let mut round = Arc::<Round>::default();
    let mut phases = Vec::new();
    loop {
        let waited = async {
            let masters = phases.iter().enumerate();
            let missed = masters.filter(|(at, _)| !round.has(*at));
            let missed = missed.map(|(_, phase): (_, &watch::Receiver<Phase>)| phase.clone());
            managed::until_one_is_ready_again(missed.collect::<Vec<_>>()).await;
        };
        // The next time may be an hour away: a master that has missed one is
        // not kept waiting, and it alone is told.
        let is_made_up = tokio::select! {
            _ = ticks.tick() => false,
            () = waited => true,
        };
        managed::until_connected(minion).await;
        if !is_made_up {
            round = Arc::default();
        }
        let masters = || minion.masters.iter();
        phases = masters().map(|master| master.phase.clone()).collect();
        for phase in &mut phases {
            phase.mark_unchanged();
        }
        let jid = jids.next(unix_micros());
        let all_have_it = (0..minion.masters.len()).all(|master| round.has(master));
        if is_made_up && all_have_it {
            // One has answered after all.
            continue;
        }
        if is_made_up || !is_returned {
            executor::run_own(minion, jid, MINE_UPDATE, &round).await;
            continue;
        }
        let own = mine_job(jid);
        let is_ready = |phase: &watch::Receiver<Phase>| *phase.borrow() == Phase::Ready;
        let there: Vec<bool> = phases.iter().map(is_ready).collect();
        Arc::clone(executor).run_own_job(own).await;
        for (master, (phase, was_there)) in phases.iter().zip(there).enumerate() {
            if was_there && phase.has_changed().is_ok_and(|changed| !changed) {
                round.record(master);
            }
        }
    }
}

/// How often the mine is updated, if it is.
fn mine_period(opts: &Map) -> Option<Duration> {
    const MINUTES: i64 = 60;
    let enabled = opts.get("mine_enabled").is_none_or(Value::is_true);
    let minutes = opts.get("mine_interval").and_then(Value::as_i64);
    minutes_to_duration(minutes.unwrap_or(MINUTES)).filter(|_| enabled)
}

/// The update as a job whose return all masters get.
fn mine_job(jid: Jid) -> OwnJob {
    OwnJob {
        jid,
        fun: MINE_UPDATE.to_owned(),
        args: Vec::new(),
        kwargs: Map::new(),
        schedule: Some(MINE_JOB.to_owned()),
        metadata: None,
        is_shown: true,
        returns: Returns::ToAll(ReturnJid::Req),
        returners: ChosenReturners::default(),
        returner_options: Map::new(),
    }
}

/// `grains_refresh_every`: what has changed of the grains reaches the masters
/// with the question for the pillar. Without a change they hear nothing.
async fn renew_grains(minion: &Arc<Minion>) {
    const SECONDS_OF_MINUTE: f64 = 60.0;
    let minutes = minion.opts.get("grains_refresh_every");
    let minutes = minutes.and_then(Value::as_f64).unwrap_or_default();
    let period = Duration::try_from_secs_f64(minutes * SECONDS_OF_MINUTE);
    let Some(period) = period.ok().filter(|period| !period.is_zero()) else {
        return;
    };
    let mut ticks = interval_at(Instant::now() + period, period);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let minion = Arc::clone(minion);
        let renewed = tokio::task::spawn_blocking(move || {
            let before = minion.grains();
            minion.refresh_grains();
            if *before != *minion.grains() {
                debug!("grains have changed");
                let told = pillar::refresh_all(&minion, None, false);
                if let Err(error) = told {
                    warn!(%error, "could not send changed grains to the masters");
                }
            }
        });
        if let Err(cause) = renewed.await {
            error!(%cause, "the collection of grains panicked");
        }
    }
}

/// `ping_interval`: an event to every master, which keeps connections through
/// firewalls alive and tells a master that this minion is there.
async fn say_alive(minion: &Arc<Minion>) {
    let minutes = minion
        .opts
        .get("ping_interval")
        .and_then(Value::as_i64)
        .unwrap_or(0);
    let Some(period) = minutes_to_duration(minutes) else {
        return;
    };
    let mut ticks = interval_at(Instant::now() + period, period);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        for master in 0..minion.masters.len() {
            let minion = Arc::clone(minion);
            tokio::spawn(async move {
                let Some(master) = minion.masters.get(master) else {
                    return;
                };
                let ping = event_request(&minion, "minion_ping", "ping".into());
                if let Err(error) = master.channel.request(ping, minion.patience).await {
                    warn!(
                        master = master.name,
                        "the master does not answer a ping: {error}"
                    );
                }
            });
        }
    }
}

fn minutes_to_duration(minutes: i64) -> Option<Duration> {
    let minutes = u64::try_from(minutes).ok().filter(|&minutes| minutes > 0)?;
    minutes.checked_mul(60).map(Duration::from_secs)
}
