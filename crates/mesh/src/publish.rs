//! Puts this master's messages on the bus, in order.

use std::pin::{Pin, pin};
use std::sync::Arc;

use halite_proto::chain;
use tokio::sync::watch;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep, sleep_until, timeout};

use crate::error::MeshError;
use crate::limits::{
    BATCH_BYTES_MAX, BATCH_MESSAGES_MAX, BUS_AGAIN_MIN, BUS_PROBE_EVERY, BUS_RECONNECT_MAX,
    BUS_RECONNECT_MIN,
};
use crate::log::LoggedMessage;
use crate::nats::{Bus, Engine};
use crate::shared::Shared;

/// Does so for as long as it is polled.
pub(crate) async fn publish_all(mesh: &Arc<Shared>, bus: &Arc<Bus>, engine: &Engine) {
    engine.wait_connected().await;
    if let Err(error) = engine.ensure_stream().await {
        note_not_stored(bus, engine, &error);
    }
    let mut publishing = Publishing {
        mesh,
        bus,
        engine,
        wanted: bus.wanted(),
        removals: mesh.pins.removals(),
        unanswered: None,
    };
    let mut last = mesh.last();
    let mut pause = BUS_RECONNECT_MIN;
    loop {
        last.borrow_and_update();
        publishing.wanted.borrow_and_update();
        let (told, _) = mesh.after(bus.next_after(), BATCH_MESSAGES_MAX, BATCH_BYTES_MAX);
        if told.is_empty() {
            if publishing.wait_for_more(&mut last).await.is_none() {
                return;
            }
            continue;
        }
        let end = told.last().map_or(0, |told| told.number);
        let Err(error) = publishing.put(told, end).await else {
            pause = BUS_RECONNECT_MIN;
            continue;
        };
        // It may be a new engine, which has no stream yet.
        let made = engine.ensure_stream().await;
        // A stream that was missing and was made now is not worth a word.
        let is_again = pause > BUS_RECONNECT_MIN;
        if let Err(error) = made.and(if is_again { Err(error) } else { Ok(()) }) {
            note_not_stored(bus, engine, &error);
        }
        let _ = timeout(pause, heard_by_all(mesh, end)).await;
        pause = (pause * 2).min(BUS_RECONNECT_MAX);
        if mesh.is_handled_by_all(end) {
            bus.note_heard(end);
        }
    }
}

/// A batch that the engine keeps.
struct Kept {
    first: u64,
    last: u64,
    /// Where its first piece is in the engine's stream.
    place: u64,
}

/// A batch on its way to the engine, until that says that it keeps it.
type Putting<'a> = Pin<Box<dyn Future<Output = Result<Option<Kept>, MeshError>> + Send + 'a>>;

/// What is on its way.
struct Publishing<'a> {
    mesh: &'a Arc<Shared>,
    bus: &'a Arc<Bus>,
    engine: &'a Engine,
    /// Changes when a peer lacks something.
    wanted: watch::Receiver<u64>,
    /// Peers that were removed when the key was looked at last.
    removals: usize,
    /// A batch that all who are linked have heard: whether it is kept too is still to be
    /// seen.
    unanswered: Option<Putting<'a>>,
}

impl<'a> Publishing<'a> {
    /// Waits until there is more to do; `None` when there never is.
    async fn wait_for_more(&mut self, last: &mut watch::Receiver<u64>) -> Option<()> {
        tokio::select! {
            changed = last.changed() => changed.ok(),
            changed = self.wanted.changed() => changed.ok(),
            () = sleep(BUS_PROBE_EVERY), if self.is_in_doubt() => {
                // The last one once more: whether the engine keeps it by now.
                let told = *last.borrow();
                self.bus.tell_again(told.saturating_sub(1));
                Some(())
            }
            answer = answered(&mut self.unanswered) => {
                note_answer(self.bus, self.engine, &answer);
                Some(())
            }
        }
    }

    /// Whether the engine kept nothing last, and is not being asked.
    fn is_in_doubt(&self) -> bool {
        let is_connected = self.engine.is_connected();
        is_connected && !self.bus.is_storing() && self.unanswered.is_none()
    }

