//! A large file whose master goes silent or dies while it is on its way: the
//! file comes from the other one, whole.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use halite_integration_tests::{Daemon, Master, Program, SHORT, Signal, until};

use crate::support::{Several, plain_master};

/// Large enough to be met on its way.
const FILE_BYTES: usize = 64 << 20;

/// What the masters serve: no two blocks are the same.
fn content() -> Vec<u8> {
    (0..FILE_BYTES / 8)
        .flat_map(|number| number.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes())
        .collect()
}

/// Has `salt-call` fetch the file and does something to the master that it
/// comes from, once a part of it is here.
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
    let (first, second, minion) = several.two()?;
    let to = minion.dir().join("fetched");
    fs::create_dir(&to)?;
    let file = to.join("large");
    let path = file.display().to_string();
    // Only the first answers at the beginning, so that is the one it uses.
    second.daemon().signal(Signal::SIGSTOP)?;
    let recipe = minion.recipe(Program::Call)?;
    let recipe = recipe.args(&["--out=json", "cp.get_file", "salt://large", &path]);
    let mut call = Daemon::new(recipe, to.with_extension("out"));
    call.start()?;
    until("a part of the file", SHORT, || Ok(some_of(&to)))?;
    second.daemon().signal(Signal::SIGCONT)?;
    stop(first)?;
    let code = call.wait_exit(SHORT + Duration::from_secs(30))?;
    ensure!(code == 0, "{}", call.said());
    let got = fs::read(&file).with_context(|| call.said())?;
    ensure!(got == content(), "{} bytes of something else", got.len());
    let left = fs::read_dir(&to)?.count();
    ensure!(left == 1, "{left} files are left");
    Ok(())
}

/// Whether something of the file lies beside its place.
fn some_of(directory: &Path) -> Option<()> {
    const SOME_BYTES: u64 = 4 << 20;
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
