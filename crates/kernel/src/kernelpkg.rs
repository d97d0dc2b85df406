//! Kernels that are installed as packages: the execution module `kernelpkg`,
//! for systems with apt and with yum or dnf.

use std::cmp::Ordering;

use halite_call::{Call, CallError, CallResult, Function, Module, python};
use halite_proto::{Map, Value};

pub(crate) const MODULE: Module = Module {
    name: "kernelpkg",
    functions: &[
        Function::new(
            "kernelpkg.active",
            "()",
            |call| Ok(active(call).into()),
            "The kernel that runs.",
        ),
        Function::new(
            "kernelpkg.cleanup",
            "(keep_latest=True)",
            cleanup,
            "Removes the kernels that do not run, except the latest.",
        ),
        Function::new(
            "kernelpkg.latest_available",
            "()",
            |call| Ok(latest_available(call)?.into()),
            "The latest kernel that could be installed.",
        ),
        Function::new(
            "kernelpkg.latest_installed",
            "()",
            |call| Ok(installed(call)?.pop().into()),
            "The latest kernel that is installed.",
        ),
        Function::new(
            "kernelpkg.list_installed",
            "()",
            |call| {
                let kernels = installed(call)?.into_iter().map(Value::from);
                Ok(kernels.collect::<Vec<_>>().into())
            },
            "The kernels that are installed, the latest last.",
        ),
        Function::new(
            "kernelpkg.needs_reboot",
            "()",
            |call| Ok(needs_reboot(call)?.into()),
            "Whether a later kernel is installed than the one that runs.",
        ),
        Function::new(
            "kernelpkg.remove",
            "(release)",
            |call| {
                let removed = remove(call, &call.text("release"))?;
                Ok(Map::from([("removed", vec![removed.into()])]).into())
            },
            "Removes a kernel that does not run.",
        ),
        Function::new(
            "kernelpkg.upgrade",
            "(reboot=False, at_time=None)",
            upgrade,
            "Installs the latest kernel, and restarts the machine if asked to.",
        ),
        Function::new(
            "kernelpkg.upgrade_available",
            "()",
            |call| {
                let installed = installed(call)?.pop().unwrap_or_default();
                let available = latest_available(call)?.unwrap_or_default();
                Ok((compare(&available, &installed) == Ordering::Greater).into())
            },
            "Whether a later kernel could be installed than is.",
        ),
    ],
};

/// How a family of systems names its kernels.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Family {
    Apt,
    Rpm,
}

fn family(call: &Call<'_>) -> Result<Family, CallError> {
    let grains = call.ctx.grains();
    match grains.get("os_family").and_then(Value::as_str) {
        Some("Debian" | "Kali" | "Cumulus") => Ok(Family::Apt),
        Some("RedHat") => Ok(Family::Rpm),
        _ => Err(CallError::command("no APT or YUM based system detected")),
    }
}

fn active(call: &Call<'_>) -> String {
    let grains = call.ctx.grains();
    let release = grains
        .get("kernelrelease")
        .map(python::str)
        .unwrap_or_default();
    let args = [Value::from(release.as_str())];
    match call.salt("pkg.normalize_name", &args, Map::new()) {
        Ok(name) => python::str(&name),
        Err(_) => release,
    }
}

/// What is behind the last dash of the running kernel: `amd64`.
fn kind(call: &Call<'_>) -> Result<String, CallError> {
    let active = active(call);
    let kind = active.rsplit_once('-').map(|(_, kind)| kind.to_owned());
    kind.ok_or_else(|| CallError::command(format!("the kernel {active:?} is of no known kind")))
}

/// The parts of a version: numbers and words.
fn parts(version: &str) -> Vec<Result<u64, &str>> {
    let mut parts = Vec::new();
    let mut rest = version;
    while let Some(first) = rest.chars().next() {
        let is_digit = first.is_ascii_digit();
        let same = |c: char| c.is_ascii_digit() == is_digit && !".-_+~".contains(c);
        let end = rest.find(|c| !same(c)).unwrap_or(rest.len());
        let (part, after) = rest.split_at(end);
        if part.is_empty() {
            rest = rest.get(first.len_utf8()..).unwrap_or_default();
            continue;
        }
        parts.push(part.parse().map_err(|_| part));
        rest = after;
    }
    parts
}

fn compare(one: &str, other: &str) -> Ordering {
    let (one, other) = (parts(one), parts(other));
    for (a, b) in one.iter().zip(&other) {
        let order = match (a, b) {
            (Ok(a), Ok(b)) => a.cmp(b),
            (Err(a), Err(b)) => a.cmp(b),
            (Ok(_), Err(_)) => Ordering::Less,
            (Err(_), Ok(_)) => Ordering::Greater,
        };
        if order != Ordering::Equal {
            return order;
        }
    }
    one.len().cmp(&other.len())
}

