//! Who may read and write the files that daemons leave on disk.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::{fs, io};

use anyhow::{Context, Result, ensure};
use halite_integration_tests::{Daemon, Fleet, Kind, Program, Recipe};

#[test]
fn keys_and_directories_are_private_from_the_start() -> Result<()> {
    let fleet = Fleet::new("modes")?;
    let master = fleet.master("m1", Kind::Ours).start()?;
    let minion = fleet.minion("web1", Kind::Ours).of(&master).start()?;
    master.accept("web1")?;
    let mode = |path: &Path| -> Result<u32> {
        Ok(fs::metadata(path)
            .with_context(|| path.display().to_string())?
            .permissions()
            .mode()
            & 0o777)
    };
    assert_eq!(mode(&master.dir().join("pki"))?, 0o700);
    assert_eq!(mode(&minion.dir().join("pki"))?, 0o700);
    assert_eq!(mode(&master.dir().join("pki/master.pem"))?, 0o400);
    assert_eq!(mode(&minion.dir().join("pki/minion.pem"))?, 0o400);
    assert_eq!(mode(&master.dir().join("pki/minions/web1"))?, 0o600);
    assert_eq!(mode(&master.dir().join("cache/.root_key"))?, 0o600);
    assert_eq!(mode(&master.dir().join("cache/sessions/web1"))?, 0o600);
    assert_eq!(
        mode(&master.dir().join("run/master_event_pull.ipc"))?,
        0o600
    );
    Ok(())
}

/// What is below a directory, without links, and without what its daemon
/// removes meanwhile.
fn everything(dir: &Path, found: &mut Vec<(PathBuf, u32)>) -> Result<()> {
    let Some(entries) = if_there(fs::read_dir(dir))? else {
        return Ok(());
    };
    for entry in entries {
        let path = entry?.path();
        let Some(meta) = if_there(fs::symlink_metadata(&path))? else {
            continue;
        };
        if meta.is_symlink() {
            continue;
        }
        found.push((path.clone(), meta.permissions().mode() & 0o777));
        if meta.is_dir() {
            everything(&path, found)?;
        }
    }
    Ok(())
}

fn if_there<T>(looked: io::Result<T>) -> io::Result<Option<T>> {
    match looked {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        looked => looked.map(Some),
    }
}

/// A daemon that is started by somebody who keeps nothing from anybody, and
/// that finds none of its directories.
fn careless(fleet: &Fleet, program: Program, dir: &Path) -> Result<Daemon> {
    for made in MADE {
        fs::remove_dir_all(dir.join(made))?;
    }
    let path = fleet.programs().path(Kind::Ours, program)?;
    let recipe = Recipe::new(program.name(), "/bin/sh".into(), fleet.path()).args(&[
        "-c",
        "umask 000; exec \"$0\" -c \"$1\"",
        &path.display().to_string(),
        &dir.display().to_string(),
    ]);
    Ok(Daemon::new(recipe, dir.join("console")))
}

/// The directories that a daemon makes.
const MADE: [&str; 3] = ["cache", "run", "pki"];

/// Whatever umask a daemon inherits: nobody else writes anything of it, and
/// nobody else reads keys, results, grains or what minions push.
#[test]
fn no_inherited_umask_opens_anything() -> Result<()> {
    let fleet = Fleet::new("umask")?;
    let mut master = fleet
        .master("m1", Kind::Ours)
        .set("file_recv", true)
        .lay()?;
    *master.daemon() = careless(&fleet, Program::Master, master.dir())?;
    master.start()?;
    let mut minion = fleet.minion("web1", Kind::Ours).of(&master).lay()?;
    *minion.daemon() = careless(&fleet, Program::Minion, minion.dir())?;
    minion.start()?;
    master.accept("web1")?;
    let pushed = minion.dir().join("secret");
    fs::write(&pushed, "secret")?;
    let pushed = pushed.display().to_string();
    for command in [
        &["web1", "test.ping"][..],
        &["web1", "mine.send", "test.ping"],
        &["web1", "cp.push", &pushed],
    ] {
        let returns = master.returns(command)?;
        ensure!(
            returns.get("web1") == Some(&true.into()),
            "{command:?}: {returns:?}"
        );
    }
    let mut found = Vec::new();
    for dir in [master.dir(), minion.dir()] {
        for made in MADE {
            ensure!(dir.join(made).is_dir(), "no {made} in {}", dir.display());
            everything(&dir.join(made), &mut found)?;
        }
    }
    let mut secrets = 0;
    for (path, mode) in found {
        // What is told on the bus is for the group as well, as in Salt.
        let is_bus = path.ends_with("run/master_event_pub.ipc");
        let writes = if is_bus { 0o002 } else { 0o022 };
        ensure!(
            mode & writes == 0,
            "others write {} ({mode:o})",
            path.display()
        );
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let is_pushed = path.components().any(|part| part.as_os_str() == "files")
            && path.starts_with(master.dir());
        let is_secret = [".p", ".pem", "_key"].iter().any(|end| name.ends_with(end))
            || path.starts_with(master.dir().join("cache/sessions"));
        if is_pushed || is_secret {
            secrets += 1;
            ensure!(
                mode & 0o077 == 0,
                "others read {} ({mode:o})",
                path.display()
            );
        }
    }
    ensure!(secrets > 10, "only {secrets} secrets were looked at");
    Ok(())
}
