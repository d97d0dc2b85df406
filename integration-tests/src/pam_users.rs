//! Users and groups of this machine that exist for one test, and a service of PAM that
//! asks for their passwords.
//!
//! Invariant: they are gone when this is dropped.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

/// What checks passwords of the system's users on every Linux.
const MODULE: &str = "pam_unix.so";

/// The programs that change users and groups.
pub const PAM_PROGRAMS: [&str; 7] = [
    "useradd", "userdel", "usermod", "groupadd", "groupdel", "chpasswd", "passwd",
];

/// Users and groups that only root can make. A process has one of these at a time.
#[derive(Debug)]
pub struct PamUsers {
    /// The service, with which all names begin.
    name: String,
    users: Vec<String>,
    groups: Vec<String>,
}

impl PamUsers {
    /// What PAM lacks here, if it lacks something.
    pub fn missing() -> Option<String> {
        let dirs = ["/lib", "/usr/lib", "/lib64", "/usr/lib64"];
        let mut places = dirs.iter().flat_map(|dir| {
            let below = fs::read_dir(dir).into_iter().flatten().flatten();
            let below = below.map(|entry| entry.path());
            below.chain([PathBuf::from(dir)]).collect::<Vec<_>>()
        });
        let is_there = places.any(|dir| dir.join("security").join(MODULE).exists());
        (!is_there).then(|| format!("PAM has no {MODULE}"))
    }

    /// The service, without users.
    pub fn new() -> Result<Self> {
        let users = Self {
            name: format!("hltest{}", std::process::id()),
            users: Vec::new(),
            groups: Vec::new(),
        };
        users.set_options("nodelay")?;
        Ok(users)
    }

    /// The service.
    pub fn service(&self) -> &str {
        &self.name
    }

    /// Has passwords checked with these options of the module.
    pub fn set_options(&self, options: &str) -> Result<()> {
        let rules = format!("auth required {MODULE} {options}\naccount required {MODULE}\n");
        fs::write(self.file(), rules)?;
        Ok(())
    }

    /// Makes a group; its name ends in `end`.
    pub fn group(&mut self, end: &str) -> Result<String> {
        let name = format!("{}{end}", self.name);
        change("groupadd", &[&name], "")?;
        self.groups.push(name.clone());
        Ok(name)
    }

    /// Makes a user with these options of `useradd`; its name ends in `end`.
    pub fn user(&mut self, end: &str, password: &str, options: &[&str]) -> Result<String> {
        let name = format!("{}{end}", self.name);
        let args = [&["--no-create-home"][..], options, &[name.as_str()]].concat();
        change("useradd", &args, "")?;
        self.users.push(name.clone());
        change("chpasswd", &[], &format!("{name}:{password}\n"))?;
        Ok(name)
    }

    fn file(&self) -> PathBuf {
        Path::new("/etc/pam.d").join(&self.name)
    }
}

impl Drop for PamUsers {
    fn drop(&mut self) {
        // Whatever was not made need not go. A group goes after those who have it.
        fs::remove_file(self.file()).ok();
        for user in &self.users {
            change("userdel", &[user], "").ok();
        }
        // Not everywhere the group of a user's own name has gone with the user.
        for group in self.groups.iter().chain(&self.users) {
            change("groupdel", &[group], "").ok();
        }
    }
}

/// Runs a program that changes users, with what it reads.
pub fn change(program: &str, args: &[&str], input: &str) -> Result<()> {
    let mut command = Command::new(program);
    let command = command.args(args).stdin(Stdio::piped());
    let mut child = command.stderr(Stdio::piped()).spawn()?;
    let mut stdin = child.stdin.take().context("no stdin")?;
    stdin.write_all(input.as_bytes())?;
    drop(stdin);
    let output = child.wait_with_output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{program}: {said}");
    Ok(())
}
