//! What an administrator tries on the first day, without surprises.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

use anyhow::{Context, Result, ensure};
use halite_integration_tests::{Fleet, Kind, Program, SHORT, run, until};

/// A user without rights that every system has.
const OTHER: &str = "nobody";

#[test]
fn a_minion_that_meets_no_master_ends_without_a_word() -> Result<()> {
    let fleet = Fleet::new("alone")?;
    let nobody_there = fleet.master("m1", Kind::Ours).lay()?;
    for round in 0..3 {
        let mut minion = fleet
            .minion(&format!("web{round}"), Kind::Ours)
            .of(&nobody_there)
            .start()?;
        // Its sockets are there; the first job of its own is about to ask a
        // master.
        until("the start to be over", SHORT, || {
            let sockets = fs::read_dir(minion.dir().join("run"))?.count();
            Ok((sockets > 0).then_some(()))
        })?;
        assert_eq!(minion.stop()?, 0);
        let said = minion.daemon().said();
        ensure!(!said.contains("panicked"), "the end was: {said}");
        // Also where that job still waits.
        let left = fs::read_dir(minion.dir().join("run"))?.count();
        ensure!(left == 0, "{left} sockets are left");
    }
    Ok(())
}

#[test]
fn the_user_gets_what_root_has_left() -> Result<()> {
    if !halite_test_support::have_root() {
        return Ok(());
    }
    let fleet = Fleet::new("user")?;
    fs::set_permissions(fleet.path(), Permissions::from_mode(0o755))?;
    // Its directories are there already, and root's.
    let mut master = fleet
        .master("m1", Kind::Ours)
        .auto_accept()
        .set("user", OTHER)
        // Whose key only root can give away.
        .set("publisher_acl", serde_json::json!({"daemon": ["test.*"]}))
        .lay()?;
    let minion = fleet
        .minion("web1", Kind::Ours)
        .of(&master)
        .set("user", OTHER)
        .lay()?;
    let (cache, pki) = (master.dir().join("cache"), master.dir().join("pki"));
    fs::create_dir(cache.join("jobs"))?;
    for dir in [&cache, &pki] {
        fs::set_permissions(dir, Permissions::from_mode(0o755))?;
    }
    master.start()?;
    let mut minion = minion;
    minion.start()?;
    master.wait_minion("web1")?;
    master
        .salt(&["web1", "cmd.run", "id -un"])?
        .ok()?
        .lines()
        .iter()
        .find(|line| line.trim() == OTHER)
        .context("the command ran as somebody else")?;
    let owner = nix::unistd::User::from_name(OTHER)?.context("no such user")?;
    for dir in [&cache, &pki, &cache.join("jobs")] {
        assert_eq!(
            fs::metadata(dir)?.uid(),
            owner.uid.as_raw(),
            "{}",
            dir.display()
        );
    }
    let mode = |dir| anyhow::Ok(fs::metadata(dir)?.permissions().mode() & 0o777);
    // The key of a user who may publish is that user's, for nobody else to
    // read, the master included.
    let daemon = nix::unistd::User::from_name("daemon")?.context("no such user")?;
    let key = fs::metadata(cache.join(".daemon_key"))?;
    assert_eq!(key.uid(), daemon.uid.as_raw());
    assert_eq!(key.permissions().mode() & 0o777, 0o600);
    assert_ne!(
        fs::metadata(master.dir().join("run"))?.permissions().mode() & 0o001,
        0
    );
    // That user is no member of the bus's group, and commands all the same.
    // The programs may lie where only root can go.
    let salt = fleet.path().join("salt");
    // Not by ourselves: a file that this process has open to write, also in a
    // child of another test, cannot be run.
    let program = fleet.programs().path(Kind::Ours, Program::Salt)?;
    let copied = std::process::Command::new("cp")
        .args([&program, &salt])
        .status()?;
    ensure!(copied.success(), "no copy of {}", program.display());
    let as_daemon = |words: &[&str]| {
        use std::os::unix::process::CommandExt as _;
        let output = std::process::Command::new(&salt)
            .arg("-c")
            .arg(master.dir())
            .args(words)
            .env_remove("SUDO_USER")
            .current_dir("/")
            .uid(daemon.uid.as_raw())
            .gid(daemon.gid.as_raw())
            .output()?;
        anyhow::Ok((
            output.status.code(),
            String::from_utf8_lossy(&output.stdout).into_owned()
                + &String::from_utf8_lossy(&output.stderr),
        ))
    };
    fs::set_permissions(&cache, Permissions::from_mode(0o755))?;
    let ping = as_daemon(&["web1", "test.ping"])?;
    assert_eq!(ping, (Some(0), "web1:\n    True\n".to_owned()));
    let denied = as_daemon(&["web1", "cmd.run", "id"])?;
    assert_eq!(
        denied,
        (Some(1), "Authorization error occurred.\n".to_owned())
    );
    // What is to be seen of the cache is for the administrator to decide; of
    // the keys it is not.
    assert_eq!(mode(&cache)?, 0o755);
    assert_eq!(mode(&pki)?, 0o700);
    Ok(())
}

#[test]
fn options_that_do_not_fit_stop_the_check_and_the_start() -> Result<()> {
    let fleet = Fleet::new("misfits")?;
    for (name, option, value) in [
        ("m1", "user", "no-such-user"),
        ("m2", "log_fmt_logfile", "%(nope)s"),
        ("m3", "interface", "not an address"),
    ] {
        let mut master = fleet.master(name, Kind::Ours).set(option, value).lay()?;
        let recipe = master.daemon().recipe().clone();
        for words in [&["--check"][..], &["-d"], &[]] {
            let output = run(&recipe.clone().args(words), SHORT)?.exit(78)?;
            // The place in the file may stand below it.
            let mut lines = output.stderr.lines();
            let first = lines.next().context("nothing is said")?;
            ensure!(first.contains(option), "{output}");
            ensure!(lines.all(|line| line.starts_with(' ')), "{output}");
        }
    }
    Ok(())
}

#[test]
fn paths_of_the_command_line_are_as_typed() -> Result<()> {
    let fleet = Fleet::new("typed")?;
    let mut master = fleet.master("m1", Kind::Ours).lay()?;
    let log = fleet.path().join("elsewhere.log");
    let word = format!("--log-file={}", log.display());
    let daemon = master.daemon();
    *daemon = halite_integration_tests::Daemon::new(
        daemon.recipe().clone().args(&[word.as_str()]),
        fleet.path().join("said"),
    );
    master.start()?;
    ensure!(log.exists(), "the log is not in {}", log.display());
    Ok(())
}
