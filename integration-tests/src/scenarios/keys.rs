//! Keys, and the access that they give.

use std::fs;

use anyhow::{Result, ensure};
use serde_json::json;

use super::Pair;
use crate::fleet::Fleet;
use crate::kind::Kind;
use crate::master::KeyState;
use crate::wait::{START, until};

/// A new minion's key waits, is listed, is accepted, and the minion answers.
pub fn key_is_accepted_and_the_minion_answers(master: Kind, minion: Kind) -> Result<()> {
    let fleet = Fleet::new("accept")?;
    let master = fleet.master("m1", master).start()?;
    let _minion = fleet.minion("web1", minion).of(&master).start()?;

    master.wait_key("web1", KeyState::Pending)?;
    let keys = master.key(&["-L", "--out=json"])?.ok()?.json()?;
    ensure!(
        keys["minions_pre"] == json!(["web1"]),
        "the new key is not listed: {keys}"
    );
    let refused = master.salt(&["*", "test.ping"])?.exit(2)?;
    ensure!(
        refused.stdout.contains("No minions matched the target."),
        "an unaccepted minion was asked: {refused}"
    );

    master.accept("web1")?;
    let keys = master.key(&["-L", "--out=json"])?.ok()?.json()?;
    ensure!(
        keys["minions"] == json!(["web1"]),
        "the accepted key is not listed: {keys}"
    );
    ensure!(
        keys["minions_pre"] == json!([]),
        "the accepted key still waits: {keys}"
    );

    master.check_ping(&["web1"])?;
    let text = master.salt(&["*", "test.ping"])?.ok()?;
    ensure!(
        text.stdout == "web1:\n    True\n",
        "unexpected text of {text}"
    );
    Ok(())
}

/// A deleted key has no access from that moment on; a new sign-in waits again.
pub fn a_deleted_key_has_no_access(master: Kind, minion: Kind) -> Result<()> {
    let pair = Pair::of(master, minion)?;
    pair.master.check_ping(&["web1"])?;
    let mark = pair.master.events()?.mark();
    pair.master.key(&["-y", "-d", "web1"])?.ok()?;
    pair.master.salt(&["web1", "test.ping"])?.exit(2)?;
    pair.master
        .events()?
        .wait_after(mark, "the rotation of the publish key", START, |event| {
            event.tag == "key" && event.data["rotate_aes_key"] == true
        })?;
    // What the minion asks with its old session is refused; it has to sign in
    // again, and its key waits for a new decision.
    let called = pair.minion.call(&["-t", "2", "test.ping"])?;
    ensure!(called.code != 0, "a deleted minion was served: {called}");
    pair.master.accept_again("web1")?;
    until("the accepted minion to answer again", START, || {
        pair.master.accept_what_came_between("web1")?;
        Ok(pair.master.check_ping(&["web1"]).ok())
    })
}

/// A master that dies and comes back finds its minion again.
pub fn the_minion_survives_its_master(master: Kind, minion: Kind) -> Result<()> {
    let mut pair = Pair::of(master, minion)?;
    pair.master.check_ping(&["web1"])?;
    pair.master.kill9()?;
    pair.master.start()?;
    until("the minion to answer the restarted master", START, || {
        Ok(pair.master.check_ping(&["web1"]).ok())
    })
}

/// Two minions with one name: the second key is denied, the first keeps working.
pub fn a_second_key_under_one_name_is_denied(master: Kind, minion: Kind) -> Result<()> {
    let pair = Pair::of(master, minion)?;
    let twin = pair.fleet.path().join("twin");
    fs::create_dir_all(&twin)?;
    let settings = fs::read_to_string(pair.minion.dir().join("minion"))?;
    let dir = pair.minion.dir().display().to_string();
    fs::write(
        twin.join("minion"),
        settings.replace(&dir, &twin.display().to_string()),
    )?;
    let called = pair.minion.call_as(&twin, &["-t", "2", "test.ping"])?;
    ensure!(called.code != 0, "a foreign key was served: {called}");
    pair.master.wait_key("web1", KeyState::Denied)?;
    pair.master.check_ping(&["web1"])?;
    Ok(())
}
