//! The output and exit codes of our tools on which scripts rely: the same as
//! recorded from real Salt 3008.5 for the same commands.

use anyhow::{Context, Result, ensure};
use halite_integration_tests::{Fleet, Kind, Master, Minion};
use serde_json::json;

struct Pair {
    master: Master,
    _web1: Minion,
    web2: Minion,
    _fleet: Fleet,
}

impl Pair {
    fn start() -> Result<Self> {
        let fleet = Fleet::new("screens")?;
        let master = fleet
            .master("m1", Kind::Ours)
            .auto_accept()
            .set("timeout", 15)
            .set("gather_job_timeout", 5)
            .start()?;
        let web1 = fleet.minion("web1", Kind::Ours).of(&master).start()?;
        let web2 = fleet.minion("web2", Kind::Ours).of(&master).start()?;
        master.wait_minion("web1")?;
        master.wait_minion("web2")?;
        Ok(Self {
            master,
            _web1: web1,
            web2,
            _fleet: fleet,
        })
    }

    /// Standard output of a command on web1 that must succeed.
    fn shows(&self, args: &[&str]) -> Result<String> {
        let mut all = vec!["web1"];
        all.extend(args);
        Ok(self.master.salt(&all)?.ok()?.stdout)
    }
}

#[test]
fn outputters_print_what_salt_prints() -> Result<()> {
    let pair = Pair::start()?;
    assert_eq!(pair.shows(&["test.ping"])?, "web1:\n    True\n");
    assert_eq!(
        pair.shows(&["test.ping", "--out=json"])?,
        "{\n    \"web1\": true\n}\n"
    );
    assert_eq!(
        pair.shows(&["test.ping", "--out=json", "--out-indent=-1"])?,
        "{\"web1\": true}\n"
    );
    assert_eq!(pair.shows(&["test.ping", "--out=yaml"])?, "web1: true\n");
    assert_eq!(pair.shows(&["test.ping", "--out=txt"])?, "web1: True\n");
    assert_eq!(pair.shows(&["test.ping", "--out=raw"])?, "{'web1': True}\n");
    assert_eq!(
        pair.shows(&["cmd.run", "printf 'a\\nb'", "--out=txt"])?,
        "web1: a\nweb1: b\n"
    );
    assert_eq!(
        pair.shows(&["cmd.run", "printf 'a\\nb'"])?,
        "web1:\n    a\n    b\n"
    );
    let nested = pair.shows(&["test.echo", "{\"b\": [1, {\"k\": null}], \"a\": {}}"])?;
    assert_eq!(
        nested,
        "web1:\n    ----------\n    a:\n        ----------\n    b:\n        - 1\n        |_\n          ----------\n          k:\n              None\n"
    );
    assert_eq!(
        pair.shows(&["test.ping", "--force-color"])?,
        "\x1b[0;36mweb1\x1b[0;0m:\n    \x1b[0;1;33mTrue\x1b[0;0m\n"
    );
    Ok(())
}

#[test]
fn all_minions_are_shown_whatever_their_order() -> Result<()> {
    let pair = Pair::start()?;
    let both = pair
        .master
        .salt(&["*", "test.ping", "--static", "--out=json"])?
        .ok()?;
    assert_eq!(both.json()?, json!({ "web1": true, "web2": true }));
    let both = pair
        .master
        .salt(&["-E", "web[12]", "test.ping", "--out=txt"])?
        .ok()?;
    let mut lines = both.lines();
    lines.sort_unstable();
    assert_eq!(lines, ["web1: True", "web2: True"]);
    let listed = pair
        .master
        .salt(&["-L", "web1, web2", "test.ping", "--out=json"])?
        .ok()?;
    assert_eq!(listed.by_minion()?.len(), 2);
    let summary = pair.master.salt(&["*", "test.ping", "--summary"])?.ok()?;
    ensure!(
        summary.stdout.contains("# of minions targeted: 2\n# of minions returned: 2\n# of minions that did not return: 0\n"),
        "unexpected {summary}"
    );
    Ok(())
}

