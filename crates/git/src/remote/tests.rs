mod options;

use super::*;

fn opts(yaml: &[(&str, Value)]) -> Map {
    yaml.iter()
        .map(|(name, value)| (Value::from(*name), value.clone()))
        .collect()
}

fn list(items: Vec<Value>) -> Value {
    Value::List(items)
}

fn map(name: &str, value: impl Into<Value>) -> Value {
    Map::from([(name, value.into())]).into()
}

/// A remote with these options of its own.
fn remote(own: Vec<Value>, global: &[(&str, Value)]) -> Result<Remote, OptionsError> {
    let mut all = opts(global);
    all.insert(
        "gitfs_remotes",
        list(vec![map("https://host/x.git", list(own))]),
    );
    Ok(Remote::gitfs(&all)?.remove(0))
}

fn names(envs: std::collections::BTreeSet<String>) -> Vec<String> {
    envs.into_iter().collect()
}

#[test]
fn a_plain_address_has_the_options_of_all() {
    let all = opts(&[
        ("gitfs_remotes", list(vec!["file:///srv/x".into()])),
        ("gitfs_base", "main".into()),
        ("gitfs_mountpoint", "salt://a/b/".into()),
        ("gitfs_root", "/c/".into()),
        ("gitfs_update_interval", 7.into()),
        ("gitfs_ref_types", "Tag, sha".into()),
    ]);
    let remote = Remote::gitfs(&all).unwrap().remove(0);
    assert_eq!(remote.base, "main");
    assert_eq!((remote.mountpoint("x"), remote.root("x")), ("a/b", "c"));
    assert_eq!(remote.update_interval, Duration::from_secs(7));
    assert_eq!(remote.ref_types, [RefType::Tag, RefType::Sha]);
    assert_eq!(remote.depth, None);
    // The base64 of a SHA-256 with `_` for `/`: the directory that Salt has.
    assert_eq!(remote.dir().len(), 44);
}

#[test]
fn an_option_of_a_remote_counts_before_that_of_all() {
    let own = vec![map("base", "dev"), map("name", "mine"), map("root", 1)];
    let remote = remote(own, &[("gitfs_base", "main".into())]).unwrap();
    assert_eq!((remote.base.as_str(), remote.root.as_str()), ("dev", "1"));
    assert_eq!(remote.dir(), "mine");
}

#[test]
fn environments_are_branches_and_tags_and_what_maps_them() {
    let plain = remote(vec![map("base", "main")], &[]).unwrap();
    let envs = |remote: &Remote| names(remote.envs(["main", "dev"], ["v1"]));
    assert_eq!(envs(&plain), ["base", "dev", "v1"]);
    let branches = remote(
        vec![
            map("base", "main"),
            map("ref_types", list(vec!["branch".into()])),
        ],
        &[],
    );
    assert_eq!(envs(&branches.unwrap()), ["base", "dev"]);
    let saltenv = list(vec![map(
        "prod",
        list(vec![map("ref", "v1"), map("root", "p")]),
    )]);
    let mapped = remote(
        vec![map("base", "main"), map("saltenv", saltenv.clone())],
        &[],
    )
    .unwrap();
    assert_eq!(envs(&mapped), ["base", "dev", "prod"]);
    assert_eq!(mapped.reference("prod"), Some("v1"));
    assert_eq!((mapped.root("prod"), mapped.root("dev")), ("p", ""));
    let only = remote(
        vec![
            map("base", "main"),
            map("saltenv", saltenv),
            map("disable_saltenv_mapping", true),
        ],
        &[(
            "gitfs_saltenv",
            list(vec![map("qa", list(vec![map("ref", "dev")]))]),
        )],
    );
    let only = only.unwrap();
    assert_eq!(envs(&only), ["base", "prod", "qa"]);
    assert_eq!(
        (only.reference("qa"), only.reference("dev")),
        (Some("dev"), None)
    );
    let commit = remote(vec![map("base", "0123abc")], &[]).unwrap();
    assert_eq!(envs(&commit), ["base", "dev", "main", "v1"]);
}

