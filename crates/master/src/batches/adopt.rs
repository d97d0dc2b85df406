//! Takes over batches that another program has started: one of Salt's, which sends
//! the first part, writes its progress beside the job and announces it on the event
//! bus; or this master before its restart.
//!
//! Invariant: an event alone starts nothing. A local program must have written the
//! announced batch a moment ago.

mod lost;

use std::sync::Arc;
use std::time::Duration;

use halite_gather::batch::BatchSize;
use halite_proto::clear::PublishRequest;
use halite_proto::{Jid, Map, MinionId, Value};
use halite_store::StoreError;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep};

use super::{Batches, Begun, Plan, seconds_now, start};
use crate::core::owner::PROVEN_BY;
use crate::error::chain;
use crate::under_way::MASTER;

/// A state older than this is history.
const AGE_S_MAX: f64 = 60.0;

/// How long minions have to reconnect after a start before unfinished batches are
/// continued, and as long again while minions that have not got their job are missing.
const RETURN_TIME: Duration = Duration::from_secs(5);

/// The same at most: minions of Salt's take up to 22 s (`ABSENCE_MIN`).
const RETURN_TIME_MAX: Duration = Duration::from_secs(25);

/// Goes on with what was left, and takes over what is announced, until it is
/// dropped.
pub(crate) async fn adopt(batches: Arc<Batches>) {
    tokio::spawn(go_on(Arc::clone(&batches)));
    tokio::join!(
        adopt_announced(Arc::clone(&batches)),
        lost::take_over_lost(batches)
    );
}

/// Continues batches that Salt's programs announce.
async fn adopt_announced(batches: Arc<Batches>) {
    let mut events = batches.bus.subscribe("salt/batch/".to_owned());
    while let Some(event) = events.recv().await {
        let jid = event.tag().strip_prefix("salt/batch/");
        let jid = jid.and_then(|rest| rest.strip_suffix("/new"));
        let Some(jid) = jid.and_then(|jid| Jid::parse(jid).ok()) else {
            continue;
        };
        if batches.find(&jid).is_some() {
            continue;
        }
        let batches = Arc::clone(&batches);
        let _ = spawn_blocking(move || take_over(&batches, &jid, AGE_S_MAX)).await;
    }
}

/// Goes on with what was left when this master was stopped.
async fn go_on(batches: Arc<Batches>) {
    let left = left_over(&batches).await;
    if left.is_empty() {
        return;
    }
    let leave = |left: Vec<Jid>| {
        if let Some(under_way) = &batches.under_way {
            under_way.leaves_for_now(left);
        }
    };
    leave(left.clone());
    let began = Instant::now();
    loop {
        sleep(RETURN_TIME).await;
        if began.elapsed() >= RETURN_TIME_MAX {
            break;
        }
        let (batches, left) = (Arc::clone(&batches), left.clone());
        let are_back = spawn_blocking(move || are_back(&batches, &left));
        if are_back.await.unwrap_or(true) {
            break;
        }
    }
    leave(Vec::new());
    let goes_on = move || {
        for jid in left {
            let age_s_max = match batches.driven.has(&jid) {
                true => f64::INFINITY,
                false => AGE_S_MAX,
            };
            take_over(&batches, &jid, age_s_max);
        }
    };
    let _ = spawn_blocking(goes_on).await;
}

/// The jobs that the store says run in batches. It is asked until it answers.
async fn left_over(batches: &Arc<Batches>) -> Vec<Jid> {
    let mut was_said = false;
    loop {
        let asked = Arc::clone(batches);
        let left = spawn_blocking(move || {
            let left = asked.jobs.cache.active_batches()?;
            let runs = |jid: &Jid| left.contains(jid) || asked.find(jid).is_some();
            if let Err(error) = asked.driven.retain(runs) {
                tracing::warn!("could not read the batches of this master: {error}");
            }
            Ok::<_, StoreError>(left)
        });
        match left.await {
            Ok(Ok(left)) => return left,
            Ok(Err(error)) if !was_said => {
                was_said = true;
                tracing::error!(
                    "could not read the batches that were left unfinished, trying again: {}",
                    chain(&error)
                );
            }
            Ok(Err(_)) => {}
            Err(_) => return Vec::new(),
        }
        sleep(RETURN_TIME).await;
    }
}

/// Whether all minions are connected that are still to get one of these jobs.
fn are_back(batches: &Batches, left: &[Jid]) -> bool {
    let connected = batches.fleet.connected();
    let is_back = |id: &String| {
        let id = MinionId::parse(id.as_str());
        id.is_ok_and(|id| connected.contains(&id))
    };
    left.iter().all(|jid| {
        let state = batches.jobs.cache.batch(jid).ok().flatten();
        let plan = state.and_then(|state| plan(jid, state, f64::INFINITY));
        let begun = plan.and_then(|plan| plan.begun);
        begun.is_none_or(|begun| begun.pending.iter().all(is_back))
    })
}

