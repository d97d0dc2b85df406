//! Gives the fuzz targets access to the private decoders of this crate; no
//! interface.

use std::time::{Duration, Instant};

use crate::frame::Frame;
use crate::log::LoggedMessage;
use crate::nats::batch::{self, HEAD_BYTES, Head};

/// What stands behind the length of a frame.
///
/// # Panics
/// When a frame that was read is not the one that its bytes make again.
pub fn frame(bytes: &[u8]) {
    let Ok(frame) = Frame::decode(bytes) else {
        return;
    };
    let again = frame.encode();
    let (length, body) = again.split_at(4);
    assert_eq!(length, u32::try_from(body.len()).unwrap_or(0).to_be_bytes());
    let read = Frame::decode(body);
    assert_eq!(read.ok(), Some(frame));
}

/// A piece of a batch on the bus: its head, and what was sealed behind it.
///
/// # Panics
/// When what was read is not what its bytes make again, or has a gap.
pub fn batch(bytes: &[u8]) {
    let Some(head) = Head::decode(bytes) else {
        return;
    };
    let (begin, rest) = bytes.split_at(HEAD_BYTES);
    assert_eq!(head.encode(), begin);
    let Some(entries) = batch::decode(rest, head.first, head.last) else {
        return;
    };
    let numbers: Vec<u64> = entries.iter().map(|entry| entry.number).collect();
    assert!(numbers.iter().copied().eq(head.first..=head.last));
    let begun = Instant::now();
    let told = |entry: batch::Entry| {
        Some(LoggedMessage {
            number: entry.number,
            at: begun.checked_add(Duration::from_millis(entry.at_ms))?,
            to: entry.to,
            message: entry.message.into(),
        })
    };
    // Times that no clock shows cannot be written again.
    let told: Option<Vec<LoggedMessage>> = entries.into_iter().map(told).collect();
    if let Some(told) = told {
        assert_eq!(batch::encode(&told, begun), rest);
    }
}
