//! Master and minion configuration files, typed and checked.
//!
//! Files are read as Salt reads them: the main file, then `default_include`,
//! then `include`. Every option has a type; a value that does not fit stops
//! the start with the place of the mistake. Invariant: an option in a file is
//! honoured, warned about or refused, never silently dropped.

mod address;
mod behind;
mod cluster_bus;
mod doubts;
mod elsewhere;
mod entry;
mod error;
mod exposed;
mod file_backends;
mod files;
mod host_names;
mod known;
mod load;
mod logging;
mod master;
mod minion;
mod minion_id;
mod names;
mod options;
#[cfg(test)]
mod options_page;
mod paths;
mod raw;
mod reasons;
mod refused;
#[cfg(test)]
mod samples;
mod setting;
mod suggest;

pub use address::{AddressError, MasterAddress};
pub use behind::ReadBehind;
pub use cluster_bus::{ClusterBus, ClusterBusError};
pub use error::{BehindError, ConfigError, Warning};
pub use exposed::code_dirs;
pub use file_backends::FILE_BACKENDS;
pub use halite_yaml::place::SourceLocation;
pub use host_names::HostNames;
pub use load::{
    Draft, LoadOptions, Loaded, draft_client, draft_master, draft_minion, load_client, load_master,
    load_minion,
};
pub use logging::{LineForm, Logging};
pub use master::MasterConfig;
pub use minion::MinionConfig;
pub use setting::{
    AnyValue, ApiHost, BusFraming, Count, DataLayout, EventReturners, ExternalPillars, HashName,
    IpcMode, JobCacheName, LevelName, LoginWays, MasterTops, MasterType, Masters, OneOrMany, Port,
    PortSetting, Reactions, Rule, Schedule, Seconds, UriFormat,
};
