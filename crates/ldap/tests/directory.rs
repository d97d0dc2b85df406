//! Logins with a directory that talks the protocol.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod common;

use common::{Asked, Entry, Manners, Server, entry};
use halite_ldap::Directory;
use halite_proto::{Map, Value};

fn people() -> Vec<Entry> {
    vec![
        entry("dc=x", &[("objectClass", &["domain"])]),
        entry("cn=salt,dc=x", &[("userPassword", &["saltpw"])]),
        entry(
            "uid=ali,ou=Users,dc=x",
            &[
                ("uid", &["ali"]),
                ("sAMAccountName", &["ali"]),
                ("objectClass", &["person"]),
                (
                    "memberOf",
                    &["cn=web,ou=Groups,dc=x", "CN=Ops\\, all,ou=Groups,dc=x"],
                ),
                ("userPassword", &["sesame"]),
            ],
        ),
        entry(
            "uid=bab,ou=Users,dc=x",
            &[("uid", &["bab"]), ("userPassword", &["open"])],
        ),
        entry(
            "uid=two,ou=Users,dc=x",
            &[("uid", &["two"]), ("userPassword", &["pw"])],
        ),
        entry(
            "uid=two,ou=Guests,dc=x",
            &[("uid", &["two"]), ("userPassword", &["pw"])],
        ),
        entry("uid=a\\2cb,ou=Users,dc=x", &[("userPassword", &["comma"])]),
        entry(
            "cn=ops,ou=Groups,dc=x",
            &[
                ("cn", &["ops"]),
                ("objectClass", &["posixGroup"]),
                ("memberUid", &["ali", "cyd"]),
                ("member", &["uid=ali,ou=Users,dc=x"]),
            ],
        ),
        entry(
            "CN=WEB1,OU=web,dc=x",
            &[("cn", &["WEB1.corp"]), ("objectClass", &["computer"])],
        ),
    ]
}

fn directory(server: &Server, more: &[(&str, Value)]) -> Directory {
    let mut opts = Map::from([
        (
            "auth.ldap.uri",
            Value::from(format!("ldap://{}", server.address)),
        ),
        ("auth.ldap.basedn", "dc=x".into()),
        ("auth.ldap.binddn", "cn=salt,dc=x".into()),
        ("auth.ldap.bindpw", "saltpw".into()),
        ("auth.ldap.filter", "uid={{ username }}".into()),
    ]);
    for (name, value) in more {
        match value {
            Value::Nil => drop(opts.remove(&format!("auth.ldap.{name}"))),
            value => drop(opts.insert(format!("auth.ldap.{name}"), value.clone())),
        }
    }
    Directory::from_options(&opts).unwrap()
}

fn good() -> Server {
    Server::start(people(), Manners::Good)
}

fn lets_in(directory: &Directory, name: &str, password: &str) -> bool {
    directory.log_in(name, password, false).unwrap().is_some()
}

#[test]
fn the_user_is_found_and_binds() {
    let server = good();
    let directory = directory(&server, &[]);
    assert!(lets_in(&directory, "ali", "sesame"));
    let bind = |dn: &str, password: &str| Asked::Bind {
        dn: dn.to_owned(),
        password: password.to_owned(),
    };
    assert_eq!(
        server.asked(),
        [
            bind("cn=salt,dc=x", "saltpw"),
            Asked::Search {
                base: "dc=x".to_owned(),
                filter: "(uid=ali)".to_owned()
            },
            bind("uid=ali,ou=Users,dc=x", "sesame"),
        ]
    );
    assert!(!lets_in(&directory, "ali", "open"));
    assert!(!lets_in(&directory, "nobody", "sesame"));
    // Two of one name: whose password it is cannot be said.
    assert!(!lets_in(&directory, "two", "pw"));
}

