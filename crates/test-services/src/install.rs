//! The programs of servers.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// Where Debian keeps daemons, in case the path of a user does not say so.
const DAEMONS: [&str; 2] = ["/usr/local/sbin", "/usr/sbin"];

/// Where Debian has the releases of PostgreSQL, a directory each.
const POSTGRES: &str = "/usr/lib/postgresql";

/// Finds an installed program. Those of PostgreSQL are taken from Debian's
/// newest release if there is one: what else is in the path may be a build for
/// something else.
pub fn find_program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    postgres_dirs()
        .into_iter()
        .chain(std::env::split_paths(&path))
        .chain(DAEMONS.iter().map(PathBuf::from))
        .map(|dir| dir.join(name))
        .find(|path| is_program(path))
}

/// The programs, or `None` after a report that the calling test cannot run.
pub(crate) fn find_for_test(names: &[&str]) -> Option<()> {
    let missing: Vec<&str> = names
        .iter()
        .copied()
        .filter(|name| find_program(name).is_none())
        .collect();
    if missing.is_empty() {
        return Some(());
    }
    halite_test_support::not_run(&format!("{} not installed", missing.join(", ")));
    None
}

/// The newest release first.
fn postgres_dirs() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(POSTGRES).into_iter().flatten().flatten();
    let mut releases: Vec<(u32, PathBuf)> = entries
        .filter_map(|entry| {
            let release = entry.file_name().to_str()?.parse().ok()?;
            Some((release, entry.path().join("bin")))
        })
        .collect();
    releases.sort_unstable();
    releases.into_iter().rev().map(|(_, dir)| dir).collect()
}

fn is_program(path: &Path) -> bool {
    std::fs::metadata(path)
        .is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::find_program;

    #[test]
    fn programs_are_found_by_name() {
        assert!(find_program("sh").is_some());
        assert!(find_program("no-such-program").is_none());
    }
}
