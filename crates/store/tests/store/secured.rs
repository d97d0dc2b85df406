//! Servers that require TLS and a user: their identity is checked, and no password
//! is sent before that.

#![cfg(all(
    feature = "etcd",
    feature = "mysql",
    feature = "postgres",
    feature = "redis"
))]
#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::process::Command;
use std::time::Duration;

use halite_proto::{Jid, Map};
use halite_store::{
    BackendOptions, BankError, EtcdOptions, EtcdVersion, JobTables, MysqlOptions, PostgresOptions,
    RedisOptions, Store, StoreOptions,
};
use halite_store_servers::{Address, ServerKind};
use halite_test_services::{
    Certificates, Etcd, MariaDb, Postgres, Redis, RedisCluster, Sentinel, Wanted,
};

/// The server that a child is to use.
const CHILD_URL: &str = "HALITE_TEST_CHILD_URL";

const PASSWORD: &str = "secret";

fn wanted() -> Wanted {
    Wanted::default().password(PASSWORD).tls()
}

fn open(url: &str) -> Store {
    let address = Address::parse(url).unwrap();
    let place = match address.kind {
        ServerKind::Redis => {
            let keep = Duration::from_secs(3600);
            BackendOptions::Redis(Box::new(RedisOptions::new(address, keep)))
        }
        ServerKind::Postgres => BackendOptions::Postgres(Box::new(PostgresOptions {
            address,
            tables: JobTables::Jsonb,
        })),
        ServerKind::Mysql => BackendOptions::Mysql(Box::new(MysqlOptions::new(address))),
        ServerKind::Etcd => BackendOptions::Etcd(Box::new(EtcdOptions {
            address,
            version: EtcdVersion::V3,
        })),
    };
    halite_store::open(&StoreOptions::all(place))
}

/// Stores something and reads it.
fn use_it(url: &str) -> Result<(), BankError> {
    let banks = open(url).banks;
    banks.store("own", "key", &"value".into())?;
    assert_eq!(banks.fetch("own", "key")?, Some("value".into()));
    Ok(())
}

/// Why a server is not used, with all causes.
fn refusal(url: &str) -> String {
    let text = with_causes(&use_it(url).unwrap_err());
    assert!(!text.contains(PASSWORD), "{text}");
    text
}

fn with_causes(error: &BankError) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

/// `url` is that of a server without parameters, and is in the clear.
fn check_certificate(url: &str, files: &Certificates) {
    let other = tempfile::tempdir().unwrap();
    let ip = "127.0.0.1".parse().unwrap();
    let other = Certificates::make(other.path(), ip).unwrap();
    let with = |parameters: String| format!("{url}?timeout=5&{parameters}");
    use_it(&with(format!("ca={}", files.ca.display()))).unwrap();
    use_it(&with("tls=unverified".to_owned())).unwrap();
    for wrong in [format!("ca={}", other.ca.display()), "tls=yes".to_owned()] {
        let why = refusal(&with(wrong));
        assert!(why.contains("certificate verify failed"), "{why}");
    }
    // Whoever names authorities means those alone, also where the system trusts the server.
    trusted_by_the_system(&with("tls=yes".to_owned()), files).unwrap();
    let why = trusted_by_the_system(&with(format!("ca={}", other.ca.display())), files);
    assert!(
        why.clone()
            .is_err_and(|why| why.contains("certificate verify failed")),
        "{why:?}"
    );
    // It is signed, for another name.
    let (rest, place) = url.rsplit_once('@').unwrap();
    let (host, port) = place.split_once(':').unwrap();
    let port = port.split('/').next().unwrap().parse().unwrap();
    let elsewhere = forward((host, port));
    let url = format!(
        "{rest}@{}",
        place.replace(&format!("{host}:{port}"), &elsewhere)
    );
    let why = refusal(&format!("{url}?timeout=5&ca={}", files.ca.display()));
    assert!(why.contains("certificate verify failed"), "{why}");
    refusal(&with("tls=no".to_owned()));
}

/// Uses a server in a process that takes these for the system's authorities; why not, if
/// it is refused.
fn trusted_by_the_system(url: &str, files: &Certificates) -> Result<(), String> {
    let ran = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "secured::a_child_uses_a_server", "--nocapture"])
        .env("SSL_CERT_FILE", &files.ca)
        .env(CHILD_URL, url)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ran.stdout).into_owned();
    match ran.status.success() && said.contains("1 passed") {
        true => Ok(()),
        false => Err(said + &String::from_utf8_lossy(&ran.stderr)),
    }
}

/// What [`trusted_by_the_system`] runs.
#[test]
fn a_child_uses_a_server() {
    if let Ok(url) = std::env::var(CHILD_URL)
        && let Err(error) = use_it(&url)
    {
        panic!("{}", with_causes(&error));
    }
}

/// The same server at an address that its certificate does not name.
fn forward((host, port): (&str, u16)) -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let to = (host.to_owned(), port);
    std::thread::spawn(move || {
        for client in listener.incoming() {
            let (Ok(mut client), Ok(mut server)) =
                (client, std::net::TcpStream::connect((to.0.as_str(), to.1)))
            else {
                return;
            };
            let mut back = (server.try_clone().unwrap(), client.try_clone().unwrap());
            std::thread::spawn(move || std::io::copy(&mut back.0, &mut back.1));
            std::thread::spawn(move || std::io::copy(&mut client, &mut server));
        }
    });
    address.to_string()
}