#[test]
fn nobody_is_let_in_without_a_password_or_a_name() {
    let server = Server::start(people(), Manners::Careless);
    let directory = directory(&server, &[]);
    assert!(!lets_in(&directory, "ali", ""));
    assert!(!lets_in(&directory, "", "sesame"));
    assert!(!lets_in(&directory, " ali", "sesame"));
    assert!(!lets_in(&directory, "ali\0", "sesame"));
    // The directory was not even asked.
    assert_eq!(server.asked(), []);
}

#[test]
fn what_users_type_is_never_a_part_of_a_filter() {
    let server = good();
    let directory = directory(
        &server,
        &[("filter", "(&(uid={{ username }})(objectClass=*))".into())],
    );
    for name in ["*", "ali)(uid=*", "*)(|(uid=*", "al\\69", "a(b)", "ali)(&"] {
        assert!(!lets_in(&directory, name, "sesame"), "{name}");
        let filters: Vec<String> = server
            .asked()
            .into_iter()
            .filter_map(|asked| match asked {
                Asked::Search { filter, .. } => Some(filter),
                Asked::Bind { .. } => None,
            })
            .collect();
        assert_eq!(filters, [format!("(&(uid={name})(? 87))")]);
    }
}

#[test]
fn what_users_type_is_never_a_part_of_a_name() {
    let server = good();
    let known = [
        ("bindpw", Value::Nil),
        ("filter", Value::Nil),
        ("binddn", "uid={{ username }},ou=Users,dc=x".into()),
    ];
    let directory = directory(&server, &known);
    assert!(lets_in(&directory, "ali", "sesame"));
    assert!(lets_in(&directory, "a,b", "comma"));
    assert!(!lets_in(&directory, "bab", "sesame"));
    server.asked();
    assert!(!lets_in(&directory, "ali,ou=Users,dc=x+uid=", "sesame"));
    let Some(Asked::Bind { dn, .. }) = server.asked().pop() else {
        panic!("no bind");
    };
    assert_eq!(
        dn,
        "uid=ali\\2cou\\3dUsers\\2cdc\\3dx\\2buid\\3d,ou=Users,dc=x"
    );
}

/// Lists of the configuration name users: nobody passes them by writing their
/// name in another way that the directory takes for the same.
#[test]
fn a_user_has_one_spelling() {
    let server = good();
    let known = |dn: &str| {
        [
            ("bindpw", Value::Nil),
            ("filter", Value::Nil),
            ("binddn", dn.into()),
        ]
    };
    let directories = [
        directory(&server, &[]),
        directory(
            &server,
            &[("filter", "(|(uid={{ username }})(cn={{username}}))".into())],
        ),
        directory(&server, &known("uid={{ username }},ou=Users,dc=x")),
    ];
    for directory in &directories {
        assert!(lets_in(directory, "ali", "sesame"));
        for alias in ["ALI", "Ali", "a\u{ad}li", "ali\u{200b}"] {
            assert!(!lets_in(directory, alias, "sesame"), "{alias:?}");
        }
    }
}

/// A group that is called as the user, of which the user is no member, and a
/// user of the same name in another unit.
#[test]
fn groups_are_those_of_who_has_bound() {
    let mut entries = people();
    entries.extend([
        entry(
            "uid=ops,ou=Users,dc=x",
            &[("uid", &["ops"]), ("userPassword", &["pw"])],
        ),
        entry(
            "cn=admins,ou=Groups,dc=x",
            &[
                ("cn", &["admins"]),
                ("objectClass", &["posixGroup"]),
                ("kind", &["all"]),
                (
                    "member",
                    &["cn=ops,ou=Groups,dc=x", "uid=ali,ou=Guests,dc=x"],
                ),
            ],
        ),
        entry(
            "uid=ali,ou=Guests,dc=x",
            &[("sAMAccountName", &["ali"]), ("objectClass", &["person"])],
        ),
    ]);
    // Of several, the directory gives the other one first.
    entries.rotate_right(1);
    let server = Server::start(entries, Manners::Good);
    let ipa = [
        ("freeipa", Value::from(true)),
        ("group_basedn", "ou=Groups,dc=x".into()),
        ("group_filter", "(kind=all)".into()),
        ("groupattribute", "member".into()),
    ];
    let ad = [
        ("activedirectory", Value::from(true)),
        ("accountattributename", "sAMAccountName".into()),
    ];
    let groups = |more: &[(&str, Value)], name: &str, password: &str| {
        let found = directory(&server, more).log_in(name, password, true);
        found.unwrap().unwrap()
    };
    assert!(groups(&ipa, "ops", "pw").is_empty());
    assert_eq!(groups(&ad, "ali", "sesame"), ["ops"]);
}

