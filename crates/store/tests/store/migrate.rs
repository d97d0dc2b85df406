//! All stored data, moved from files to each server and back.

#![cfg(all(feature = "mysql", feature = "postgres", feature = "redis"))]
#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::time::Duration;

use halite_crypto::HashType;
use halite_proto::publish::FunSpec;
use halite_proto::request::{COMMITS, Commits};
use halite_proto::returns::{JobReturn, ReturnJid};
use halite_proto::{Jid, Map, MinionId, SaltEnv, Value};
use halite_store::migrate::{JobsCopy, copy_bank, copy_data, copy_jobs, copy_tokens};
use halite_store::{
    BackendOptions, Bank, JobTables, MysqlOptions, PostgresOptions, RedisOptions, Saved, Store,
    StoreOptions, TokenId,
};
use halite_store_servers::Address;
use halite_test_services::{MariaDb, Postgres, Redis, Wanted};

const JOBS: u64 = 450;

fn jid(number: u64) -> Jid {
    Jid::parse(format!("20260102030405{number:06}")).unwrap()
}

fn id(name: &str) -> MinionId {
    MinionId::parse(name).unwrap()
}

/// The commits that the files of every second job came from.
fn commits() -> Commits {
    let mut commits = Commits::default();
    let of = [("states".to_owned(), "ab".repeat(20))];
    commits.insert(SaltEnv::base(), of.into());
    commits
}

/// Jobs of all kinds, minion data, banks and tokens.
fn fill(store: &Store) -> TokenId {
    for number in 0..JOBS {
        let job = jid(number);
        let load = Map::from([
            ("fun", Value::from("test.arg")),
            ("tgt", "web*".into()),
            ("user", "alice".into()),
            (
                "arg",
                Value::List(vec![number.into(), 1.5.into(), Value::Nil]),
            ),
        ]);
        store.jobs.prepare(&job, false).unwrap();
        store
            .jobs
            .save_load(&job, &load, Some(&[id("web1"), id("web2")]))
            .unwrap();
        let fun = FunSpec::One("test.arg".to_owned());
        let value = match number % 3 {
            0 => Value::from("é \0 text"),
            1 => Value::Bytes(vec![0, 255]),
            _ => Map::from([("a", Value::Float(f64::NAN))]).into(),
        };
        let jid = ReturnJid::Jid(job.clone());
        let mut ret = JobReturn::new(jid, fun, Vec::new(), value, (number % 2) as i64);
        ret.out = Some("nested".to_owned());
        if number % 2 == 0 {
            ret.extra.insert(COMMITS, commits().to_value());
        }
        let saved = store.jobs.save_return(&job, &id("web1"), &ret).unwrap();
        assert_eq!(saved, Saved::Stored);
    }
    store.jobs.save_endtime(&jid(1), "at noon").unwrap();
    store.jobs.save_publisher(&jid(2), &id("web2")).unwrap();
    let grains = Map::from([("os", "Debian")]);
    store.data.put(Bank::Grains, &id("web1"), &grains).unwrap();
    let mine = Map::from([("test.ping", true)]);
    store.data.update_mine(&id("web1"), mine, false).unwrap();
    for (bank, key) in [("own", "a"), ("own", "b"), ("own/below", "c")] {
        store.banks.store(bank, key, &Value::from(key)).unwrap();
    }
    let token = TokenId::generate(HashType::Sha256);
    let data = Map::from([("expire", Value::Float(4e9)), ("name", "alice".into())]);
    store.tokens.put(&token, &data, 4_000_000_000).unwrap();
    token
}

/// Goes on, whatever is done.
fn all(_: usize, _: usize) -> bool {
    true
}

