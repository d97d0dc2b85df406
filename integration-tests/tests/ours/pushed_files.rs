//! Files that a minion pushes and that `salt-cp` copies, when a daemon dies in the
//! middle; and the password of the calling user.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use halite_integration_tests::{Fleet, Kind, Master, Program, START, until};
use serde_json::json;

/// As many pieces as take long enough to be met in the middle.
const PIECES: usize = 4000;
const PIECE_BYTES: usize = 1024;

/// No two blocks are the same.
fn content() -> Vec<u8> {
    (0..PIECES * PIECE_BYTES / 8)
        .flat_map(|number| number.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes())
        .collect()
}

/// What the master has of files that are not whole.
fn unfinished(master: &Master) -> Vec<PathBuf> {
    let dir = master.dir().join("cache/minions/web1/unfinished");
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

/// Has the minion push a file, and returns when some of it is there.
fn half_pushed(master: &Master, from: &Path) -> Result<PathBuf> {
    let from = from.display().to_string();
    let asked = master
        .tools(Kind::Ours)
        .salt(&["--async", "web1", "cp.push", &from])?;
    asked.ok()?;
    until("a part of the file", START, || {
        let mut sizes = unfinished(master)
            .into_iter()
            .filter_map(|path| path.metadata().ok());
        Ok(sizes.any(|data| data.len() > 64 * 1024).then_some(()))
    })?;
    let place = master.dir().join("cache/minions/web1/files");
    Ok(place.join(from.trim_start_matches('/')))
}

#[test]
fn a_pushed_file_is_there_when_it_is_whole_whoever_dies() -> Result<()> {
    let fleet = Fleet::new("pushed")?;
    let mut master = fleet
        .master("m1", Kind::Ours)
        .auto_accept()
        .set("file_recv", true)
        .start()?;
    let mut minion = fleet
        .minion("web1", Kind::Ours)
        .of(&master)
        .set("file_buffer_size", PIECE_BYTES)
        .set("request_channel_timeout", 20)
        .start()?;
    master.wait_minion("web1")?;
    let from = minion.dir().join("large");
    fs::write(&from, content())?;

    let to = half_pushed(&master, &from)?;
    master.kill9()?;
    ensure!(!to.exists(), "a half file has its name");
    ensure!(unfinished(&master).len() == 1, "nothing is left of it");
    master.start()?;
    until("the file", START, || Ok(to.exists().then_some(())))?;
    ensure!(fs::read(&to)? == content(), "it is another one");
    ensure!(unfinished(&master).is_empty(), "something is left");

    // The one that is there stays when its successor does not come.
    fs::write(&from, vec![7; PIECES * PIECE_BYTES])?;
    half_pushed(&master, &from)?;
    minion.kill9()?;
    ensure!(fs::read(&to)? == content(), "it is another one");
    minion.start()?;
    master.wait_minion("web1")?;
    let pushed = master.returns(&["web1", "cp.push", &from.display().to_string()])?;
    ensure!(pushed.get("web1") == Some(&json!(true)), "{pushed:?}");
    ensure!(fs::read(&to)? == fs::read(&from)?, "it is another one");
    ensure!(unfinished(&master).is_empty(), "something is left");
    Ok(())
}

#[test]
fn what_one_minion_has_pushed_another_one_gets() -> Result<()> {
    let fleet = Fleet::new("minionfs")?;
    let master = fleet
        .master("m1", Kind::Ours)
        .auto_accept()
        .set("file_recv", true)
        .set("fileserver_backend", json!(["roots", "minion"]))
        .set("minionfs_mountpoint", "salt://from")
        .set("minionfs_blacklist", json!(["db*"]))
        .start()?;
    let ids = ["web1", "db1"];
    let mut minions = Vec::new();
    for id in ids {
        let minion = fleet.minion(id, Kind::Ours).of(&master).start()?;
        master.wait_minion(id)?;
        let from = minion.dir().join("note");
        fs::write(&from, format!("of {id}"))?;
        let from = from.display().to_string();
        let pushed = master.returns(&[id, "cp.push", &from, "upload_path=/etc/note"])?;
        ensure!(pushed.get(id) == Some(&json!(true)), "{pushed:?}");
        minions.push(minion);
    }
    let get = |id: &str| {
        let path = format!("salt://from/{id}/etc/note");
        let got = master.returns(&["db1", "cp.get_file_str", &path])?;
        anyhow::Ok(got.get("db1").cloned())
    };
    ensure!(get("web1")? == Some(json!("of web1")), "{:?}", get("web1")?);
    ensure!(get("db1")? == Some(json!(false)), "{:?}", get("db1")?);
    let listed = master.returns(&["db1", "cp.list_master"])?;
    ensure!(
        listed.get("db1") == Some(&json!(["from/web1/etc/note"])),
        "{listed:?}"
    );
    Ok(())
}

#[test]
fn a_copied_file_is_there_when_it_is_whole() -> Result<()> {
    let fleet = Fleet::new("copied")?;
    let mut master = fleet
        .master("m1", Kind::Ours)
        .auto_accept()
        .set("salt_cp_chunk_size", PIECE_BYTES)
        .start()?;
    let minion = fleet.minion("web1", Kind::Ours).of(&master).start()?;
    master.wait_minion("web1")?;
    let from = fleet.path().join("large");
    let whole = content();
    fs::write(&from, &whole)?;
    let to = minion.dir().join("copied");
    fs::write(&to, "old")?;
    let (from_shown, to_shown) = (from.display().to_string(), to.display().to_string());
    let words = ["-C", "web1", &from_shown, &to_shown];
    let recipe = master.tools(Kind::Ours).recipe(Program::Cp, &words)?;
    let copying = std::thread::spawn(move || halite_integration_tests::run(&recipe, START));
    let parts = minion.dir().join("cache/salt-cp");
    until("a part of the file", START, || {
        let entries = fs::read_dir(&parts).into_iter().flatten().flatten();
        let mut sizes = entries.filter_map(|entry| entry.metadata().ok());
        Ok(sizes.any(|data| data.len() > 4 * 1024).then_some(()))
    })?;
    master.kill9()?;
    ensure!(fs::read(&to)? == b"old", "a half file has its name");
    let copied = copying.join().map_err(|_| anyhow::anyhow!("salt-cp"))?;
    ensure!(copied?.code != 0, "half a file passes for a whole one");

    // Larger pieces, the last as large as the others.
    master.start()?;
    master.wait_minion("web1")?;
    fs::write(&from, &whole[..64 * PIECE_BYTES])?;
    let copied = master.tools(Kind::Ours).cp(&words)?;
    copied.ok()?;
    ensure!(
        fs::read(&to)? == whole[..64 * PIECE_BYTES],
        "it is another one"
    );
    ensure!(fs::read_dir(&parts)?.count() == 0, "something is left");
    Ok(())
}

#[test]
fn a_password_is_not_in_the_list_of_processes() -> Result<()> {
    let fleet = Fleet::new("hidden")?;
    let master = fleet.master("m1", Kind::Ours).start()?;
    let conf = master.dir().display().to_string();
    for (program, words) in [
        (Program::Salt, &["*", "test.ping"][..]),
        (Program::Run, &["test.arg"]),
        (Program::Key, &["-L"]),
    ] {
        for password in [
            &["--password", "secretsecret"][..],
            &["--password=secretsecret"],
        ] {
            // It waits for the name of the user.
            let mut waiting = Command::new(fleet.programs().path(Kind::Ours, program)?)
                .args(["-c", &conf, "--auth", "pam"])
                .args(password)
                .args(words)
                .stdin(Stdio::piped())
                .stdout(Stdio::null())
                .stderr(Stdio::piped())
                .spawn()?;
            let mut asked = [0; 4];
            let mut said = waiting.stderr.take().context("no stderr")?;
            let read = said.read_exact(&mut asked);
            let line = fs::read(format!("/proc/{}/cmdline", waiting.id()));
            waiting.kill()?;
            waiting.wait()?;
            read.context("it does not ask")?;
            let line = String::from_utf8(line?)?;
            ensure!(!line.contains("secret"), "{line:?}");
            ensure!(line.contains("XXXXXXXXXX"), "{line:?}");
            ensure!(line.contains(words[0]), "{line:?}");
        }
    }
    Ok(())
}
