//! The page of the fleet in a real browser in front of several masters, of which one is
//! killed while somebody watches.

use std::fs;

use anyhow::{Context, Result, ensure};
use halite_integration_tests::proxy::Cable;
use halite_integration_tests::{KeyState, SHORT, until};
use serde_json::json;

use crate::browser::Browser;
use crate::http::body;
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

#[test]
fn keys_of_all_masters_of_a_list_are_seen_and_accepted() -> Result<()> {
    let two = Two::start(Bond::SharedTokens)?;
    let session = two.login(0)?;
    two.wait_whole(0, &session)?;
    lay_keys(&two)?;
    let Some(browser) = watcher(&two)? else {
        return Ok(());
    };
    browser.value("location.hash = '#/keys'")?;
    let other = two.at[1].to_string();
    let rows = |id: &str| {
        format!(
            "[...document.querySelectorAll('.tbody .tr')].filter((tr) => tr.innerText.includes('{id}'))"
        )
    };
    // What is the same at both is one row.
    for id in ["db1", "db2"] {
        browser.wait(id, &format!("{}.length === 1", rows(id)))?;
    }
    let at = browser.value(&format!(
        "[{}, {}].map(([tr]) => tr.innerText.includes(' at {other}'))",
        rows("db1"),
        rows("db2")
    ))?;
    ensure!(at == json!([false, true]), "{at}");
    picture(&browser, "keys-masters")?;
    for id in ["db1", "db2"] {
        browser.click(&format!("[aria-label='Accept {id}']"))?;
        browser.click("dialog .primary")?;
        browser.wait_text(&format!("Accepted {id}."))?;
    }
    for master in &two.masters {
        master.wait_key("db1", KeyState::Accepted)?;
    }
    two.masters[1].wait_key("db2", KeyState::Accepted)?;
    let there = two.masters[0].dir().join("pki").join("minions/db2");
    ensure!(!there.exists(), "{} was made", there.display());
    sees_both_and_their_difference(&browser, &two)
}

/// A key that waits at both masters, and one that waits at the second alone.
fn lay_keys(two: &Two) -> Result<()> {
    for (id, masters) in [("db1", &two.masters[..]), ("db2", &two.masters[1..])] {
        for master in masters {
            let pki = master.dir().join("pki");
            let pending = pki.join(KeyState::Pending.dir());
            fs::create_dir_all(&pending)?;
            let key = fs::read(pki.join(KeyState::Accepted.dir()).join("web1"))?;
            fs::write(pending.join(id), key)?;
        }
    }
    Ok(())
}

/// The view of masters: the panels have a part for each, and a difference is named.
fn sees_both_and_their_difference(browser: &Browser, two: &Two) -> Result<()> {
    browser.value("location.hash = '#/masters'")?;
    let names = json!([two.name(0), two.at[1].to_string()]);
    for title in ["Stores and spools", "Runners that run", "Queues", "Cluster"] {
        let panel = format!(
            "[...document.querySelectorAll('.panel')].find((panel) => panel.innerText.startsWith('{title}'))"
        );
        let parts =
            format!("[...({panel}?.querySelectorAll('h3') ?? [])].map((name) => name.innerText)");
        browser.wait(
            &format!("both masters in {title}"),
            &format!("JSON.stringify({parts}) === JSON.stringify({names})"),
        )?;
    }
    let address = two.masters[1].address().request().to_string();
    browser.type_into("#filter", &address)?;
    browser.press("\u{E007}")?;
    browser.wait(
        "the key that only the second has accepted",
        "[...document.querySelectorAll('.panel tr')].some((tr) => tr.querySelector('.mark.bad') \
         && tr.innerText.includes('keys') && tr.innerText.includes('db2'))",
    )?;
    picture(browser, "masters-differ")
}

/// A job of the second master, which the first one knows nothing of.
fn sees_a_job_of_the_other(browser: &Browser, two: &Two) -> Result<()> {
    let session = two.login(1)?;
    let jid = two.write(1, &session, "of-the-other")?.context("no job")?;
    let page = format!("/jobs/{jid}");
    until("its return is stored", SHORT, || {
        let said = two.get(1, &page, &session)?;
        Ok(body(&said)?["return"][0].get("web1").map(drop))
    })?;
    // A page that has heard no event of it.
    let url = format!("http://{}/fleet/?visit=jobs", two.at[0]);
    browser.open(&format!("{url}#/jobs"))?;
    let link = format!("document.querySelector('a[href=\"#{page}\"]')");
    browser.wait("the job in the list", &link)?;
    browser.open(&format!("{url}-one#{page}"))?;
    browser.wait_text("cmd.run 'echo of-the-other")?;
    browser.wait_text("1 of 1 returned")
}

/// A browser at the page of the first API, where somebody has logged in.
fn watcher(two: &Two) -> Result<Option<Browser>> {
    let Some(browser) = two.browser()? else {
        return Ok(None);
    };
    browser.look(DESK, false)?;
    let url = format!("http://{}/fleet", two.at[0]);
    log_in(&browser, &url, "alice", "secret1")?;
    browser.wait_text("live")?;
    Ok(Some(browser))
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
    let Some(browser) = watcher(&two)? else {
        return Ok(());
    };
    let names = [two.name(0), two.name(1)];
    wait_row(&browser, &names)?;
    wait_notice(&browser, None)?;
    picture(&browser, "fleet-masters")?;
    sees_a_job_of_the_other(&browser, &two)?;
    browser.value("location.hash = '#/fleet'")?;
    wait_row(&browser, &names)?;

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
