//! Puts what this master tells on the bus, in order.

use std::sync::Arc;

use tokio::task::spawn_blocking;
use tokio::time::sleep;

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
    let mut was_said = false;
    let mut attempts = 0u64;
    engine.wait_connected().await;
    if let Err(error) = engine.ensure_stream().await {
        tracing::debug!("no stream on the bus yet: {}", chain(&error));
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
        attempts += 1;
        match put(bus, engine, told, attempts).await {
            Ok(()) => {
                pause = BUS_RECONNECT_MIN;
                was_said = false;
            }
            Err(error) => {
                // It may be a new engine, which has no stream yet.
                let made = engine.ensure_stream().await;
                if let Err(error) = made.and(Err::<(), _>(error))
                    && attempts > 1
                    && !was_said
                    && engine.is_connected()
                {
                    was_said = true;
                    tracing::error!("the bus does not keep what is told: {}", chain(&error));
                }
                sleep(pause).await;
                pause = (pause * 2).min(BUS_RECONNECT_MAX);
            }
        }
    }
}

/// Puts one batch on the engine. The id of a piece is that of the attempt: what is
/// put there again because it was lost must not be taken for a repetition.
async fn put(
    bus: &Arc<Bus>,
    engine: &Engine,
    told: Vec<Told>,
    attempt: u64,
) -> Result<(), MeshError> {
    let (Some(first), Some(last)) = (told.first(), told.last()) else {
        return Ok(());
    };
    let (first, last) = (first.number, last.number);
    let (of, piece_bytes) = (Arc::clone(bus), engine.piece_bytes_max());
    let pieces = spawn_blocking(move || of.seal(&told, piece_bytes));
    let pieces = pieces.await.map_err(std::io::Error::other)?;
    let mut place = None;
    for (n, piece) in pieces.into_iter().enumerate() {
        let id = format!("{}-{first}-{attempt}-{n}", bus.life());
        let stored = engine.store(&bus.options.own, piece, &id).await?;
        place.get_or_insert(stored);
    }
    if let Some(place) = place {
        bus.note_stored(first - 1, last, place);
    }
    Ok(())
}
