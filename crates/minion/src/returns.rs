//! Hands a return to the master that asked for it, or, when that one stays
//! away, to another live one, which stores it just as well.

use std::time::Duration;

use halite_crypto::random_bytes;
use halite_proto::returns::JobReturn;
use halite_proto::{Map, MinionId, Value};
use tracing::{debug, error, warn};

use crate::core::backoff::Chance;
use crate::core::sign_in::chain;
use crate::state::{Master, Minion};

/// Shortest pause before a return is tried again, whatever is configured.
const PAUSE_MIN: Duration = Duration::from_millis(100);

/// Delivers one return of a job of the numbered master; logs it when it had to
/// be given up.
pub async fn deliver(minion: &Minion, master: usize, result: JobReturn) {
    let load = request(&minion.id, &result);
    let tries = minion
        .opts
        .get("return_retry_tries")
        .and_then(Value::as_i64)
        .unwrap_or(3)
        .max(1);
    let first = minion.opt_seconds("return_retry_timer", 5.0);
    let last = minion.opt_seconds("return_retry_timer_max", 10.0);
    let mut chance = Chance::new(u64::from_le_bytes(random_bytes()));
    let Some(asked) = minion.masters.get(master) else {
        return;
    };
    for attempt in 1..=tries {
        if deliver_to(minion, asked, &load).await {
            return;
        }
        let others = minion.turn().into_iter().filter(|&other| other != master);
        for other in others.filter_map(|other| minion.masters.get(other)) {
            if deliver_to(minion, other, &load).await {
                warn!(
                    asked = asked.name,
                    master = other.name,
                    "return given to another master"
                );
                return;
            }
        }
        if attempt < tries {
            let pause = first + chance.up_to(last.saturating_sub(first));
            debug!(?pause, "the return is tried again");
            tokio::time::sleep(pause.max(PAUSE_MIN)).await;
        }
    }
    error!(
        jid = result.jid.as_str(),
        "no master took the return, it is lost"
    );
}

async fn deliver_to(minion: &Minion, master: &Master, load: &Map) -> bool {
    match master.channel.request(load.clone(), minion.patience).await {
        // A master answers nothing normally; what it answers otherwise says
        // that asking again would not change its mind.
        Ok(Value::Bool(false)) => {
            warn!(master = master.name, "the master refused the return");
            true
        }
        Ok(Value::Str(text)) if text.is_empty() => {
            warn!(
                master = master.name,
                "the master failed to store the return"
            );
            true
        }
        Ok(_) => true,
        Err(error) => {
            warn!(
                master = master.name,
                "return not delivered: {}",
                chain(&error)
            );
            false
        }
    }
}

/// The `_return` request.
pub fn request(id: &MinionId, result: &JobReturn) -> Map {
    let mut load = Map::with_capacity(12);
    load.insert("cmd", "_return");
    load.insert("id", id);
    load.extend(result.to_map());
    load
}
