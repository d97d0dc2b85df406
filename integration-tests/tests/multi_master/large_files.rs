//! A large file whose master goes silent or dies during the transfer: the file
//! comes from the other one, complete.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use halite_integration_tests::{Kind, Master, SHORT, START, Signal, until};

use crate::support::{Several, plain_master};

/// Large enough to be met on its way.
const FILE_BYTES: usize = 256 << 20;

/// How often it may be here before anybody looks.
const TRIES_MAX: usize = 5;

/// What the masters serve: no two blocks are the same.
fn content() -> Vec<u8> {
    (0..FILE_BYTES / 8)
        .flat_map(|number| number.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes())
        .collect()
}

/// Has a minion fetch the file for a master, and does something to that master
/// once a part of it is here.
fn fetched_while(stop: impl FnOnce(&mut Master) -> Result<()>) -> Result<()> {
    let mut several = Several::without_minions(2, plain_master)?;
    several.add_minions(1, |plan| {
        plan.set("request_channel_timeout", 2)
            .set("request_channel_tries", 1)
    })?;
    for master in &several.masters {
        master.wait_minion("web1")?;
        fs::write(master.dir().join("srv/large"), content())?;
    }
    let (first, _, minion) = several.two()?;
    let mut tries = 0..TRIES_MAX;
    let to = loop {
        let number = tries.next().context("it is always here too soon")?;
        let to = minion.dir().join(format!("fetched{number}"));
        fs::create_dir(&to)?;
        let path = to.join("large").display().to_string();
        let started = first.tools(Kind::Ours).salt(&[
            "--async",
            "web1",
            "cp.get_file",
            "salt://large",
            &path,
        ])?;
        started.ok()?;
        until("a part of the file", SHORT, || Ok(some_of(&to)))?;
        // Whoever looks too late meets the next one.
        if !to.join("large").exists() {
            break to;
        }
    };
    let file = to.join("large");
    stop(first)?;
    until("the file", START, || Ok(file.exists().then_some(())))?;
    let got = fs::read(&file)?;
    ensure!(got == content(), "{} bytes of something else", got.len());
    let left = fs::read_dir(&to)?.count();
    ensure!(left == 1, "{left} files are left");
    Ok(())
}

/// Whether something of the file lies beside its place.
fn some_of(directory: &Path) -> Option<()> {
    const SOME_BYTES: u64 = 1 << 20;
    let files = fs::read_dir(directory).ok()?;
    let mut sizes = files.flatten().filter_map(|file| file.metadata().ok());
    sizes.any(|data| data.len() > SOME_BYTES).then_some(())
}

#[test]
fn a_large_file_outlives_its_master() -> Result<()> {
    fetched_while(|master| master.kill9())
}

#[test]
fn a_large_file_does_not_wait_for_a_mute_master() -> Result<()> {
    fetched_while(|master| master.daemon().signal(Signal::SIGSTOP))
}
