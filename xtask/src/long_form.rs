//! One test of several masters, run alone and for longer than in the suite. The
//! test writes its observations into a file, which is shown whether it passes or
//! fails.

use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::build::{Artifact, bin_dir, build_programs};

/// The program of the tests, and the programs that it tests.
pub(crate) struct LongForm {
    test: Artifact,
    bin_dir: PathBuf,
}

impl LongForm {
    /// Builds all of them; the test is one of this program.
    pub(crate) fn build(program: &str) -> Result<Self> {
        let artifacts = build_programs(&[program], &[])?;
        let bin_dir = bin_dir(&artifacts)?;
        let test = artifacts
            .into_iter()
            .find(|artifact| artifact.is_test && artifact.target == program)
            .with_context(|| format!("the build has made no test {program}"))?;
        Ok(Self { test, bin_dir })
    }

    /// Runs a test, which finds the file to write to in the variable `ledger`.
    /// Whether it passed.
    pub(crate) fn run(
        &self,
        name: &str,
        ledger: &str,
        settings: &[(&str, String)],
    ) -> Result<bool> {
        let file = format!(
            "halite-{}-{}",
            ledger.to_ascii_lowercase(),
            std::process::id()
        );
        let file = std::env::temp_dir().join(file);
        let output = std::process::Command::new(&self.test.path)
            .args(["--exact", name])
            .current_dir(&self.test.package_dir)
            .env("HALITE_BIN_DIR", &self.bin_dir)
            .env(ledger, &file)
            .envs(settings.iter().map(|(name, value)| (name, value)))
            .output()
            .context("could not run the test")?;
        // There is none if the masters did not even start.
        print!("{}", std::fs::read_to_string(&file).unwrap_or_default());
        let _ = std::fs::remove_file(&file);
        if !output.status.success() {
            print!("{}", String::from_utf8_lossy(&output.stdout));
        }
        Ok(output.status.success())
    }
}
