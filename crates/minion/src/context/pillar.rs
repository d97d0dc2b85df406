//! Requests the pillar, and keeps it for each master.

use std::sync::Arc;
use std::time::Duration;

use halite_call::{ContextError, PillarRequest};
use halite_proto::{Map, MinionId, Value};
use tokio::task::JoinSet;
use tracing::{debug, warn};

use crate::context::{context_error, stopping};
use crate::core::sign_in::chain;
use crate::minion::Minion;

/// The `_pillar` request, fields in Salt's order.
pub(crate) fn request(id: &MinionId, grains: &Map, opts: &Map, request: &PillarRequest) -> Map {
    let env = |given: &Option<String>, option: &str| match given {
        Some(env) => Value::from(env.as_str()),
        None => opts.get(option).cloned().unwrap_or_default(),
    };
    let mut load = Map::with_capacity(8);
    load.insert("id", id);
    load.insert("grains", grains.clone());
    load.insert("saltenv", env(&request.saltenv, "saltenv"));
    load.insert("pillarenv", env(&request.pillarenv, "pillarenv"));
    load.insert(
        "pillar_override",
        request.overrides.clone().unwrap_or_default(),
    );
    load.insert("extra_minion_data", halite_pillar::extra_minion_data(opts));
    load.insert("ver", "2");
    load.insert("cmd", "_pillar");
    if let Some(ext) = &request.ext {
        load.insert("ext", ext.clone());
    }
    load
}

/// Fetches the pillar of one master and keeps it. With `clean_cache`, the
/// master compiles it even if it has one in its cache.
///
/// # Errors
/// When the master gives none; the old pillar stays.
pub(crate) async fn refresh(
    minion: &Minion,
    master: usize,
    clean_cache: bool,
) -> Result<(), ContextError> {
    if minion.own_files.is_some() {
        // It compiles its own.
        return Ok(());
    }
    let grains = minion.grains_at(Some(master));
    let master = minion.masters.get(master).ok_or(ContextError::NoMaster)?;
    let mut load = request(&minion.id, &grains, &minion.opts, &PillarRequest::default());
    if clean_cache {
        load.insert("clean_cache", true);
    }
    match master.channel.request_private(load, minion.patience).await {
        Ok(Value::Map(pillar)) => {
            debug!(master = master.name, keys = pillar.len(), "pillar received");
            master.pillar.send_replace(Some(Arc::new(pillar)));
            Ok(())
        }
        Ok(_) => {
            warn!(
                master = master.name,
                "the pillar is not a map; the previous one stays in use"
            );
            Err(ContextError::Refused {
                why: "the pillar is not a map".to_owned(),
            })
        }
        Err(error) => {
            warn!(
                master = master.name,
                "could not get the pillar from the master: {}",
                chain(&error)
            );
            Err(context_error(error))
        }
    }
}

/// Fetches the pillar of every master that is signed in, all at the same time,
/// and waits at most for `wait`, or not at all. For job threads.
///
/// # Errors
/// When no master gave one.
pub(crate) fn refresh_all(
    minion: &Arc<Minion>,
    wait: Option<Duration>,
    clean_cache: bool,
) -> Result<bool, ContextError> {
    let mut asked = JoinSet::new();
    for index in 0..minion.masters.len() {
        let minion_too = Arc::clone(minion);
        let signed_in = minion
            .masters
            .get(index)
            .is_some_and(|m| m.channel.is_signed_in());
        if signed_in {
            asked.spawn_on(
                async move {
                    let refreshed = refresh(&minion_too, index, clean_cache).await;
                    if refreshed.is_ok() {
                        tell_refreshed(&minion_too);
                    }
                    refreshed
                },
                &minion.runtime,
            );
        }
    }
    let Some(wait) = wait else {
        // Nobody waits for it: let it go on by itself.
        asked.detach_all();
        return Ok(true);
    };
    let refreshed = minion.wait(async move {
        match tokio::time::timeout(wait, asked.join_all()).await {
            Ok(results) if results.iter().any(Result::is_ok) => Ok(true),
            Ok(_) => Err(ContextError::NoMaster),
            Err(_) => Ok(false),
        }
    });
    refreshed.unwrap_or_else(|| Err(stopping()))
}

/// Notifies local programs that wait for a new pillar.
fn tell_refreshed(minion: &Minion) {
    const TAG: &str = "/salt/minion/minion_pillar_refresh_complete";
    if let Err(error) = minion.fire_local(TAG, Map::from([("complete", true)])) {
        debug!("could not fire the event of the new pillar: {error}");
    }
}
