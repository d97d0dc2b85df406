//! What docs/cluster.md says for bad days, step by step: masters that are restored, and
//! another key of the cluster.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use halite_integration_tests::{Kind, Minion, START, until};

use crate::isolated_cluster::{IsolatedCluster, SECRET};

/// Two masters without shared files, and a minion that knows both.
struct Restored {
    minion: Minion,
    cluster: IsolatedCluster,
}

impl Restored {
    fn start() -> Result<Self> {
        #[allow(
            clippy::redundant_closure_for_method_calls,
            reason = "its lifetime is general"
        )]
        let mut cluster = IsolatedCluster::lay_planned(2, |plan| plan.auto_accept())?;
        cluster.start(2)?;
        let plan = cluster.fleet.minion("web1", Kind::Ours);
        let plan = plan.of(&cluster.masters[0]).of(&cluster.masters[1]);
        let minion = plan.start()?;
        cluster.wait_file(&[0, 1], "minions/web1", true)?;
        let restored = Self { minion, cluster };
        restored.wait_answers()?;
        Ok(restored)
    }

    /// The directory of a master's own keys.
    fn own_pki(&self, n: usize) -> PathBuf {
        self.cluster.masters[n].dir().join("pki")
    }

    fn stop(&mut self, n: usize) -> Result<()> {
        let code = self.cluster.masters[n].stop()?;
        ensure!(code == 0, "m{} has ended with {code}", n + 1);
        Ok(())
    }

    /// Waits until the minion answers both, which are connected to each other.
    fn wait_answers(&self) -> Result<()> {
        for (n, master) in self.cluster.masters.iter().enumerate() {
            until(&format!("web1 to answer m{}", n + 1), START, || {
                let said = master.salt(&["-t", "1", "web1", "test.ping", "--out=txt"])?;
                Ok(said.stdout.contains("web1: True").then_some(()))
            })?;
        }
        let other = self.cluster.ip(1);
        until("the masters to be connected", START, || {
            let members = self.cluster.members(0)?;
            Ok((members[&other]["connected"] == true).then_some(()))
        })
    }
}

#[test]
fn one_master_that_has_lost_its_files_and_then_all_are_restored() -> Result<()> {
    let mut of = Restored::start()?;
    let backup = of.cluster.fleet.path().join("backup");
    let saved = |name: &str| backup.join(name);
    fs::create_dir(&backup)?;
    copy(&of.cluster.pki(0), &saved("cluster_pki"))?;
    copy(&of.own_pki(0), &saved("pki1"))?;
    copy(&of.own_pki(1), &saved("pki2"))?;

    // One that has its own key yet joins again.
    of.stop(1)?;
    fs::remove_dir_all(of.cluster.pki(1))?;
    of.cluster.masters[1].start()?;
    of.cluster.wait_file(&[1], "minions/web1", true)?;
    of.wait_answers()?;

    // One that has lost that too is another master under a known name.
    of.stop(1)?;
    fs::remove_dir_all(of.cluster.pki(1))?;
    fs::remove_dir_all(of.own_pki(1))?;
    let name = of.cluster.ip(1);
    let tools = of.cluster.masters[0].tools(Kind::Ours);
    tools.runner(&["cluster.remove", &name])?.ok()?;
    let secret = of.cluster.wait_secret(&[0], None)?;
    of.cluster.configure(1, &secret)?;
    of.cluster.masters[1].start()?;
    of.wait_answers()?;

    // All: one is restored, and the others join it.
    for n in [0, 1] {
        of.stop(n)?;
        fs::remove_dir_all(of.cluster.pki(n))?;
        fs::remove_dir_all(of.own_pki(n))?;
    }
    copy(&saved("cluster_pki"), &of.cluster.pki(0))?;
    copy(&saved("pki1"), &of.own_pki(0))?;
    copy(&saved("pki2"), &of.own_pki(1))?;
    of.cluster.configure(1, SECRET)?;
    for n in [0, 1] {
        of.cluster.masters[n].start()?;
    }
    of.wait_answers()?;
    of.minion.daemon().check_runs()
}

#[test]
fn another_key_of_the_cluster_is_taken_by_masters_and_minions() -> Result<()> {
    let mut of = Restored::start()?;
    let made = of.cluster.fleet.path().join("made");
    fs::create_dir(&made)?;
    let dir = format!("--gen-keys-dir={}", made.display());
    of.cluster.masters[0]
        .key(&["--gen-keys=cluster", &dir])?
        .ok()?;
    for n in [0, 1] {
        of.stop(n)?;
        for name in ["cluster.pem", "cluster.pub"] {
            let to = of.cluster.pki(n).join(name);
            fs::remove_file(&to)?;
            fs::copy(made.join(name), to)?;
        }
    }
    for n in [0, 1] {
        of.cluster.masters[n].start()?;
    }
    // A minion takes it only from who is allowed to change what it trusts.
    let known = of.minion.dir().join("pki/minion_master.pub");
    let public = fs::read_to_string(made.join("cluster.pub"))?;
    let ping = ["-t", "2", "web1", "test.ping", "--out=txt"];
    let said = of.cluster.masters[0].salt(&ping)?;
    ensure!(!said.stdout.contains("web1: True"), "{said}");
    of.minion.stop()?;
    fs::remove_file(&known)?;
    of.minion.start()?;
    of.wait_answers()?;
    let taken = fs::read_to_string(&known)?;
    ensure!(taken.trim() == public.trim(), "{taken}");
    Ok(())
}

/// As an admin copies: with owners, modes and times.
fn copy(from: &Path, to: &Path) -> Result<()> {
    let copied = Command::new("cp").arg("-a").args([from, to]).status();
    let copied = copied.context("cp")?;
    ensure!(copied.success(), "could not copy {}", from.display());
    Ok(())
}
