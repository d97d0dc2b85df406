//! `cargo xtask lint`: formatting and lints, with the features that the tests
//! are built with.

use std::process::ExitCode;

use anyhow::{Context, Result, bail};

use crate::build::{cargo, features};

pub(crate) fn run() -> Result<ExitCode> {
    check(
        &["fmt", "--all", "--check"],
        "the code is not formatted: `cargo fmt --all`",
    )?;
    let mut clippy = vec!["clippy", "--workspace", "--all-targets"];
    clippy.extend(features());
    clippy.extend(["--", "-D", "warnings"]);
    check(&clippy, "clippy has found something")?;
    Ok(ExitCode::SUCCESS)
}

fn check(args: &[&str], complaint: &str) -> Result<()> {
    let status = cargo().args(args).status().context("could not run cargo")?;
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
