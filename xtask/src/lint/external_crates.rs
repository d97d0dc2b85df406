//! The rules of `deny.toml` that need nothing but what cargo knows: licences, doubles,
//! sources and versions of external crates. So they are checked on every machine,
//! while `cargo deny` may not be installed.
//!
//! Invariant: a line of `deny.toml` that excuses nothing any more is a complaint, too.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;
use serde_json::Value;
use spdx::{Expression, Licensee, ParseMode};

use crate::build::{cargo, root};

/// The kinds of machines that count, as in `deny.toml`.
const TARGETS: [&str; 2] = ["x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"];

/// What `deny.toml` allows.
#[derive(Debug)]
struct Rules {
    licences: Vec<Licensee>,
    /// `NAME@VERSION` of crates that may be there in a second version; the version may be cut short.
    skipped: Vec<String>,
}

/// The parts of `deny.toml` that are checked here.
#[derive(Deserialize)]
struct DenyFile {
    licenses: Licenses,
    bans: Bans,
}

#[derive(Deserialize)]
struct Licenses {
    allow: Vec<String>,
}

#[derive(Deserialize)]
struct Bans {
    skip: Vec<Skipped>,
}

#[derive(Deserialize)]
struct Skipped {
    #[serde(rename = "crate")]
    name: String,
}

/// An external crate.
#[derive(Debug)]
struct Package {
    name: String,
    version: String,
    /// An expression of SPDX, or the older form with slashes.
    licence: String,
    source: String,
    /// Its dependencies without any bound on their versions.
    wildcards: Vec<String>,
}

/// Checks every external crate of the workspace, with all features.
pub(super) fn check() -> Result<()> {
    let rules = fs::read_to_string(root().join("deny.toml")).context("could not read deny.toml")?;
    let complaints = complaints(&Rules::parse(&rules)?, &packages()?);
    for complaint in &complaints {
        println!("{complaint}");
    }
    ensure!(complaints.is_empty(), "external crates break deny.toml");
    Ok(())
}

impl Rules {
    fn parse(text: &str) -> Result<Self> {
        let file: DenyFile = toml::from_str(text).context("deny.toml")?;
        let licences = file.licenses.allow.iter().map(|name| {
            Licensee::parse(name).with_context(|| format!("deny.toml allows {name:?}"))
        });
        let licences = licences.collect::<Result<Vec<_>>>()?;
        ensure!(!licences.is_empty(), "deny.toml allows no licence");
        let skipped: Vec<String> = file.bans.skip.into_iter().map(|of| of.name).collect();
        for name in &skipped {
            ensure!(name.contains('@'), "deny.toml: {name} has no version");
        }
        Ok(Self { licences, skipped })
    }

    /// Whether the expression can be met with allowed licences alone. Old crates separate
    /// alternatives with a slash.
    fn allow(&self, licence: &str) -> bool {
        let parsed = Expression::parse_mode(licence, ParseMode::LAX);
        parsed.is_ok_and(|expression| {
            expression.evaluate(|asked| self.licences.iter().any(|one| one.satisfies(asked)))
        })
    }
}

fn complaints(rules: &Rules, packages: &[Package]) -> Vec<String> {
    let mut found = Vec::new();
    for package in packages {
        let Package { name, version, .. } = package;
        if !rules.allow(&package.licence) {
            let licence = &package.licence;
            found.push(format!(
                "{name} {version}: deny.toml does not allow {licence:?}"
            ));
        }
        if !package.source.starts_with("registry+") {
            found.push(format!("{name} {version} comes from no registry"));
        }
        let wildcards = package.wildcards.iter();
        found.extend(wildcards.map(|of| format!("{name} {version} takes any version of {of}")));
    }
    found.extend(doubles(rules, packages));
    found
}

fn doubles(rules: &Rules, packages: &[Package]) -> Vec<String> {
    let mut versions: BTreeMap<&str, Vec<&Package>> = BTreeMap::new();
    for package in packages {
        versions.entry(&package.name).or_default().push(package);
    }
    versions.retain(|_, of| of.len() > 1);
    let mut found = Vec::new();
    for skipped in &rules.skipped {
        let of = versions.values().flatten();
        if of.filter(|package| package.is(skipped)).count() == 0 {
            found.push(format!("deny.toml skips {skipped}, which is no double"));
        }
    }
    for (name, mut of) in versions {
        of.retain(|package| !rules.skipped.iter().any(|skipped| package.is(skipped)));
        if of.len() > 1 {
            let of: Vec<&str> = of.iter().map(|package| package.version.as_str()).collect();
            found.push(format!("{name} is there twice: {}", of.join(", ")));
        }
    }
    found
}

impl Package {
    fn parse(value: &Value) -> Option<Self> {
        let text = |key: &str| Some(value.get(key)?.as_str()?.to_owned());
        let dependencies = value.get("dependencies")?.as_array()?.iter();
        let wildcards = dependencies.filter(|of| of["req"] == "*" && of["path"].is_null());
        Some(Self {
            name: text("name")?,
            version: text("version")?,
            licence: text("license").unwrap_or_default(),
            source: text("source")?,
            wildcards: wildcards.map(|of| of["name"].to_string()).collect(),
        })
    }