#[test]
fn groups_are_found_in_three_ways() {
    let server = good();
    let groups = |more: &[(&str, Value)], name: &str, password: &str| {
        let found = directory(&server, more).log_in(name, password, true);
        found.unwrap().unwrap()
    };
    assert_eq!(groups(&[], "ali", "sesame"), ["ops"]);
    assert!(groups(&[], "bab", "open").is_empty());
    // The user's own entry lists them.
    let own = [
        ("groupou", Value::from("Users")),
        ("accountattributename", "uid".into()),
        ("groupclass", "person".into()),
    ];
    assert_eq!(groups(&own, "ali", "sesame"), ["web", "Ops, all"]);
    let ad = [
        ("activedirectory", Value::from(true)),
        ("accountattributename", "sAMAccountName".into()),
    ];
    assert_eq!(groups(&ad, "ali", "sesame"), ["ops"]);
    let ipa = [
        ("freeipa", Value::from(true)),
        ("group_basedn", "ou=Groups,dc=x".into()),
        (
            "group_filter",
            "(&(memberUid={{ username }})(objectClass=posixGroup))".into(),
        ),
        ("groupattribute", "member".into()),
    ];
    assert_eq!(groups(&ipa, "ali", "sesame"), ["ops"]);
    // Also with the user's own rights.
    let known = [
        ("bindpw", Value::Nil),
        ("binddn", "uid={{ username }},ou=Users,dc=x".into()),
    ];
    assert_eq!(groups(&known, "ali", "sesame"), ["ops"]);
}

#[test]
fn computers_of_a_unit_are_minions() {
    let server = good();
    let directory = directory(
        &server,
        &[("minion_stripdomains", vec![".corp".into()].into())],
    );
    assert_eq!(directory.computers("OU=web,dc=x").unwrap(), ["web1"]);
    assert!(directory.computers("OU=gone,dc=y").unwrap().is_empty());
}

#[test]
fn a_search_account_that_is_refused_is_an_error() {
    let server = good();
    let directory = directory(&server, &[("bindpw", "wrong".into())]);
    let error = directory.log_in("ali", "sesame", false).unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains("auth.ldap.bindpw") && !text.contains("wrong"),
        "{text}"
    );
}

#[test]
fn whatever_is_no_answer_lets_nobody_in() {
    for manners in [Manners::Nonsense, Manners::Hollow, Manners::Rude] {
        let server = Server::start(people(), manners);
        for more in [
            vec![],
            vec![
                ("bindpw", Value::Nil),
                ("binddn", "uid={{ username }},dc=x".into()),
            ],
        ] {
            let directory = directory(&server, &more);
            assert!(
                directory.log_in("ali", "sesame", false).is_err(),
                "{manners:?}"
            );
        }
    }
    // Nobody listens at the first, the second is asked.
    let server = good();
    let gone = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let nobody = gone.local_addr().unwrap();
    drop(gone);
    let alone = format!("ldap://{nobody}");
    let both = format!("{alone} ldap://{}", server.address);
    assert!(
        directory(&server, &[("uri", alone.into())])
            .log_in("ali", "sesame", false)
            .is_err()
    );
    assert!(lets_in(
        &directory(&server, &[("uri", both.into())]),
        "ali",
        "sesame"
    ));
}
