//! SaltGUI, unmodified, in a real browser in front of our API.
//!
//! `cargo xtask peers` takes it from its repository, at one commit, where that can be
//! reached.

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use halite_integration_tests::{KeyState, Kind, Programs};
use halite_test_support::not_run;
use serde_json::{Value, json};

use crate::browser::Browser;
use crate::stage::{Stage, picture};

/// The directory beside the peers that it lies in: release 1.34.0, by its commit.
const PLACE: &str = "saltgui-8796c46a2834abe60d33414b19367237af8c140f";

/// Files that an administrator may have, and that it asks for.
const OPTIONAL: [&str; 4] = [
    "minions.txt",
    "salt-auth.txt",
    "salt-motd.txt",
    "salt-motd.html",
];

/// Its pages, each with what it shows of the fleet.
const PAGES: [(&str, &str); 21] = [
    ("minions", "web1"),
    ("keys", "unaccepted"),
    ("grains", "web1"),
    ("grains-minion?minionid=web1", "osmajorrelease"),
    ("pillars", "web1"),
    ("pillars-minion?minionid=web1", "Pillars on web1"),
    ("mine", "web1"),
    ("mine-minion?minionid=web1", "Mine on web1"),
    ("beacons", "web1"),
    ("beacons-minion?minionid=web1", "Beacons on web1"),
    ("schedules", "web1"),
    ("schedules-minion?minionid=web1", "Schedules on web1"),
    ("nodegroups", "Nodegroups"),
    ("jobs", "test.ping"),
    ("highstate", "web1"),
    ("templates", "everybody"),
    ("events", "Recent Events"),
    ("reactors", "Reactors"),
    ("orchestrations", "Orchestrations"),
    ("options", "token"),
    ("issues", "Issues"),
];

/// Where it is; `None`, reported, where it could not be had.
fn place() -> Result<Option<PathBuf>> {
    let place = Programs::peers_dir()?.join(PLACE).join("saltgui");
    if place.join("index.html").is_file() {
        return Ok(Some(place));
    }
    not_run("SaltGUI could not be had (`cargo xtask peers` takes it from its repository)");
    Ok(None)
}

/// Logs in, after a try with a wrong password.
fn log_in(browser: &Browser, stage: &Stage) -> Result<()> {
    browser.open(&stage.url(""))?;
    browser.wait("the login", "document.getElementById('login-button')")?;
    browser.value("document.querySelector('form select').value = 'file'")?;
    browser.type_into("#username", "alice")?;
    browser.type_into("#password", "not this")?;
    browser.click("#login-button")?;
    browser.wait(
        "a notice",
        "document.querySelector('.notice_auth_failed, .notice-wrapper div')",
    )?;
    browser.wait(
        "another try",
        "!document.getElementById('login-button').disabled",
    )?;
    browser.type_into("#password", "secret1")?;
    browser.click("#login-button")?;
    browser.wait(
        "the minions",
        "document.querySelector('#page-minions.current')",
    )
}

/// Opens a page as a link of its does, and waits until it shows something.
fn open(browser: &Browser, stage: &Stage, page: &str) -> Result<()> {
    let (name, query) = page.split_once('?').unwrap_or((page, ""));
    browser.open(&stage.url(&format!("?{query}#{name}")))?;
    let shown = format!("document.querySelector('#page-{name}.current')");
    browser.wait(&format!("the page {name}"), &shown)
}

/// What a page says went wrong.
fn errors(browser: &Browser) -> Result<Value> {
    browser.value(
        "[...document.querySelectorAll('.route.current #error-row, .route.current .error, #warning')]\
         .filter((e) => e.checkVisibility()).map((e) => e.innerText)",
    )
}

/// Gives a command in its window, and waits for what it says.
fn command(browser: &Browser, target: &str, words: &str, answer: &str) -> Result<()> {
    browser.click("#button-manual-run")?;
    browser.type_into("#target", target)?;
    browser.type_into("#command", words)?;
    run_command(browser, answer)
}

fn run_command(browser: &Browser, answer: &str) -> Result<()> {
    browser.click("#run-command")?;
    let said = format!(
        "document.getElementById('popup-output').innerText.includes({})",
        json!(answer)
    );
    browser.wait(&format!("{answer:?} in the answer"), &said)?;
    browser.click("#cmd-close-button")
}