    /// Whether `NAME@VERSION` means this one; parts may be left out at the end.
    fn is(&self, skipped: &str) -> bool {
        skipped.split_once('@').is_some_and(|(name, version)| {
            let rest = self.version.strip_prefix(version);
            name == self.name && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        })
    }
}

/// The external crates that are built on some machine with some feature. The list of
/// `cargo metadata` has also those that no feature asks for.
fn packages() -> Result<Vec<Package>> {
    let mut used = BTreeSet::new();
    for target in TARGETS {
        let args = [
            "tree",
            "--workspace",
            "--edges=normal,build,dev",
            "--prefix=none",
        ];
        let tree = output(&args, &["--target", target])?;
        let lines = tree.lines().map(|line| line.split(' '));
        used.extend(lines.filter_map(|mut words| {
            let name = words.next()?.to_owned();
            Some((name, words.next()?.strip_prefix('v')?.to_owned()))
        }));
    }
    let platforms = TARGETS.map(|target| format!("--filter-platform={target}"));
    let platforms: Vec<&str> = platforms.iter().map(String::as_str).collect();
    let known = output(&["metadata", "--format-version=1"], &platforms)?;
    let known: Value = serde_json::from_str(&known)?;
    let packages = known["packages"].as_array().into_iter().flatten();
    // Those without a source are our own.
    let packages: Option<Vec<Package>> = packages
        .filter(|package| !package["source"].is_null())
        .map(Package::parse)
        .collect();
    let mut packages = packages.context("cargo metadata has another form")?;
    packages.retain(|package| used.contains(&(package.name.clone(), package.version.clone())));
    ensure!(!packages.is_empty(), "cargo tree has another form");
    Ok(packages)
}

fn output(args: &[&str], more: &[&str]) -> Result<String> {
    let mut command = cargo();
    command.args(args).args(more);
    command.args(["--all-features", "--locked", "--quiet"]);
    let output = command.output().context("could not run cargo")?;
    if !output.status.success() {
        let why = String::from_utf8_lossy(&output.stderr).into_owned();
        bail!("cargo {}: {}", args.join(" "), why.trim());
    }
    String::from_utf8(output.stdout).context("cargo prints other than text")
}

#[cfg(test)]
mod tests {
    use super::{Package, Rules, complaints};

    const RULES: &str = r#"
        [licenses]
        allow = ["MIT", "Zlib", "Apache-2.0 WITH LLVM-exception"]
        [bans]
        skip = [{ crate = "old@1", reason = "why" }]
    "#;

    fn package(name: &str, version: &str) -> Package {
        Package {
            name: name.to_owned(),
            version: version.to_owned(),
            licence: "MIT".to_owned(),
            source: "registry+x".to_owned(),
            wildcards: Vec::new(),
        }
    }

    #[test]
    fn licences_are_expressions() {
        let rules = Rules::parse(RULES).unwrap();
        for allowed in [
            "MIT",
            "GPL-3.0 OR MIT",
            "GPL-3.0/MIT",
            "(GPL-3.0 OR Zlib) AND MIT",
            "Apache-2.0 WITH LLVM-exception",
            "GPL-3.0 AND GPL-2.0 OR MIT",
        ] {
            assert!(rules.allow(allowed), "{allowed}");
        }
        for refused in [
            "",
            "GPL-3.0",
            "MIT AND GPL-3.0",
            "(MIT OR Zlib) AND GPL-3.0",
            "Apache-2.0",
            "(MIT",
            "MIT Zlib",
        ] {
            assert!(!rules.allow(refused), "{refused}");
        }
    }

    #[test]
    fn doubles_are_listed_and_no_others() {
        let rules = Rules::parse(RULES).unwrap();
        let both = [package("old", "1.2.0"), package("old", "2.0.0")];
        assert_eq!(complaints(&rules, &both), Vec::<String>::new());
        let more = [
            package("old", "1.2.0"),
            package("old", "2.0.0"),
            package("new", "0.1.0"),
            package("new", "0.2.0"),
        ];
        assert_eq!(
            complaints(&rules, &more),
            ["new is there twice: 0.1.0, 0.2.0"]
        );
        let single = [package("old", "1.2.0")];
        let needless = ["deny.toml skips old@1, which is no double"];
        assert_eq!(complaints(&rules, &single), needless);
        // A version that only begins with the same digit is another one.
        let others = [package("old", "10.0.0"), package("old", "2.0.0")];
        assert_eq!(complaints(&rules, &others).len(), 2);
    }

    #[test]
    fn licences_sources_and_versions_count() {
        let mut wrong = package("a", "1.0.0");
        wrong.licence = "GPL-3.0".to_owned();
        wrong.source = "git+x".to_owned();
        wrong.wildcards = vec!["b".to_owned()];
        let rules = Rules::parse("licenses.allow = ['MIT']\nbans.skip = []").unwrap();
        assert_eq!(complaints(&rules, &[wrong]).len(), 3);
    }
}
