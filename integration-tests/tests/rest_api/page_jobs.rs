//! Jobs on the page of the fleet: commands, runs of states while they run and when they
//! are done, and what somebody with few rights is offered.

use std::fs;

use anyhow::{Result, ensure};
use serde_json::json;

use crate::browser::Browser;
use crate::page::check_texts;
use crate::stage::{MARKUP, Stage, picture};

/// A state that waits for a file.
const SLOW_SLS: &str = "\
first:
  test.succeed_without_changes

gate:
  cmd.run:
    - name: 'for _ in $(seq 600); do test -e {dir}/go && exit 0; sleep 0.1; done; exit 1'
";

/// What the text of the run of states has, as `salt` prints it.
const HIGHSTATE_TEXT: [&str; 12] = [
    "          ID: motd\n    Function: file.managed\n",
    "              -An older greeting.\n",
    "              +Welcome to web1.\n",
    "          ID: broken\n",
    "        Name: this one fails\n",
    "      Result: False\n",
    "     Comment: Failure!\n",
    "    Warnings: the old way\n",
    "Succeeded: 3 (changed=1)\n",
    "Failed:    1\n",
    "Warnings:  1\n",
    "Total states run:      4\n",
];

/// Gives a command as it is typed, and waits for its job's view.
pub(crate) fn command(browser: &Browser, target: &str, fun: &str, args: &str) -> Result<()> {
    browser.value("location.hash = '#/jobs'")?;
    browser.wait("the command line", "document.querySelector('.command')")?;
    let fields = [
        "[aria-label=Target]",
        "[aria-label=Function]",
        "[aria-label=Arguments]",
    ];
    for (field, text) in fields.iter().zip([target, fun, args]) {
        browser.type_into(&format!(".command {field}"), text)?;
    }
    browser.click(".command .primary")?;
    browser.wait("the job", "/^#\\/jobs\\/\\d{20}$/.test(location.hash)")
}

pub(crate) fn runs_a_command(browser: &Browser) -> Result<()> {
    let quoted = format!("'{MARKUP}'");
    command(browser, "web*", "test.echo", &quoted)?;
    browser.wait_text("2 of 2 returned")?;
    browser.wait_text(MARKUP)?;
    check_texts(browser)?;
    // Arguments keep their types, by place and by name.
    command(browser, "-L web1", "test.arg", "1 two flag=True")?;
    browser.wait_text("1 of 1 returned")?;
    browser.value("document.querySelectorAll('.tab')[2].click()")?;
    browser.wait("the text form", "document.querySelector('.return pre')")?;
    let text = browser.text()?;
    for part in ["- 1", "- two", "flag:"] {
        ensure!(text.contains(part), "{part:?} is not in {text}");
    }
    // Again, after a look at it.
    browser.value(
        "[...document.querySelectorAll('main button')].find((b) => b.innerText.startsWith('Run again')).click()",
    )?;
    browser.wait("the command line", "document.querySelector('.command')")?;
    let args = browser.value("document.querySelector('.command [aria-label=Arguments]').value")?;
    ensure!(args == json!("1 two flag=True"), "{args}");
    browser.wait(
        "the jobs",
        "document.querySelectorAll('.tbody .tr').length >= 2",
    )
}

/// A job while it runs: the state that it has reached.
pub(crate) fn sees_a_run_that_goes_on(browser: &Browser, stage: &Stage) -> Result<()> {
    let dir = stage.dir();
    let slow = SLOW_SLS.replace("{dir}", &dir.display().to_string());
    fs::write(stage.master.dir().join("srv/slow.sls"), slow)?;
    command(browser, "web1", "state.apply", "slow")?;
    browser.wait_text("state 2 of 2: gate (cmd.run)")?;
    browser.wait(
        "its progress",
        "document.querySelector('.result.waits progress')?.position === 1",
    )?;
    ensure!(browser.text()?.contains("0 of 1 returned"));
    fs::write(dir.join("go"), "")?;
    browser.wait_text("1 of 1 returned")?;
    browser.wait_text("1 changed, 2 states")?;
    let waits = browser.value("document.querySelector('.result.waits') === null")?;
    ensure!(waits == json!(true), "a minion that has returned waits");
    Ok(())
}

