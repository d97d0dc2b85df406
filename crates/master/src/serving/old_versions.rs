//! Requests of protocol versions below 3, which have no sessions: served only where
//! `minimum_auth_version` is lowered.
//!
//! Invariant: whoever knows the publish key can make such a request, so a command
//! that changes or reveals data of one minion needs the token.

use std::sync::Arc;

use halite_crypto::Opened;
use halite_proto::{Map, MinionId, Nonce, Value};
use halite_transport::fleet::Origin;

use crate::core::gate::{self, Cause, Denied};
use crate::handlers::Caller;
use crate::master::Master;
use crate::serving::request_pipeline::{Admitted, EMPTY_MAP, Seal};

/// The first version whose requests carry a nonce.
const VERSION_NONCE: u32 = 2;

/// What minions of those versions ask without a token: what every minion may
/// know, and the pillar, which only its owner can open.
const WITHOUT_TOKEN: [&str; 11] = [
    "_file_envs",
    "_file_find",
    "_file_hash",
    "_file_hash_and_stat",
    "_file_list",
    "_file_list_emptydirs",
    "_dir_list",
    "_symlink_list",
    "_serve_file",
    "_master_opts",
    "_pillar",
];

/// Stands for minions that do not say who they are when they ask for files.
const ANONYMOUS: &str = "(old version)";

/// Proves as much of the sender as such a request can.
pub(crate) fn admit(
    master: &Master,
    version: u32,
    sealed: &[u8],
    from: Origin,
) -> Result<Admitted, Denied> {
    let crypticle = master.publishing.publisher.key().crypticle.clone();
    let packed = match crypticle.open(sealed, None) {
        Ok(Opened::Payload(packed)) => packed,
        Ok(Opened::Empty) => vec![EMPTY_MAP],
        Err(_) => return Err(Cause::NotAuthentic.into()),
    };
    let mut load = gate::read_load(&packed)?;
    let id = load.get("id").and_then(Value::as_str).unwrap_or(ANONYMOUS);
    let id = MinionId::parse(id).map_err(|_| Denied::from(Cause::BadId))?;
    check_token(master, &id, &mut load)?;
    load.insert("id", &id);
    let nonce = load
        .remove("nonce")
        .filter(|_| version >= VERSION_NONCE)
        .and_then(|nonce| Nonce::parse(nonce.as_str()?).ok());
    Ok(Admitted {
        caller: Caller {
            from,
            id,
            is_halite: false,
            nonce: nonce.clone(),
            enc_algo: None,
            sig_algo: None,
            telemetry: Arc::clone(&master.telemetry),
        },
        seal: Seal::PublishKey(crypticle, nonce),
        load,
    })
}

fn check_token(master: &Master, id: &MinionId, load: &mut Map) -> Result<(), Denied> {
    let token = load.remove("tok");
    let cmd = load.get("cmd").and_then(Value::as_str).unwrap_or_default();
    let is_right = match token.as_ref().and_then(Value::as_bytes) {
        Some(token) => master.keys.accepted.proves(id, token),
        None => token.is_none() && WITHOUT_TOKEN.contains(&cmd),
    };
    if is_right {
        Ok(())
    } else {
        Err(Cause::BadToken.into())
    }
}