/// The kernels that are installed, the latest last.
fn installed(call: &Call<'_>) -> Result<Vec<String>, CallError> {
    let kwargs = Map::from([("versions_as_list", true)]);
    let packages = call.salt("pkg.list_pkgs", &[], kwargs)?;
    let packages = packages.as_map().cloned().unwrap_or_default();
    let mut kernels: Vec<String> = match family(call)? {
        Family::Apt => {
            let kind = format!("-{}", kind(call)?);
            packages
                .keys()
                .filter_map(|name| {
                    let release = name.as_str()?.strip_prefix("linux-image-")?;
                    let version = release.strip_suffix(&kind)?;
                    let is_version = version
                        .chars()
                        .all(|c| c.is_ascii_digit() || ".-".contains(c));
                    (is_version && !version.is_empty()).then(|| release.to_owned())
                })
                .collect()
        }
        Family::Rpm => {
            let versions = packages
                .get("kernel")
                .map(python::texts)
                .unwrap_or_default();
            let grains = call.ctx.grains();
            let arch = grains.get("cpuarch").map(python::str).unwrap_or_default();
            versions
                .into_iter()
                .map(|version| format!("{version}.{arch}"))
                .collect()
        }
    };
    kernels.sort_by(|a, b| compare(a, b));
    Ok(kernels)
}

fn latest_available(call: &Call<'_>) -> Result<Option<String>, CallError> {
    let is_apt = family(call)? == Family::Apt;
    let package = match is_apt {
        true => format!("linux-image-{}", kind(call)?),
        false => "kernel".to_owned(),
    };
    let found = call.salt("pkg.latest_version", &[package.into()], Map::new())?;
    let found = python::str(&found);
    if found.is_empty() {
        return Ok(installed(call)?.pop());
    }
    if !is_apt {
        let grains = call.ctx.grains();
        let arch = grains.get("cpuarch").map(python::str).unwrap_or_default();
        return Ok(Some(format!("{found}.{arch}")));
    }
    let words: Vec<&str> = found.split('.').collect();
    let digits = |word: &str| -> String { word.chars().take_while(char::is_ascii_digit).collect() };
    match words.as_slice() {
        [a, b, c, d, ..] => Ok(Some(format!("{a}.{b}.{c}-{}-{}", digits(d), kind(call)?))),
        _ => Err(CallError::command(format!(
            "the version {found:?} of the kernel's package tells no release"
        ))),
    }
}

fn needs_reboot(call: &Call<'_>) -> Result<bool, CallError> {
    let latest = installed(call)?.pop().unwrap_or_default();
    Ok(compare(&active(call), &latest) == Ordering::Less)
}

/// The package of a kernel.
fn package(call: &Call<'_>, release: &str) -> Result<String, CallError> {
    Ok(match family(call)? {
        Family::Apt => format!("linux-image-{release}"),
        Family::Rpm => format!("kernel-{release}"),
    })
}

fn remove(call: &Call<'_>, release: &str) -> Result<String, CallError> {
    if !installed(call)?.iter().any(|known| known == release) {
        let text = format!("Kernel release '{release}' is not installed");
        return Err(CallError::command(text));
    }
    if active(call) == release {
        return Err(CallError::command("Active kernel cannot be removed"));
    }
    let package = package(call, release)?;
    let fun = match family(call)? {
        Family::Apt => "pkg.purge",
        Family::Rpm => "pkg.remove",
    };
    call.salt(fun, &[package.as_str().into()], Map::new())?;
    Ok(package)
}

fn cleanup(call: &Call<'_>) -> CallResult {
    let kernels = installed(call)?;
    let active = active(call);
    let mut removed = Vec::new();
    for kernel in &kernels {
        let is_latest = call.flag("keep_latest") && kernels.last() == Some(kernel);
        if *kernel != active && !is_latest {
            removed.push(Value::from(remove(call, kernel)?));
        }
    }
    Ok(Map::from([("removed", removed)]).into())
}

fn upgrade(call: &Call<'_>) -> CallResult {
    let latest = latest_available(call)?
        .ok_or_else(|| CallError::command("no kernel is there to be installed"))?;
    let name = package(call, &latest)?;
    let kwargs = Map::from([("name", name)]);
    let upgrades = call.salt("pkg.install", &[], kwargs)?;
    let (reboot, needed) = (call.flag("reboot"), needs_reboot(call)?);
    let ret = Map::from([
        ("upgrades", upgrades),
        ("active", active(call).into()),
        ("latest_installed", installed(call)?.pop().into()),
        ("reboot_requested", reboot.into()),
        ("reboot_required", needed.into()),
    ]);
    if reboot && needed {
        tracing::warn!("Rebooting system due to kernel upgrade");
        let kwargs = Map::from([("at_time", call.arg("at_time").clone())]);
        call.salt("system.reboot", &[], kwargs)?;
    }
    Ok(ret.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_by_their_numbers() {
        for (one, other, order) in [
            ("6.1.0-9-amd64", "6.1.0-10-amd64", Ordering::Less),
            ("6.1.0-10-amd64", "6.1.0-10-amd64", Ordering::Equal),
            ("6.2", "6.1.9", Ordering::Greater),
        ] {
            assert_eq!(compare(one, other), order, "{one} {other}");
        }
    }
}