fn check(place: BackendOptions) {
    let dir = tempfile::tempdir().unwrap();
    let files = halite_store::open(&StoreOptions::local_fs(dir.path(), HashType::Sha256));
    let token = fill(&files);
    let there = halite_store::open(&StoreOptions::all(place));

    let dry = copy_jobs(&files.jobs, &there.jobs, JobsCopy::new(true), |_, _| true).unwrap();
    assert_eq!((dry.jobs, dry.copied), (450, 450));
    assert_eq!(there.jobs.newest(1).unwrap(), []);
    // It is broken off, and begun again.
    let mut reports = 0;
    let part = copy_jobs(&files.jobs, &there.jobs, JobsCopy::new(false), |_, all| {
        assert_eq!(all, 450);
        reports += 1;
        reports < 2
    });
    assert_eq!(part.unwrap().copied, 200);
    let rest = copy_jobs(&files.jobs, &there.jobs, JobsCopy::new(false), |_, _| true).unwrap();
    assert_eq!((rest.jobs, rest.returns), (450, 450));
    assert_eq!((rest.copied, rest.known), (250, 200));
    assert_eq!(rest.hash, rest.hash_there);
    assert_eq!(rest.different, []);
    let load = there.jobs.load(&jid(7)).unwrap().unwrap();
    assert_eq!(load.get("Minions").unwrap().as_list().unwrap().len(), 2);
    assert_eq!(there.jobs.endtime(&jid(1)).unwrap().unwrap(), "at noon");
    for (number, expected) in [(6, commits()), (7, Commits::default())] {
        let ret = there.jobs.return_of(&jid(number), &id("web1")).unwrap();
        assert_eq!(ret.unwrap().commits, expected);
    }
    assert_eq!(there.jobs.publisher(&jid(2)).unwrap(), Some(id("web2")));

    for bank in [Bank::Grains, Bank::Mine] {
        let copied = copy_data(&files.data, &there.data, bank, false, all).unwrap();
        assert_eq!((copied.seen, copied.copied), (1, 1), "{bank:?}");
        assert_eq!(copied.hashes.here, copied.hashes.there);
        let of = |store: &Store| store.data.get(bank, &id("web1")).unwrap().unwrap();
        assert_eq!(of(&there), of(&files));
    }
    let copied = copy_tokens(&files.tokens, &there.tokens, false, all).unwrap();
    assert_eq!((copied.seen, copied.copied), (1, 1));
    let found = there.tokens.get(&token, 1).unwrap().unwrap();
    assert_eq!(found.get("name"), Some(&"alice".into()));
    let copied = copy_bank(&files.banks, &there.banks, "own", false, all).unwrap();
    assert_eq!((copied.seen, copied.copied), (3, 3));
    there
        .banks
        .store("own", "a", &Value::from("other"))
        .unwrap();
    let again = copy_bank(&files.banks, &there.banks, "own", false, all).unwrap();
    assert_eq!(
        (again.known, again.different),
        (2, vec!["own/a".to_owned()])
    );
    assert_ne!(again.hashes.here, again.hashes.there);

    // And back to files, a few at a time: none is left out.
    let back = tempfile::tempdir().unwrap();
    let back = halite_store::open(&StoreOptions::local_fs(back.path(), HashType::Sha256));
    let few = JobsCopy {
        listed_max: 100,
        ..JobsCopy::new(false)
    };
    let mut reported = Vec::new();
    let returned = copy_jobs(&there.jobs, &back.jobs, few, |done, all| {
        reported.push((done, all));
        true
    });
    let returned = returned.unwrap();
    let steps = [(0, 100), (100, 200), (200, 300), (300, 400), (400, 450)];
    assert_eq!(reported, steps);
    assert_eq!((returned.copied, returned.returns), (450, 450));
    assert_eq!(returned.hash, rest.hash);
    assert_eq!(returned.hash_there, rest.hash);
}

#[test]
fn a_redis_takes_all_and_gives_it_back() {
    let Some(redis) = Redis::for_test(&Wanted::default()) else {
        return;
    };
    let address = Address::parse(&redis.url()).unwrap();
    let keep = Duration::from_secs(24 * 3600);
    check(BackendOptions::Redis(Box::new(RedisOptions::new(
        address, keep,
    ))));
}

#[test]
fn a_postgres_takes_all_and_gives_it_back() {
    let Some(postgres) = Postgres::shared() else {
        return;
    };
    let url = postgres.url(&postgres.database().unwrap());
    let address = Address::parse(&url).unwrap();
    let tables = JobTables::Jsonb;
    check(BackendOptions::Postgres(Box::new(PostgresOptions {
        address,
        tables,
    })));
}

#[test]
fn a_mariadb_takes_all_and_gives_it_back() {
    let Some(mariadb) = MariaDb::shared() else {
        return;
    };
    let url = mariadb.url(&mariadb.database().unwrap());
    let address = Address::parse(&url).unwrap();
    check(BackendOptions::Mysql(Box::new(MysqlOptions::new(address))));
}

/// Files whose jobs are listed from memory, and those of which there are too many.
#[test]
fn jobs_of_files_are_copied_however_many_are_listed_at_once() {
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let open = |dir: &tempfile::TempDir| {
        halite_store::open(&StoreOptions::local_fs(dir.path(), HashType::Sha256))
    };
    let (one, two) = (open(&one), open(&two));
    fill(&one);
    for listed_max in [1, 7, 450, 451] {
        let how = JobsCopy {
            listed_max,
            ..JobsCopy::new(listed_max != 1)
        };
        let copied = copy_jobs(&one.jobs, &two.jobs, how, |_, _| true).unwrap();
        assert_eq!((copied.jobs, copied.returns), (450, 450), "{listed_max}");
        assert_eq!(copied.hash, copied.hash_there, "{listed_max}");
    }
}

