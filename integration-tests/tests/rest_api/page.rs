//! The page of the fleet in a real browser: what people do there, and what minions
//! cannot do.
//!
//! With `HALITE_PICTURES=DIR` the pictures of the documentation are written there.

use std::fs;

use anyhow::{Context, Result, ensure};
use halite_integration_tests::KeyState;
use serde_json::json;

use crate::browser::{Browser, CONNECTION_MS_MAX};
use crate::page_jobs::{
    command, is_told_where_he_may_command, runs_a_command, sees_a_run_that_goes_on,
    sees_a_state_run,
};
use crate::page_keys::{accepts_a_key, rejects_and_deletes_a_key};
use crate::stage::{DESK, MARKUP, Stage, picture};

/// Minions of which the master has keys and nothing else.
const CROWD: usize = 10_000;

/// Milliseconds of processor time that a frame may take on average while thousands of
/// rows are scrolled through and change: 20 frames a second, on a machine whose caches
/// and cores other tests use, too.
const FRAME_MS_MAX: f64 = 50.0;

/// Scrolls from the top to the end, again and again, while the master fires events about
/// the presence of minions; resolves to the number of frames, once rows have changed.
const SCROLL: &str = "(async () => { \
    const box = document.querySelector('.scroller'); \
    const connected = () => Number(document.querySelector('.tile.good b').innerText); \
    const before = connected(); \
    const ids = (from) => Array.from({ length: 200 }, (_, at) => `crowd${String(from + at).padStart(5, '0')}`); \
    const fire = (data) => fetch('../', { method: 'POST', headers: { 'Content-Type': 'application/json' }, \
      body: JSON.stringify([{ client: 'runner', fun: 'event.send', arg: ['salt/presence/change'], kwarg: { data } }]) }); \
    let firing = true; \
    (async () => { for (let at = 0; at < 2000; at += 200) await fire({ new: ids(at), lost: ids(at + 2000) }); firing = false; })(); \
    let frames = 0; let most = before; const steps = 40; \
    while (firing || most < before + 200 || frames < steps) { \
      frames += 1; box.scrollTop = box.scrollHeight * (frames % steps) / steps; \
      await new Promise(requestAnimationFrame); most = Math.max(most, connected()); } \
    return frames; })()";

const PHONE: (u32, u32) = (400, 780);

/// Checks that nothing of what minions say has become markup.
pub(crate) fn check_texts(browser: &Browser) -> Result<()> {
    ensure!(browser.value("window.wasRun === undefined")? == json!(true));
    let made = browser.value("document.querySelectorAll('main img, main b b').length")?;
    ensure!(made == json!(0), "{made} elements of a minion's making");
    Ok(())
}

#[test]
fn the_fleet_is_watched_and_commanded_in_a_browser() -> Result<()> {
    let mut stage = Stage::start()?;
    let Some(browser) = stage.logged_in("alice", "secret1")? else {
        return Ok(());
    };
    sees_the_fleet(&browser)?;
    is_used_without_a_mouse(&browser)?;
    accepts_a_key(&browser, &stage)?;
    runs_a_command(&browser)?;
    sees_a_run_that_goes_on(&browser, &stage)?;
    sees_a_state_run(&browser)?;
    is_looked_at_by_night_and_on_a_phone(&browser)?;
    hears_events(&browser)?;
    looks_at_masters(&browser)?;
    comes_and_goes(&browser, &stage)?;
    sees_a_minion_die(&browser, &mut stage)?;
    rejects_and_deletes_a_key(&browser, &stage)?;
    check_texts(&browser)?;
    // The wrong password is in the log of the browser as an answer with 401.
    let complaints = browser.complaints()?;
    let grave = complaints.iter().filter(|text| !text.contains("/login"));
    let grave: Vec<_> = grave.collect();
    ensure!(grave.is_empty(), "{grave:?}");

    browser.look(DESK, false)?;
    browser.value("[...document.querySelectorAll('header button')].at(-1).click()")?;
    browser.wait("the login", "document.querySelector('form.login')")?;
    let said = browser.awaited("fetch('../minions').then((said) => said.status)")?;
    ensure!(said == json!(401), "{said}");
    Ok(())
}

fn sees_the_fleet(browser: &Browser) -> Result<()> {
    browser.wait_text("web2")?;
    browser.wait_text("1 key waits")?;
    browser.wait_text(MARKUP)?;
    check_texts(browser)?;
    browser.type_into("#filter", "-C 'web* and not web2'")?;
    browser.press("\u{E007}")?;
    browser.wait("only web1", "!document.body.innerText.includes('web2')")?;
    browser.type_into("#filter", "-G id:web2")?;
    browser.press("\u{E007}")?;
    browser.wait("only web2", "!document.body.innerText.includes('web1')")?;
    browser.type_into("#filter", "-C 'no such and'")?;
    browser.press("\u{E007}")?;
    browser.wait("a mistake or nobody", "document.querySelector('.note').innerText || document.body.innerText.includes('No minions')")?;
    browser.type_into("#filter", "*")?;
    browser.press("\u{E007}")?;
    browser.wait_text("web1")
}

