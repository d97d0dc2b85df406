//! The same on a disk: stored jobs, and files that states write.

use anyhow::Result;
use halite_integration_tests::Kind;

use crate::daemons::{minion, new_fleet_on_disk, plan, publish_to_return};
use crate::load as clients;
use crate::measure::{Effort, Numbers, Unit, millis};
use crate::{runs, trees};

pub(crate) fn disk(kind: Kind, effort: Effort, numbers: &mut Numbers) -> Result<()> {
    let fleet = new_fleet_on_disk()?;
    let mut master = plan(&fleet, kind)?;
    trees::plain(&master.dir().join("srv"), &fleet.path().join("target"))?;
    let _web1 = minion(&fleet, kind, &master, 1)?;
    let took = publish_to_return(&master, effort)?;
    numbers.add("on a disk: publish to return", took, Unit::Milliseconds, "");
    master.stop_listening();
    let rate = clients::returns(&master, effort.jobs)?;
    numbers.add("on a disk: returns", rate, Unit::PerSecond, "");
    for time in ["first", "second"] {
        let took = runs::run(&master, "plain", trees::PLAIN_STATES_ALL)?;
        numbers.add(
            &format!("on a disk: `state.apply`, 1000 `file.managed`, {time} run"),
            millis(took),
            Unit::Milliseconds,
            "",
        );
    }
    Ok(())
}
