//! What fuzzing does with the private decoder of this crate; no interface.

use crate::frame::Frame;

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
