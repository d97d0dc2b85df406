//! `cargo xtask lint`: formatting, the walls of ARCHITECTURE.md, lints with the
//! features that the tests are built with, and the licences and doubles of
//! external crates (`deny.toml`). What could not be checked on this machine is said
//! and counted in the last line.

mod external_crates;

use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context, Result, bail};

use crate::build::{cargo, features, has_openssl, is_ci, lint_in_ci};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Removes from xtask/cycles.txt, by_path.txt and lengths.txt what is mended
    #[arg(long)]
    shrink: bool,
    /// The walls of ARCHITECTURE.md alone, which takes a second
    #[arg(long)]
    walls: bool,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    crate::walls::check(args.shrink)?;
    if args.walls {
        return Ok(ExitCode::SUCCESS);
    }
    check(
        &["fmt", "--all", "--check"],
        "the code is not formatted: `cargo fmt --all`",
    )?;
    external_crates::check()?;
    let not_run = deny()?;
    clippy()?;
    for servers in SERVERS {
        let features = store_features(servers);
        let mut alone = vec!["check", "--no-default-features", "--features", &features];
        alone.extend(["-p", "halite-key", "-p", "halite-store"]);
        check(
            &alone,
            &format!("a store with these servers alone does not compile: {servers:?}"),
        )?;
    }
    println!("lint: nothing found, {} not run", not_run.len());
    for check in not_run {
        println!("not run: {check}");
    }
    Ok(ExitCode::SUCCESS)
}

/// With `CI=true` by the build that `cargo xtask test` needs, where this comes first.
fn clippy() -> Result<()> {
    let mut command = cargo();
    if is_ci() {
        lint_in_ci(&mut command);
        command.args([
            "build",
            "--workspace",
            "--lib",
            "--bins",
            "--tests",
            "--keep-going",
        ]);
        command.args(["--examples", "--bench=*"]).args(features());
    } else {
        command.args(["clippy", "--workspace", "--all-targets"]);
        command.args(features()).args(["--", "-D", "warnings"]);
    }
    run_to_end(&mut command, "clippy has found something")
}

/// The servers without which a build is to do: each of them alone, and none. These
/// builds are also without the backends that the tests of the store have.
const SERVERS: [&str; 5] = ["", "etcd", "mysql", "postgres", "redis"];

fn store_features(servers: &str) -> String {
    match has_openssl() {
        true => servers.to_owned(),
        false => format!("halite-crypto/vendored,{servers}"),
    }
}

/// Runs cargo-deny where it is installed; gives what could not be checked. It knows
/// advisories, from a database on the network, and compares the texts of licences;
/// the other rules of `deny.toml` are checked without it (`external_crates`).
fn deny() -> Result<Vec<&'static str>> {
    let answers = |args: &[&str]| {
        let mut command = cargo();
        command.args(args).stdin(Stdio::null());
        command.stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    };
    if !answers(&["deny", "--version"]) {
        return Ok(vec![
            "texts of licences, advisories: no `cargo deny` (`cargo install --locked cargo-deny`)",
        ]);
    }
    check(
        &["deny", "--offline", "check", "bans", "licenses", "sources"],
        "cargo deny has found something",
    )?;
    if !answers(&["deny", "fetch", "db"]) {
        return Ok(vec!["advisories: their database cannot be reached"]);
    }
    check(
        &["deny", "--offline", "check", "advisories"],
        "an external crate has an advisory",
    )?;
    Ok(Vec::new())
}

fn check(args: &[&str], complaint: &str) -> Result<()> {
    run_to_end(cargo().args(args), complaint)
}

fn run_to_end(command: &mut Command, complaint: &str) -> Result<()> {
    let status = command.status().context("could not run cargo")?;
    if !status.success() {
        bail!("{complaint}");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use crate::build::root;

    /// The guests of the workspace are explained, each in a line of its own.
    #[test]
    fn every_guest_has_its_line() {
        let manifest = fs::read_to_string(root().join("Cargo.toml")).unwrap();
        let (_, rest) = manifest.split_once("[workspace.dependencies]").unwrap();
        let section = rest.split("\n[").next().unwrap();
        let document = fs::read_to_string(root().join("docs/dependencies.md")).unwrap();
        for line in section.lines() {
            let Some((name, value)) = line.split_once(" = ") else {
                continue;
            };
            if value.contains("path = ") || name.starts_with('#') {
                continue;
            }
            assert!(
                document.contains(&format!("| `{name}` |")),
                "{name} has no line in docs/dependencies.md"
            );
        }
    }
}
