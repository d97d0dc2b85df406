//! The status of the registers.

use std::time::Duration;

use halite_cluster::PeerId;

use super::KeyRegisters;
use crate::clock::now_micros;

/// A member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MemberStatus {
    /// Its name.
    pub(crate) id: PeerId,
    /// Where it is reached.
    pub(crate) address: String,
}

/// The registers, as they are shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RegisterStatus {
    /// Names of minions that are known, deleted ones included.
    pub(crate) names: usize,
    /// The deleted ones among them, which some member may not have heard of.
    pub(crate) deleted: usize,
    /// How often the publish key has changed.
    pub(crate) epoch: u64,
    /// How old the youngest deletion is that all members know of; nothing where
    /// there was none.
    pub(crate) settled_ago: Option<Duration>,
    /// This master has joined and does not have the keys yet.
    pub(crate) is_joining: bool,
    /// Why the registers are not kept.
    pub(crate) trouble: Option<String>,
}

impl KeyRegisters {
    /// The members.
    pub(crate) fn members(&self) -> Vec<MemberStatus> {
        let state = self.state();
        let members = state.mirror.registers.members();
        let member = |(id, _, address): (&PeerId, &str, &str)| MemberStatus {
            id: id.clone(),
            address: address.to_owned(),
        };
        members.map(member).collect()
    }

    /// The state of the registers.
    pub(crate) fn status(&self) -> RegisterStatus {
        let state = self.state();
        let registers = &state.mirror.registers;
        let (names, deleted) = registers.key_counts();
        let floor = registers.floor().micros;
        RegisterStatus {
            names,
            deleted,
            epoch: registers.publish_key().map_or(0, |key| key.epoch),
            settled_ago: (floor > 0)
                .then(|| Duration::from_micros(now_micros().saturating_sub(floor))),
            is_joining: state.mirror.is_joining(),
            trouble: state.trouble.clone(),
        }
    }
}
