//! Gives the fuzz targets access to the private decoders of this crate; no
//! interface.

use halite_proto::Value;
use halite_proto::msgpack::{pack_modern, unpack_modern};

use crate::encoding::DecodeError;
use crate::join;
use crate::sync::Message;

/// What a master that has proven itself says of its registers.
///
/// # Panics
/// When what was read is not what is written of it.
pub fn registers(bytes: &[u8]) {
    round(bytes, |value| Ok(Message::from_value(value)?.to_value()));
}

/// What a master that has proven itself says of what it knows of minions.
///
/// # Panics
/// When what was read is not what is written of it.
pub fn data(bytes: &[u8]) {
    round(bytes, |value| {
        Ok(crate::data::Message::from_value(value)?.to_value())
    });
}

/// What a master that has proven itself says of files.
///
/// # Panics
/// When what was read is not what is written of it.
pub fn roots(bytes: &[u8]) {
    round(bytes, |value| {
        Ok(crate::roots::Message::from_value(value)?.to_value())
    });
}

/// What a master that has proven itself says of what it does.
///
/// # Panics
/// When what was read is not what is written of it.
pub fn under_way(bytes: &[u8]) {
    round(bytes, |value| {
        Ok(crate::under_way::Message::from_value(value)?.to_value())
    });
}

/// What a master says that wants to join, or is asked by.
///
/// # Panics
/// When what was read is not what is written of it.
pub fn joining(bytes: &[u8]) {
    round(bytes, join::rewritten);
}

/// Reads a message and writes it again, and once more: the same comes of it.
fn round(bytes: &[u8], rewritten: impl Fn(Value) -> Result<Value, DecodeError>) {
    let Ok(Ok(written)) = unpack_modern(bytes).map(&rewritten) else {
        return;
    };
    let packed = pack_modern(&written).unwrap_or_default();
    let again = unpack_modern(&packed).map(rewritten);
    let again = again.ok().and_then(Result::ok);
    assert_eq!(again, Some(written));
}
