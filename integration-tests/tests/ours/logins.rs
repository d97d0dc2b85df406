//! Logins with passwords of the system.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use halite_integration_tests::{Fleet, Kind};
use halite_test_support::{have_programs, have_root, not_run};
use serde_json::json;

const PASSWORD: &str = "open sesame";

/// What checks passwords of the system's users on every Linux.
const MODULE: &str = "pam_unix.so";

/// A user of the system with a password, and a service of PAM that asks for it.
/// Both go with this.
struct Account {
    user: String,
    service: PathBuf,
}

impl Account {
    fn make() -> Result<Self> {
        let user = format!("hltest{}", std::process::id());
        let account = Self {
            service: PathBuf::from("/etc/pam.d").join(&user),
            user,
        };
        run("useradd", &["--no-create-home", &account.user], "")?;
        let password = format!("{}:{PASSWORD}\n", account.user);
        run("chpasswd", &[], &password)?;
        let rules = format!("auth required {MODULE}\naccount required {MODULE}\n");
        fs::write(&account.service, rules)?;
        Ok(account)
    }
}

impl Drop for Account {
    fn drop(&mut self) {
        // Whatever was not made need not go.
        let _ = fs::remove_file(&self.service);
        let _ = run("userdel", &[&self.user], "");
    }
}

fn run(program: &str, args: &[&str], input: &str) -> Result<()> {
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

fn has_pam() -> bool {
    let dirs = ["/lib", "/usr/lib", "/lib64", "/usr/lib64"];
    let places = dirs.iter().flat_map(|dir| {
        let below = fs::read_dir(dir).into_iter().flatten().flatten();
        let below = below.map(|entry| entry.path());
        below.chain([PathBuf::from(dir)]).collect::<Vec<_>>()
    });
    let is_there = places
        .into_iter()
        .any(|dir| dir.join("security").join(MODULE).exists());
    if !is_there {
        not_run(&format!("PAM has no {MODULE}"));
    }
    is_there
}

/// A user of the machine logs in with the password of the machine, and no
/// other, for what the rules give; a locked account lets nobody in.
#[test]
fn a_user_of_the_machine_logs_in_with_pam() -> Result<()> {
    if !have_root()
        || !have_programs(&["useradd", "userdel", "chpasswd", "usermod", "passwd"])
        || !has_pam()
    {
        return Ok(());
    }
    let account = Account::make()?;
    let fleet = Fleet::new("pam")?;
    let rules = json!({ "pam": { account.user.as_str(): ["test.*"] } });
    let master = fleet
        .master("m1", Kind::Ours)
        .auto_accept()
        .set("external_auth", rules)
        .set("auth.pam.service", account.user.as_str())
        .start()?;
    let _minion = fleet.minion("web1", Kind::Ours).of(&master).start()?;
    master.wait_minion("web1")?;
    let salt = |user: &str, password: &str, more: &[&str]| {
        let login = ["-a", "pam", "--username", user, "--password", password];
        master.salt(&[&login, more].concat())
    };
    let user = account.user.as_str();
    let pong = salt(user, PASSWORD, &["web1", "test.ping", "--out=json"])?.ok()?;
    assert_eq!(pong.of("web1")?, json!(true));
    let refused = salt(user, PASSWORD, &["web1", "cmd.run", "id"])?.exit(1)?;
    assert_eq!(refused.stdout, "Authorization error occurred.\n");
    for (user, password) in [(user, "open"), (user, ""), ("nobody", PASSWORD)] {
        let refused = salt(user, password, &["web1", "test.ping"])?.exit(1)?;
        assert_eq!(refused.stdout, "Authentication error occurred.\n", "{user}");
    }
    run("usermod", &["--lock", user], "")?;
    let refused = salt(user, PASSWORD, &["web1", "test.ping"])?.exit(1)?;
    assert_eq!(refused.stdout, "Authentication error occurred.\n");
    // An account without a password lets nobody in with any, also where the service
    // would (`nullok`).
    run("usermod", &["--unlock", user], "")?;
    run("passwd", &["--delete", user], "")?;
    let rules = format!("auth required {MODULE} nullok\naccount required {MODULE}\n");
    fs::write(&account.service, rules)?;
    for password in [PASSWORD, "x", ""] {
        let refused = salt(user, password, &["web1", "test.ping"])?.exit(1)?;
        assert_eq!(refused.stdout, "Authentication error occurred.\n");
    }
    let log = fs::read_to_string(master.dir().join("log"))?;
    ensure!(!log.contains(PASSWORD), "a password is in the log");
    Ok(())
}
