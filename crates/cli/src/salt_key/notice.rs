//! Informs a running master about changed keys.

use std::time::Duration;

use halite_key::Change;
use halite_process::clock::unix_micros;
use halite_proto::event::Event;
use halite_proto::{Map, Tag, Value};
use halite_transport::Endpoint;
use halite_transport::ipc::{ConnectError, EventPusher};

/// The tag of the events.
const TAG: &str = "salt/key";

/// How long a master may take to read them.
const TIMEOUT: Duration = Duration::from_secs(2);

/// Fires an event for each change. The keys are changed already, so a master
/// that does not listen is no error.
pub(super) async fn fire(endpoint: &Endpoint, changes: &[Change]) {
    if changes.is_empty() {
        return;
    }
    match tokio::time::timeout(TIMEOUT, push(endpoint, changes)).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::debug!("{}", crate::chain(error.as_ref())),
        Err(_) => tracing::warn!("the master does not accept events"),
    }
}

async fn push(
    endpoint: &Endpoint,
    changes: &[Change],
) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let mut bus = match EventPusher::connect(endpoint).await {
        Ok(bus) => bus,
        Err(ConnectError::NotRunning { .. }) => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    for change in changes {
        let mut event = Event::new(Tag::parse(TAG)?, data(change));
        event.stamp(unix_micros(), true);
        bus.push(&event.pack()?).await?;
    }
    Ok(())
}

fn data(change: &Change) -> Map {
    let mut data = Map::from([
        ("result", Value::from(true)),
        (
            "act",
            change.to.map_or("delete", |state| state.word()).into(),
        ),
        ("id", Value::from(&change.id)),
    ]);
    if change.to.is_some() && !change.pem.is_empty() {
        data.insert("pub", change.pem.as_str());
    }
    data
}
