//! Signatures of what minions return.

use halite_proto::request::RequestSignature;

use super::Caller;
use crate::keys::{Keys, signing_algorithm};

/// Whether the request is signed as the options demand.
pub(super) fn signature_suffices(
    keys: &Keys,
    caller: &Caller,
    signature: Option<&RequestSignature>,
) -> bool {
    let id = &caller.id;
    let Some(signature) = signature else {
        if keys.settings.require_minion_sign_messages {
            if caller.may_log("unsigned") {
                tracing::error!(minion = %id, "refused a return that is not signed (require_minion_sign_messages)");
            }
            return false;
        }
        return true;
    };
    // The algorithm that the minion names in the envelope is the one it signs
    // with; both that exist are safe to accept.
    let algorithm = signing_algorithm(caller.sig_algo.as_deref());
    let is_right = match (keys.accepted.public_key(id), algorithm) {
        (Some(key), Ok(algorithm)) => {
            key.verify(algorithm, &signature.message, &signature.signature)
        }
        _ => false,
    };
    if !is_right && caller.may_log("signature") {
        tracing::warn!(minion = %id, "the signature of a return is wrong");
    }
    is_right || !keys.settings.drop_messages_signature_fail
}
