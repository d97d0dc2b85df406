//! Periodic work: the drop file, health files, cleaning.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use halite_fileserver::{Backends, UpdateWish};
use halite_key::dropfile::take_rotation_request;
use halite_store::Jobs;
use tokio::task::spawn_blocking;
use tokio::time::{MissedTickBehavior, interval, sleep};

use super::health::Health;
use super::upkeep::Upkeep;
use crate::clock::now_s;
use crate::error::chain;
use crate::files::file_changes;
use crate::files::settings::GITFS;
use crate::limits::{ALIVE_INTERVAL, DROP_FILE_INTERVAL};
use crate::master::Master;

/// Does all that, until it is dropped. What may take long delays nothing else.
pub(crate) async fn maintain(master: Arc<Master>, health: Health, upkeep: Upkeep) {
    // Lists of jobs are asked for rarely, and then by somebody who waits.
    let jobs = master.jobs.cache.clone();
    spawn_blocking(move || prepare_lists(&jobs));
    tokio::join!(
        look_often(&master, &health, upkeep),
        clean_up(&master),
        look_for_file_changes(&master),
    );
}

/// The drop file, lost keys, what waits in memory, and the signs of life.
async fn look_often(master: &Arc<Master>, health: &Health, upkeep: Upkeep) {
    let upkeep = Arc::new(Mutex::new(upkeep));
    let mut drop_file = interval(DROP_FILE_INTERVAL);
    drop_file.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut alive = interval(ALIVE_INTERVAL);
    alive.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = drop_file.tick() => {
                let upkeep = Arc::clone(&upkeep);
                on_disk(master, move |master| {
                    let mut upkeep = upkeep.lock().unwrap_or_else(PoisonError::into_inner);
                    upkeep.look(master);
                    look_for_drop_file(master);
                    look_for_lost_keys(master);
                    master.publishing.reload_key();
                    master.fleet.store_unkept();
                    master.jobs.store_unkept_returns();
                })
                .await;
            }
            _ = alive.tick() => {
                master.jobs.expire_unfinished();
                let health = health.clone();
                on_disk(master, move |_| health.alive()).await;
            }
        }
    }
}

/// What is done at each `loop_interval`. The old publish key does not wait for the job
/// cache to be cleaned.
async fn clean_up(master: &Arc<Master>) {
    loop {
        sleep(master.general.loop_interval).await;
        on_disk(master, |master| master.publishing.rotate_if_old()).await;
        on_disk(master, |master| master.keys.count_undecided()).await;
        on_disk(master, |master| master.fleet.sweep()).await;
        on_disk(master, |master| master.files.inbox.remove_abandoned()).await;
        clean(master).await;
    }
}

/// Events of changed files, where they are fired.
async fn look_for_file_changes(master: &Arc<Master>) {
    let settings = &master.files.settings;
    if !settings.fires_changes {
        return;
    }
    loop {
        on_disk(master, fire_file_changes).await;
        sleep(settings.update_interval).await;
    }
}

/// Runs something that waits for the disk on a thread of its own.
async fn on_disk(master: &Arc<Master>, job: impl FnOnce(&Master) + Send + 'static) {
    let master = Arc::clone(master);
    if let Err(error) = spawn_blocking(move || job(&master)).await {
        tracing::error!("maintenance failed: {error}");
    }
}

fn fire_file_changes(master: &Master) {
    // Remotes have threads of their own, and events of their own updates.
    let meant = Backends::Except(vec![GITFS.to_owned()]);
    file_changes::update(&master.files, &master.bus, &meant, &UpdateWish::default());
}

fn look_for_drop_file(master: &Master) {
    let general = &master.general;
    match take_rotation_request(&general.cachedir, &general.id) {
        Ok(true) => {
            tracing::info!("a key was deleted or rejected");
            // Whoever asks for it has looked at `rotate_aes_key`.
            master.keys.end_sessions();
            master.publishing.rotate();
            master.fleet.sweep();
        }
        Ok(false) => {}
        Err(error) => tracing::error!("could not process the drop file: {}", chain(&error)),
    }
}

/// What another master on the same store has deleted or rejected is cut off
/// here too: no drop file tells of it.
fn look_for_lost_keys(master: &Master) {
    if master.keys.is_shared && master.keys.accepted.has_lost_some() {
        tracing::info!("another master has deleted or rejected a key");
        master.publishing.cut_access();
    }
    // The master where it was done makes the new key for all.
    if master.cluster.is_some() && master.keys.accepted.has_lost_some() {
        master.keys.end_sessions();
    }
}

fn prepare_lists(jobs: &Jobs) {
    if let Err(error) = jobs.prepare_lists() {
        tracing::warn!("could not list the job cache: {}", chain(&error));
    }
}

/// Removes old jobs. That may take long, and the master's end does not wait
/// for it: it holds nothing but the job cache.
async fn clean(master: &Master) {
    master.jobs.mirror.clean();
    let jobs = master.jobs.cache.clone();
    let keep = master.jobs.settings.keep;
    let tokens = Arc::clone(&master.access.tokens);
    let cleaning = spawn_blocking(move || {
        match jobs.clean(keep, SystemTime::now()) {
            Ok(cleaned) => tracing::debug!(?cleaned, "cleaned the job cache"),
            Err(error) => tracing::error!("could not clean the job cache: {}", chain(&error)),
        }
        prepare_lists(&jobs);
        tokens.clean(now_s());
    });
    if let Err(error) = cleaning.await {
        tracing::error!("could not clean the job cache and the tokens: {error}");
    }
}
