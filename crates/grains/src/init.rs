//! The init system: the first process, systemd, SELinux.

use std::io::Read;
use std::path::Path;

use halite_proto::{Map, Value};

use crate::files::Root;

/// The grain for which [`systemd`] needs a place.
pub(crate) const SYSTEMD: &str = "systemd";

/// What systemd says of itself, in the place that is kept for it.
pub(crate) fn systemd(version: Option<&str>, grains: &mut Map) {
    let Some(text) = version else {
        grains.remove(SYSTEMD);
        return;
    };
    let mut lines = text.lines();
    let version = lines
        .next()
        .and_then(|line| line.strip_prefix("systemd ")?.split_whitespace().next());
    let systemd = Map::from([
        ("version", version.unwrap_or("UNDEFINED")),
        ("features", lines.next().unwrap_or_default()),
    ]);
    grains.insert(SYSTEMD, systemd);
}

pub(crate) fn selinux(root: &Root, grains: &mut Map) {
    if root.which("selinuxenabled").is_none() {
        return;
    }
    let enforce = root.value("/sys/fs/selinux/enforce");
    let mut selinux = Map::from([("enabled", Value::from(enforce.is_some()))]);
    if root.which("getenforce").is_some() {
        let mode = match enforce.as_deref() {
            Some("1") => "Enforcing",
            Some(_) => "Permissive",
            None => "Disabled",
        };
        selinux.insert("enforced", mode);
    }
    grains.insert("selinux", selinux);
}

/// The kind of the first process.
pub(crate) fn system(root: &Root) -> &'static str {
    if root.exists("/run/systemd/system") {
        return "systemd";
    }
    let line = root
        .text("/proc/1/cmdline")
        .unwrap_or_default()
        .replace('\0', " ");
    let words: Vec<&str> = line.split_whitespace().collect();
    let Some(first) = words.first() else {
        return "unknown";
    };
    let program = if first.starts_with('/') {
        Some(root.at(first)).filter(|path| path.is_file())
    } else {
        root.which(first)
    };
    if let Some(program) = program.filter(|path| path.to_string_lossy().ends_with("bin/init")) {
        return built_in_name(&program);
    }
    let runs = |name: &str| {
        root.which(name)
            .is_some_and(|path| words.iter().any(|word| Path::new(word) == path))
    };
    for name in ["supervisord", "dumb-init", "tini"] {
        if runs(name) {
            return name;
        }
    }
    if words == ["runit"] || words.contains(&"/sbin/my_init") {
        "runit"
    } else {
        "unknown"
    }
}

/// An `init` carries the name of what it is in its program.
fn built_in_name(program: &Path) -> &'static str {
    const PROGRAM_BYTES_MAX: u64 = 16 << 20;
    let mut bytes = Vec::new();
    let read = std::fs::File::open(program)
        .and_then(|file| file.take(PROGRAM_BYTES_MAX).read_to_end(&mut bytes));
    if read.is_err() {
        return "unknown";
    }
    bytes.make_ascii_lowercase();
    let place = |name: &str| {
        bytes
            .windows(name.len())
            .position(|window| window == name.as_bytes())
    };
    ["upstart", "sysvinit", "systemd"]
        .into_iter()
        .filter_map(|name| Some((place(name)?, name)))
        .min()
        .map_or("unknown", |(_, name)| name)
}
