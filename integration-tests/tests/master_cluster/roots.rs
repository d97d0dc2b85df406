//! `cluster.sync_roots`: copies one master's files to all, if they share none.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use halite_integration_tests::{Kind, START, Signal, until};
use serde_json::{Value, json};

use crate::isolated_cluster::IsolatedCluster;

/// More than one piece, and not a whole number of them.
const LARGE_BYTES: usize = 1_500_001;

/// A member that hangs is taken for away after 3 s; nobody else is to wait for that.
const AT_ONCE: Duration = Duration::from_millis(500);

#[test]
fn a_master_gives_the_others_its_files() -> Result<()> {
    give(IsolatedCluster::lay(3)?)
}

#[test]
fn a_master_gives_the_others_its_files_over_a_bus() -> Result<()> {
    IsolatedCluster::lay_on_bus(3)?.map_or(Ok(()), give)
}

/// A file below the roots of a master.
fn at(isolated: &IsolatedCluster, n: usize, path: &str) -> PathBuf {
    isolated.masters[n].dir().join(path)
}

/// What `cluster.sync_roots` of the first master says, and its exit code.
fn sync(isolated: &IsolatedCluster, args: &[&str]) -> Result<(Value, i32)> {
    let tools = isolated.masters[0].tools(Kind::Ours);
    let args = [&["cluster.sync_roots", "--out=json"], args].concat();
    let said = tools.runner(&args)?;
    let shown = serde_json::from_str(&said.stdout);
    Ok((shown.with_context(|| format!("{said}"))?, said.code))
}

fn give(mut isolated: IsolatedCluster) -> Result<()> {
    for n in 0..3 {
        for dir in ["srv/web/files", "pillar"] {
            fs::create_dir_all(at(&isolated, n, dir))?;
        }
    }
    let large: Vec<u8> = (0..251).cycle().take(LARGE_BYTES).collect();
    for (path, text) in [
        ("srv/top.sls", b"base: {'*': [web]}\n".as_slice()),
        ("srv/web/init.sls", b"ok:\n  test.nop: []\n"),
        ("srv/web/files/large", &large),
        ("srv/web/files/empty", b""),
        ("pillar/top.sls", b"base: {'*': [site]}\n"),
        ("pillar/site.sls", b"site: basle\n"),
    ] {
        fs::write(at(&isolated, 0, path), text)?;
    }
    symlink("/etc/passwd", at(&isolated, 0, "srv/web/passwd"))?;
    let script = at(&isolated, 0, "srv/web/run.sh");
    fs::write(&script, "#!/bin/sh\n")?;
    fs::set_permissions(&script, fs::Permissions::from_mode(0o775))?;
    // The second has one of them already, another one in an older form, and one of its own.
    fs::copy(
        at(&isolated, 0, "srv/top.sls"),
        at(&isolated, 1, "srv/top.sls"),
    )?;
    fs::write(at(&isolated, 1, "pillar/site.sls"), "site: berne\n")?;
    fs::write(at(&isolated, 1, "srv/own.sls"), "{}\n")?;
    isolated.start(3)?;
    let (first, second, third) = (isolated.ip(0), isolated.ip(1), isolated.ip(2));
    until("all to be connected", START, || {
        let members = isolated.members(0)?;
        let is_linked = |ip: &String| members[ip]["connected"] == true;
        Ok((is_linked(&second) && is_linked(&third)).then_some(()))
    })?;

    let (said, code) = sync(&isolated, &["test=True"])?;
    let files = |differ, same| json!({ "differ": differ, "same": same });
    ensure!(said[&second]["file_roots"] == files(4, 1), "{said}");
    ensure!(said[&third]["file_roots"] == files(5, 0), "{said}");
    ensure!(!at(&isolated, 2, "srv/web/init.sls").exists() && code == 0);

    let (said, code) = sync(&isolated, &["roots=file", &format!("members={second}")])?;
    let files = |written, same| json!({ "written": written, "same": same });
    let here = json!({ "files": 5, "left_out": 1 });
    let only = json!({
        &first: { "file_roots": here },
        &second: { "file_roots": files(4, 1) },
    });
    ensure!(said == only && code == 0, "{said}");

    let (said, code) = sync(&isolated, &[])?;
    let all = json!({
        &first: { "file_roots": here, "pillar_roots": { "files": 2, "left_out": 0 } },
        &second: { "file_roots": files(0, 5), "pillar_roots": files(2, 0) },
        &third: { "file_roots": files(5, 0), "pillar_roots": files(2, 0) },
    });
    ensure!(said == all && code == 0, "{said}");
    for n in [1, 2] {
        let read = |path| fs::read(at(&isolated, n, path));
        ensure!(read("srv/web/files/large")? == large, "m{n}");
        ensure!(
            read("srv/web/files/empty")? == b"" && read("pillar/site.sls")? == b"site: basle\n"
        );
        ensure!(!at(&isolated, n, "srv/web/passwd").exists(), "a link");
        let mode = at(&isolated, n, "srv/web/run.sh")
            .metadata()?
            .permissions()
            .mode();
        ensure!(mode & 0o7777 == 0o755, "{mode:o}");
    }
    ensure!(
        at(&isolated, 1, "srv/own.sls").exists(),
        "what was there stays"
    );

    // What a member cannot take is named, and the rest comes.
    fs::remove_file(at(&isolated, 2, "srv/web/init.sls"))?;
    fs::create_dir(at(&isolated, 2, "srv/web/init.sls"))?;
    fs::write(at(&isolated, 0, "srv/web/new.sls"), "{}\n")?;
    isolated.masters[1].kill9()?;
    until("the second to be away", START, || {
        Ok((isolated.members(0)?[&second]["connected"] == false).then_some(()))
    })?;
    let (said, code) = sync(&isolated, &["roots=file"])?;
    ensure!(
        said[&second]
            .as_str()
            .is_some_and(|text| text.contains("not connected")),
        "{said}"
    );
    let third = &said[&third]["file_roots"];
    ensure!(
        third["written"] == 1 && third["failed_count"] == 1,
        "{said}"
    );
    let why = third["failed"]["base: web/init.sls"].as_str();
    ensure!(
        why.is_some_and(|why| why.contains("not a regular file")),
        "{said}"
    );
    ensure!(code == 1 && at(&isolated, 2, "srv/web/new.sls").exists());
    Ok(())
}

