//! Users' Python code, and the Python that runs it, beside directories in which
//! others may write.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use anyhow::{Result, ensure};
use halite_integration_tests::{Fleet, Kind, Program, SHORT, run};
use halite_test_support::have_programs;
use serde_json::json;

/// A directory in which others may write lends no Python to root who stands in it,
/// neither by `PATH` nor by options that begin there.
#[test]
fn nothing_is_run_from_the_directory_that_root_stands_in() -> Result<()> {
    if !have_programs(&["python3"]) {
        return Ok(());
    }
    let fleet = Fleet::new("code")?;
    let minion = fleet
        .minion("web1", Kind::Ours)
        .set("master", "127.0.0.1")
        .set("file_client", "local")
        .set("module_dirs", json!(["own", "."]))
        .lay()?;
    // Programs of a test stand in the directory of the fleet.
    let here = fleet.path();
    let sign = here.join("was_run");
    for kind in ["own/modules", "own/grains", "modules", "grains"] {
        fs::create_dir_all(here.join(kind))?;
        let code = format!("open({sign:?}, 'w').close()\ndef own():\n    return {{}}\n");
        fs::write(here.join(kind).join("odd.py"), code)?;
    }
    for dir in ["", "bin"] {
        fs::create_dir_all(here.join(dir))?;
        let python = here.join(dir).join("python3");
        fs::write(
            &python,
            format!("#!/bin/sh\n: > {}\nexit 1\n", sign.display()),
        )?;
        fs::set_permissions(&python, fs::Permissions::from_mode(0o755))?;
    }
    // Something of its own, so that Python is needed.
    let real = minion.dir().join("var/cache/salt/minion/extmods/modules");
    fs::create_dir_all(&real)?;
    fs::write(real.join("good.py"), "def said():\n    return 'said'\n")?;
    for path in [":/usr/bin:/bin", ".:/usr/bin:/bin", "bin:/usr/bin:/bin"] {
        let recipe = minion.recipe(Program::Call)?;
        let recipe = recipe.args(&["--local", "good.said", "--out=json"]);
        let said = run(&recipe.env("PATH", path), SHORT)?;
        ensure!(said.stdout.contains("said"), "{path}: {said}");
        ensure!(
            !sign.exists(),
            "something of this directory was run: {path}"
        );
    }
    Ok(())
}
