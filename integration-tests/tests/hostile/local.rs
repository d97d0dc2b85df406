//! Sockets and keys for local programs on the disks of master and minion.
//! Everything that a daemon puts there has a rule here.

use std::fs;
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use halite_integration_tests::{Fleet, Kind};
use halite_test_support::{have_programs, have_root};
use nix::unistd::User;
use serde_json::json;

/// The user with few rights, and another one, on every Debian.
const LIMITED: &str = "daemon";
const LOCAL: &str = "nobody";

/// Names of sockets and of files with keys, and whether the user with few
/// rights opens them. Root does, and another user opens none.
const RULES: &[(&str, bool)] = &[
    // Publishes to minions; only root's programs push.
    ("publish_pull.ipc", false),
    // Says everything that happens, results of others among it.
    ("master_event_pub.ipc", false),
    // Fires anything.
    ("master_event_pull.ipc", false),
    // Grants all rights.
    (".root_key", false),
    (".daemon_key", true),
    ("master.pem", false),
    ("m1.pem", false),
    ("minion.pem", false),
    // Public, but nobody lists who is accepted.
    ("minions/*", false),
    ("master.pub", false),
    ("m1.pub", false),
    ("minion.pub", false),
    ("minion_master.pub", false),
    // Session keys.
    ("sessions/*", false),
    ("minion_event_*_pub.ipc", false),
    ("minion_event_*_pull.ipc", false),
];

/// Opens what its arguments name in each way, and prints those that it could.
const PROBE: &str = "
import os, socket, stat, sys
for path in sys.argv[1:]:
    try:
        if path.endswith('.ipc'):
            socket.socket(socket.AF_UNIX).connect(path)
        else:
            open(path, 'rb').close()
        print(path)
    except OSError:
        pass
    try:
        if not path.endswith('.ipc'):
            open(path, 'ab').close()
            print(path)
    except OSError:
        pass
";

fn is_of(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        Some((start, end)) => name.starts_with(start) && name.ends_with(end),
        None => name == pattern,
    }
}

fn rule(name: &str) -> Option<bool> {
    let found = RULES.iter().find(|(pattern, _)| is_of(pattern, name));
    found.map(|(_, limited)| *limited)
}

/// The name that a rule has for a path: of minions' keys, that of their
/// directory too.
fn name(path: &Path) -> String {
    let last = |path: &Path| {
        let name = path.file_name().unwrap_or_default();
        name.to_string_lossy().into_owned()
    };
    match path.parent().map(last) {
        Some(of) if ["minions", "sessions"].contains(&of.as_str()) => {
            format!("{of}/{}", last(path))
        }
        _ => last(path),
    }
}

/// Sockets, and files that hold keys.
fn doors(dir: &Path, found: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(dir).with_context(|| dir.display().to_string())? {
        let path = entry?.path();
        // What a daemon has removed meanwhile is no door.
        let Ok(about) = fs::metadata(&path) else {
            continue;
        };
        let (kind, name) = (about.file_type(), name(&path));
        let is_key = name.contains('/')
            || [".pem", ".pub", "_key", ".aes"]
                .iter()
                .any(|end| name.ends_with(end));
        if kind.is_dir() {
            doors(&path, found)?;
        } else if kind.is_socket() || (kind.is_file() && is_key) {
            found.push(path);
        }
    }
    Ok(())
}

/// What a user of this machine can open.
fn opened(user: &str, paths: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let user = User::from_name(user)?.with_context(|| format!("no user {user}"))?;
    let output = Command::new("python3")
        .args(["-I", "-c", PROBE])
        .args(paths)
        .uid(user.uid.as_raw())
        .gid(user.gid.as_raw())
        .current_dir("/")
        .output()?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    ensure!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(said.lines().map(PathBuf::from).collect())
}

#[test]
fn sockets_and_keys_are_for_whom_the_rules_say() -> Result<()> {
    if !have_root() || !have_programs(&["python3"]) {
        return Ok(());
    }
    let fleet = Fleet::new("local")?;
    let master = fleet
        .master("m1", Kind::Ours)
        .auto_accept()
        .set("id", "m1_master")
        .set("publisher_acl", json!({ LIMITED: ["test.*"] }))
        .start()?;
    let minion = fleet.minion("web1", Kind::Ours).of(&master).start()?;
    master.wait_minion("web1")?;
    let mut paths = Vec::new();
    for dir in [master.dir(), minion.dir()] {
        // Nothing above what the daemons make keeps anybody out, as in /var.
        for above in [fleet.path(), dir] {
            fs::set_permissions(above, fs::Permissions::from_mode(0o755))?;
        }
        doors(dir, &mut paths)?;
    }
    for (pattern, _) in RULES {
        let is_there = |path: &PathBuf| is_of(pattern, &name(path));
        ensure!(paths.iter().any(is_there), "nothing is called {pattern}");
    }
    let root = opened("root", &paths)?;
    let by_limited = opened(LIMITED, &paths)?;
    let by_local = opened(LOCAL, &paths)?;
    for path in &paths {
        let limited =
            rule(&name(path)).with_context(|| format!("no rule for {}", path.display()))?;
        let shown = path.display();
        ensure!(root.contains(path), "root does not open {shown}");
        ensure!(!by_local.contains(path), "{LOCAL} opens {shown}");
        ensure!(by_limited.contains(path) == limited, "{LIMITED}: {shown}");
    }
    Ok(())
}