/// Keys of a keyboard, as WebDriver writes them.
const ENTER: &str = "\u{E007}";
const ESCAPE: &str = "\u{E00C}";
const DOWN: &str = "\u{E015}";
const TAB: &str = "\u{E004}";

fn is_used_without_a_mouse(browser: &Browser) -> Result<()> {
    let views = ["Fleet", "Masters", "Jobs", "Keys", "Events", "Why", "Fleet"];
    for (view, key) in views.iter().zip(["1", "2", "3", "4", "5", "6", "1"]) {
        browser.value("document.activeElement.blur()")?;
        browser.press(key)?;
        browser.wait(view, &format!("document.title.startsWith('{view}')"))?;
    }
    browser.wait_text("web2")?;
    browser.press("?")?;
    browser.wait(
        "the list of keys",
        "document.querySelector('dialog[open] kbd')",
    )?;
    browser.press(ESCAPE)?;
    browser.wait("no list", "!document.querySelector('dialog')")?;
    browser.press("/")?;
    browser.wait("the filter", "document.activeElement.id === 'filter'")?;
    // From the filter past its two buttons and the notice into the table.
    for _ in 0..8 {
        if browser.value("document.activeElement.classList.contains('scroller')")? == json!(true) {
            break;
        }
        browser.press(TAB)?;
    }
    browser.press(DOWN)?;
    browser.wait("a row", "document.querySelector('.tr.active')")?;
    let id = browser.value("document.querySelector('.tr.active a').innerText")?;
    browser.press(ENTER)?;
    let shown = format!(
        "document.title.startsWith('Why') && document.querySelector('h1').innerText === {id}"
    );
    browser.wait("why", &shown)
}

fn is_looked_at_by_night_and_on_a_phone(browser: &Browser) -> Result<()> {
    browser.look(DESK, true)?;
    picture(browser, "fleet-dark")?;
    browser.look(PHONE, false)?;
    let is_wide = "document.documentElement.scrollWidth > innerWidth";
    for view in ["fleet", "jobs", "keys", "events", "masters", "why"] {
        browser.value(&format!("location.hash = '#/{view}'"))?;
        let shown = format!("document.title.toLowerCase().startsWith('{view}')");
        browser.wait(view, &shown)?;
        ensure!(
            browser.value(is_wide)? == json!(false),
            "{view} is wider than a phone"
        );
        picture(browser, &format!("{view}-phone"))?;
    }
    browser.look(DESK, false)
}

fn hears_events(browser: &Browser) -> Result<()> {
    browser.value("location.hash = '#/events'")?;
    browser.wait_text("live")?;
    browser.type_into("#filter", "salt/netapi/hook/*")?;
    browser.awaited(
        "fetch('../hook/page/one', { method: 'POST', body: 'text=' + encodeURIComponent('<b>bold</b>'), \
         headers: { 'Content-Type': 'application/x-www-form-urlencoded' } })",
    )?;
    browser.wait_text("salt/netapi/hook/page/one")?;
    browser.click(".events summary")?;
    browser.wait_text("<b>bold</b>")?;
    picture(browser, "events")?;
    browser.value("[...document.querySelectorAll('main button')].find((b) => b.innerText === 'Pause').click()")?;
    browser.awaited("fetch('../hook/page/two', { method: 'POST' })")?;
    browser.wait(
        "what came since",
        "/paused; [1-9]/.test(document.body.innerText)",
    )?;
    ensure!(!browser.text()?.contains("page/two"));
    browser.value("[...document.querySelectorAll('main button')].find((b) => b.innerText === 'Go on').click()")?;
    browser.wait_text("salt/netapi/hook/page/two")?;
    check_texts(browser)
}

fn looks_at_masters(browser: &Browser) -> Result<()> {
    let queued = browser.awaited(
        "fetch('../', { method: 'POST', headers: { 'Content-Type': 'application/json' }, \
         body: JSON.stringify([{ client: 'runner', fun: 'queue.insert', arg: ['builds', ['one', 'two']] }]) })\
         .then((said) => said.json())",
    )?;
    ensure!(queued["return"] == json!([true]), "{queued}");
    browser.value("location.hash = '#/masters'")?;
    browser.wait_text("this master belongs to no cluster")?;
    browser.wait(
        "the queue",
        "[...document.querySelectorAll('.panel')].find((panel) => panel.innerText.startsWith('Queues'))\
         ?.querySelector('tr')?.innerText === 'builds\\t2'",
    )?;
    browser.wait("the stores", "document.querySelector('main table')")?;
    // Nobody is there: that is a row, not an error of the page.
    browser.type_into("#filter", "127.0.0.1:1")?;
    browser.press("\u{E007}")?;
    browser.wait_text("connection")?;
    picture(browser, "masters")
}

