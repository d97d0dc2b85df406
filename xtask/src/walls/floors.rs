//! The floors of ARCHITECTURE.md, and the dependencies of the crates.
//!
//! The table there is the rule itself: this reads it, so there is no second
//! list to keep. A crate may depend on crates of lower rows, and within a row
//! on those that stand before a `then`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::build::{cargo, root};

const DOCUMENT: &str = "ARCHITECTURE.md";

/// The first word of the row of crates that only tests may depend on.
const TESTS: &str = "tests";

/// Crates with their floors, lowest first.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Floors {
    crates: BTreeMap<String, Floor>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Floor {
    /// The name of the row.
    name: String,
    /// The higher, the higher; `None` where only tests may depend on it.
    level: Option<usize>,
    is_pure: bool,
}

/// A dependency of one of our crates on another one.
struct Dependency<'m> {
    from: &'m str,
    to: &'m str,
    manifest: &'m Path,
    is_for_tests: bool,
}

impl Floors {
    pub(super) fn read() -> Result<Self> {
        let text = fs::read_to_string(root().join(DOCUMENT))
            .with_context(|| format!("could not read {DOCUMENT}"))?;
        Self::parse(&text)
    }

    fn parse(text: &str) -> Result<Self> {
        let section = text.split("\n## Floors\n").nth(1);
        let section = section.and_then(|rest| rest.split("\n## ").next());
        let section = section.with_context(|| format!("{DOCUMENT} has no section \"Floors\""))?;
        let rows: Vec<[&str; 3]> = section.lines().filter_map(row).collect();
        ensure!(!rows.is_empty(), "{DOCUMENT} has no table of floors");
        let mut crates = BTreeMap::new();
        let mut level = 0;
        for [name, names, rule] in rows.iter().rev() {
            for group in names.split(" then ") {
                level += 1;
                for name_of_crate in quoted(group) {
                    let floor = Floor {
                        name: (*name).to_owned(),
                        level: (!name.starts_with(TESTS)).then_some(level),
                        is_pure: rule.starts_with("no I/O"),
                    };
                    let other = crates.insert(name_of_crate.to_owned(), floor);
                    ensure!(
                        other.is_none(),
                        "{DOCUMENT}: {name_of_crate} is on two floors"
                    );
                }
            }
        }
        Ok(Self { crates })
    }

    /// The crates whose floor does no I/O.
    pub(super) fn pure(&self) -> impl Iterator<Item = &str> {
        let pure = self.crates.iter().filter(|(_, floor)| floor.is_pure);
        pure.map(|(name, _)| name.as_str())
    }

    /// What is wrong with the crates and their dependencies.
    pub(super) fn check(&self) -> Result<Vec<String>> {
        let output = cargo()
            .args(["metadata", "--no-deps", "--format-version=1", "--offline"])
            .output()
            .context("could not run cargo")?;
        ensure!(output.status.success(), "cargo metadata has failed");
        let metadata: Value = serde_json::from_slice(&output.stdout)?;
        let mut complaints = self.without_a_floor()?;
        for package in metadata["packages"].as_array().into_iter().flatten() {
            for dependency in dependencies(package) {
                complaints.extend(self.complaint(&dependency));
            }
        }
        Ok(complaints)
    }

    /// Crates that the table leaves out, and the reverse.
    fn without_a_floor(&self) -> Result<Vec<String>> {
        let mut complaints = Vec::new();
        let dir = root().join("crates");
        for entry in fs::read_dir(&dir)? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            if !self.crates.contains_key(&name) && dir.join(&name).join("Cargo.toml").exists() {
                complaints.push(format!(
                    "crates/{name}/Cargo.toml: {name} is on no floor: add it to the table under \
                     \"Floors\" in {DOCUMENT}, to the lowest row that is above all that it \
                     depends on; a crate that only tests use goes into the row \"{TESTS}\""
                ));
            }
        }
        for name in self.crates.keys() {
            if !dir.join(name).exists() {
                complaints.push(format!(
                    "{DOCUMENT}: there is no crates/{name}: remove it from the table of floors"
                ));
            }
        }
        complaints.sort();
        Ok(complaints)
    }

    fn complaint(&self, dependency: &Dependency<'_>) -> Option<String> {
        let (from, to) = (
            self.crates.get(dependency.from)?,
            self.crates.get(dependency.to)?,
        );
        let why = match (from.level, to.level) {
            // What tests need is no part of a program. The two daemons stay
            // apart in their tests as well.
            _ if dependency.is_for_tests => {
                let daemons = ["master", "minion"];
                let both = [dependency.from, dependency.to];
                if both.iter().any(|name| !daemons.contains(name)) {
                    return None;
                }
                "neither daemon imports the other, nor do its tests".to_owned()
            }
            (None, _) => return None,
            (Some(_), None) => format!("{} is for tests: a dev-dependency", dependency.to),
            (Some(above), Some(below)) if above > below => return None,
            _ => format!(
                "a crate depends only on floors below its own, and {} is on \"{}\", {} on \"{}\"",
                dependency.from, from.name, dependency.to, to.name
            ),
        };
        let (manifest, line) = place(dependency);
        Some(format!(
            "{manifest}:{line}: {} depends on {}: {why} ({DOCUMENT}, Floors)",
            dependency.from, dependency.to
        ))
    }
}