pub(crate) fn sees_a_state_run(browser: &Browser) -> Result<()> {
    command(browser, "web1", "state.highstate", "")?;
    browser.wait_text("1 of 1 returned, 1 failed")?;
    browser.wait_text("1 failed, 1 changed, 4 states")?;
    browser.wait(
        "the diff",
        "document.querySelector('.state.changed[open] .diff')",
    )?;
    browser.wait(
        "the failed one",
        "document.querySelector('.state.bad[open]')",
    )?;
    let lines = browser.value(
        "['minus', 'plus', 'at'].map((kind) => [...document.querySelectorAll(`.diff .${kind}`)]\
         .map((line) => line.textContent.trim()).at(-1))",
    )?;
    ensure!(
        lines[0] == "-An older greeting." && lines[1] == "+Welcome to web1.",
        "{lines}"
    );
    ensure!(
        lines[2]
            .as_str()
            .is_some_and(|line| line.starts_with("@@ "))
    );
    let colours = browser.value(
        "new Set(['.diff .minus', '.diff .plus', '.diff .at'].map((line) => {\
         const { color, backgroundColor } = getComputedStyle(document.querySelector(line));\
         return color + backgroundColor; })).size",
    )?;
    ensure!(colours == json!(3), "{colours} colours");
    browser.wait(
        "the warning",
        "document.querySelector('.state[open] .warning')?.innerText === 'Warning: the old way'",
    )?;
    picture(browser, "job")?;
    browser.value(
        "[...document.querySelectorAll('.return .tab')].find((b) => b.innerText === 'Text').click()",
    )?;
    browser.wait("the text", "document.querySelector('.return pre.text')")?;
    let text = browser.value("document.querySelector('.return pre.text').textContent")?;
    let text = text.as_str().unwrap_or_default();
    for part in HIGHSTATE_TEXT {
        ensure!(text.contains(part), "{part:?} is not in {text}");
    }
    browser.value("location.hash = '#/fleet'")?;
    browser.wait_text("1 failed, 1 changed, 4 states")?;
    picture(browser, "fleet")
}

/// Types a target, and waits for what is said about the right to run `test.ping` there.
fn may_ping(browser: &Browser, target: &str, may: bool, words: &str) -> Result<()> {
    browser.type_into(".command [aria-label=Target]", target)?;
    browser.wait(
        &format!("{words:?} for {target}"),
        &format!(
            "document.querySelector('.command .primary').disabled === {} && \
             document.querySelector('.command .note').innerText.includes({})",
            !may,
            json!(words)
        ),
    )
}

/// Somebody who may ping some minions.
pub(crate) fn is_told_where_he_may_command(carol: &Browser) -> Result<()> {
    carol.value("location.hash = '#/jobs'")?;
    carol.wait("the command line", "document.querySelector('.command')")?;
    let refused = "You may not run test.ping on all of these minions.";
    may_ping(carol, "db1", false, refused)?;
    may_ping(carol, "-L web1,db1", false, refused)?;
    let perhaps = "You may run test.ping on some minions.";
    may_ping(carol, "-G id:web1", true, perhaps)?;
    // The master decides.
    may_ping(carol, "*", true, perhaps)?;
    carol.click(".command .primary")?;
    carol.wait(
        "a refusal",
        "/[Aa]uthorization|[Aa]uthentication/.test(document.querySelector('.command .note').innerText)",
    )?;
    may_ping(carol, "web1", true, "")?;
    command(carol, "web1", "test.ping", "")?;
    carol.wait_text("1 of 1 returned")
}
