//! Code that minions and masters take from the file server: whether an accepted
//! minion can be where it comes from.

use std::fs;

use anyhow::{Result, ensure};
use halite_integration_tests::wire::msgpack::Item;
use halite_integration_tests::wire::stand_in::StandIn;
use halite_integration_tests::{Fleet, Kind, Master};
use serde_json::json;

const CODE: &str = "def own():\n    return 'theirs'\n";

/// The directories from which masters and minions take code, as far as a test needs
/// them: all begin alike.
const IDS: [&str; 2] = ["_runners", "_modules"];

/// A master that serves what minions have pushed, and minions that are called like
/// directories of code and have pushed some.
fn pushed(fleet: &Fleet) -> Result<Master> {
    let mut master = fleet
        .master("m1", Kind::Ours)
        .set("file_recv", true)
        .set("fileserver_backend", json!(["roots", "minionfs"]))
        .lay()?;
    let keys = master.dir().join("pki/minions");
    fs::create_dir_all(&keys)?;
    let mut minions = Vec::new();
    for id in IDS {
        let minion = StandIn::new(id)?;
        fs::write(keys.join(id), minion.public_pem())?;
        minions.push(minion);
    }
    master.start()?;
    for minion in minions {
        let session = minion.must_sign_in(&mut master.connect()?)?;
        let load = [
            ("cmd", Item::from("_file_recv")),
            ("path", Item::List(vec![Item::from("evil.py")])),
            ("loc", Item::from(0)),
            ("size", Item::from(i64::try_from(CODE.len())?)),
            ("data", Item::from(CODE.as_bytes())),
        ];
        minion.ask(&mut master.connect()?, &session, &load)?;
    }
    for id in IDS {
        let file = master
            .dir()
            .join(format!("cache/minions/{id}/files/evil.py"));
        ensure!(file.exists(), "nothing was pushed by {id}");
    }
    Ok(master)
}

/// Whether root's `saltutil.sync_runners` brings it to the master.
fn is_taken(master: &Master) -> Result<bool> {
    let tools = master.tools(Kind::Ours);
    tools
        .runner(&["saltutil.sync_runners", "--out=json"])?
        .ok()?;
    let taken = master.dir().join("cache/extmods/runners/evil.py");
    Ok(taken.exists())
}

#[test]
fn no_minion_is_where_code_of_others_comes_from() -> Result<()> {
    let fleet = Fleet::new("code")?;
    let master = pushed(&fleet)?;
    ensure!(!is_taken(&master)?, "the master runs its code");
    let minion = fleet.minion("web1", Kind::Ours).of(&master).start()?;
    master.accept("web1")?;
    master.wait_minion("web1")?;
    let synced = master.salt(&["web1", "saltutil.sync_modules", "--out=json"])?;
    let synced = synced.ok()?;
    ensure!(synced.of("web1")? == json!([]), "{synced}");
    drop(minion);
    Ok(())
}
