//! The faults of the chaos of a cluster, made and mended.

use std::time::Instant;

use anyhow::{Result, ensure};
use halite_integration_tests::chaos::{Fault, Part, Trouble};
use halite_integration_tests::proxy::Cable;
use halite_integration_tests::{FullDisk, Kind, SHORT, Signal};
use halite_test_services::Server;

use super::Chaos;

impl Chaos {
    /// Makes a fault, if it can be made now.
    pub(super) fn begin(&mut self, fault: Fault, which: usize) -> Result<bool> {
        let cabled = &mut self.cabled;
        match fault {
            Fault::MasterKilled => cabled.masters[which].kill9()?,
            Fault::MasterHangs => cabled.masters[which].daemon().signal(Signal::SIGSTOP)?,
            Fault::MasterStopped => cabled.masters[which].daemon().signal(Signal::SIGTERM)?,
            Fault::MasterDrains => {
                let tools = cabled.masters[which].tools(Kind::Ours);
                let said = tools.runner(&["cluster.drain", "--out=json"])?;
                // It is refused where nobody could take the minions.
                return Ok(said.stdout.trim() == "true");
            }
            Fault::CableCut => cabled.set_front(which, Cable::Cut),
            Fault::CableToNowhere => cabled.set_front(which, Cable::Nowhere),
            Fault::PeersCut => cabled.set_links(which, Cable::Cut),
            Fault::PeersToNowhere => cabled.set_links(which, Cable::Nowhere),
            Fault::PeersSlow => cabled.set_slow(which, true),
            Fault::BusKilled | Fault::BusHangs => match (cabled.bus(), fault) {
                (Some(bus), Fault::BusKilled) => bus.kill(),
                (Some(bus), _) => bus.pause(),
                (None, _) => return Ok(false),
            },
            // A master that is started meanwhile needs the directory.
            Fault::DiskFull if self.troubles.of(Part::Master, which).is_some() => return Ok(false),
            Fault::DiskFull => {
                let jobs = cabled.masters[which].dir().join("cache/jobs");
                self.full = Some((which, FullDisk::at(&jobs)?));
            }
            // Not among those of this test.
            Fault::MinionKilled | Fault::MinionHangs => return Ok(false),
        }
        Ok(true)
    }

    /// Has a master's job cache take what comes.
    fn mend(&mut self, which: usize) -> Result<()> {
        match self.full.take_if(|(of, _)| *of == which) {
            Some((_, full)) => full.mend(),
            None => Ok(()),
        }
    }

    pub(super) fn heal(&mut self, now: Instant) -> Result<()> {
        for Trouble { fault, which, .. } in self.troubles.take_over(now) {
            if matches!(fault.part(), Part::Master | Part::Disk) {
                self.mend(which)?;
            }
            let cabled = &mut self.cabled;
            match fault {
                Fault::MasterKilled => cabled.masters[which].start()?,
                Fault::MasterHangs => cabled.masters[which].daemon().signal(Signal::SIGCONT)?,
                Fault::MasterStopped | Fault::MasterDrains => {
                    let master = &mut cabled.masters[which];
                    if fault == Fault::MasterDrains {
                        master.daemon().signal(Signal::SIGTERM)?;
                    }
                    let code = master.daemon().wait_exit(SHORT)?;
                    ensure!(code == 0, "m{} has ended with {code}", which + 1);
                    master.start()?;
                }
                Fault::CableCut | Fault::CableToNowhere => cabled.set_front(which, Cable::Whole),
                Fault::PeersCut | Fault::PeersToNowhere => cabled.set_links(which, Cable::Whole),
                Fault::PeersSlow => cabled.set_slow(which, false),
                Fault::BusKilled => cabled.bus().map_or(Ok(()), Server::start)?,
                Fault::BusHangs => cabled.bus().into_iter().for_each(Server::resume),
                Fault::MinionKilled | Fault::MinionHangs | Fault::DiskFull => {}
            }
        }
        Ok(())
    }
}
