//! Reports the start of a job to the master whose caller asked for that
//! (`--start-event`).
//!
//! Invariant: the job does not wait for the report, but its return does, so that a
//! master receives both in this order.

use std::sync::Arc;

use halite_proto::publish::PublishLoad;
use halite_proto::{Map, Value};
use tracing::debug;

use crate::context::event_request;
use crate::core::sign_in::chain;
use crate::limits::DELIVERY_TIMEOUT;
use crate::link::channel::Patience;
use crate::minion::Minion;

/// Reports to the numbered master that `load` starts, if it is to be told.
pub(crate) fn tell(
    minion: &Arc<Minion>,
    master: usize,
    load: &PublishLoad,
) -> impl Future<Output = ()> + Send + use<> {
    let is_wanted = load.start_event.as_ref().is_some_and(Value::is_true);
    let told = is_wanted.then(|| {
        let tag = format!("salt/job/{}/start/{}", load.jid, minion.id);
        event_request(minion, &tag, about(load, minion.id.as_str()).into())
    });
    let minion = Arc::clone(minion);
    async move {
        let (Some(told), Some(master)) = (told, minion.masters.get(master)) else {
            return;
        };
        // The result waits for this, so that it is told after its beginning: no
        // longer than it would wait for a master that hangs anyway.
        let patience = Patience {
            timeout: DELIVERY_TIMEOUT,
            tries: 1,
        };
        if let Err(error) = master.channel.request(told, patience).await {
            debug!("could not report the start of a job: {}", chain(&error));
        }
    }
}

/// The fields of the report.
fn about(load: &PublishLoad, id: &str) -> Map {
    let mut about = Map::from([
        ("id", Value::from(id)),
        ("jid", Value::from(&load.jid)),
        ("fun", load.fun.to_value()),
        ("tgt", load.tgt.clone()),
        ("tgt_type", load.tgt_type.as_str().into()),
        ("user", load.user.clone().into()),
    ]);
    if let Some(metadata) = &load.metadata {
        about.insert("metadata", metadata.clone());
    }
    about
}

#[cfg(test)]
mod tests {
    use halite_proto::Jid;

    use super::*;

    #[test]
    fn what_is_told_is_what_salts_minions_tell() {
        let jid = Jid::parse("20261121104915836608").unwrap();
        let mut load = PublishLoad::new(
            "test.ping".into(),
            Vec::new(),
            Value::List(vec!["web1".into()]),
            "list",
            jid,
        );
        let keys = |load: &PublishLoad| {
            let told = about(load, "web1");
            let keys = told.keys().filter_map(Value::as_str);
            keys.collect::<Vec<_>>().join(" ")
        };
        assert_eq!(keys(&load), "id jid fun tgt tgt_type user");
        load.metadata = Some(Map::from([("a", 1)]).into());
        assert_eq!(keys(&load), "id jid fun tgt tgt_type user metadata");
    }
}