/// The cells of a row of the table.
fn row(line: &str) -> Option<[&str; 3]> {
    let mut cells = line.strip_prefix("| ")?.split(" | ");
    let cells = [cells.next()?, cells.next()?, cells.next()?];
    let is_floor = cells[0].starts_with(|char: char| char.is_ascii_digit());
    (is_floor || cells[0].starts_with(TESTS)).then_some(cells)
}

/// The names in backticks.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// The dependencies of a package on crates of ours.
fn dependencies(package: &Value) -> Vec<Dependency<'_>> {
    let name = package["name"].as_str();
    let manifest = package["manifest_path"].as_str();
    let (Some(name), Some(manifest)) = (name, manifest) else {
        return Vec::new();
    };
    // The programs are the crate `halite`.
    let from = name.strip_prefix("halite-").unwrap_or(name);
    let all = package["dependencies"].as_array().into_iter().flatten();
    all.filter_map(|dependency| {
        let name = dependency["name"].as_str()?;
        Some(Dependency {
            from,
            to: name.strip_prefix("halite-")?,
            manifest: Path::new(manifest),
            is_for_tests: dependency["kind"] == "dev",
        })
    })
    .collect()
}

/// The file and the line that declare a dependency.
fn place(dependency: &Dependency<'_>) -> (String, usize) {
    let text = fs::read_to_string(dependency.manifest).unwrap_or_default();
    let name = format!("halite-{}", dependency.to);
    let at = text
        .lines()
        .position(|line| line.split(['.', ' ', '=']).next() == Some(name.as_str()));
    let path = dependency.manifest;
    let path = path.strip_prefix(root()).unwrap_or(path);
    (path.display().to_string(), at.map_or(1, |at| at + 1))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{Dependency, Floors};

    const TABLE: &str = "# A\n\n## Floors\n\ntext `no`\n\n| floor | crates | rule |\n| --- | --- | --- |\n| 3 daemons | `master` `minion` | x |\n| 1 b | `yaml` `jinja`, then `output`, then `state` | no I/O |\n| 0 a | `proto` | no I/O, no clock |\n| tests | `test-support` | x |\n\n## Next\n\n| 9 | `other` | x |\n";

    fn complaint(from: &str, to: &str, is_for_tests: bool) -> Option<String> {
        Floors::parse(TABLE).unwrap().complaint(&Dependency {
            from,
            to,
            manifest: Path::new("/nowhere/Cargo.toml"),
            is_for_tests,
        })
    }

    #[test]
    fn dependencies_point_downwards() {
        for (from, to) in [
            ("master", "proto"),
            ("state", "output"),
            ("state", "yaml"),
            ("output", "jinja"),
            ("yaml", "proto"),
        ] {
            assert_eq!(complaint(from, to, false), None, "{from} {to}");
        }
        for (from, to) in [
            ("proto", "yaml"),
            ("yaml", "jinja"),
            ("output", "state"),
            ("master", "minion"),
            ("yaml", "test-support"),
        ] {
            let said = complaint(from, to, false);
            assert!(said.is_some_and(|said| said.contains(to)), "{from} {to}");
        }
    }

    #[test]
    fn tests_may_reach_upwards_but_for_the_daemons() {
        assert_eq!(complaint("yaml", "state", true), None);
        assert_eq!(complaint("yaml", "test-support", true), None);
        assert_eq!(complaint("test-support", "master", false), None);
        assert!(complaint("minion", "master", true).is_some());
    }

    #[test]
    fn the_document_is_understood() {
        let floors = Floors::read().unwrap();
        assert_eq!(floors.without_a_floor().unwrap(), Vec::<String>::new());
        let pure: Vec<&str> = floors.pure().collect();
        assert!(pure.contains(&"proto") && pure.contains(&"state"));
        assert!(!pure.contains(&"transport"));
        assert_eq!(
            Floors::parse(TABLE).unwrap().pure().count(),
            5,
            "the rule decides what is pure"
        );
        assert!(Floors::parse("# A\n").is_err());
    }
}
