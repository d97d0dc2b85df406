//! Programs that are interrupted, or whose output cannot be written.

use std::path::PathBuf;

use anyhow::{Result, ensure};
use halite_integration_tests::{
    Daemon, Fleet, Kind, Minion, Program, Recipe, SHORT, Signal, run, until,
};

fn alone(fleet: &Fleet) -> Result<Minion> {
    let plan = fleet.minion("web1", Kind::Ours).set("master", "127.0.0.1");
    plan.set("file_client", "local").lay()
}

/// A terminal's Ctrl-C reaches its own process group only, and commands are in
/// groups of their own.
fn the_command_hears(signal: Signal) -> Result<()> {
    let fleet = Fleet::new("broken")?;
    let minion = alone(&fleet)?;
    let at = |name: &str| fleet.path().join(name);
    let command = format!(
        "trap ': >{}; exit' INT TERM; : >{}; while :; do sleep 1; done",
        at("told").display(),
        at("started").display()
    );
    let recipe = minion.recipe(Program::Call)?;
    let recipe = recipe.args(&["--local", "cmd.run", &command, "python_shell=True"]);
    let mut call = Daemon::new(recipe, at("said"));
    call.start()?;
    until("the command to run", SHORT, || {
        call.check_runs()?;
        Ok(at("started").exists().then_some(()))
    })?;
    call.signal(signal)?;
    let exit = call.wait_exit(SHORT)?;
    ensure!(exit == 1, "exit code {exit}");
    ensure!(at("told").exists(), "the command was not told");
    let said = call.said();
    ensure!(said.contains("Exiting gracefully on Ctrl-c"), "{said}");
    Ok(())
}

#[test]
fn ctrl_c_of_salt_call_ends_its_command() -> Result<()> {
    the_command_hears(Signal::SIGINT)
}

#[test]
fn sigterm_of_salt_call_ends_its_command() -> Result<()> {
    the_command_hears(Signal::SIGTERM)
}

#[test]
fn a_result_that_a_full_disk_does_not_take_is_a_failure() -> Result<()> {
    let fleet = Fleet::new("full")?;
    let minion = alone(&fleet)?;
    let call = fleet.programs().path(Kind::Ours, Program::Call)?;
    let (call, conf) = (
        call.display().to_string(),
        minion.dir().display().to_string(),
    );
    for (script, exit, says) in [
        (
            "exec \"$@\" >/dev/full",
            1,
            "could not write to the standard output",
        ),
        (
            "exec \"$@\" --out-file=/dev/full",
            1,
            "could not write results to /dev/full",
        ),
        // Who reads no further has what was wanted.
        ("\"$@\" | :", 0, ""),
        ("exec \"$@\" --out-file=/dev/stderr", 0, "True"),
    ] {
        let words = [
            "-c",
            script,
            "sh",
            &call,
            "-c",
            &conf,
            "--local",
            "test.ping",
        ];
        let recipe = Recipe::new("sh", PathBuf::from("/bin/sh"), fleet.path()).args(&words);
        let done = run(&recipe, SHORT)?;
        ensure!(
            done.code == exit && done.stderr.contains(says),
            "{script}: {done:?}"
        );
    }
    Ok(())
}
