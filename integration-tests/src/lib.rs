//! The proof: the real binaries on loopback, and real Salt as their peer.
//!
//! A test lays a [`Fleet`] (one temporary directory), starts masters and
//! minions of any [`Kind`] in it, and runs the programs of any kind against
//! them:
//!
//! ```no_run
//! # fn main() -> anyhow::Result<()> {
//! use halite_integration_tests::{Fleet, Kind};
//!
//! let fleet = Fleet::new("example")?;
//! let master = fleet.master("m1", Kind::Ours).start()?;
//! let minion = fleet.minion("web1", Kind::Salt3008).of(&master).start()?;
//! master.accept(minion.id())?;
//! assert_eq!(master.salt(&["*", "test.ping", "--out=txt"])?.ok()?.stdout, "web1: True\n");
//! # Ok(())
//! # }
//! ```
//!
//! Invariant: whatever a fleet started is dead, with all its children, when
//! the fleet is dropped, also when the test panics; and nothing else is ever
//! signalled.

mod balancer;
pub mod chaos;
pub mod cluster_page;
pub mod commands;
mod common_files;
mod connections;
mod emulator;
mod event_log;
mod fleet;
#[cfg(feature = "wire")]
pub mod flood;
#[cfg(feature = "wire")]
pub mod flooded;
#[cfg(feature = "wire")]
pub mod found_requests;
mod full_disk;
mod hung_mount;
mod kind;
pub mod local_program;
mod master;
mod memory;
mod minion;
mod net;
mod output;
pub mod overload;
pub mod pam_users;
pub mod pillar_scenarios;
mod process;
pub mod proxy;
pub mod scenarios;
mod settings;
pub mod state_scenarios;
mod terminal;
mod wait;
mod watchdog;
pub mod wire;
mod written_table;

pub use balancer::{Balancer, HAPROXY};
pub use common_files::share_files;
pub use connections::connected_from;
pub use emulator::Emulator;
pub use event_log::{Event, EventLog};
pub use fleet::Fleet;
pub use full_disk::FullDisk;
pub use hung_mount::HungMount;
pub use kind::{Kind, Program, Programs, cache_dir, package_dir};
pub use master::{KeyState, Master, MasterPlan, Tools};
pub use memory::{own_kib, pss_kib};
pub use minion::{Minion, MinionPlan};
pub use net::{Address, Ports};
pub use nix::sys::signal::Signal;
pub use output::Output;
pub use process::{Daemon, Recipe, end_marked, family, marked, run, terminate};
pub use settings::Settings;
pub use terminal::Terminal;
pub use wait::{SHORT, START, until};
pub use written_table::{add_table, has_table, machine, write_table};

/// Makes one test for each release of real Salt out of a function that takes
/// a [`Kind`]; 3007 belongs to the long form of the suite.
#[macro_export]
macro_rules! for_each_salt {
    ($($(#[$meta:meta])* fn $name:ident($salt:ident) $body:expr;)*) => {
        $($(#[$meta])* fn $name($salt: $crate::Kind) -> ::anyhow::Result<()> { $body })*

        mod salt_3008 {
            $(#[test] fn $name() -> ::anyhow::Result<()> { super::$name($crate::Kind::Salt3008) })*
        }

        mod salt_3006 {
            $(#[test] fn $name() -> ::anyhow::Result<()> { super::$name($crate::Kind::Salt3006) })*
        }

        mod salt_3007 {
            $(#[test]
            #[ignore = "the long form: cargo xtask test --long"]
            fn $name() -> ::anyhow::Result<()> { super::$name($crate::Kind::Salt3007) })*
        }
    };
}
