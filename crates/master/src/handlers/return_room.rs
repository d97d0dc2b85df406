//! The room that a return takes in the job cache, which is limited for some returns of a
//! minion.

use halite_proto::MinionId;
use halite_proto::returns::{JobReturn, ReturnJid};

use crate::core::meant::Standing;
use crate::jobs::Jobs;
use crate::limits::MEANT_RETURN_BYTES_MAX;

/// Where a return is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Room {
    /// Its job is one of this master's, or takes no room here.
    OfMaster,
    /// This much of the room of its minion was taken for it.
    OfMinion(usize),
    /// Nowhere: the room is used up.
    None,
}

impl Room {
    pub(super) fn release(self, jobs: &Jobs, id: &MinionId) {
        if let Self::OfMinion(bytes) = self {
            jobs.release_room(id, bytes);
        }
    }
}

/// Finds room for a return. A minion's own return of a job that this master sent it
/// always has room up to a size, as there is only one; of all others, including those of
/// its resources, a minion has a limited number of bytes.
pub(super) fn room_for(jobs: &Jobs, id: &MinionId, is_its_own: bool, job: &JobReturn) -> Room {
    let free = match &job.jid {
        ReturnJid::NoCache => return Room::OfMaster,
        ReturnJid::Jid(_) if !jobs.stores_returns_anywhere() => return Room::OfMaster,
        ReturnJid::Jid(jid) if is_its_own && jobs.standing(jid, id) == Standing::Meant => {
            MEANT_RETURN_BYTES_MAX
        }
        ReturnJid::Jid(_) | ReturnJid::Req => 0,
    };
    let bytes = job.packed_len();
    if bytes < free {
        return Room::OfMaster;
    }
    let bytes = bytes - free;
    match jobs.reserve_room(id, bytes) {
        true => Room::OfMinion(bytes),
        false => Room::None,
    }
}
