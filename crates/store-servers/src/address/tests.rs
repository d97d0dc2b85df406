use super::*;

#[test]
fn a_url_says_everything() {
    let text = "rediss://salt:p%40ss@cache1:6380/3?ca=/etc/ca.pem&timeout=1.5&connections=2";
    let address = Address::parse(text).unwrap();
    assert_eq!(address.kind, ServerKind::Redis);
    assert_eq!((address.host.as_str(), address.port), ("cache1", 6380));
    assert_eq!(address.user.as_deref(), Some("salt"));
    assert_eq!(address.password.as_ref().unwrap().expose(), "p@ss");
    assert_eq!(address.database.as_deref(), Some("3"));
    assert_eq!(address.limit, Duration::from_millis(1500));
    assert_eq!(address.connections, 2);
    let tls = address.tls.clone().unwrap();
    assert_eq!(tls.ca, Some("/etc/ca.pem".into()));
    assert!(!tls.is_unverified);
    assert_eq!(address, Address::parse(text).unwrap());
    assert_ne!(address, Address::parse("redis://cache1").unwrap());
}

#[test]
fn no_text_shows_the_password() {
    let text = "postgres://salt:secret@db/salt";
    let address = Address::parse(text).unwrap();
    let shown = format!("{address} {address:?}");
    assert_eq!(
        shown,
        "postgres://db:5432/salt Address(postgres://db:5432/salt)"
    );
    for wrong in [
        "redis://u:secret@:x/",
        "http://u:secret@h/",
        "redis://u:secret@h/?x=1",
    ] {
        let error = Address::parse(wrong).unwrap_err();
        assert!(
            !format!("{error} {error:?}").contains("secret"),
            "{error:?}"
        );
    }
}

#[test]
fn a_password_may_be_in_a_file() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("password");
    std::fs::write(&path, "secret\n").unwrap();
    let text = format!("mysql://db/salt?password_file={}", path.display());
    let address = Address::parse(&text).unwrap();
    assert_eq!(address.password.unwrap().expose(), "secret");
    let missing = "mysql://db/salt?password_file=/nowhere";
    assert!(matches!(
        Address::parse(missing),
        Err(AddressError::PasswordFile(_))
    ));
}

#[test]
fn sentinels_know_the_address() {
    let text = "redis://s1/0?sentinel=main&sentinels=s2:26380,[::1]:7,s3";
    let address = Address::parse(text).unwrap();
    assert_eq!((address.host.as_str(), address.port), ("s1", 26379));
    assert_eq!(address.sentinel.as_deref(), Some("main"));
    let others = [("s2", 26380), ("::1", 7), ("s3", 26379)];
    let others = others.map(|(host, port)| (host.to_owned(), port));
    assert_eq!(address.sentinels, others);
    assert_eq!(address.to_string(), "redis://s1:26379/0 (main)");
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("password");
    std::fs::write(&path, "secret\n").unwrap();
    let login = format!(
        "&sentinel_user=salt&sentinel_password_file={}",
        path.display()
    );
    let with_login = Address::parse(&format!("{text}{login}")).unwrap();
    assert_eq!(with_login.sentinel_user.as_deref(), Some("salt"));
    assert_eq!(
        with_login.sentinel_password.as_ref().unwrap().expose(),
        "secret"
    );
    assert!(with_login.password.is_none() && with_login != address);
    assert!(!format!("{with_login} {with_login:?}").contains("secret"));
}

#[test]
fn an_etcd_may_have_members() {
    let address = Address::parse("etcd://e1/salt?members=e2:2380,[::1]:7,e3").unwrap();
    assert_eq!((address.host.as_str(), address.port), ("e1", 2379));
    let others = [("e2", 2380), ("::1", 7), ("e3", 2379)];
    let others = others.map(|(host, port)| (host.to_owned(), port));
    assert_eq!(address.members, others);
    assert_ne!(address, Address::parse("etcd://e1/salt").unwrap());
}

#[test]
fn a_redis_may_be_a_cluster() {
    let address = Address::parse("redis://r1?cluster=yes&members=r2:7000,r3").unwrap();
    assert_eq!(address.cluster, Some(Coverage::Full));
    let others = [("r2", 7000), ("r3", 6379)];
    let others = others.map(|(host, port)| (host.to_owned(), port));
    assert_eq!(address.members, others);
    assert_eq!(address.to_string(), "redis://r1:6379 (cluster)");
    assert_ne!(address, Address::parse("redis://r1").unwrap());
    let partial = Address::parse("redis://r1/0?cluster=partial").unwrap();
    assert_eq!(partial.cluster, Some(Coverage::Partial));
}

#[test]
fn what_is_no_address_is_refused() {
    for text in [
        "",
        "redis",
        "redis:///0",
        "file:///x",
        "redis://h?tls=maybe",
        "redis://h?timeout=0",
        "redis://h?sentinels=s2",
        "redis://h?sentinel=",
        "redis://h?sentinel=main&sentinels=s2:x",
        "redis://h?sentinel_user=salt",
        "etcd://h?sentinel_user=salt",
        "postgres://h?sentinel=main",
        "postgres://h?members=other",
        "redis://h?members=other",
        "redis://h?cluster=maybe",
        "redis://h/1?cluster=yes",
        "redis://h?cluster=yes&sentinel=main",
        "redis://h?cluster=yes&socket=/run/redis",
        "etcd://h?cluster=yes",
        "etcd://h?members=",
        "etcd://h?members=other:x",
        "redis://h?connections=none",
        "redis://h?connections=0",
        "redis://h?connections=1025",
        "redis://h?connections=9999999999999999999",
        "redis://h?socket=/run/redis&ca=/etc/ca.pem",
        "rediss://h?socket=/run/redis",
    ] {
        assert!(Address::parse(text).is_err(), "{text}");
    }
}
