//! An etcd with a password and TLS, that is full, has several members, or is away.

#![cfg(feature = "etcd")]
#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

use halite_proto::{Map, MinionId, Value};
use halite_store::{
    BackendOptions, Bank, EtcdOptions, EtcdVersion, Store, StoreError, StoreOptions,
};
use halite_store_servers::{Address, Failure};
use halite_test_services::{Etcd, Wanted};

/// How long a server that is back may stay away for us.
const PATIENCE: Duration = Duration::from_secs(30);

fn place(url: &str, version: EtcdVersion) -> BackendOptions {
    let address = Address::parse(url).unwrap();
    BackendOptions::Etcd(Box::new(EtcdOptions { address, version }))
}

fn open(url: &str) -> Store {
    halite_store::open(&StoreOptions::all(place(url, EtcdVersion::V3)))
}

fn id(name: &str) -> MinionId {
    MinionId::parse(name).unwrap()
}

fn grains(value: impl Into<Value>) -> Map {
    Map::from([("os", value.into())])
}

/// Why a server did not do something.
fn failure(error: StoreError) -> Failure {
    match error {
        StoreError::Server(error) => error.failure,
        other => panic!("{other}"),
    }
}

#[test]
fn who_is_known_no_more_signs_in_again() {
    let wanted = Wanted::default().password("secret").tls();
    let Some(etcd) = Etcd::for_test(&wanted) else {
        return;
    };
    let ca = etcd.tls.as_ref().unwrap().ca.display().to_string();
    let url = format!("{}?ca={ca}", etcd.url());
    let place = place(&url, EtcdVersion::V3);
    let data = halite_store::open(&StoreOptions::all(place.clone())).data;
    data.put(Bank::Grains, &id("web1"), &grains("Debian"))
        .unwrap();
    etcd.ctl(&["auth", "disable"]).unwrap();
    etcd.ctl(&["auth", "enable"]).unwrap();
    let found = data.get(Bank::Grains, &id("web1")).unwrap();
    assert_eq!(found, Some(grains("Debian")));
    assert_eq!(place.status().away_since, None);
    let wrong = url.replacen("secret", "guess", 1);
    let error = open(&wrong).data.ids(Bank::Grains).unwrap_err();
    assert!(!error.to_string().contains("guess"), "{error}");
    let refused = failure(error);
    assert!(matches!(refused, Failure::Refused(_)), "{refused}");
    // The certificate is checked.
    let plain = etcd.url();
    let broken = failure(open(&plain).data.ids(Bank::Grains).unwrap_err());
    assert!(matches!(broken, Failure::Broken(_)), "{broken}");
    // It is of another address than the one that is asked for.
    let behind = forwarded("127.0.0.2:0", &etcd.address.to_string());
    let elsewhere = url.replacen(&etcd.address.to_string(), &behind, 1);
    assert_ne!(elsewhere, url);
    let broken = failure(open(&elsewhere).data.ids(Bank::Grains).unwrap_err());
    assert!(format!("{broken:?}").contains("certificate"), "{broken:?}");
    // A name that it has is right.
    let behind = forwarded("127.0.0.1:0", &etcd.address.to_string());
    let behind = behind.replacen("127.0.0.1", "localhost", 1);
    let named = url.replacen(&etcd.address.to_string(), &behind, 1);
    assert_eq!(open(&named).data.ids(Bank::Grains).unwrap(), [id("web1")]);
}

/// Another address of a server.
fn forwarded(at: &str, to: &str) -> String {
    let listener = TcpListener::bind(at).unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let to = to.to_owned();
    std::thread::spawn(move || {
        for near in listener.incoming() {
            let (near, far) = (near.unwrap(), TcpStream::connect(&to));
            // Somebody tries again after the test has ended.
            let Ok(far) = far else { continue };
            for (mut from, mut to) in [
                (near.try_clone().unwrap(), far.try_clone().unwrap()),
                (far, near),
            ] {
                std::thread::spawn(move || std::io::copy(&mut from, &mut to));
            }
        }
    });
    address
}

#[test]
fn a_full_etcd_refuses_and_can_be_read() {
    let wanted = Wanted::default().args(&["--quota-backend-bytes=2000000"]);
    let Some(etcd) = Etcd::for_test(&wanted) else {
        return;
    };
    let place = place(&etcd.url(), EtcdVersion::V3);
    let data = halite_store::open(&StoreOptions::all(place.clone())).data;
    let large = grains("x".repeat(300_000));
    let mut stored = 0;
    let refused = loop {
        match data.put(Bank::Grains, &id(&format!("web{stored}")), &large) {
            Ok(()) => stored += 1,
            Err(error) => break failure(error),
        }
        assert!(stored < 100, "it is never full");
    };
    let Failure::Refused(why) = &refused else {
        panic!("{refused}")
    };
    assert!(why.contains("space exceeded"), "{why}");
    assert!(stored > 0);
    assert_eq!(data.get(Bank::Grains, &id("web0")).unwrap(), Some(large));
    assert_eq!(place.status().away_since, None);
}

#[test]
fn a_value_that_is_too_large_is_refused_alone() {
    let Some(etcd) = Etcd::shared() else { return };
    let data = open(&etcd.new_url()).data;
    let large = grains("x".repeat(2_000_000));
    let refused = failure(data.put(Bank::Grains, &id("web1"), &large).unwrap_err());
    assert!(refused.to_string().contains("too large"), "{refused}");
    data.put(Bank::Grains, &id("web2"), &grains(1)).unwrap();
    assert_eq!(data.ids(Bank::Grains).unwrap(), [id("web2")]);
}

