use super::*;

fn options(given: &[(&str, Value)]) -> Map {
    let key = |name: &str| Value::from(format!("{PREFIX}{name}"));
    given
        .iter()
        .map(|(name, value)| (key(name), value.clone()))
        .collect()
}

fn searching(more: &[(&str, Value)]) -> Map {
    let mut all = vec![
        ("basedn", Value::from("dc=x")),
        ("binddn", "cn=salt,dc=x".into()),
        ("bindpw", "pw".into()),
        ("filter", "uid={{ username }}".into()),
    ];
    all.extend(more.iter().cloned());
    options(&all)
}

#[track_caller]
fn refused(opts: &Map, expect: &str) {
    match Options::read(opts) {
        Ok(_) => panic!("{opts:?} is taken"),
        Err(error) => assert!(error.to_string().starts_with(expect), "{error}"),
    }
}

#[test]
fn servers_are_named_by_address_or_by_parts() {
    let uris = |more: &[(&str, Value)]| Options::read(&searching(more)).unwrap().uris;
    assert_eq!(uris(&[]), ["ldap://localhost:389"]);
    assert_eq!(
        uris(&[
            ("server", "s".into()),
            ("port", 636.into()),
            ("tls", true.into())
        ]),
        ["ldaps://s:636"]
    );
    assert_eq!(
        uris(&[("uri", "ldaps://a ldap://b:1".into())]),
        ["ldaps://a", "ldap://b:1"]
    );
    refused(
        &searching(&[("tls", true.into()), ("starttls", true.into())]),
        "auth.ldap.starttls: auth.ldap.tls is set",
    );
    refused(&searching(&[("uri", "http://x".into())]), "auth.ldap.uri: ");
    refused(&searching(&[("uri", "ldap://".into())]), "auth.ldap.uri: ");
    refused(
        &searching(&[("uri", "ldaps://x".into()), ("starttls", true.into())]),
        "auth.ldap.uri: with starttls",
    );
    refused(
        &searching(&[("uri", "ldaps://a ldap://x".into()), ("tls", true.into())]),
        "auth.ldap.uri: with tls",
    );
    refused(&searching(&[("port", "x".into())]), "auth.ldap.port: ");
    refused(&searching(&[("scope", 3.into())]), "auth.ldap.scope: ");
}

#[test]
fn nobody_can_be_let_in_without_a_password() {
    refused(
        &searching(&[
            ("anonymous", true.into()),
            ("auth_by_group_membership_only", true.into()),
        ]),
        "auth.ldap.auth_by_group_membership_only: ",
    );
    // One name for all, whose password would open every account.
    refused(
        &options(&[("basedn", "dc=x".into()), ("binddn", "cn=salt,dc=x".into())]),
        "auth.ldap.bindpw is missing",
    );
    refused(&options(&[]), "auth.ldap.binddn is missing");
    refused(
        &options(&[("bindpw", "x".into()), ("anonymous", true.into())]),
        "auth.ldap.binddn is missing",
    );
}

#[test]
fn what_is_needed_is_asked_for() {
    let mut without = searching(&[]);
    without.remove("auth.ldap.filter");
    refused(&without, "auth.ldap.filter is missing");
    let mut without = searching(&[]);
    without.remove("auth.ldap.basedn");
    refused(&without, "auth.ldap.basedn is missing");
    refused(
        &searching(&[("freeipa", true.into())]),
        "auth.ldap.group_basedn is missing",
    );
    refused(
        &searching(&[("filter", "uid={{ username".into())]),
        "auth.ldap.filter: ",
    );
    refused(
        &searching(&[("binddn", Map::new().into())]),
        "auth.ldap.binddn: ",
    );
}

#[test]
fn groups_are_below_a_unit() {
    let base = |more: &[(&str, Value)]| match Options::read(&searching(more)).unwrap().groups {
        Groups::Posix { base } => base,
        _ => String::new(),
    };
    assert_eq!(base(&[]), "ou=Groups,dc=x");
    assert_eq!(base(&[("groupou", "Teams".into())]), "ou=Teams,dc=x");
    assert_eq!(base(&[("groupou", "".into())]), "dc=x");
}
