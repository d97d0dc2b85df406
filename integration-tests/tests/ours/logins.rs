//! Logins with passwords of the system.

use std::fs;

use anyhow::{Result, ensure};
use halite_integration_tests::pam_users::{PAM_PROGRAMS, PamUsers, change};
use halite_integration_tests::{Fleet, Kind};
use halite_test_support::{have_programs, have_root, not_run};
use serde_json::json;

const PASSWORD: &str = "open sesame";

/// A user of the machine logs in with the password of the machine, and no
/// other, for what the rules give; a locked account lets nobody in.
#[test]
fn a_user_of_the_machine_logs_in_with_pam() -> Result<()> {
    if !have_root() || !have_programs(&PAM_PROGRAMS) {
        return Ok(());
    }
    if let Some(missing) = PamUsers::missing() {
        not_run(&missing);
        return Ok(());
    }
    let mut users = PamUsers::new()?;
    let user = users.user("a", PASSWORD, &[])?;
    let user = user.as_str();
    let fleet = Fleet::new("pam")?;
    let rules = json!({ "pam": { user: ["test.*"] } });
    let master = fleet
        .master("m1", Kind::Ours)
        .auto_accept()
        .set("external_auth", rules)
        .set("auth.pam.service", users.service())
        .start()?;
    let _minion = fleet.minion("web1", Kind::Ours).of(&master).start()?;
    master.wait_minion("web1")?;
    let salt = |user: &str, password: &str, more: &[&str]| {
        let login = ["-a", "pam", "--username", user, "--password", password];
        master.salt(&[&login, more].concat())
    };
    let pong = salt(user, PASSWORD, &["web1", "test.ping", "--out=json"])?.ok()?;
    assert_eq!(pong.of("web1")?, json!(true));
    let refused = salt(user, PASSWORD, &["web1", "cmd.run", "id"])?.exit(1)?;
    assert_eq!(refused.stdout, "Authorization error occurred.\n");
    for (user, password) in [(user, "open"), (user, ""), ("nobody", PASSWORD)] {
        let refused = salt(user, password, &["web1", "test.ping"])?.exit(1)?;
        assert_eq!(refused.stdout, "Authentication error occurred.\n", "{user}");
    }
    change("usermod", &["--lock", user], "")?;
    let refused = salt(user, PASSWORD, &["web1", "test.ping"])?.exit(1)?;
    assert_eq!(refused.stdout, "Authentication error occurred.\n");
    // An account without a password lets nobody in with any, also where the service
    // would (`nullok`).
    change("usermod", &["--unlock", user], "")?;
    change("passwd", &["--delete", user], "")?;
    users.set_options("nullok")?;
    for password in [PASSWORD, "x", ""] {
        let refused = salt(user, password, &["web1", "test.ping"])?.exit(1)?;
        assert_eq!(refused.stdout, "Authentication error occurred.\n");
    }
    let log = fs::read_to_string(master.dir().join("log"))?;
    ensure!(!log.contains(PASSWORD), "a password is in the log");
    Ok(())
}
