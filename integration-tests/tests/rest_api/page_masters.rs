//! The page of the fleet in a real browser in front of several masters, of which one is
//! killed while somebody watches.

use anyhow::{Result, ensure};
use halite_integration_tests::proxy::Cable;
use serde_json::json;

use crate::browser::Browser;
use crate::stage::{DESK, log_in, picture};
use crate::two::{Bond, Two};

#[test]
fn a_master_of_a_list_is_killed_before_the_eyes_of_a_watcher() -> Result<()> {
    watch(Two::start(Bond::SharedTokens)?)
}

#[test]
fn a_master_of_a_cluster_is_killed_before_the_eyes_of_a_watcher() -> Result<()> {
    watch(Two::start(Bond::Cluster)?)
}

/// Waits until the row of the minion says that it is connected, and to which masters.
fn wait_row(browser: &Browser, masters: &[String]) -> Result<()> {
    let mut masters = masters.to_vec();
    masters.sort();
    let text = json!(masters.join(", "));
    let cells = "[...document.querySelectorAll('.tbody .tr')]\
                 .find((tr) => tr.innerText.includes('web1'))?.querySelectorAll('.td')";
    browser.wait(
        &format!("web1 at {text}"),
        &format!("{cells}?.[1].innerText === 'connected' && {cells}[2].innerText === {text}"),
    )
}

/// Waits until the notice below the frame names this master, or nobody.
fn wait_notice(browser: &Browser, master: Option<&str>) -> Result<()> {
    let notice = "document.querySelector('p.away')";
    match master {
        Some(name) => browser.wait(
            &format!("a notice of {name}"),
            &format!(
                "{notice}.checkVisibility() && {notice}.innerText.includes({})",
                json!(name)
            ),
        ),
        None => browser.wait("no notice", &format!("!{notice}.checkVisibility()")),
    }
}

/// Waits until the view of masters says of one whether it is reached.
fn wait_standing(browser: &Browser, master: &str, is_reached: bool) -> Result<()> {
    let row = format!(
        "[...document.querySelectorAll('.panel tr')]\
         .find((tr) => tr.cells[0].innerText.includes({}) && tr.cells.length === 2)",
        json!(master)
    );
    let kind = if is_reached { "reached" } else { "away" };
    browser.wait(
        &format!("{master} is {kind}"),
        &format!("({row}?.cells[1].innerText === 'reached') === {is_reached} && {row}"),
    )
}

fn watch(mut two: Two) -> Result<()> {
    let session = two.login(0)?;
    two.wait_whole(0, &session)?;
    two.wait_masters(0, &session, &[0, 1])?;
    let Some(browser) = two.browser()? else {
        return Ok(());
    };
    browser.look(DESK, false)?;
    log_in(
        &browser,
        &format!("http://{}/fleet", two.at[0]),
        "alice",
        "secret1",
    )?;
    browser.wait_text("live")?;
    let names = [two.name(0), two.name(1)];
    wait_row(&browser, &names)?;
    wait_notice(&browser, None)?;
    picture(&browser, "fleet-masters")?;

    // The master of the API's own machine, without a click of who watches.
    two.masters[0].kill9()?;
    wait_notice(&browser, Some(&names[0]))?;
    wait_row(&browser, &names[1..])?;
    picture(&browser, "fleet-master-away")?;
    browser.value("location.hash = '#/masters'")?;
    wait_standing(&browser, &names[0], false)?;
    wait_standing(&browser, &two.at[1].to_string(), true)?;
    picture(&browser, "masters-away")?;
    // Commands go on.
    let said = browser.awaited(
        "fetch('../', { method: 'POST', headers: { 'Content-Type': 'application/json' }, \
         body: JSON.stringify([{ client: 'local', tgt: '*', fun: 'test.ping' }]) }).then((said) => said.json())",
    )?;
    ensure!(said["return"] == json!([{ "web1": true }]), "{said}");

    // The minion comes back to it while its row is looked at.
    two.cable.set(Cable::Cut);
    two.masters[0].start()?;
    wait_notice(&browser, None)?;
    wait_standing(&browser, &names[0], true)?;
    browser.value("location.hash = '#/fleet'")?;
    browser.wait(
        "the row of web1",
        &format!(
            "document.querySelector('.tbody')?.innerText.includes({})",
            json!(names[1])
        ),
    )?;
    two.cable.set(Cable::Whole);
    wait_row(&browser, &names)?;
    // Then the other one.
    two.masters[1].kill9()?;
    wait_notice(&browser, Some(&two.at[1].to_string()))?;
    wait_row(&browser, &names[..1])
}
