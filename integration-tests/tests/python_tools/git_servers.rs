//! Git remotes behind real servers, ssh and https without a password, served by a
//! master of real Salt and by ours.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use halite_integration_tests::{Fleet, Kind, MasterPlan};
use halite_test_services::{GitHttp, Sshd, Wanted, find_program};
use serde_json::{Value, json};

use crate::git_remotes::{SERVE, Tree, ours, salts};

/// A repository with a branch, a tag and a link.
fn states(dir: &Path) -> Result<Tree> {
    let tree = Tree::new(dir)?;
    tree.commit(&[("top.sls", "base: {}\n"), ("web/init.sls", "{}\n")])?;
    tree.git(&["tag", "v1"])?;
    std::os::unix::fs::symlink("web/init.sls", dir.join("link"))?;
    tree.commit(&[("web/note", "two\n")])?;
    tree.git(&["branch", "dev"])?;
    Ok(tree)
}

/// What both serve of a remote; `prelude` is what Salt's Python does first.
fn check_alike(
    fleet: &Fleet,
    url: &str,
    prelude: &str,
    change: impl for<'a> FnOnce(MasterPlan<'a>) -> MasterPlan<'a>,
) -> Result<()> {
    let plan = fleet
        .master("m1", Kind::Ours)
        .auto_accept()
        .set("fileserver_backend", json!(["gitfs"]))
        .set("gitfs_base", "main")
        .set("gitfs_update_interval", 3600)
        .set("gitfs_remotes", json!([url]));
    let master = change(plan).start()?;
    let _minion = fleet.minion("web1", Kind::Ours).of(&master).start()?;
    master.wait_minion("web1")?;
    let cache = master.dir().join("of-salt").display().to_string();
    let script = SERVE.replace(
        "served = salt.fileserver",
        &format!("{prelude}\nserved = salt.fileserver"),
    );
    let theirs = salts(&master, &script, &cache)?;
    ensure!(theirs["envs"] == json!(["base", "dev", "v1"]), "{theirs}");
    let own: Value = ours(&master, "web1")?;
    ensure!(own == theirs, "{theirs} in Salt, {own} here");
    Ok(())
}

#[test]
fn a_remote_behind_ssh_is_served_as_salt_serves_it() -> Result<()> {
    let Some(sshd) = Sshd::for_test() else {
        return Ok(());
    };
    let fleet = Fleet::new("gitssh")?;
    let dir = fleet.path().join("states");
    states(&dir)?;
    let key = sshd.authorised_key("plain", "")?.display().to_string();
    // Ssh takes known hosts from the home of its user, whatever the environment says.
    let programs = fleet.path().join("programs");
    fs::create_dir_all(&programs)?;
    fs::write(programs.join("known_hosts"), sshd.known_host()?)?;
    let hosts = format!(
        "-o UserKnownHostsFile={} -o GlobalKnownHostsFile=/dev/null",
        programs.join("known_hosts").display()
    );
    let real = find_program("ssh").context("no ssh")?;
    let ssh = programs.join("ssh");
    let text = format!("#!/bin/sh\nexec {} {hosts} \"$@\"\n", real.display());
    fs::write(&ssh, text)?;
    fs::set_permissions(&ssh, fs::Permissions::from_mode(0o755))?;
    let path = std::env::var("PATH").unwrap_or_default();
    let path = format!("{}:{path}", programs.display());
    // GitPython leaves keys to ssh.
    let prelude = format!(
        "opts.pop('gitfs_privkey')\nos.environ['GIT_SSH_COMMAND'] = '{} -i {key}'",
        ssh.display()
    );
    check_alike(&fleet, &sshd.url(&dir), &prelude, |plan| {
        plan.env("PATH", &path).set("gitfs_privkey", key.as_str())
    })
}

#[test]
fn a_remote_behind_https_that_asks_for_no_password_is_served_as_salt_serves_it() -> Result<()> {
    let Some(http) = GitHttp::for_test(&Wanted::default().tls()) else {
        return Ok(());
    };
    let fleet = Fleet::new("githttps")?;
    let dir = fleet.path().join("states");
    states(&dir)?;
    let bare = http.repositories().join("states.git");
    let mut clone = Command::new("git");
    clone.args(["clone", "-q", "--bare"]).arg(&dir).arg(&bare);
    ensure!(clone.status()?.success(), "no clone");
    let url = http.url("states.git");
    ensure!(url.starts_with("https://"), "{url}");
    check_alike(&fleet, &url, "", |plan| plan.set("gitfs_ssl_verify", false))
}