/// A bank is told of while it is copied, and may be stopped in it; who goes on finds what
/// is there.
#[test]
fn a_large_bank_is_stopped_within() {
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let open = |dir: &tempfile::TempDir| {
        halite_store::open(&StoreOptions::local_fs(dir.path(), HashType::Sha256))
    };
    let (one, two) = (open(&one), open(&two));
    for number in 0..450 {
        let (name, value) = (format!("key{number}"), Value::from(number));
        one.banks.store("own", &name, &value).unwrap();
        let id = id(&format!("web{number}"));
        let grains = Map::from([("number", value)]);
        one.data.put(Bank::Grains, &id, &grains).unwrap();
    }
    for is_data in [true, false] {
        let copy = |go_on: &mut dyn FnMut(usize, usize) -> bool| match is_data {
            true => copy_data(&one.data, &two.data, Bank::Grains, false, go_on).unwrap(),
            false => copy_bank(&one.banks, &two.banks, "own", false, go_on).unwrap(),
        };
        let mut told = Vec::new();
        let part = copy(&mut |done, all| {
            told.push((done, all));
            done < 200
        });
        assert_eq!(told, [(0, 450), (200, 450)]);
        assert_eq!((part.seen, part.copied), (200, 200));
        let rest = copy(&mut all);
        assert_eq!((rest.seen, rest.copied, rest.known), (450, 250, 200));
        assert_eq!(rest.hashes.here, rest.hashes.there);
        let again = copy(&mut all);
        assert_eq!((again.known, &again.hashes), (450, &rest.hashes));
    }
}

/// A job that somebody else has put there is told of, and not mixed up.
#[test]
fn a_job_that_differs_is_told_of() {
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let open = |dir: &tempfile::TempDir| {
        halite_store::open(&StoreOptions::local_fs(dir.path(), HashType::Sha256))
    };
    let (one, two) = (open(&one), open(&two));
    let ret = |value: i64| {
        let fun = FunSpec::One("test.ping".to_owned());
        JobReturn::new(ReturnJid::Jid(jid(1)), fun, Vec::new(), value.into(), 0)
    };
    for (store, value) in [(&one, 1), (&two, 2)] {
        store
            .jobs
            .save_return(&jid(1), &id("web1"), &ret(value))
            .unwrap();
    }
    let copied = copy_jobs(&one.jobs, &two.jobs, JobsCopy::new(false), |_, _| true).unwrap();
    assert_eq!(copied.different, [jid(1)]);
    assert_ne!(copied.hash, copied.hash_there);
    let kept = two.jobs.return_of(&jid(1), &id("web1")).unwrap().unwrap();
    assert_eq!(kept.ret(), &Value::from(2));
}

/// A job that is larger than the server takes is named, and holds up no other.
#[test]
fn a_job_that_is_refused_is_told_of() {
    let args = ["--max-allowed-packet=1M"];
    let Some(mariadb) = MariaDb::for_test(&Wanted::default().args(&args)) else {
        return;
    };
    let address = Address::parse(&mariadb.url("salt")).unwrap();
    let place = BackendOptions::Mysql(Box::new(MysqlOptions::new(address)));
    let there = halite_store::open(&StoreOptions::all(place));
    let dir = tempfile::tempdir().unwrap();
    let files = halite_store::open(&StoreOptions::local_fs(dir.path(), HashType::Sha256));
    for number in 0..20 {
        let size = if number == 10 { 2 << 20 } else { 1 };
        let fun = FunSpec::One("test.ping".to_owned());
        let job = ReturnJid::Jid(jid(number));
        let ret = JobReturn::new(job, fun, Vec::new(), "x".repeat(size).into(), 0);
        let saved = files.jobs.save_return(&jid(number), &id("web1"), &ret);
        assert_eq!(saved.unwrap(), Saved::Stored);
    }
    let copied = copy_jobs(&files.jobs, &there.jobs, JobsCopy::new(false), |_, _| true).unwrap();
    assert_eq!((copied.jobs, copied.copied), (20, 19));
    assert_eq!(copied.different, [jid(10)]);
    assert_ne!(copied.hash, copied.hash_there);
    assert!(copied.reason.unwrap().contains("mysql://"));
}
