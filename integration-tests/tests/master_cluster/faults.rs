//! Which faults are made in a run of chaos, and how.

use anyhow::{Result, ensure};
use halite_integration_tests::chaos::Fault;
use halite_integration_tests::proxy::Cable;
use halite_integration_tests::{Kind, SHORT, Signal};
use halite_test_services::Server;

use crate::cabled::Cabled;

/// All faults of a cluster without shared files.
pub(crate) const ALL: [Fault; 10] = [
    Fault::MasterKilled,
    Fault::MasterHangs,
    Fault::MasterStopped,
    Fault::MasterDrains,
    Fault::CableCut,
    Fault::CableToNowhere,
    Fault::PeersCut,
    Fault::PeersToNowhere,
    Fault::PeersSlow,
    Fault::BusKilled,
];

/// Those by which no minion of Salt may miss a command.
pub(crate) const WITHOUT_CABLES: [Fault; 7] = [
    Fault::MasterKilled,
    Fault::MasterHangs,
    Fault::MasterStopped,
    Fault::MasterDrains,
    Fault::PeersCut,
    Fault::PeersToNowhere,
    Fault::PeersSlow,
];

/// Those of masters that share a directory, which fails in one of three cases.
pub(crate) const WITH_SHARED_FILES: [Fault; 12] = [
    Fault::MasterKilled,
    Fault::MasterHangs,
    Fault::MasterStopped,
    Fault::MasterDrains,
    Fault::CableCut,
    Fault::CableToNowhere,
    Fault::PeersCut,
    Fault::PeersToNowhere,
    Fault::KeysGone,
    Fault::KeysGone,
    Fault::KeysGone,
    Fault::KeysGone,
];

/// Those of masters on a store, which hangs in one of four cases.
pub(crate) const ON_STORE: [Fault; 12] = [
    Fault::MasterKilled,
    Fault::MasterHangs,
    Fault::MasterStopped,
    Fault::MasterDrains,
    Fault::CableCut,
    Fault::CableToNowhere,
    Fault::PeersCut,
    Fault::PeersToNowhere,
    Fault::PeersSlow,
    Fault::StoreHangs,
    Fault::StoreHangs,
    Fault::StoreHangs,
];

/// Makes a fault, if it can be made now.
pub(crate) fn begin(cabled: &mut Cabled, fault: Fault, which: usize) -> Result<bool> {
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
        Fault::BusKilled => match cabled.bus() {
            Some(bus) => bus.kill(),
            None => return Ok(false),
        },
        Fault::KeysGone => return cabled.lose_keys(),
        Fault::StoreHangs => match cabled.store() {
            Some(store) => store.pause(),
            None => return Ok(false),
        },
        // Not among those of a cluster.
        Fault::MinionKilled | Fault::MinionHangs => return Ok(false),
    }
    Ok(true)
}

/// Has what a fault was made of work again.
pub(crate) fn end(cabled: &mut Cabled, fault: Fault, which: usize) -> Result<()> {
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
        Fault::KeysGone => cabled.find_keys()?,
        Fault::StoreHangs => {
            if let Some(store) = cabled.store() {
                store.resume();
            }
        }
        Fault::MinionKilled | Fault::MinionHangs => {}
    }
    Ok(())
}
