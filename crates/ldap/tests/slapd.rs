//! Logins with a real directory: OpenLDAP's.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail")]

use halite_ldap::Directory;
use halite_proto::Map;
use halite_test_services::Slapd;

const ENTRIES: &str = "\
dn: uid=bob,ou=Users,dc=x
objectClass: inetOrgPerson
uid: bob
cn: Bob
sn: Bob
userPassword: sesame
";

/// The directory of a server, asked with the options of it that are named here, and
/// more.
fn directory(server: &Slapd, kept: &[&str], more: &[(&str, &str)]) -> Directory {
    let mut opts = Map::new();
    for (name, value) in server.options() {
        if kept.contains(&name) {
            opts.insert(name, value);
        }
    }
    for (name, value) in more {
        opts.insert(format!("auth.ldap.{name}"), *value);
    }
    Directory::from_options(&opts).unwrap()
}

/// Names that OpenLDAP takes for `bob`.
const ALIASES: [&str; 4] = ["BOB", "Bob", "b\u{ad}ob", "bob\u{200b}"];

#[test]
fn a_real_directory_lets_in_one_spelling() {
    let base = ["auth.ldap.uri", "auth.ldap.basedn"];
    let account = [&base[..], &["auth.ldap.binddn", "auth.ldap.bindpw"]].concat();
    let found = [("filter", "uid={{ username }}")];
    let known = [("binddn", "uid={{ username }},ou=Users,dc=x")];
    // A user may see the own entry, or nothing at all.
    for access in ["read", "none"] {
        let Some(server) = Slapd::for_test(ENTRIES, access) else {
            return;
        };
        for (kept, options) in [(&account[..], &found), (&base[..], &known)] {
            let directory = directory(&server, kept, options);
            let lets_in = |name: &str| {
                let groups = directory.log_in(name, "sesame", false).unwrap();
                groups.is_some()
            };
            assert!(lets_in("bob"), "{access} {options:?}");
            for alias in ALIASES {
                assert!(!lets_in(alias), "{alias:?} {access} {options:?}");
            }
            let wrong = directory.log_in("bob", "open", false).unwrap();
            assert!(wrong.is_none());
        }
    }
}
