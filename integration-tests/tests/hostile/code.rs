//! Users' Python code, and the Python that runs it, beside directories in which
//! others may write.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Stdio};

use anyhow::{Result, ensure};
use halite_integration_tests::{Fleet, Kind, Output, Program, SHORT, run};
use halite_test_support::{have_programs, not_run};
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

/// The Python that makes environments, and that of an environment, are started in the
/// home of root. Behind a `sudo` that keeps `HOME`, that belongs to somebody else.
#[test]
fn no_module_comes_from_the_home_that_an_environment_is_made_from() -> Result<()> {
    const PYTHON: &str = "/usr/bin/python3";
    if !have_programs(&[PYTHON]) {
        return Ok(());
    }
    let mut makes = Command::new(PYTHON);
    makes.args(["-I", "-m", "ensurepip", "--version"]);
    if !makes.stdout(Stdio::null()).status()?.success() {
        not_run("a Python with ensurepip");
        return Ok(());
    }
    let fleet = Fleet::new("code")?;
    let minion = fleet
        .minion("web1", Kind::Ours)
        .set("master", "127.0.0.1")
        .set("file_client", "local")
        .lay()?;
    let home = fleet.path().join("home");
    fs::create_dir_all(&home)?;
    let sign = fleet.path().join("was_run");
    for name in ["venv", "runpy", "sysconfig", "csv", "pkgutil"] {
        let code = format!("open({sign:?}, 'w').close()\n");
        fs::write(home.join(name).with_extension("py"), code)?;
    }
    let venv = fleet.path().join("venv").display().to_string();
    let call = |args: &[&str]| -> Result<Output> {
        let recipe = minion
            .recipe(Program::Call)?
            .args(&["--local", "--out=json"]);
        run(
            &recipe.args(args).env("HOME", &home.display().to_string()),
            SHORT,
        )
    };
    let python = format!("python={PYTHON}");
    let made = call(&["virtualenv.create", &venv, "venv_bin=venv", &python])?;
    ensure!(!sign.exists(), "a module of the home was run: {made}");
    let python = fleet.path().join("venv/bin/python");
    ensure!(python.exists(), "no environment was made: {made}");
    let questions: [(&[&str], &str); 4] = [
        (&["virtualenv.get_site_packages"], "site-packages"),
        (
            &["virtualenv.get_distribution_path", "pip"],
            "site-packages",
        ),
        (
            &["virtualenv.get_resource_path", "pip", "py.typed"],
            "py.typed",
        ),
        (
            &["virtualenv.get_resource_content", "pip", "__init__.py"],
            "def main",
        ),
    ];
    for (words, expect) in questions {
        let args = [&words[..1], &[venv.as_str()], &words[1..]].concat();
        let said = call(&args)?;
        ensure!(said.stdout.contains(expect), "{args:?}: {said}");
        ensure!(!sign.exists(), "a module of the home was run: {args:?}");
    }
    Ok(())
}
