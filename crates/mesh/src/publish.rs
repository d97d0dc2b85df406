//! Puts what this master tells on the bus, in order.

use std::sync::Arc;

use tokio::task::spawn_blocking;
use tokio::time::timeout;

use crate::error::{MeshError, chain};
use crate::limits::{BATCH_BYTES_MAX, BATCH_MESSAGES_MAX, BUS_RECONNECT_MAX, BUS_RECONNECT_MIN};
use crate::log::Told;
use crate::nats::{Bus, Engine};
use crate::shared::Shared;

/// Does so for as long as it is polled.
pub(crate) async fn publish_all(mesh: &Arc<Shared>, bus: &Arc<Bus>, engine: &Engine) {
    let mut last = mesh.last();
    let mut wanted = bus.wanted();
    let mut removals = mesh.pins.removals();
    let mut pause = BUS_RECONNECT_MIN;
    engine.wait_connected().await;
    if let Err(error) = engine.ensure_stream().await {
        note_not_stored(bus, engine, &error);
    }
    loop {
        last.borrow_and_update();
        wanted.borrow_and_update();
        let (told, _) = mesh.after(bus.next_after(), BATCH_MESSAGES_MAX, BATCH_BYTES_MAX);
        if told.is_empty() {
            tokio::select! {
                changed = last.changed() => if changed.is_err() { return },
                changed = wanted.changed() => if changed.is_err() { return },
            }
            continue;
        }
        engine.wait_connected().await;
        // Nobody who is no peer any more opens what is told from now on: looked at last,
        // as the engine may have been away for long.
        let now = mesh.pins.removals();
        if now != removals {
            removals = now;
            bus.renew_key();
        }
        let end = told.last().map_or(0, |told| told.number);
        // Who is linked hears also what is not kept, or not yet; others ask for it when
        // they are back.
        let put = tokio::select! {
            put = put(bus, engine, told) => put,
            () = heard_by_all(mesh, end) => {
                bus.note_heard(end);
                continue;
            }
        };
        let Err(error) = put else {
            pause = BUS_RECONNECT_MIN;
            bus.note_storing(true);
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
            "the bus of the cluster keeps nothing of what this master tells: masters that are \
             connected hear it, others when they are back: {}",
            chain(error)
        );
    }
}

/// Puts one batch on the engine: all of its pieces, as those who are linked hear them
/// also if it keeps none.
async fn put(bus: &Arc<Bus>, engine: &Engine, told: Vec<Told>) -> Result<(), MeshError> {
    let (Some(first), Some(last)) = (told.first(), told.last()) else {
        return Ok(());
    };
    let (first, last) = (first.number, last.number);
    let (of, piece_bytes) = (Arc::clone(bus), engine.piece_bytes_max()?);
    let pieces = spawn_blocking(move || of.seal(&told, piece_bytes));
    let pieces = pieces.await.map_err(std::io::Error::other)?;
    let (mut place, mut not_kept) = (None, None);
    for piece in pieces {
        match engine.store(&bus.options.own, piece).await {
            Ok(stored) => {
                place.get_or_insert(stored);
            }
            Err(MeshError::BusAway) => return Err(MeshError::BusAway),
            Err(error) => {
                not_kept.get_or_insert(error);
            }
        }
    }
    match (not_kept, place) {
        (Some(error), _) => return Err(error),
        (None, Some(place)) => bus.note_stored(first - 1, last, place),
        (None, None) => {}
    }
    Ok(())
}
