//! The dialling side of a link beside a bus: sends the peer the keys of the
//! messages on the bus and their last number, and sends again what is missing
//! there.

use std::sync::Arc;

use tokio::io::AsyncWrite;
use tokio::sync::watch;
use tokio::time::sleep;

use crate::error::MeshError;
use crate::frame::{Frame, SharedKey};
use crate::limits::PING_EVERY;
use crate::nats::Bus;
use crate::peer::PeerId;
use crate::shared::Shared;
use crate::wire::write_frame;

/// Does so until the link ends. `heard` is what the peer had handled at its begin.
pub(crate) async fn tell_of_bus(
    mesh: &Arc<Shared>,
    bus: &Arc<Bus>,
    (peer, key): (&PeerId, &str),
    heard: u64,
    (mut writer, mut lacked): (impl AsyncWrite + Unpin, watch::Receiver<Option<u64>>),
) -> Result<(), MeshError> {
    let mut keys = bus.keys();
    let mut given = None;
    // What the log has forgotten already is not on the bus either.
    let mut lacks = Some(heard);
    loop {
        let sealing = Arc::clone(&keys.borrow_and_update());
        // After the key was read: one that was made because this peer was removed is not
        // for it.
        if !mesh.is_pinned(key, peer) {
            return Err(MeshError::Unpinned {
                dir: mesh.pins.dir().to_owned(),
            });
        }
        if given != Some(sealing.epoch) {
            let shared = SharedKey(sealing.key.shared());
            write_frame(&mut writer, &Frame::Key(sealing.epoch, shared)).await?;
            given = Some(sealing.epoch);
        }
        if let Some(number) = lacks.take()
            && let Some(last) = forgotten(mesh, number)
        {
            mesh.record_skipped(peer, number, last);
            write_frame(&mut writer, &Frame::Gap(last)).await?;
        }
        let stored = bus.stored_after(mesh.acknowledged_by(peer));
        let stored = Frame::Stored {
            number: stored.number,
            place: stored.sequence,
            clock_ms: bus.clock_ms(),
        };
        write_frame(&mut writer, &stored).await?;
        tokio::select! {
            _ = keys.changed() => {}
            _ = lacked.changed() => {
                lacks = *lacked.borrow_and_update();
                if let Some(number) = lacks {
                    // What it has handled it does not lack.
                    bus.put_again(number.max(mesh.acknowledged_by(peer)));
                }
            }
            () = sleep(PING_EVERY) => {}
        }
    }
}

/// The last message of those after a number that the log has forgotten.
fn forgotten(mesh: &Arc<Shared>, number: u64) -> Option<u64> {
    let (next, is_gap) = mesh.after(number, 1, 0);
    let first = next.first()?;
    is_gap.then_some(first.number - 1)
}