#[test]
fn a_redis_is_checked_and_knows_its_user() {
    let Some(redis) = Redis::for_test(&wanted()) else {
        return;
    };
    // What docs/stores.md says that the user needs.
    let rule = "acl setuser salt on >secret resetchannels ~* -@all +@read +@write +@scripting \
                +@transaction +@connection +role +cluster|slots +cluster|info";
    let rule: Vec<&str> = rule.split(' ').collect();
    assert_eq!(redis.cli(&rule).unwrap().trim(), "OK");
    let files = redis.tls.clone().unwrap();
    check_certificate(
        &format!("redis://salt:{PASSWORD}@{}/0", redis.address),
        &files,
    );
    let ca = files.ca.display();
    let url = |user: &str| format!("redis://{user}@{}/0?ca={ca}", redis.address);
    let jobs = open(&url(&format!("salt:{PASSWORD}"))).jobs;
    let job = Jid::parse("20260102030405000001").unwrap();
    let load = Map::from([("fun", "test.ping")]);
    jobs.prepare(&job, false).unwrap();
    jobs.save_load(&job, &load, None).unwrap();
    assert_eq!(jobs.newest(10).unwrap().len(), 1);
    for wrong in ["salt:other", "nobody:other"] {
        let why = refusal(&url(wrong));
        assert!(why.contains("authentication failed"), "{why}");
    }
    let why = use_it(&format!("redis://{}/0?ca={ca}", redis.address)).unwrap_err();
    assert!(why.to_string().contains("NOAUTH"), "{why}");
}

/// The Sentinels have a password of their own, and the server is told only its own.
#[test]
fn a_sentinel_is_checked_and_knows_who_asks() {
    let Some(redis) = Redis::for_test(&wanted()) else {
        return;
    };
    let sentinel = Sentinel::start_with(&redis, "fleet", Some("guarded")).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let file = |name: &str, password: &str| {
        let path = dir.path().join(name);
        std::fs::write(&path, password).unwrap();
        format!("&sentinel_password_file={}", path.display())
    };
    let url = |ca: &Certificates, login: &str| {
        let (address, ca) = (sentinel.address, ca.ca.display());
        format!("redis://:{PASSWORD}@{address}/0?sentinel=fleet&timeout=5&ca={ca}{login}")
    };
    let files = redis.tls.as_ref().unwrap();
    use_it(&url(files, &file("right", "guarded\n"))).unwrap();
    let why = refusal(&url(files, &file("wrong", "guess")));
    assert!(why.contains("authentication failed"), "{why}");
    let why = use_it(&url(files, "")).unwrap_err();
    assert!(with_causes(&why).contains("NOAUTH"), "{why}");
    let other = Certificates::make(dir.path(), redis.address.ip()).unwrap();
    let why = refusal(&url(&other, &file("right", "guarded")));
    assert!(why.contains("certificate verify failed"), "{why}");
}

#[test]
fn each_server_of_a_cluster_is_checked() {
    let Some(cluster) = RedisCluster::for_test(&wanted(), false) else {
        return;
    };
    let files = cluster.mains[0].tls.as_ref().unwrap();
    let url = cluster.url();
    let url = |ca: &Certificates| format!("{url}&timeout=5&ca={}", ca.ca.display());
    let banks = open(&url(files)).banks;
    // They lie on all servers.
    for number in 0..20 {
        let bank = format!("own{number}");
        banks.store(&bank, "key", &number.into()).unwrap();
        assert_eq!(banks.fetch(&bank, "key").unwrap(), Some(number.into()));
    }
    let dir = tempfile::tempdir().unwrap();
    let other = Certificates::make(dir.path(), cluster.mains[0].address.ip()).unwrap();
    let why = refusal(&url(&other));
    assert!(why.contains("certificate verify failed"), "{why}");
    let why = refusal(&url(files).replace(PASSWORD, "guess"));
    assert!(why.contains("authentication failed"), "{why}");
}

#[test]
fn a_postgres_is_checked_and_knows_its_user() {
    if let Some(postgres) = Postgres::for_test(&wanted()) {
        let url = postgres.url("salt");
        check_certificate(&url, postgres.tls.as_ref().unwrap());
        let ca = postgres.tls.as_ref().unwrap().ca.display();
        let why = refusal(&format!("{}?ca={ca}", url.replace(PASSWORD, "other")));
        assert!(why.contains("password authentication failed"), "{why}");
    }
}

#[test]
fn a_mariadb_is_checked_and_knows_its_user() {
    if let Some(mariadb) = MariaDb::for_test(&wanted()) {
        let url = mariadb.url("salt");
        check_certificate(&url, mariadb.tls.as_ref().unwrap());
        let ca = mariadb.tls.as_ref().unwrap().ca.display();
        let why = refusal(&format!("{}?ca={ca}", url.replace(PASSWORD, "other")));
        assert!(why.contains("Access denied"), "{why}");
    }
}

#[test]
fn an_etcd_is_checked_and_knows_its_user() {
    if let Some(etcd) = Etcd::for_test(&wanted()) {
        let url = format!("{}/salt", etcd.url().replace("etcds://", "etcd://"));
        check_certificate(&url, etcd.tls.as_ref().unwrap());
        let ca = etcd.tls.as_ref().unwrap().ca.display();
        let why = refusal(&format!("{}?ca={ca}", url.replace(PASSWORD, "other")));
        assert!(why.contains("authentication failed"), "{why}");
    }
}