/// Who leaves the page and comes back, again and again, does not wait for the streams
/// of before.
fn comes_and_goes(browser: &Browser, stage: &Stage) -> Result<()> {
    for visit in 0..8 {
        browser.open(&stage.url(&format!("fleet/?visit={visit}#/fleet")))?;
        browser.wait_text("web1")?;
        browser.wait_text("live")?;
        let after = browser.value("performance.now()")?;
        let after = after.as_f64().context("no number")?;
        ensure!(
            after < CONNECTION_MS_MAX,
            "visit {visit}: live after {after} ms"
        );
    }
    browser.value("history.back()")?;
    browser.wait("the page of before", "location.search === '?visit=6'")?;
    browser.wait_text("live")
}

fn sees_a_minion_die(browser: &Browser, stage: &mut Stage) -> Result<()> {
    browser.value("location.hash = '#/fleet'")?;
    browser.wait(
        "web1 is there",
        "document.querySelector('.tile.good b')?.innerText >= 3",
    )?;
    stage.web1.kill9()?;
    browser.wait("one is away", "document.querySelector('.tile.bad b')?.innerText >= 1 && document.body.innerText.includes('not connected')")?;
    browser.value("location.hash = '#/why/web1'")?;
    browser.wait_text("It has no connection to this master since")?;
    browser.wait_text("its connection to")?;
    browser.wait_text("signed in at")?;
    picture(browser, "why")?;
    browser.value("location.hash = '#/masters'")?;
    browser.wait_text("1 disconnection and 0 failovers")?;
    browser.value("location.hash = '#/why'")?;
    browser.wait("the time line", "document.querySelector('rect.away')")?;
    picture(browser, "timeline")?;
    // What was is not only known to those who have watched.
    browser.value("location.reload()")?;
    browser.wait(
        "the time line of before",
        "performance.now() < 60000 && document.querySelector('rect.here + rect.away')",
    )?;
    stage.web1.start()?;
    stage.master.wait_minion("web1")?;
    browser.value("location.hash = '#/why/web1'")?;
    browser.value("document.querySelector('main .primary').click()")?;
    browser.wait_text("It answers.")?;
    browser.value("location.hash = '#/fleet'")?;
    browser.wait(
        "it is back",
        "document.querySelector('.tile.good b')?.innerText >= 3",
    )
}

#[test]
fn thousands_of_minions_are_scrolled_through_and_nobody_sees_what_he_may_not() -> Result<()> {
    let stage = Stage::start()?;
    let Some(alice) = stage.logged_in("alice", "secret1")? else {
        return Ok(());
    };
    let accepted = stage
        .master
        .dir()
        .join("pki")
        .join(KeyState::Accepted.dir());
    let key = fs::read(accepted.join("web1"))?;
    for number in 0..CROWD {
        fs::write(accepted.join(format!("crowd{number:05}")), &key)?;
    }
    let last = format!("crowd{:05}", CROWD - 1);
    alice.wait("all rows", &format!(
        "document.querySelector('.scroller').getAttribute('aria-rowcount') > {CROWD} || \
         (Date.now() - (window.lastAsked ?? 0) > 15000 && (window.lastAsked = Date.now(), document.querySelector('form .primary').click(), false))"
    ))?;
    let made = alice.value("document.querySelectorAll('.tbody .tr').length")?;
    ensure!(
        made.as_u64().unwrap_or(u64::MAX) < 80,
        "{made} rows are made at once"
    );
    let before_ms = alice.main_thread_ms()?;
    let frames = alice.awaited(SCROLL)?;
    let frames = frames.as_f64().with_context(|| frames.to_string())?;
    let frame_ms = (alice.main_thread_ms()? - before_ms) / frames;
    ensure!(
        frame_ms < FRAME_MS_MAX,
        "a frame of {frames} takes {frame_ms} ms"
    );
    alice.value("document.querySelector('.scroller').focus()")?;
    alice.press("\u{E010}")?;
    alice.wait("the last row", &format!("document.querySelector('.tr.active')?.innerText.includes('web2') || document.querySelector('.tr.active')?.innerText.includes('{last}')"))?;
    check_texts(&alice)?;
    drop(alice);

    let Some(bob) = stage.logged_in("bob", "secret2")? else {
        return Ok(());
    };
    let views =
        bob.value("[...document.querySelectorAll('nav a')].map((a) => a.innerText).join()")?;
    ensure!(views == json!("Jobs,Events,Why"), "{views}");
    bob.value("location.hash = '#/keys'")?;
    bob.wait("another view", "document.title.startsWith('Jobs')")?;
    ensure!(
        bob.value("document.querySelector('button.accept, button.delete') === null")?
            == json!(true)
    );
    bob.type_into(".command [aria-label=Function]", "cmd.run")?;
    bob.wait_text("You may not run cmd.run.")?;
    ensure!(bob.value("document.querySelector('.command .primary').disabled")? == json!(true));
    command(&bob, "web1", "test.ping", "")?;
    bob.wait_text("1 of 1 returned")?;
    picture(&bob, "few-rights")?;
    drop(bob);

    match stage.logged_in("carol", "secret3")? {
        Some(carol) => is_told_where_he_may_command(&carol),
        None => Ok(()),
    }
}