#[test]
fn an_environment_is_looked_for_as_it_is_listed() {
    let saltenv = list(vec![map("prod", list(vec![map("ref", "v1")]))]);
    let remotes = [
        vec![map("base", "main")],
        vec![map("base", "abc"), map("saltenv", saltenv.clone())],
        vec![map("base", "v1"), map("saltenv", saltenv.clone())],
        vec![
            map("disable_saltenv_mapping", true),
            map("base", "dev"),
            map("saltenv", saltenv),
        ],
        vec![map("ref_types", "tag"), map("base", "v1")],
        vec![map("saltenv_whitelist", "d*,base"), map("base", "v1")],
        vec![map("base", "base")],
    ];
    let (branches, tags) = (["main", "dev", "base"], ["v1", "v2"]);
    for own in remotes {
        let remote = remote(own, &[]).unwrap();
        let listed = remote.envs(branches, tags);
        for env in ["base", "main", "dev", "v1", "v2", "prod", "none"] {
            let has = |kind, name: &str| match kind {
                RefType::Branch => branches.contains(&name),
                _ => tags.contains(&name),
            };
            assert_eq!(
                remote.has_env(env, has),
                listed.contains(env),
                "{env} of {remote:?}"
            );
        }
    }
}

#[test]
fn environments_may_be_hidden() {
    let hidden = remote(
        vec![map(
            "saltenv_blacklist",
            list(vec!["d*".into(), "v[0-9]+".into()]),
        )],
        &[],
    );
    let hidden = hidden.unwrap();
    assert_eq!(
        names(hidden.envs(["master", "dev"], ["v1", "v1x"])),
        ["base", "v1x"]
    );
    let shown = remote(vec![map("env_whitelist", "base,dev")], &[]).unwrap();
    assert_eq!(
        names(shown.envs(["master", "dev", "x"], [])),
        ["base", "dev"]
    );
    let old_name = remote(vec![map("env_blacklist", "dev")], &[]).unwrap();
    assert_eq!(
        names(old_name.envs(["master", "dev", "x"], [])),
        ["base", "x"]
    );
    let of_all = remote(
        vec![map("name", "n")],
        &[("gitfs_env_blacklist", "dev".into())],
    )
    .unwrap();
    assert_eq!(
        names(of_all.envs(["master", "dev", "x"], [])),
        ["base", "x"]
    );
}

#[test]
fn what_is_wrong_is_named_with_its_remote() {
    let error = |own: Value| remote(vec![own], &[]).unwrap_err().to_string();
    for (own, expected) in [
        (
            map("bse", "x"),
            "remote \"https://host/x.git\": bse: no remote has this option",
        ),
        (
            map("ssl_verify", "yes"),
            "remote \"https://host/x.git\": ssl_verify: it is True or",
        ),
        (
            map("ref_types", "branches"),
            "remote \"https://host/x.git\": ref_types: each is",
        ),
        (
            map("name", "../x"),
            "remote \"https://host/x.git\": name: it is the name of",
        ),
        (
            map("root", "a/../.."),
            "remote \"https://host/x.git\": root: a root does not",
        ),
        (
            map("refspecs", "+refs/*:refs/*"),
            "remote \"https://host/x.git\": refspecs: each",
        ),
        (
            map("depth", -1),
            "remote \"https://host/x.git\": depth: it is a whole number",
        ),
        (
            map("password", "p"),
            "remote \"https://host/x.git\": user: there is a password",
        ),
    ] {
        let error = error(own);
        assert!(error.starts_with(expected), "{error}");
    }
    let two = list(vec!["file:///x".into(), "ext::sh".into()]);
    let error = Remote::gitfs(&opts(&[("gitfs_remotes", two)])).unwrap_err();
    assert_eq!(error.index, Some(1));
    let same = list(vec!["file:///x".into(), "file:///x".into()]);
    let error = Remote::gitfs(&opts(&[("gitfs_remotes", same)])).unwrap_err();
    assert!(
        error.to_string().contains("has the same directory"),
        "{error}"
    );
}

