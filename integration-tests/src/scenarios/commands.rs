//! Commands: their returns, and how long they are waited for.

use anyhow::{Result, ensure};
use serde_json::json;

use super::Pair;
use crate::kind::Kind;
use crate::wait::{START, until};

/// Shell commands run, with their arguments, results and exit codes.
pub fn commands_run(master: Kind, minion: Kind) -> Result<()> {
    let pair = Pair::of(master, minion)?;
    assert_eq!(
        pair.returned(&["cmd.run", "echo hello; echo again"])?,
        json!("hello\nagain")
    );
    assert_eq!(pair.returned(&["cmd.run", "pwd", "cwd=/"])?, json!("/"));
    assert_eq!(
        pair.returned(&["cmd.run", "echo $COLOUR", "env={COLOUR: žluťoučký}"])?,
        json!("žluťoučký")
    );
    assert_eq!(
        pair.returned(&["cmd.run_stdout", "echo out; echo err >&2"])?,
        json!("out")
    );
    let echoed = pair.returned(&["test.arg", "1", "two", "three=3.5"])?;
    assert_eq!(echoed["args"], json!([1, "two"]));
    assert_eq!(echoed["kwargs"]["three"], json!(3.5));

    let failed = pair
        .master
        .salt(&[
            "web1",
            "cmd.run_all",
            "echo out; echo err >&2; exit 3",
            "--out=json",
        ])?
        .exit(1)?;
    let all = failed.of("web1")?;
    ensure!(
        all["retcode"] == 3 && all["stdout"] == "out" && all["stderr"] == "err",
        "unexpected {failed}"
    );
    ensure!(all["pid"].is_u64(), "no process id in {failed}");
    ensure!(
        failed
            .stderr
            .contains("ERROR: Minions returned with non-zero exit code"),
        "unexpected {failed}"
    );

    let unknown = pair
        .master
        .salt(&["web1", "no.such", "--out=json"])?
        .exit(1)?;
    ensure!(
        unknown.of("web1")? == json!("'no.such' is not available."),
        "unexpected {unknown}"
    );

    let event = pair
        .master
        .events()?
        .wait("the return of the failed command", START, |event| {
            event.tag.ends_with("/ret/web1") && event.data["fun"] == "cmd.run_all"
        })?;
    ensure!(
        event.data["retcode"] == 3 && event.data["success"] == false,
        "unexpected {event:?}"
    );
    Ok(())
}

/// `salt-call` on the minion talks to the master on its own.
pub fn salt_call_reaches_the_master(master: Kind, minion: Kind) -> Result<()> {
    let pair = Pair::with(
        master,
        minion,
        |plan| plan.file("greeting", "hello"),
        |plan| plan,
    )?;
    let mark = pair.master.events()?.mark();
    assert_eq!(pair.minion.called(&["test.ping"])?, json!(true));
    let event =
        pair.master
            .events()?
            .wait_after(mark, "the return of salt-call", START, |event| {
                event.tag.starts_with("salt/job/") && event.tag.ends_with("/ret/web1")
            })?;
    ensure!(
        event.data["fun"] == "test.ping" && event.data["return"] == true,
        "unexpected {event:?}"
    );

    assert_eq!(
        pair.minion
            .called(&["cp.get_file_str", "salt://greeting"])?,
        json!("hello")
    );
    assert_eq!(pair.minion.called(&["pillar.items"])?, json!({}));
    assert_eq!(
        pair.minion
            .called(&["event.send", "custom/tag", "colour=red"])?,
        json!(true)
    );
    let event = pair
        .master
        .events()?
        .wait("custom/tag", START, |event| event.tag == "custom/tag")?;
    ensure!(
        event.data["data"]["colour"] == "red" && event.data["id"] == "web1",
        "unexpected {event:?}"
    );

    pair.minion.call(&["no.such"])?.exit(255)?;
    pair.minion
        .call(&["--retcode-passthrough", "cmd.run", "exit 7"])?
        .exit(7)?;
    assert_eq!(
        pair.minion.called(&["--local", "test.echo", "alone"])?,
        json!("alone")
    );
    Ok(())
}

/// The minion answers while it works on something long, and the long command
/// is waited for.
pub fn a_long_command_is_waited_for(master: Kind, minion: Kind) -> Result<()> {
    let pair = Pair::of(master, minion)?;
    let slow = pair
        .master
        .salt(&["-t", "1", "web1", "test.sleep", "4", "--out=json"])?
        .ok()?;
    ensure!(slow.of("web1")? == json!(true), "unexpected {slow}");

    let started = pair
        .master
        .salt(&["--async", "web1", "test.sleep", "600"])?
        .ok()?;
    let jid = started
        .stdout
        .trim()
        .rsplit(' ')
        .next()
        .unwrap_or_default()
        .to_owned();
    ensure!(jid.len() == 20, "no job id in {started}");
    let running = until("the job to be seen", START, || {
        let running = pair.returned(&["saltutil.find_job", &jid])?;
        Ok((running["jid"] == jid.as_str()).then_some(running))
    })?;
    ensure!(running["fun"] == "test.sleep", "unexpected {running}");
    pair.returned(&["saltutil.kill_job", &jid])?;
    until("the job to be gone", START, || {
        Ok((pair.returned(&["saltutil.find_job", &jid])? == json!({})).then_some(()))
    })
}