fn accepts_a_key(browser: &Browser, stage: &Stage) -> Result<()> {
    open(browser, stage, "keys")?;
    let row = "[...document.querySelectorAll('#keys-panel tbody tr')]\
               .find((tr) => tr.innerText.includes('db1'))";
    browser.wait(
        "the key that waits",
        &format!("{row}?.innerText.includes('unaccepted')"),
    )?;
    browser.wait(
        "its fingerprint",
        &format!("/([0-9a-f]{{2}}:){{31}}/.test({row}.innerText)"),
    )?;
    browser.value(&format!(
        "[...{row}.querySelectorAll('.menu-dropdown-content > div')]\
         .find((item) => item.innerText.startsWith('Accept')).click()"
    ))?;
    browser.wait(
        "the command",
        "document.getElementById('command').value === 'wheel.key.accept'",
    )?;
    run_command(browser, "db1")?;
    stage.master.wait_key("db1", KeyState::Accepted)?;
    // The page hears of it.
    browser.wait(
        "the news",
        &format!("!{row}?.innerText.includes('unaccepted')"),
    )?;
    stage.master.wait_minion(stage.waiting.id())
}

fn hears_events(browser: &Browser, stage: &Stage) -> Result<()> {
    open(browser, stage, "events")?;
    browser.value(
        "[...document.querySelectorAll('#events-panel .small-button')]\
                   .find((b) => b.checkVisibility() && b.innerText.startsWith('\u{2bc8}')).click()",
    )?;
    let output = stage
        .master
        .tools(Kind::Ours)
        .salt(&["web2", "test.ping"])?;
    ensure!(output.code == 0, "{output}");
    browser.wait(
        "the events of the job",
        "/salt\\/job\\/\\d{20}\\/ret\\/web2/.test(document.querySelector('#events-panel').innerText)",
    )
}

#[test]
fn saltgui_works_unmodified() -> Result<()> {
    let Some(place) = place()? else {
        return Ok(());
    };
    let file = |name: &str| json!(place.join(name));
    // Its page of templates does not expect that there are none.
    let template = json!({ "everybody": { "target": "*", "command": "test.ping" } });
    let of_master = [("saltgui_templates", template)];
    let of_api = [("app", file("index.html")), ("static", file("static"))];
    let stage = Stage::start_with(&of_master, &of_api)?;
    let Some(browser) = stage.browser("alice")? else {
        return Ok(());
    };
    log_in(&browser, &stage)?;
    command(&browser, "web*", "test.ping", "true")?;
    command(&browser, "web1", "grains.get id", "web1")?;
    command(&browser, "", "runners.manage.up", "web2")?;
    for (page, shown) in PAGES {
        open(&browser, &stage, page)?;
        browser.wait_text(shown)?;
        let name = page.split('?').next().unwrap_or(page);
        browser.wait(
            "all of it",
            "!document.querySelector('.route.current').innerText.includes('(loading)')",
        )?;
        let errors = errors(&browser)?;
        ensure!(errors == json!([]), "{page}: {errors}");
        browser.check_requests_are_sent().context(page)?;
        picture(&browser, &format!("saltgui-{name}"))?;
    }
    sees_a_job(&browser, &stage)?;
    accepts_a_key(&browser, &stage)?;
    hears_events(&browser, &stage)?;
    let complaints = browser.complaints()?;
    let is_grave = |text: &&String| {
        !text.contains("/login") && !OPTIONAL.iter().any(|file| text.contains(file))
    };
    let grave: Vec<_> = complaints.iter().filter(is_grave).collect();
    ensure!(grave.is_empty(), "{grave:?}");
    browser.value("document.getElementById('button-logout1').click()")?;
    browser.wait("the login", "document.querySelector('#page-login.current')")?;
    let said = browser.awaited("fetch('/minions', { headers: { Accept: 'application/json' } }).then((said) => said.status)")?;
    ensure!(said == json!(401), "{said}");
    Ok(())
}

/// A job that it has started, with its result.
fn sees_a_job(browser: &Browser, stage: &Stage) -> Result<()> {
    open(browser, stage, "jobs")?;
    browser.wait_text("grains.get")?;
    let jid = browser.value(
        "[...document.querySelectorAll('#jobs-panel tbody tr')]\
         .find((tr) => tr.innerText.includes('grains.get')).id",
    )?;
    let jid = jid.as_str().context("no job")?.trim_start_matches('j');
    open(browser, stage, &format!("job?id={jid}"))?;
    browser.wait_text("grains.get")?;
    browser.wait("the result", "document.querySelector('#page-job.current pre, #page-job.current .output').innerText.includes('web1')")
}