    /// Puts a batch on the engine, up to the message with this number: until it is kept,
    /// or all who are linked have heard it. Others ask for it when they are back.
    async fn put(&mut self, told: Vec<LoggedMessage>, end: u64) -> Result<(), MeshError> {
        let (mesh, bus, engine) = (self.mesh, self.bus, self.engine);
        engine.wait_connected().await;
        // Nobody who is no peer any more opens what is told from now on: looked at last,
        // as the engine may have been away for long.
        let now = mesh.pins.removals();
        if now != self.removals {
            self.removals = now;
            bus.renew_key();
        }
        let mut putting: Putting<'a> = Box::pin(put(bus, engine, told));
        let mut lacked = pin!(lacked(&mut self.wanted, Instant::now()));
        loop {
            tokio::select! {
                kept = &mut putting => {
                    if let Some(kept) = kept? {
                        bus.note_stored(kept.first - 1, kept.last, kept.place);
                    }
                    bus.note_storing(true);
                    return Ok(());
                }
                () = &mut lacked => return Ok(()),
                () = heard_by_all(mesh, end) => break,
                answer = answered(&mut self.unanswered) => note_answer(bus, engine, &answer),
            }
        }
        bus.note_heard(end);
        self.unanswered.get_or_insert(putting);
        Ok(())
    }
}

/// Waits for what becomes of a batch; for ever without one.
async fn answered(unanswered: &mut Option<Putting<'_>>) -> Result<Option<Kept>, MeshError> {
    let Some(putting) = unanswered else {
        return std::future::pending().await;
    };
    let answer = putting.await;
    *unanswered = None;
    answer
}

/// Where a batch that is heard would be is of no use: the next ones stand behind it.
fn note_answer(bus: &Bus, engine: &Engine, answer: &Result<Option<Kept>, MeshError>) {
    match answer {
        Ok(_) => drop(bus.note_storing(true)),
        Err(MeshError::BusAway) => {}
        Err(error) => note_not_stored(bus, engine, error),
    }
}

/// Waits until a peer lacks what has been on its way since then: its own connection had
/// ended. At most once a second, and after the last one has said so.
async fn lacked(wanted: &mut watch::Receiver<u64>, began: Instant) {
    if wanted.changed().await.is_err() {
        return std::future::pending().await;
    }
    sleep_until(began + BUS_AGAIN_MIN).await;
}

/// Waits until somebody is linked, and all who are have handled a message.
async fn heard_by_all(mesh: &Shared, number: u64) {
    let mut changed = mesh.changes();
    loop {
        changed.borrow_and_update();
        if mesh.is_handled_by_all(number) {
            return;
        }
        if changed.changed().await.is_err() {
            return std::future::pending().await;
        }
    }
}

/// Says once that the engine is there and does not keep what is told: it comes to those
/// who are linked alone.
fn note_not_stored(bus: &Bus, engine: &Engine, error: &MeshError) {
    if engine.is_connected() && bus.note_storing(false) {
        tracing::error!(
            "the bus of the cluster does not store the messages of this master: connected \
             masters receive them at once, others when they are back: {}",
            chain(error)
        );
    }
}

/// Puts one batch on the engine: all of its pieces, as those who are linked hear them
/// also if it keeps none.
async fn put(
    bus: &Arc<Bus>,
    engine: &Engine,
    told: Vec<LoggedMessage>,
) -> Result<Option<Kept>, MeshError> {
    let (Some(first), Some(last)) = (told.first(), told.last()) else {
        return Ok(None);
    };
    let (first, last) = (first.number, last.number);
    let (of, piece_bytes) = (Arc::clone(bus), engine.piece_bytes_max()?);
    let pieces = spawn_blocking(move || of.seal(&told, piece_bytes));
    let pieces = pieces.await.map_err(std::io::Error::other)?;
    // All are on their way before an answer is waited for: there may never be one.
    let mut sent = Vec::with_capacity(pieces.len());
    for piece in pieces {
        sent.push(engine.send(&bus.options.own, piece).await?);
    }
    let (mut place, mut not_kept) = (None, None);
    for piece in sent {
        match piece.kept().await {
            Ok(stored) => {
                place.get_or_insert(stored);
            }
            Err(MeshError::BusAway) => return Err(MeshError::BusAway),
            Err(error) => {
                not_kept.get_or_insert(error);
                // None of the others is waited for as long again.
                break;
            }
        }
    }
    match not_kept {
        Some(error) => Err(error),
        None => Ok(place.map(|place| Kept { first, last, place })),
    }
}
