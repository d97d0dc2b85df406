//! What can go wrong in a run of chaos, with what, and until when.

use std::time::Instant;

/// What can go wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// `kill -9` of a master.
    MasterKilled,
    /// A master is stopped with SIGSTOP.
    MasterHangs,
    /// A master is asked to stop, and started again.
    MasterStopped,
    /// A master hands its minions over, and is started again.
    MasterDrains,
    /// `kill -9` of a minion.
    MinionKilled,
    /// A minion is stopped with SIGSTOP.
    MinionHangs,
    /// The cable to a master is cut.
    CableCut,
    /// The cable to a master leads nowhere.
    CableToNowhere,
    /// The links between two masters are cut.
    PeersCut,
    /// The links between two masters lead nowhere.
    PeersToNowhere,
    /// Little passes on the links between two masters.
    PeersSlow,
    /// `kill -9` of what carries what masters tell each other.
    BusKilled,
    /// The directory of the keys, which all masters share, cannot be used.
    KeysGone,
    /// The server of the store, which all masters share, is stopped with SIGSTOP.
    StoreHangs,
}

/// What has a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// A master.
    Master,
    /// A minion.
    Minion,
    /// What leads minions to a master.
    Cable,
    /// What leads two masters to each other, or one of them to the bus.
    Peers,
    /// What carries what masters tell each other.
    Bus,
    /// The directory of the keys.
    Keys,
    /// The server of the store.
    Store,
}

impl Fault {
    /// What has it. A part has one fault at a time.
    #[must_use]
    pub const fn part(self) -> Part {
        match self {
            Self::MasterKilled | Self::MasterHangs | Self::MasterStopped | Self::MasterDrains => {
                Part::Master
            }
            Self::MinionKilled | Self::MinionHangs => Part::Minion,
            Self::CableCut | Self::CableToNowhere => Part::Cable,
            Self::PeersCut | Self::PeersToNowhere | Self::PeersSlow => Part::Peers,
            Self::BusKilled => Part::Bus,
            Self::KeysGone => Part::Keys,
            Self::StoreHangs => Part::Store,
        }
    }
}

/// A fault that lasts.
#[derive(Clone, Copy, Debug)]
pub struct Trouble {
    /// What is wrong.
    pub fault: Fault,
    /// With which part.
    pub which: usize,
    /// Until then.
    pub until: Instant,
}

/// The faults that last.
#[derive(Debug, Default)]
pub struct Troubles(Vec<Trouble>);

impl Troubles {
    /// The fault that a part has.
    pub fn of(&self, part: Part, which: usize) -> Option<Fault> {
        let mut all = self.0.iter();
        let found = all.find(|trouble| trouble.fault.part() == part && trouble.which == which);
        found.map(|trouble| trouble.fault)
    }

    /// Whether any part of this kind has a fault.
    pub fn any_of(&self, part: Part) -> bool {
        self.0.iter().any(|trouble| trouble.fault.part() == part)
    }

    /// One more.
    pub fn begin(&mut self, trouble: Trouble) {
        self.0.push(trouble);
    }

    /// Those that are over, which are forgotten.
    pub fn take_over(&mut self, now: Instant) -> Vec<Trouble> {
        let (over, lasting) = std::mem::take(&mut self.0)
            .into_iter()
            .partition(|trouble| trouble.until <= now);
        self.0 = lasting;
        over
    }
}
