//! Building: one choice of features for everything, so that nothing is built
//! twice, and the list of what came out.

use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::Value;

/// A program or a test that cargo made.
#[derive(Clone, Debug)]
pub(crate) struct Artifact {
    /// The name of the package.
    pub(crate) package: String,
    /// The directory of the package: where its tests expect to run.
    pub(crate) package_dir: PathBuf,
    /// The name of the target.
    pub(crate) target: String,
    /// Whether it is a test.
    pub(crate) is_test: bool,
    /// The file.
    pub(crate) path: PathBuf,
}

/// The root of the workspace.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .unwrap_or_else(|| Path::new("."))
}

/// The arguments that choose the OpenSSL: the system's where its development
/// files are, since the one in the sources takes minutes to build.
pub(crate) fn features() -> Vec<&'static str> {
    let found = std::env::var_os("OPENSSL_DIR").is_some()
        || Command::new("pkg-config")
            .args(["--exists", "openssl >= 3"])
            .status()
            .is_ok_and(|status| status.success());
    if found {
        vec![
            "--no-default-features",
            "--features",
            "halite-integration-tests/wire",
        ]
    } else {
        Vec::new()
    }
}

/// The cargo that runs us.
pub(crate) fn cargo() -> Command {
    let mut command = Command::new(
        std::env::var_os("CARGO")
            .as_deref()
            .unwrap_or_else(|| OsStr::new("cargo")),
    );
    command.current_dir(root());
    if std::env::var("CI").is_ok_and(|ci| ci == "true")
        && std::env::var_os("CARGO_TARGET_DIR").is_none()
    {
        // A fresh clone of each run, with what earlier runs have built.
        if let Ok(cache) = halite_integration_tests::cache_dir() {
            command.env("CARGO_TARGET_DIR", cache.join("target"));
        }
    }
    command
}

/// Runs `cargo build` and lists the programs and tests that it made.
pub(crate) fn build(args: &[&str]) -> Result<Vec<Artifact>> {
    let mut child = cargo()
        .args(["build", "--message-format=json-render-diagnostics"])
        .args(args)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .context("could not run cargo")?;
    let stdout = child.stdout.take().context("cargo has no output")?;
    let mut artifacts = Vec::new();
    for line in BufReader::new(stdout).lines() {
        let message: Value = serde_json::from_str(&line?).context("cargo said what is no JSON")?;
        artifacts.extend(artifact(&message));
    }
    if !child.wait()?.success() {
        bail!("the build failed");
    }
    Ok(artifacts)
}

fn artifact(message: &Value) -> Option<Artifact> {
    let manifest = Path::new(message["manifest_path"].as_str()?);
    let package_dir = manifest.parent()?.to_path_buf();
    Some(Artifact {
        package: package_name(message["package_id"].as_str()?, &package_dir),
        package_dir,
        target: message["target"]["name"].as_str()?.to_owned(),
        is_test: message["profile"]["test"].as_bool()?,
        path: PathBuf::from(message["executable"].as_str()?),
    })
}

/// The name in `path+file:///…/crates/proto#halite-proto@0.1.0`, or the last
/// part of the directory where cargo leaves the name out.
fn package_name(id: &str, dir: &Path) -> String {
    id.rsplit_once('#')
        .and_then(|(_, name)| name.split_once('@'))
        .map_or_else(
            || {
                dir.file_name()
                    .unwrap_or_default()
                    .to_string_lossy()
                    .into_owned()
            },
            |(name, _)| name.to_owned(),
        )
}

/// The directory of our programs among the artifacts.
pub(crate) fn bin_dir(artifacts: &[Artifact]) -> Result<PathBuf> {
    artifacts
        .iter()
        .find(|artifact| !artifact.is_test && artifact.target == "salt-master")
        .and_then(|artifact| artifact.path.parent())
        .map(Path::to_path_buf)
        .context("the build has made no salt-master")
}
