//! Whether one minion is connected, as far as this master knows.

use halite_proto::MinionId;
use halite_proto::clear::Connection;
use halite_store::Bank;

use super::Fleet;
use super::connected::Addresses;
use crate::core::roster::Presence;
use crate::limits::ABSENCE_MIN;

impl Fleet {
    /// The connection of a minion. The host's tables of connections are read into
    /// `addresses` once they are needed, which is for Salt's minions only.
    pub(crate) fn connection(
        &self,
        id: &MinionId,
        addresses: &mut Option<Addresses>,
    ) -> Connection {
        match (self.attendance.presence(id), self.absent_for(id)) {
            (Some(Presence::Here(since)), _) => Connection::Here(since),
            (Some(Presence::Away(since)), _) => Connection::Away(since),
            (None, Some(span)) if span >= ABSENCE_MIN => Connection::Absent,
            // It may be connecting again.
            (None, Some(_)) => Connection::PerhapsAway,
            (None, None) => {
                let port = self.settings.publish_port;
                let addresses = addresses.get_or_insert_with(|| Addresses::read(port));
                match self.data.get(Bank::Grains, id) {
                    Ok(Some(grains)) if addresses.are_of(&grains) => Connection::PerhapsHere,
                    // It may be behind the balancer, or at another master.
                    Ok(Some(_)) if self.attendance.is_clustered() => Connection::Unknown,
                    Ok(Some(_)) => Connection::PerhapsAway,
                    Ok(None) | Err(_) => Connection::Unknown,
                }
            }
        }
    }
}