fn take_over(batches: &Arc<Batches>, jid: &Jid, age_s_max: f64) {
    let under_way = batches.under_way.as_ref();
    if under_way.is_some_and(|under_way| under_way.is_elsewhere(jid)) {
        if batches.driven.has(jid) {
            tracing::info!(
                %jid,
                "not continuing a batch: another master continues or has finished it"
            );
            batches.driven.forget(jid);
        }
        return;
    }
    let taken = match batches.jobs.cache.batch(jid) {
        Ok(Some(state)) if is_of_another(&state, &batches.general.id) => {
            return tracing::debug!(%jid, "not continuing a batch: another master runs it");
        }
        Ok(state) => state.and_then(|state| plan(jid, state, age_s_max)),
        Err(error) => return tracing::error!(%jid, "could not continue a batch: {}", chain(&error)),
    };
    let Some(plan) = taken else {
        tracing::info!(
            %jid,
            "not continuing a batch: it has ended, or this master was not running it when it \
             stopped"
        );
        let _one = batches.listing();
        if let Err(error) = batches.jobs.cache.end_batch(jid) {
            tracing::warn!(%jid, "could not record the end of a batch: {}", chain(&error));
        }
        if let Some(under_way) = under_way.filter(|_| batches.driven.has(jid)) {
            under_way.left_is_over(jid);
        }
        batches.driven.forget(jid);
        return;
    };
    if let Err(error) = start(batches, plan) {
        tracing::error!(%jid, "could not continue a batch: {}", chain(&error));
    }
}

/// Whether another master on the same store drives a job. One that Salt's
/// programs have begun is whose bus it was announced on.
fn is_of_another(state: &Map, own: &str) -> bool {
    let driver = state.get(MASTER).and_then(Value::as_str);
    driver.is_some_and(|driver| driver != own)
}

fn plan(jid: &Jid, state: Map, age_s_max: f64) -> Option<Plan> {
    let text = |name: &str| state.get(name).and_then(Value::as_str);
    let flag = |name: &str| state.get(name).is_some_and(Value::is_true);
    let age_s = seconds_now() - state.get("created").and_then(Value::as_f64)?;
    if text("driver") != Some("master")
        || flag("halted")
        || !(-age_s_max..=age_s_max).contains(&age_s)
    {
        return None;
    }
    let ids = |value: Option<&Value>| -> Vec<String> {
        let names: Vec<&Value> = match value {
            Some(Value::List(list)) => list.iter().collect(),
            Some(Value::Map(map)) => map.keys().collect(),
            _ => Vec::new(),
        };
        let valid = names.into_iter().filter_map(Value::as_str);
        valid
            .filter(|id| MinionId::parse(*id).is_ok())
            .map(str::to_owned)
            .collect()
    };
    let (active, pending) = (ids(state.get("active")), ids(state.get("pending")));
    let all = ids(state.get("all_minions"));
    let size = state.get("batch_size").and_then(Value::as_i64)?;
    let wait_s = state
        .get("batch_wait")
        .and_then(Value::as_f64)
        .unwrap_or(0.0);
    let load = ["tgt", "tgt_type", "fun", "arg", "ret", "user", "kwargs"]
        .into_iter()
        .chain([PROVEN_BY])
        .filter_map(|name| Some((Value::from(name), state.get(name)?.clone())))
        .collect();
    let mut request = PublishRequest::from_map(load).ok()?;
    request.jid = Some(jid.clone());
    let minions = all
        .iter()
        .filter_map(|id| MinionId::parse(id.as_str()).ok());
    let size = BatchSize::Minions(usize::try_from(size).ok()?.max(1));
    Some(Plan {
        wait: Duration::try_from_secs_f64(wait_s).unwrap_or_default(),
        failhard: flag("failhard"),
        begun: Some(Begun {
            active,
            pending,
            state: state.clone(),
        }),
        ..Plan::new(request, minions.collect(), size)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(created: f64, halted: bool) -> Map {
        let list = |ids: &[&str]| Value::List(ids.iter().map(|id| Value::from(*id)).collect());
        Map::from([
            ("driver", Value::from("master")),
            ("created", created.into()),
            ("halted", halted.into()),
            ("all_minions", list(&["a", "b", "c"])),
            ("active", Map::from([("a", Map::new())]).into()),
            ("pending", list(&["b", "c", "../x"])),
            ("batch_size", 2.into()),
            ("batch_wait", 0.into()),
            ("failhard", true.into()),
            ("fun", "test.ping".into()),
            ("arg", list(&[])),
            ("tgt", "*".into()),
            ("tgt_type", "glob".into()),
            ("ret", "".into()),
            ("user", "root".into()),
            ("kwargs", Map::new().into()),
        ])
    }

    #[test]
    fn what_another_master_drives_is_left_to_it() {
        let mut state = state(0.0, false);
        assert!(!is_of_another(&state, "m1_master"));
        state.insert(MASTER, "m1_master");
        assert!(!is_of_another(&state, "m1_master"));
        assert!(is_of_another(&state, "m2_master"));
    }

    #[test]
    fn only_what_was_begun_a_moment_ago_is_taken_over() {
        let jid = Jid::parse("20261120222423196046").unwrap();
        let found = plan(&jid, state(seconds_now(), false), AGE_S_MAX).unwrap();
        let begun = found.begun.unwrap();
        assert_eq!(begun.active, ["a"]);
        assert_eq!(begun.pending, ["b", "c"]);
        assert_eq!((found.minions.len(), found.failhard), (3, true));
        assert!(plan(&jid, state(seconds_now() - 3600.0, false), AGE_S_MAX).is_none());
        assert!(plan(&jid, state(seconds_now(), true), AGE_S_MAX).is_none());
        // Of what the master drove itself, age does not matter after a restart.
        let old = state(seconds_now() - 3600.0, false);
        assert!(plan(&jid, old, f64::INFINITY).is_some());
        let mut of_cli = state(seconds_now(), false);
        of_cli.insert("driver", "cli");
        assert!(plan(&jid, of_cli, AGE_S_MAX).is_none());
        assert!(plan(&jid, Map::new(), AGE_S_MAX).is_none());
    }
}
