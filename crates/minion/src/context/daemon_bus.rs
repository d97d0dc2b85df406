//! Requests to the minion daemon on this machine, from a program beside it:
//! `salt-call`.

use std::time::Duration;

use halite_call::ContextError;
use halite_proto::event::Event;
use halite_proto::{Map, Tag};
use halite_transport::Endpoint;
use halite_transport::ipc::{BusEvent, EventPusher, EventSubscriber};
use tokio::time::{Instant, timeout};

use crate::minion::{BEACON_REQUESTS, SCHEDULE_REQUESTS, unix_micros};

/// A part of the minion that answers requests over its bus.
pub(crate) struct Part {
    /// The tag of requests.
    request: &'static str,
    /// How the tags of answers begin.
    answer: &'static str,
}

/// The schedule.
pub(crate) const SCHEDULE: Part = Part {
    request: SCHEDULE_REQUESTS,
    answer: "/salt/minion/minion_schedule_",
};

/// The beacons.
pub(crate) const BEACONS: Part = Part {
    request: BEACON_REQUESTS,
    answer: "/salt/minion/minion_beacon",
};

/// How long the minion may take to answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);

/// How long a bus may take to hear a new listener.
const HEARD_TIMEOUT: Duration = Duration::from_secs(5);

/// How often it is tried out whether it has.
const TRY_INTERVAL: Duration = Duration::from_millis(20);

/// Puts an event on the minion's bus.
pub(crate) async fn tell(
    bus: &(Endpoint, Endpoint),
    tag: &str,
    data: Map,
) -> Result<(), ContextError> {
    let none = |_| ContextError::NoMaster;
    let mut requests = EventPusher::connect(&bus.1).await.map_err(none)?;
    push(&mut requests, tag, data).await
}

/// Sends a request to a part of the minion and waits for its answer.
pub(crate) async fn ask(
    bus: &(Endpoint, Endpoint),
    part: &Part,
    request: Map,
) -> Result<Map, ContextError> {
    let none = |_| ContextError::NoMaster;
    let mut answers = EventSubscriber::connect(&bus.0).await.map_err(none)?;
    let mut requests = EventPusher::connect(&bus.1).await.map_err(none)?;
    until_heard(&mut answers, &mut requests).await?;
    push(&mut requests, part.request, request).await?;
    let deadline = Instant::now() + ANSWER_TIMEOUT;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let event = next(&mut answers, left).await?;
        let is_answer = event.tag().starts_with(part.answer);
        if is_answer && let Ok(event) = event.unpack() {
            return Ok(event.data);
        }
    }
}

/// Waits until what is sent comes back: from then on no answer is missed.
async fn until_heard(
    answers: &mut EventSubscriber,
    requests: &mut EventPusher,
) -> Result<(), ContextError> {
    let echo = format!("halite/echo/{}", std::process::id());
    let deadline = Instant::now() + HEARD_TIMEOUT;
    while Instant::now() < deadline {
        push(requests, &echo, Map::new()).await?;
        match next(answers, TRY_INTERVAL).await {
            Ok(event) if event.tag() == echo => return Ok(()),
            Ok(_) | Err(ContextError::TimedOut { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Err(silent(HEARD_TIMEOUT))
}

async fn push(requests: &mut EventPusher, tag: &str, data: Map) -> Result<(), ContextError> {
    let tag = Tag::parse(tag).map_err(|error| ContextError::Other(error.to_string()))?;
    let mut event = Event::new(tag, data);
    event.stamp(unix_micros(), true);
    let packed = event.pack();
    let packed = packed.map_err(|error| ContextError::Other(error.to_string()))?;
    let pushed = requests.push(&packed).await;
    pushed.map_err(|error| ContextError::Other(error.to_string()))
}

async fn next(answers: &mut EventSubscriber, wait: Duration) -> Result<BusEvent, ContextError> {
    match timeout(wait, answers.next()).await {
        Ok(Ok(Some(event))) => Ok(event),
        Ok(Ok(None)) => Err(ContextError::NoMaster),
        Ok(Err(error)) => Err(ContextError::Other(error.to_string())),
        Err(_) => Err(silent(wait)),
    }
}

fn silent(waited: Duration) -> ContextError {
    ContextError::TimedOut {
        seconds: waited.as_secs(),
    }
}