#[test]
fn job_ids_are_shown_on_demand() -> Result<()> {
    let pair = Pair::start()?;
    let is_jid = |text: &str| text.len() == 20 && text.bytes().all(|byte| byte.is_ascii_digit());
    let shown = pair.shows(&["test.ping", "--show-jid"])?;
    let (first, rest) = shown.split_once('\n').context("one line only")?;
    ensure!(
        first.strip_prefix("jid: ").is_some_and(is_jid),
        "unexpected {shown}"
    );
    assert_eq!(rest, "web1:\n    True\n");
    let verbose = pair.shows(&["test.ping", "-v"])?;
    let (first, rest) = verbose.split_once('\n').context("one line only")?;
    ensure!(
        first
            .strip_prefix("Executing job with jid ")
            .is_some_and(is_jid),
        "unexpected {verbose}"
    );
    assert_eq!(
        rest,
        "-------------------------------------------\n\nweb1:\n    True\n"
    );
    let async_job = pair.shows(&["test.ping", "--async"])?;
    ensure!(
        async_job
            .trim_end()
            .strip_prefix("Executed command with job ID: ")
            .is_some_and(is_jid),
        "unexpected {async_job}"
    );
    Ok(())
}

#[test]
fn failures_have_their_texts_and_codes() -> Result<()> {
    let mut pair = Pair::start()?;
    let nobody = pair.master.salt(&["nosuch", "test.ping"])?.exit(2)?;
    assert_eq!(
        nobody.stdout,
        "No minions matched the target. No command was sent, no jid was assigned.\n"
    );
    assert_eq!(nobody.stderr, "ERROR: No return received\n");
    let unknown = pair.master.salt(&["web1", "no.such"])?.exit(1)?;
    assert_eq!(unknown.stdout, "web1:\n    'no.such' is not available.\n");
    assert_eq!(
        unknown.stderr,
        "ERROR: Minions returned with non-zero exit code\n"
    );
    let usage = pair.master.salt(&["--no-such-option"])?.exit(64)?;
    ensure!(usage.stderr.contains("salt: error: "), "unexpected {usage}");
    pair.master.salt(&["web1"])?.exit(42)?;

    pair.web2.kill9()?;
    let missing = pair.master.salt(&["*", "test.ping"])?.exit(1)?;
    ensure!(
        missing.stdout.contains("web1:\n    True\n"),
        "unexpected {missing}"
    );
    ensure!(
        missing
            .stdout
            .contains("web2:\n    Minion did not return. ["),
        "unexpected {missing}"
    );
    let merged = pair
        .master
        .salt(&["*", "test.ping", "--static", "--out=json"])?
        .ok()?;
    assert_eq!(merged.json()?, json!({ "web1": true }));
    Ok(())
}

#[test]
fn a_master_that_is_down_is_said_to_be() -> Result<()> {
    let fleet = Fleet::new("down")?;
    let mut master = fleet.master("m1", Kind::Ours).start()?;
    master.stop()?;
    // Real Salt exits with 0 here: docs/differences.md.
    let down = master.salt(&["*", "test.ping"])?.exit(1)?;
    assert_eq!(
        down.stdout,
        "The salt master could not be contacted. Is master running?\n"
    );
    let keys = master.key(&["-L"])?.ok()?;
    assert_eq!(
        keys.stdout,
        "Accepted Keys:\nDenied Keys:\nUnaccepted Keys:\nRejected Keys:\n"
    );
    Ok(())
}

#[test]
fn keys_are_decided_at_the_prompt() -> Result<()> {
    let fleet = Fleet::new("prompt")?;
    let master = fleet.master("m1", Kind::Ours).start()?;
    let _web1 = fleet.minion("web1", Kind::Ours).of(&master).start()?;
    master.wait_key("web1", halite_integration_tests::KeyState::Pending)?;
    let tools = master.tools(Kind::Ours);
    let heading = "The following keys are going to be accepted:\nUnaccepted Keys:\nweb1\n";

    let refused = tools.key_with(&["-a", "web1"], "n\n")?.ok()?;
    assert_eq!(refused.stdout, format!("{heading}Proceed? [n/Y] "));
    let accepted = tools.key_with(&["-a", "web*"], "\n")?.ok()?;
    assert_eq!(
        accepted.stdout,
        format!("{heading}Proceed? [n/Y] Key for minion web1 accepted.\n")
    );
    master.wait_minion("web1")?;

    let none = tools.key(&["-y", "-a", "nosuch"])?.ok()?;
    assert_eq!(
        none.stdout,
        "The key glob 'nosuch' does not match any unaccepted keys.\n"
    );
    let kept = tools.key_with(&["-d", "web1"], "\n")?.ok()?;
    ensure!(
        kept.stdout.ends_with("Proceed? [N/y] "),
        "unexpected {kept}"
    );
    let listed = tools.key(&["-l", "acc"])?.ok()?;
    assert_eq!(listed.stdout, "Accepted Keys:\nweb1\n");
    tools.key(&["-l", "zzz"])?.exit(64)?;
    Ok(())
}
