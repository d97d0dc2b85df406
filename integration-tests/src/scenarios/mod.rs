//! What must work between a master and a minion of any two kinds.
//!
//! Each scenario lays a fleet of its own and reads as the commands that an
//! administrator would type. The suites say which kinds meet; between two
//! real Salts the scenarios prove themselves.

mod commands;
mod facts;
mod files;
mod keys;
mod several;

use anyhow::{Context, Result};
use serde_json::Value;

pub use self::commands::{
    a_long_command_is_waited_for, commands_run, salt_call_reaches_the_master,
};
pub use self::facts::grains_are_reported;
pub use self::files::{
    a_small_tree_is_applied, files_arrive, files_go_in_pieces, the_mine_keeps_and_gives,
};
pub use self::keys::{
    a_deleted_key_has_no_access, a_second_key_under_one_name_is_denied,
    key_is_accepted_and_the_minion_answers, the_minion_survives_its_master,
};
pub use self::several::several_masters_share_their_minions;
use crate::fleet::Fleet;
use crate::kind::Kind;
use crate::master::{Master, MasterPlan};
use crate::minion::{Minion, MinionPlan};

/// One master with one minion, whose key is accepted by `salt-key`.
struct Pair {
    master: Master,
    minion: Minion,
    fleet: Fleet,
}

impl Pair {
    fn of(master: Kind, minion: Kind) -> Result<Self> {
        Self::with(master, minion, |plan| plan, |plan| plan)
    }

    fn with(
        master: Kind,
        minion: Kind,
        change_master: impl for<'a> FnOnce(MasterPlan<'a>) -> MasterPlan<'a>,
        change_minion: impl for<'a> FnOnce(MinionPlan<'a>) -> MinionPlan<'a>,
    ) -> Result<Self> {
        let fleet = Fleet::new("pair")?;
        let master = change_master(fleet.master("m1", master)).start()?;
        let minion = change_minion(fleet.minion("web1", minion).of(&master)).start()?;
        master.accept("web1")?;
        Ok(Self {
            master,
            minion,
            fleet,
        })
    }

    /// What the minion returns to a command that must succeed.
    fn returned(&self, args: &[&str]) -> Result<Value> {
        let mut all = vec!["web1"];
        all.extend(args);
        self.master
            .returns(&all)?
            .remove("web1")
            .with_context(|| format!("web1 did not return from {args:?}"))
    }
}
