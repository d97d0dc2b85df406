//! Runs the beacons: they are checked regularly, and what they see goes to the
//! masters as events.
//!
//! There is one set of beacons, whatever the number of masters. Each event goes to
//! every connected master, or to the first that connects if there is none.
//! Invariant: without a beacon nothing wakes the minion up for them, and one that
//! hangs does not delay the others.

mod certificates;
mod counters;
mod error;
mod follow;
mod inotify;
mod journal;
mod log;
mod logins;
mod monitor;
mod network_settings;
mod outbox;
mod packages;
mod processes;
mod python;
mod service;
mod shells;
mod status;
mod watch;
mod watchdog;

use halite_call::Call;
use halite_proto::Map;

use self::error::BeaconError;
use self::logins::{Logins, Which};
use self::python::Python;
use crate::core::beacons::{Due, Settings};

pub(crate) use watch::Beacons;

/// A running beacon, with what it remembers between two checks. Dropping it releases its
/// resources.
trait Beacon: Send {
    /// What there is to tell.
    fn look(&mut self, settings: &Settings, call: &Call<'_>) -> Result<Vec<Map>, BeaconError>;

    /// Whether dropping it is not enough.
    fn needs_closing(&self) -> bool {
        false
    }

    /// Releases its resources outside the minion.
    fn close(&mut self, _: &Call<'_>) {}
}

fn make(due: &Due, is_users: bool) -> Box<dyn Beacon> {
    if is_users {
        return Box::new(Python::new(&due.module, &due.name));
    }
    match due.module.as_str() {
        "btmp" => Box::new(Logins::new(Which::Failed)),
        "cert_info" => Box::new(certificates::Certificates),
        "diskusage" => Box::new(counters::DiskUsage),
        "inotify" => Box::<inotify::Inotify>::default(),
        "journald" => Box::<journal::Journal>::default(),
        "load" => Box::<counters::Load>::default(),
        "log" => Box::<log::Log>::default(),
        "memusage" => Box::new(counters::MemoryUsage),
        "network_info" => Box::new(counters::NetworkInfo),
        "network_settings" => Box::<network_settings::NetworkSettings>::default(),
        "pkg" => Box::<packages::Packages>::default(),
        "ps" => Box::new(processes::Processes),
        "salt_monitor" => Box::new(monitor::Monitor),
        "service" => Box::<service::Services>::default(),
        "sh" => Box::<shells::Shells>::default(),
        "status" => Box::new(status::Status),
        "swapusage" => Box::new(counters::SwapUsage),
        "watchdog" => Box::<watchdog::Watchdog>::default(),
        "wtmp" => Box::new(Logins::new(Which::All)),
        _ => Box::new(Python::new(&due.module, &due.name)),
    }
}
