//! The services of systemd: its own, and those of init scripts.

use halite_call::{Call, CallError};

use super::{short, systemctl};
use crate::service::{How, sysv};

const UNIT_DIRECTORIES: &[&str] = &[
    "/lib/systemd/system",
    "/usr/lib/systemd/system",
    "/etc/systemd/system",
];

fn systemd_services(call: &Call<'_>, root: Option<&str>) -> Vec<String> {
    let mut found = Vec::new();
    for directory in UNIT_DIRECTORIES {
        let path = call
            .host()
            .path(format!("{}{directory}", root.unwrap_or_default()));
        if path.is_symlink() {
            continue;
        }
        for entry in std::fs::read_dir(path).into_iter().flatten().flatten() {
            found.extend(short(&entry.file_name().to_string_lossy()));
        }
    }
    found.sort();
    found.dedup();
    found
}

/// Init scripts that no unit stands for.
pub(super) fn sysv_services(call: &Call<'_>, root: Option<&str>) -> Vec<String> {
    let units = systemd_services(call, root);
    sysv::all(call)
        .into_iter()
        .filter(|name| !units.contains(name))
        .collect()
}

pub(in crate::service) fn all(call: &Call<'_>, root: Option<&str>) -> Vec<String> {
    let mut all = systemd_services(call, root);
    all.extend(sysv_services(call, root));
    all.sort();
    all.dedup();
    all
}

/// The services whose unit file is in a state.
pub(in crate::service) fn unit_files(
    call: &Call<'_>,
    state: &str,
    how: &How,
) -> Result<Vec<String>, CallError> {
    let words = ["--full", "--no-legend", "--no-pager", "list-unit-files"];
    let ran = systemctl(call, false, false, how.root.as_deref(), &words)
        .may_fail()
        .run()?;
    let mut found: Vec<String> = ran
        .stdout
        .lines()
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            let (file, its) = (words.next()?, words.next()?);
            (its == state).then(|| short(file)).flatten()
        })
        .collect();
    found.sort();
    found.dedup();
    Ok(found)
}

pub(in crate::service) fn by_enabled(
    call: &Call<'_>,
    wanted: bool,
    how: &How,
) -> Result<Vec<String>, CallError> {
    let mut found = unit_files(call, if wanted { "enabled" } else { "disabled" }, how)?;
    found.extend(
        sysv_services(call, how.root.as_deref())
            .into_iter()
            .filter(|name| sysv::enabled_debian(call, name) == wanted),
    );
    found.sort();
    found.dedup();
    Ok(found)
}

pub(in crate::service) fn running(call: &Call<'_>) -> Result<Vec<String>, CallError> {
    let words = ["--full", "--no-legend", "--no-pager"];
    let ran = systemctl(call, false, false, None, &words)
        .may_fail()
        .run()?;
    let mut found: Vec<String> = ran
        .stdout
        .lines()
        .filter_map(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            (words.get(3) == Some(&"running"))
                .then(|| short(words[0]))
                .flatten()
        })
        .collect();
    found.sort();
    found.dedup();
    Ok(found)
}
