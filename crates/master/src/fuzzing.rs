//! Gives the fuzz targets access to the private decoder of this crate; no
//! interface.

use crate::cluster::message::Message;

/// A message from a master of the cluster, which has authenticated.
///
/// # Panics
/// When what was read is not what is written of it.
pub fn cluster_message(bytes: &[u8]) {
    let Some(message) = Message::decode(bytes) else {
        return;
    };
    // What is nested as deep as can be read is too deep to be written again.
    let Ok(written) = message.encode() else {
        return;
    };
    let again = Message::decode(&written).and_then(|again| again.encode().ok());
    assert_eq!(again, Some(written));
}