#[test]
fn a_member_that_hangs_holds_up_no_other_and_what_cannot_be_given_is_named() -> Result<()> {
    let mut isolated = IsolatedCluster::lay(3)?;
    let long = "x".repeat(300);
    for n in 0..3 {
        fs::create_dir_all(at(&isolated, n, "srv"))?;
        fs::create_dir_all(at(&isolated, n, "master.d"))?;
    }
    let srv = at(&isolated, 0, "srv");
    fs::write(srv.join("top.sls"), "{}\n")?;
    let roots = json!({ "file_roots": { "base": [srv], &long: [srv] } });
    let conf = at(&isolated, 0, "master.d/roots.conf");
    fs::write(conf, roots.to_string())?;
    isolated.start(3)?;
    // The one that comes first by name hangs.
    let mut others = [1, 2];
    others.sort_by_key(|n| isolated.ip(*n));
    let [hangs, waits] = others;
    until("all to be connected", START, || {
        let members = isolated.members(0)?;
        let is_linked = |n: usize| members[isolated.ip(n)]["connected"] == true;
        Ok((is_linked(1) && is_linked(2)).then_some(()))
    })?;
    isolated.masters[hangs].daemon().signal(Signal::SIGSTOP)?;
    let given = at(&isolated, waits, "srv/top.sls");
    let begun = Instant::now();
    let watching = std::thread::spawn(move || {
        until("the other one to have the file", START, || {
            Ok(given.exists().then(|| begun.elapsed()))
        })
    });
    let said = sync(&isolated, &["roots=file"]);
    let ended = begun.elapsed();
    isolated.masters[hangs].daemon().signal(Signal::SIGCONT)?;
    let served = watching.join().map_err(|_| anyhow::anyhow!("a panic"))??;
    let (said, code) = said?;
    ensure!(
        ended > served + AT_ONCE,
        "it was given the file after {served:?}, and all was over after {ended:?}"
    );
    let hung = said[isolated.ip(hangs)].to_string();
    ensure!(
        hung.contains("connection to the member was lost") && code == 1,
        "{said}"
    );
    let here = &said[isolated.ip(0)]["file_roots"];
    let why = here["failed"][&long].as_str().unwrap_or_default();
    ensure!(why.contains("more than 255 bytes"), "{said}");
    ensure!(here["files"] == 1, "{said}");
    Ok(())
}
