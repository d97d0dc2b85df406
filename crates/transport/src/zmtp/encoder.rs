//! From messages and commands to bytes.

use super::decoder::{COMMAND, GREETING_BYTES, LONG, MORE};

/// The largest body that fits into a short frame.
const SHORT_BYTES_MAX: usize = 255;

/// The head of a frame.
pub(crate) fn encode_head(out: &mut Vec<u8>, more: bool, bytes: usize) {
    let more = if more { MORE } else { 0 };
    match u8::try_from(bytes) {
        Ok(short) if bytes <= SHORT_BYTES_MAX => out.extend([more, short]),
        _ => {
            out.push(more | LONG);
            out.extend((bytes as u64).to_be_bytes());
        }
    }
}

/// A whole message.
pub(crate) fn encode(frames: &[&[u8]]) -> Vec<u8> {
    const HEAD_BYTES_MAX: usize = 9;
    let bytes = frames.iter().map(|frame| frame.len() + HEAD_BYTES_MAX);
    let mut out = Vec::with_capacity(bytes.sum());
    for (n, frame) in frames.iter().enumerate() {
        encode_head(&mut out, n + 1 < frames.len(), frame.len());
        out.extend_from_slice(frame);
    }
    out
}

/// What this side says first: greeting and `READY` of a socket of a kind.
pub(super) fn encode_greeting(kind: &str) -> Vec<u8> {
    let mut out = vec![0; GREETING_BYTES];
    out[0] = 0xff;
    out[9] = 0x7f;
    out[10] = 3;
    out[12..16].copy_from_slice(b"NULL");
    let mut ready = Vec::from(*b"\x05READY");
    for (name, value) in [("Socket-Type", kind), ("Identity", "")] {
        property(&mut ready, name, value);
    }
    encode_command(&mut out, &ready);
    out
}

/// The answer to a `PING`.
pub(super) fn encode_pong(context: &[u8]) -> Vec<u8> {
    let mut pong = Vec::from(*b"\x04PONG");
    pong.extend_from_slice(context);
    let mut out = Vec::new();
    encode_command(&mut out, &pong);
    out
}

/// A property of `READY`.
fn property(out: &mut Vec<u8>, name: &str, value: &str) {
    out.push(u8::try_from(name.len()).unwrap_or(u8::MAX));
    out.extend_from_slice(name.as_bytes());
    out.extend(u32::try_from(value.len()).unwrap_or(u32::MAX).to_be_bytes());
    out.extend_from_slice(value.as_bytes());
}

/// A command, its name included.
pub(super) fn encode_command(out: &mut Vec<u8>, body: &[u8]) {
    let at = out.len();
    encode_head(out, false, body.len());
    out[at] |= COMMAND;
    out.extend_from_slice(body);
}
