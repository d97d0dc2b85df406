//! Which faults are made in a run of chaos.

use halite_integration_tests::chaos::Fault;

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
