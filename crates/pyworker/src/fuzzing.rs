//! Gives the fuzz targets access to the private decoders of this crate; no
//! interface.

use crate::frames::receive;
use crate::values::{decode, encode};

/// What the process writes to its pipe: frames of JSON.
///
/// # Panics
/// When a value that can be sent is another one afterwards.
pub fn frames(mut bytes: &[u8]) {
    while let Ok(json) = receive(&mut bytes) {
        let value = decode(json);
        let Ok(again) = encode(&value) else {
            continue;
        };
        // What is not a number is not equal to itself.
        assert_eq!(format!("{:?}", decode(again)), format!("{value:?}"));
    }
}
