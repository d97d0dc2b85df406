//! Names of masters whose addresses change, as the minion's own resolver sees
//! it: in a mount namespace of its own with a hosts file of the test's.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use halite_integration_tests::{
    Daemon, Fleet, Kind, Master, Minion, Program, Recipe, SHORT, until,
};
use serde_json::json;

use crate::support::{wait_log, wait_ping};

/// The hosts file that only the minion sees.
struct Hosts(PathBuf);

impl Hosts {
    fn write(&self, names: &[(&str, &Master)]) -> Result<()> {
        let lines = names
            .iter()
            .map(|(name, master)| format!("{} {name}\n", master.address().ip()));
        let text: String = ["127.0.0.1 localhost\n".to_owned()]
            .into_iter()
            .chain(lines)
            .collect();
        // In place: the file is mounted.
        fs::write(&self.0, text).context("the hosts file")
    }
}

/// The minion with these hosts.
fn unshared(fleet: &Fleet, minion: &Minion, hosts: &Hosts) -> Result<Daemon> {
    const SCRIPT: &str = "mount --bind \"$1\" /etc/hosts && shift && exec \"$@\"";
    let program = fleet.programs().path(Kind::Ours, Program::Minion)?;
    let recipe = Recipe::new("web1", PathBuf::from("unshare"), fleet.path()).args(&[
        "-Urm",
        "sh",
        "-c",
        SCRIPT,
        "sh",
        &hosts.0.display().to_string(),
        &program.display().to_string(),
        "-c",
        &minion.dir().display().to_string(),
    ]);
    Ok(Daemon::new(recipe, minion.dir().join("console")))
}

fn named(name: &str, master: &Master) -> String {
    format!("{name}:{}", master.address().request().port())
}

fn state_of(minion: &Minion, master: &str) -> Result<String> {
    let status = minion.status(&["--out=json"])?.json()?;
    let masters = status["masters"].as_array().cloned().unwrap_or_default();
    let found = masters.into_iter().find(|found| found["master"] == master);
    let state = found.context("no such master")?["state"].clone();
    Ok(state.as_str().unwrap_or_default().to_owned())
}

fn log_of(dir: &Path) -> String {
    fs::read_to_string(dir.join("log")).unwrap_or_default()
}

/// #10032 #15122 #66760 #69571 #49520 #62911: a name has no address at first,
/// then one, then another; each time the minion follows, and the other master
/// is served all the while.
#[test]
fn a_master_that_moves_is_followed_by_its_name() -> Result<()> {
    // Without a namespace there is no way to change names for one process.
    if !halite_test_support::have_user_namespaces() {
        return Ok(());
    }
    let fleet = Fleet::new("names")?;
    let steady = fleet.master("m1", Kind::Ours).auto_accept().start()?;
    let like = |name: &str| fleet.master(name, Kind::Ours).auto_accept();
    let mut old = like("m2").key_pair_of(&steady).start()?;
    let new = like("m3").key_pair_of(&steady).lay()?;
    let mut new = new;
    ensure!(
        old.address().request().port() == new.address().request().port(),
        "different ports"
    );
    let hosts = Hosts(fleet.path().join("hosts"));
    hosts.write(&[])?;
    let moving = named("moving.halite-test", &old);
    let plan = fleet.minion("web1", Kind::Ours).set(
        "master",
        json!([moving, steady.address().request().to_string()]),
    );
    let minion = plan.set("retry_dns", 1).lay()?;
    let mut daemon = unshared(&fleet, &minion, &hosts)?;
    daemon.start()?;
    steady.wait_minion("web1")?;
    wait_log(minion.dir(), &["cannot be resolved"])?;
    steady.check_ping(&["web1"])?;
    ensure!(
        !log_of(minion.dir()).contains("127.0.0.1:"),
        "nothing falls back to this machine"
    );

    hosts.write(&[("moving.halite-test", &old)])?;
    old.wait_minion("web1")?;
    wait_ping(&old, "web1")?;

    // The master moves: its old address is dead, the name leads elsewhere.
    hosts.write(&[("moving.halite-test", &new)])?;
    old.kill9()?;
    new.start()?;
    new.wait_minion("web1")?;
    wait_ping(&new, "web1")?;
    steady.check_ping(&["web1"])?;

    // The name is gone while the master is there: an established link stays.
    hosts.write(&[])?;
    wait_ping(&new, "web1")?;
    assert_eq!(state_of(&minion, &moving)?, "ready");

    // And back, by way of no address at all.
    new.kill9()?;
    until("the link to be down", SHORT, || {
        Ok((state_of(&minion, &moving)? != "ready").then_some(()))
    })?;
    old.start()?;
    hosts.write(&[("moving.halite-test", &old)])?;
    wait_ping(&old, "web1")?;
    daemon.check_runs()
}
