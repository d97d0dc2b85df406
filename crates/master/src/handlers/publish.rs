//! The clear `publish` of programs on the master's host.

use halite_proto::Jid;
use halite_proto::clear::{PublishReply, PublishRequest};

use crate::events::bus::Bus;
use crate::publishing::{Judged, Published, Publishing};

/// Publishes a job for a local program.
pub(crate) fn publish(
    publishing: &Publishing,
    bus: &Bus,
    request: &mut PublishRequest,
) -> Published {
    let listens = request.take_listens();
    let Judged {
        request,
        resolved,
        restricted,
    } = match publishing.judge(request) {
        Ok(judged) => *judged,
        Err(refused) => return refused,
    };
    let before = |jid: &Jid| {
        if !listens {
            bus.expect_late(jid);
        }
    };
    match publishing.send_after(&request, &resolved, restricted, before) {
        Ok(jid) => PublishReply::Accepted {
            jid,
            minions: resolved.minions,
            missing: resolved.missing,
            trouble: listens.then(|| publishing.trouble()).flatten(),
            is_ours: listens,
        },
        Err(error) => PublishReply::Error(error),
    }
    .into()
}
