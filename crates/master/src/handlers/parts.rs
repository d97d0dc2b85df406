//! Which parts of the master the larger handlers use.

use halite_transport::fleet::Origin;

use super::events::Firing;
use super::peer::PeerJobs;
use super::pillar::PillarRequests;
use super::returns::Returns;
use super::sign_in::SignIns;
use super::standing::Standings;
use crate::comparison::facts::Known;
use crate::master::Master;

impl Master {
    /// For sign-ins that come from there.
    pub(crate) fn sign_ins(&self, from: Origin) -> SignIns<'_> {
        SignIns {
            from,
            telemetry: &self.telemetry,
            bus: &self.bus,
            keys: &self.keys,
            fleet: &self.fleet,
            publisher: &self.publishing.publisher,
            jobs: &self.jobs,
            files: &self.files,
            cluster: self.cluster.as_deref(),
        }
    }

    /// For questions about single minions.
    pub(crate) fn standings(&self) -> Standings<'_> {
        Standings {
            keys: &self.keys,
            jobs: &self.jobs,
            fleet: &self.fleet,
            access: &self.access,
        }
    }

    /// For questions of other masters.
    pub(crate) fn comparable(&self) -> Known<'_> {
        Known {
            general: &self.general,
            keys: &self.keys,
            files: &self.files,
            jobs: &self.jobs,
            publishing: &self.publishing,
            cluster: self.cluster.as_deref(),
            registers: self.registers.as_deref(),
        }
    }

    /// For events of minions.
    pub(super) fn firing(&self) -> Firing<'_> {
        Firing {
            fired: &self.minion_events,
            keys: &self.keys,
        }
    }

    /// For results of jobs.
    pub(super) fn returns(&self) -> Returns<'_> {
        Returns {
            bus: &self.bus,
            keys: &self.keys,
            jobs: &self.jobs,
            fleet: &self.fleet,
            cluster: self.cluster.as_deref(),
        }
    }

    /// For jobs that minions publish.
    pub(super) fn peer_jobs(&self) -> PeerJobs<'_> {
        PeerJobs {
            general: &self.general,
            bus: &self.bus,
            jobs: &self.jobs,
            fleet: &self.fleet,
            publishing: &self.publishing,
        }
    }

    /// For pillars.
    pub(super) fn pillar_requests(&self) -> PillarRequests {
        PillarRequests {
            bus: self.bus.clone(),
            keys: self.keys.clone(),
            fleet: self.fleet.clone(),
            pillars: self.pillars.clone(),
        }
    }
}