/// More keys than are asked for at once, and banks below.
#[test]
fn many_keys_are_listed() {
    let Some(etcd) = Etcd::shared() else { return };
    let url = etcd.new_url();
    let data = open(&url).data;
    let cache = place(&url, EtcdVersion::V3).cache().unwrap();
    let count = halite_store::limits::ETCD_KEYS_AT_ONCE_MAX + 1;
    std::thread::scope(|scope| {
        for part in 0..8 {
            let cache = &cache;
            scope.spawn(move || {
                for number in (part..count).step_by(8) {
                    cache
                        .store("grains", &format!("web{number}"), vec![0x80])
                        .unwrap();
                }
            });
        }
    });
    cache.store("grains/below", "web", vec![0x80]).unwrap();
    assert_eq!(data.ids(Bank::Grains).unwrap().len(), count);
    assert_eq!(cache.stamps("grains").unwrap().len(), count);
    assert_eq!(cache.banks_below("grains").unwrap(), ["below"]);
}

#[test]
fn an_etcd_that_is_away_and_its_other_members() {
    let Some(etcd) = Etcd::for_test(&Wanted::default()) else {
        return;
    };
    // Nobody listens at the first one.
    let url = format!("etcd://127.0.0.1:1/fleet?members={}", etcd.address);
    let data = open(&url).data;
    data.put(Bank::Grains, &id("web1"), &grains("Debian"))
        .unwrap();
    etcd.server.kill();
    let error = data.get(Bank::Grains, &id("web1")).unwrap_err();
    assert!(error.is_of_server(), "{error}");
    let begun = Instant::now();
    data.get(Bank::Grains, &id("web1")).unwrap_err();
    assert!(
        begun.elapsed() < Duration::from_secs(1),
        "{:?}",
        begun.elapsed()
    );
    etcd.server.start().unwrap();
    let begun = Instant::now();
    loop {
        match data.get(Bank::Grains, &id("web1")) {
            Ok(found) => break assert_eq!(found, Some(grains("Debian"))),
            Err(error) => assert!(begun.elapsed() < PATIENCE, "{error}"),
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A server without the older interface says what to do.
#[test]
fn salts_cache_wants_version_2() {
    let wanted = Wanted::default().args(&["--enable-v2=false"]);
    let Some(etcd) = Etcd::for_test(&wanted) else {
        return;
    };
    let old = place(&etcd.url(), EtcdVersion::salts());
    let data = halite_store::open(&StoreOptions::all(old)).data;
    let refused = failure(data.ids(Bank::Grains).unwrap_err());
    assert!(refused.to_string().contains("etcd.require_v2"), "{refused}");
    assert!(open(&etcd.url()).data.ids(Bank::Grains).unwrap().is_empty());
}

/// In Salt's layout the time of `web1` is beside it, and no minion's.
#[test]
fn a_minion_that_is_called_like_a_time_has_nothing() {
    let Some(etcd) = Etcd::shared() else { return };
    let old = place(&etcd.new_url(), EtcdVersion::salts());
    let data = halite_store::open(&StoreOptions::all(old.clone())).data;
    data.put(Bank::Grains, &id("web1"), &grains(1)).unwrap();
    let cache = old.cache().unwrap();
    let stranger = "web1.tstamp".to_owned();
    assert_eq!(cache.fetch("grains", &stranger).unwrap(), None);
    assert!(!cache.flush_key("grains", &stranger).unwrap());
    let both = [stranger, "web1".to_owned()];
    let found = cache.fetch_many("grains", &both).unwrap();
    assert!(found[0].is_none() && found[1].is_some());
}

/// Values that are longer together than what is read at once.
#[test]
fn long_values_are_read_one_by_one() {
    let wanted = Wanted::default().args(&[
        "--max-request-bytes=20000000",
        "--quota-backend-bytes=4000000000",
    ]);
    let Some(etcd) = Etcd::for_test(&wanted) else {
        return;
    };
    // The disk takes its time for so much.
    let url = format!("{}?timeout=60", etcd.url());
    let cache = place(&url, EtcdVersion::V3).cache().unwrap();
    let keys: Vec<String> = (0..8).map(|number| format!("web{number}")).collect();
    for key in &keys {
        cache.store("grains", key, vec![0x80; 10_000_000]).unwrap();
    }
    let found = cache.fetch_many("grains", &keys).unwrap();
    let lengths: Vec<_> = found.iter().flatten().map(Vec::len).collect();
    assert_eq!(lengths, [10_000_000; 8]);
}

/// What one master has stored the other finds at once, and a mine that both change
/// keeps what each has said.
#[test]
fn two_masters_change_one_mine() {
    let Some(etcd) = Etcd::shared() else { return };
    for version in [EtcdVersion::V3, EtcdVersion::salts()] {
        let place = place(&etcd.new_url(), version);
        let web = id("web1");
        std::thread::scope(|scope| {
            for master in 0..4 {
                let (place, web) = (place.clone(), web.clone());
                scope.spawn(move || {
                    let data = halite_store::open(&StoreOptions::all(place)).data;
                    for number in 0..10 {
                        let said = Map::from([(format!("{master}.{number}"), Value::from(1))]);
                        data.update_mine(&web, said, false).unwrap();
                    }
                });
            }
        });
        let data = halite_store::open(&StoreOptions::all(place)).data;
        let mine = data.get(Bank::Mine, &web).unwrap().unwrap();
        assert_eq!(mine.len(), 40);
    }
}

/// Jobs are asked of no etcd.
#[test]
fn it_keeps_no_jobs() {
    let store = open("etcd://127.0.0.1:1");
    let error = store.jobs.newest(1).unwrap_err();
    assert!(matches!(error, StoreError::NoJobs { .. }), "{error}");
}
