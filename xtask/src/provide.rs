//! `cargo xtask provide`: installs what tests need from the system, where that is
//! possible: as root, with apt-get.
//!
//! Invariant: only what is missing is installed. A failed installation is no error
//! here: the tests that need it say so, and count as skipped.

#[cfg(test)]
mod asked;

use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use anyhow::Result;

/// Programs that tests use, each with the Debian package that brings it.
const PROGRAMS: [(&str, &str); 60] = [
    ("apache2", "apache2-bin"),
    ("apt-cache", "apt"),
    ("apt-get", "apt"),
    ("apt-mark", "apt"),
    ("bash", "bash"),
    ("bzip2", "bzip2"),
    ("cc", "gcc"),
    ("chpasswd", "passwd"),
    ("chromedriver", "chromium-driver"),
    ("chromium", "chromium"),
    ("curl", "curl"),
    ("dpkg", "dpkg"),
    ("dpkg-deb", "dpkg"),
    ("dpkg-query", "dpkg"),
    ("etcd", "etcd-server"),
    ("etcdctl", "etcd-client"),
    ("fish", "fish"),
    ("git", "git"),
    ("gpg", "gnupg"),
    ("gpgconf", "gpgconf"),
    ("gpgsm", "gpgsm"),
    ("groupadd", "passwd"),
    ("groupdel", "passwd"),
    ("gzip", "gzip"),
    ("haproxy", "haproxy"),
    ("initdb", "postgresql"),
    ("ip", "iproute2"),
    ("keepalived", "keepalived"),
    ("mariadb", "mariadb-client"),
    ("mariadb-install-db", "mariadb-server"),
    ("mariadbd", "mariadb-server"),
    ("nats-server", "nats-server"),
    ("nginx", "nginx-light"),
    ("passwd", "passwd"),
    ("patch", "patch"),
    ("postgres", "postgresql"),
    ("promtool", "prometheus"),
    ("psql", "postgresql-client"),
    ("python3", "python3"),
    ("redis-cli", "redis-tools"),
    ("redis-server", "redis-server"),
    ("rsync", "rsync"),
    ("sed", "sed"),
    ("setpriv", "util-linux"),
    ("slapd", "slapd"),
    ("sleep", "coreutils"),
    ("ss", "iproute2"),
    ("ssh", "openssh-client"),
    ("ssh-keygen", "openssh-client"),
    ("sshd", "openssh-server"),
    ("sysctl", "procps"),
    ("tar", "tar"),
    ("unshare", "util-linux"),
    ("unzip", "unzip"),
    ("useradd", "passwd"),
    ("userdel", "passwd"),
    ("usermod", "passwd"),
    ("xz", "xz-utils"),
    ("zip", "zip"),
    ("zsh", "zsh"),
];

/// The library that a login with PAM loads, and its package.
const PAM: (&str, &str) = ("libpam.so.0", "libpam0g");

/// Where Debian has libraries, below the name of the machine's kind.
const LIBRARIES: [&str; 2] = ["/lib", "/usr/lib"];

/// Nobody is asked, nobody waits long for a network that is not there.
const QUIETLY: [&str; 6] = [
    "-qq",
    "-o=Dpkg::Use-Pty=0",
    "-o=Acquire::Retries=1",
    "-o=Acquire::http::Timeout=20",
    "-o=Acquire::https::Timeout=20",
    "-o=DPkg::Lock::Timeout=120",
];

pub(crate) fn run() -> Result<ExitCode> {
    let packages = missing();
    if packages.is_empty() {
        println!("everything that tests need of the system is there");
        return Ok(ExitCode::SUCCESS);
    }
    let names = packages.join(" ");
    if !nix::unistd::geteuid().is_root() || !is_installed("apt-get") {
        println!(
            "missing: {names}\ntests that need them count as skipped; on Debian, as root: \
             apt-get install --no-install-recommends {names}"
        );
        return Ok(ExitCode::SUCCESS);
    }
    println!("installing {names}");
    // Lists of packages may be missing, or older than what they list.
    if !install(&packages) {
        apt_get(&["update"]);
        install(&packages);
    }
    let left = missing();
    if !left.is_empty() {
        println!(
            "could not install {}: tests that need them count as skipped",
            left.join(" ")
        );
    }
    Ok(ExitCode::SUCCESS)
}

/// The packages of what is not there.
fn missing() -> Vec<&'static str> {
    let mut packages: Vec<&str> = PROGRAMS
        .iter()
        .filter(|(program, _)| !is_installed(program))
        .map(|(_, package)| *package)
        .collect();
    if !has_library(PAM.0) {
        packages.push(PAM.1);
    }
    packages.sort_unstable();
    packages.dedup();
    packages
}

fn install(packages: &[&str]) -> bool {
    let mut args = vec!["install", "--yes", "--no-install-recommends"];
    args.extend(packages);
    apt_get(&args)
}

/// Whether apt-get did it. What it complains about stays to be read.
fn apt_get(args: &[&str]) -> bool {
    let status = Command::new("apt-get")
        .args(QUIETLY)
        .args(args)
        .env("DEBIAN_FRONTEND", "noninteractive")
        // Packages of servers start them, unless the machine is in this level.
        .env("RUNLEVEL", "1")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .status();
    status.is_ok_and(|status| status.success())
}

fn is_installed(program: &str) -> bool {
    halite_test_services::find_program(program).is_some()
}

/// Whether the library is where Debian has it: directly in a directory of
/// libraries, or in the one for this kind of machine.
fn has_library(name: &str) -> bool {
    LIBRARIES.iter().any(|dir| {
        let dir = Path::new(dir);
        let kinds = std::fs::read_dir(dir).into_iter().flatten().flatten();
        dir.join(name).exists()
            || kinds
                .map(|entry| entry.path().join(name))
                .any(|path| path.exists())
    })
}

#[cfg(test)]
mod tests {
    use super::{has_library, is_installed};

    #[test]
    fn what_is_there_is_found() {
        assert!(is_installed("sh") && !is_installed("no-such-program"));
        assert!(has_library("libc.so.6") && !has_library("libno-such.so.1"));
    }
}