#[test]
fn a_password_does_not_go_in_the_clear_unless_it_may() {
    let auth = [("gitfs_user", "u".into()), ("gitfs_password", "p".into())];
    let remotes = |url: &str| {
        let mut all = opts(&auth);
        all.insert("gitfs_remotes", list(vec![url.into()]));
        all
    };
    let error = Remote::gitfs(&remotes("http://host/x")).unwrap_err();
    assert!(error.to_string().contains("insecure_auth"), "{error}");
    let mut all = remotes("http://host/x");
    all.insert("gitfs_insecure_auth", true);
    assert!(Remote::gitfs(&all).unwrap()[0].auth.password.is_some());
    for url in ["file:///x", "git@host:x", "git://host/x"] {
        assert!(
            Remote::gitfs(&remotes(url)).unwrap()[0]
                .auth
                .password
                .is_none()
        );
    }
}

#[test]
fn what_an_address_does_not_say_of_a_login_is_said_by_options() {
    let auth = |url: &str| {
        let auth = [("gitfs_user", "u".into()), ("gitfs_password", "p".into())];
        let mut all = opts(&auth);
        all.insert("gitfs_remotes", list(vec![url.into()]));
        let auth = Remote::gitfs(&all).unwrap().remove(0).auth;
        let password = auth.password.map(|password| password.expose().clone());
        (auth.user.unwrap(), password.unwrap())
    };
    let pair = |user: &str, password: &str| (user.to_owned(), password.to_owned());
    assert_eq!(auth("https://host/x"), pair("u", "p"));
    assert_eq!(auth("https://other@host/x"), pair("other", "p"));
    assert_eq!(auth("https://other:own@host/x"), pair("other", "own"));
}

#[test]
fn no_password_is_shown_of_a_remote() {
    let all = opts(&[
        (
            "gitfs_remotes",
            list(vec!["https://u:secret@host/x".into()]),
        ),
        ("gitfs_proxy", "http://u:secret@proxy:3128".into()),
    ]);
    let shown = format!("{:?}", Remote::gitfs(&all).unwrap());
    assert!(!shown.contains("secret"), "{shown}");
}

#[test]
fn a_minion_names_commits_by_all_digits_and_only_without_lists() {
    let id = "0123456789012345678901234567890123456789";
    let may_be_commit = |own: Vec<Value>, saltenv: &str| {
        let remote = remote(own, &[("gitfs_base", "0123abc".into())]).unwrap();
        let mut kinds = remote.kinds(saltenv);
        kinds.any(|kind| kind == RefType::Sha)
    };
    let any = || vec![map("mountpoint", "m")];
    let saltenv = list(vec![map("prod", list(vec![map("ref", "0123abc")]))]);
    assert!(may_be_commit(any(), id));
    assert!(!may_be_commit(any(), &id[..39]));
    assert!(!may_be_commit(vec![map("saltenv_blacklist", "dev")], id));
    assert!(!may_be_commit(vec![map("saltenv_whitelist", "*")], id));
    // These names are not theirs.
    assert!(may_be_commit(any(), "base"));
    assert!(may_be_commit(vec![map("saltenv", saltenv)], "prod"));
    assert!(may_be_commit(vec![map("all_saltenvs", "0123abc")], "dev"));
}

#[test]
fn a_pillar_has_its_branch_in_front() {
    let remotes = [
        Value::from("dev https://u:p@host/x"),
        "https://host/x".into(),
    ];
    let all = Remote::all(Role::GitPillar, &Map::new(), &remotes).unwrap();
    assert_eq!(
        (all[0].branch.as_str(), all[1].branch.as_str()),
        ("dev", "master")
    );
    assert_eq!(all[0].id(), "dev https://host/x");
}
