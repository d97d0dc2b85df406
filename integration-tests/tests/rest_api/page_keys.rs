//! Keys on the page of the fleet: compared, accepted, rejected and deleted.

use anyhow::{Context, Result, ensure};
use halite_integration_tests::{KeyState, Kind};
use serde_json::Value;

use crate::browser::Browser;
use crate::stage::{Stage, picture};

pub(crate) fn accepts_a_key(browser: &Browser, stage: &Stage) -> Result<()> {
    browser.value("document.activeElement.blur()")?;
    browser.press("4")?;
    browser.wait("the key", "document.querySelector('button.accept')")?;
    let output = stage
        .master
        .tools(Kind::Ours)
        .key(&["-f", "db1", "--out=json"])?;
    let said: Value = serde_json::from_str(&output.ok()?.stdout)?;
    let finger = said["minions_pre"]["db1"]
        .as_str()
        .context("no fingerprint")?;
    browser.wait_text(finger)?;
    picture(browser, "keys")?;
    compares_fingerprints(browser, finger)?;
    decides(browser, "accept", "salt-call --local key.finger")?;
    browser.wait_text("Accepted db1.")?;
    stage.master.wait_key("db1", KeyState::Accepted)?;
    stage.master.wait_minion(stage.waiting.id())
}

/// The fingerprint that the minion shows is pasted beside that of the key.
fn compares_fingerprints(browser: &Browser, finger: &str) -> Result<()> {
    browser.value(
        "[...document.querySelectorAll('.tbody .tr')]\
         .find((tr) => tr.innerText.includes('db1')).querySelector('.td').click()",
    )?;
    browser.wait(
        "the comparison",
        "document.querySelector('dialog[open] input')",
    )?;
    browser.type_into("dialog input", &finger.to_uppercase())?;
    browser.wait_text("The fingerprints are the same.")?;
    let (one, rest) = finger.split_at(1);
    let other = if one == "0" { "1" } else { "0" };
    browser.type_into("dialog input", &format!("{other}{rest}"))?;
    browser.wait_text("The fingerprints differ.")?;
    browser.click("dialog .primary")?;
    browser.wait("no dialog", "!document.querySelector('dialog')")
}

/// Decides about the key of `db1`, after a question that has these words.
fn decides(browser: &Browser, action: &str, words: &str) -> Result<()> {
    let row =
        "[...document.querySelectorAll('.tbody .tr')].find((tr) => tr.innerText.includes('db1'))";
    browser.wait(
        &format!("{action} db1"),
        &format!("{row}?.querySelector('button.{action}')"),
    )?;
    browser.value(&format!("{row}.querySelector('button.{action}').click()"))?;
    browser.wait("the question", "document.querySelector('dialog[open]')")?;
    browser.wait_text(words)?;
    browser.click("dialog .primary")
}

/// The key of a minion that is connected is rejected, and then deleted.
pub(crate) fn rejects_and_deletes_a_key(browser: &Browser, stage: &Stage) -> Result<()> {
    browser.value("location.hash = '#/keys'")?;
    decides(browser, "reject", "Reject this key?")?;
    browser.wait_text("Rejected db1.")?;
    stage.master.wait_key("db1", KeyState::Rejected)?;
    decides(browser, "delete", "Delete this key?")?;
    browser.wait_text("Deleted the key of db1.")?;
    let pki = stage.master.dir().join("pki");
    for state in [KeyState::Accepted, KeyState::Rejected] {
        let key = pki.join(state.dir()).join("db1");
        ensure!(!key.exists(), "{} is still there", key.display());
    }
    Ok(())
}
