//! Logins with a real directory, through a running master: whom it lets in, with
//! which rights, and that nobody waits for a directory that hangs but who asks it.

use std::fs;
use std::time::Duration;

use anyhow::{Result, ensure};
use halite_integration_tests::{Fleet, Kind, Master, Output, Program, SHORT, run};
use halite_test_services::Slapd;
use serde_json::{Value, json};

const PASSWORD: &str = "open sesame";

/// Bob has rules of his own, alice those of a group, carol none.
const ENTRIES: &str = "\
dn: uid=bob,ou=Users,dc=x
objectClass: inetOrgPerson
uid: bob
cn: Bob
sn: Bob
userPassword: open sesame

dn: uid=alice,ou=Users,dc=x
objectClass: inetOrgPerson
uid: alice
cn: Alice
sn: Alice
userPassword: open sesame

dn: uid=carol,ou=Users,dc=x
objectClass: inetOrgPerson
uid: carol
cn: Carol
sn: Carol
userPassword: open sesame

dn: cn=ops,ou=Groups,dc=x
objectClass: posixGroup
cn: ops
gidNumber: 5000
memberUid: alice
";

const REFUSED: &str = "Authentication error occurred.";
const FORBIDDEN: &str = "Authorization error occurred.";

/// How long somebody else's command may take while the directory hangs.
const UNDISTURBED: Duration = Duration::from_secs(20);

fn login_words<'a>(user: &'a str, password: &'a str) -> [&'a str; 6] {
    ["-a", "ldap", "--username", user, "--password", password]
}

fn login(master: &Master, user: &str, password: &str, more: &[&str]) -> Result<Output> {
    master.salt(&[&login_words(user, password), more].concat())
}

fn start(fleet: &Fleet, directory: &Slapd) -> Result<Master> {
    let rules = json!({ "ldap": {
        "bob": ["test.*", "@jobs"],
        "ops%": [{ "web*": ["grains.*"] }],
        // Nobody of this group, and no name of a user.
        "dev%": [".*"],
        "BOB": [".*"],
    }});
    let mut plan = fleet
        .master("m1", Kind::Ours)
        .auto_accept()
        .set("external_auth", rules)
        .set("auth.ldap.filter", "uid={{ username }}")
        .set("auth.ldap.groupclass", "posixGroup")
        .set("auth.ldap.accountattributename", "memberUid");
    for (option, value) in directory.options() {
        plan = plan.set(option, Value::from(value));
    }
    plan.start()
}

#[test]
fn a_directory_says_who_may_log_in_and_whose_rights_they_have() -> Result<()> {
    let Some(directory) = Slapd::for_test(ENTRIES, "read") else {
        return Ok(());
    };
    let fleet = Fleet::new("ldap")?;
    let master = start(&fleet, &directory)?;
    let _minion = fleet.minion("web1", Kind::Ours).of(&master).start()?;
    master.wait_minion("web1")?;

    let ping = ["web1", "test.ping", "--out=json"];
    let grain = ["web1", "grains.get", "id", "--out=json"];
    let pong = login(&master, "bob", PASSWORD, &ping)?.ok()?;
    ensure!(pong.of("web1")? == json!(true), "{pong}");
    let told = login(&master, "alice", PASSWORD, &grain)?.ok()?;
    ensure!(told.of("web1")? == json!("web1"), "{told}");
    for (user, what) in [
        ("bob", &grain[..]),
        ("bob", &["web1", "cmd.run", "id"]),
        ("alice", &ping),
        ("alice", &["*", "cmd.run", "id"]),
    ] {
        let refused = login(&master, user, PASSWORD, what)?.exit(1)?;
        ensure!(
            refused.stdout.contains(FORBIDDEN),
            "{user} {what:?}: {refused}"
        );
    }
    // What a directory takes for the same name, what would be a filter or a part of a
    // name, who has no entry here or there, and wrong passwords.
    for (user, password) in [
        ("bob", "open"),
        ("bob", ""),
        ("BOB", PASSWORD),
        ("Bob", PASSWORD),
        ("bob ", PASSWORD),
        ("b*", PASSWORD),
        ("*", PASSWORD),
        ("bob)(uid=*", PASSWORD),
        ("bob,ou=Users,dc=x", PASSWORD),
        ("ops%", PASSWORD),
        ("carol", PASSWORD),
        ("mallory", PASSWORD),
        ("salt", "saltpw"),
    ] {
        let refused = login(&master, user, password, &ping)?.exit(1)?;
        ensure!(refused.stdout.contains(REFUSED), "{user:?}: {refused}");
    }
    for password in [PASSWORD, "saltpw"] {
        let log = fs::read_to_string(master.dir().join("log"))?;
        ensure!(!log.contains(password), "a password is in the log");
    }
    Ok(())
}

#[test]
fn nobody_else_waits_for_a_directory_that_hangs() -> Result<()> {
    let Some(directory) = Slapd::for_test(ENTRIES, "none") else {
        return Ok(());
    };
    let fleet = Fleet::new("ldap")?;
    let master = start(&fleet, &directory)?;
    let _minion = fleet.minion("web1", Kind::Ours).of(&master).start()?;
    master.wait_minion("web1")?;
    let ping = ["web1", "test.ping", "--out=json"];
    login(&master, "bob", PASSWORD, &["-T", "web1", "test.ping"])?.ok()?;

    let words = [&login_words("bob", PASSWORD), &ping[..]].concat();
    let asks_the_directory = master.tools(Kind::Ours).recipe(Program::Salt, &words)?;
    directory.server.pause();
    std::thread::scope(|scope| -> Result<()> {
        let waiting = scope.spawn(move || run(&asks_the_directory, SHORT));
        let begun = std::time::Instant::now();
        master.check_ping(&["web1"])?;
        // A token needs no directory.
        let pong = master.salt(&[&["-a", "ldap"], &ping[..]].concat())?.ok()?;
        let took = begun.elapsed();
        let still_waits = !waiting.is_finished();
        directory.server.resume();
        let waited = waiting.join().map_err(|_| anyhow::anyhow!("a panic"))??;
        ensure!(pong.of("web1")? == json!(true), "{pong}");
        ensure!(still_waits, "nothing hung: {waited}");
        ensure!(took < UNDISTURBED, "others waited {took:?}");
        ensure!(waited.ok()?.of("web1")? == json!(true));
        Ok(())
    })?;

    // One that is gone lets nobody in, and in again when it is back.
    directory.server.kill();
    let refused = login(&master, "bob", PASSWORD, &ping)?.exit(1)?;
    ensure!(refused.stdout.contains(REFUSED), "{refused}");
    directory.server.start()?;
    let pong = login(&master, "bob", PASSWORD, &ping)?.ok()?;
    ensure!(pong.of("web1")? == json!(true), "{pong}");
    Ok(())
}
