//! The event bus of a master that may be restarted.

use std::time::Duration;

use halite_proto::chain;
use halite_transport::Endpoint;
use halite_transport::ipc::{BusEvent, EventSubscriber};

/// Pause before the bus is tried again after it was lost.
pub(super) const RECONNECT_PAUSE: Duration = Duration::from_millis(100);

/// How long a master that went away has to come back, as a service that is
/// restarted does.
pub(super) const BACK_WITHIN: Duration = Duration::from_secs(3);

/// What the bus has to say.
pub(super) enum BusNews {
    Event(BusEvent),
    Lost,
    Back,
}

/// The next event; a bus that is lost is tried again until it is back.
pub(super) async fn next_event(bus: &mut Option<EventSubscriber>, endpoint: &Endpoint) -> BusNews {
    let Some(connected) = bus else {
        loop {
            tokio::time::sleep(RECONNECT_PAUSE).await;
            if let Ok(again) = EventSubscriber::connect(endpoint).await {
                tracing::info!("the event bus is back");
                *bus = Some(again);
                return BusNews::Back;
            }
        }
    };
    match connected.next().await {
        Ok(Some(event)) => return BusNews::Event(event),
        Ok(None) => tracing::warn!("the master went away; trying to reach it again"),
        Err(error) => {
            tracing::warn!(
                "the master went away; trying to reach it again: {}",
                chain(&error)
            );
        }
    }
    *bus = None;
    BusNews::Lost
}
