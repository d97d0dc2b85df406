//! Grains that change while the minion runs.

use std::fs;

use anyhow::{Result, ensure};
use halite_integration_tests::{Fleet, Kind, Master, Minion, START, until};
use serde_json::{Value, json};

/// A master and a minion with an option, whose file of grains has changed from
/// red to blue since it has started.
struct Changed {
    master: Master,
    _minion: Minion,
    _fleet: Fleet,
}

impl Changed {
    fn start(option: &str, value: impl Into<Value>) -> Result<Self> {
        let fleet = Fleet::new("grains")?;
        let master = fleet.master("m1", Kind::Ours).auto_accept().start()?;
        let plan = fleet.minion("web1", Kind::Ours).of(&master);
        let mut minion = plan.set(option, value).lay()?;
        let file = minion.dir().join("grains");
        fs::write(&file, "colour: red\n")?;
        minion.start()?;
        master.wait_minion("web1")?;
        let meant = master.returns(&["-G", "colour:red", "test.ping"])?;
        ensure!(meant.contains_key("web1"), "the file is not read");
        fs::write(&file, "colour: blue\n")?;
        Ok(Self {
            master,
            _minion: minion,
            _fleet: fleet,
        })
    }
}

#[test]
fn grains_are_read_before_each_command_where_that_is_wanted() -> Result<()> {
    let changed = Changed::start("grains_refresh_pre_exec", true)?;
    let first = changed.master.returns(&["web1", "grains.get", "colour"])?;
    assert_eq!(first.get("web1"), Some(&json!("blue")));
    Ok(())
}

#[test]
fn grains_are_read_from_time_to_time_where_that_is_wanted() -> Result<()> {
    // A part of a minute.
    let changed = Changed::start("grains_refresh_every", 0.01)?;
    // By what the master keeps: no command makes the minion look.
    let blue = ["-G", "colour:blue", "--preview-target", "--out=json"];
    until("the master to hear of it", START, || {
        let meant = changed.master.salt(&blue)?;
        Ok(meant.stdout.contains("web1").then_some(()))
    })?;
    let now = changed.master.returns(&["web1", "grains.get", "colour"])?;
    assert_eq!(now.get("web1"), Some(&json!("blue")));
    Ok(())
}
