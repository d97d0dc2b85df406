//! The job cache as masters write it and runners read it.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use halite_crypto::{HashType, hash_hex};
use halite_proto::msgpack::unpack_modern;
use halite_proto::publish::FunSpec;
use halite_proto::returns::{JobReturn, ReturnJid, Several};
use halite_proto::{Jid, Map, MinionId, Value};
use halite_store::{Cleaned, Jobs, Saved, StoreError, StoreOptions};
use tempfile::TempDir;

const JID: &str = "20240229123456789012";

fn jid(text: &str) -> Jid {
    Jid::parse(text).unwrap()
}

fn id(name: &str) -> MinionId {
    MinionId::parse(name).unwrap()
}

fn open(dir: &Path) -> Jobs {
    halite_store::open(&StoreOptions::local_fs(dir, HashType::Sha256)).jobs
}

fn cache() -> (TempDir, Jobs) {
    let dir = tempfile::tempdir().unwrap();
    let cache = open(dir.path());
    (dir, cache)
}

fn job_dir(dir: &TempDir, jid: &Jid) -> PathBuf {
    let hash = hash_hex(HashType::Sha256, jid.as_str().as_bytes());
    let (shard, rest) = hash.split_at(2);
    dir.path().join("jobs").join(shard).join(rest)
}

fn jids(cache: &Jobs) -> Vec<Jid> {
    let newest = cache.newest(usize::MAX).unwrap();
    newest.into_iter().map(|(jid, _)| jid).collect()
}

fn ping(jid: &Jid, ret: impl Into<Value>) -> JobReturn {
    let fun = FunSpec::One("test.ping".to_owned());
    JobReturn::new(ReturnJid::Jid(jid.clone()), fun, Vec::new(), ret.into(), 0)
}

fn load() -> Map {
    let kwargs = Map::from([("token", "secret"), ("show_jid", "no")]);
    Map::from([
        ("cmd", Value::from("publish")),
        ("fun", Value::from("test.ping")),
        ("tgt", Value::from("*")),
        ("key", Value::from("secret")),
        ("jid", Value::from(JID)),
        ("kwargs", Value::from(kwargs)),
    ])
}

#[test]
fn the_directory_is_where_salt_looks_for_it() {
    // Made by Salt 3008.5.
    for (hash_type, expected) in [
        (HashType::Md5, "35/1a01f908058aaba2eab1e70f6deee3"),
        (
            HashType::Sha256,
            "5f/4a81c97791f1de88d398caaf78f5c4ca7547ef0a53343ea585cda4f7275845",
        ),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let store = halite_store::open(&StoreOptions::local_fs(dir.path(), hash_type));
        store.jobs.prepare(&jid(JID), false).unwrap();
        assert!(dir.path().join("jobs").join(expected).is_dir());
    }
}

#[test]
fn a_job_is_written_in_salts_layout_without_secrets() {
    let (dir, cache) = cache();
    let job = jid(JID);
    cache.prepare(&job, false).unwrap();
    let minions = ["web2", "web1"].map(id);
    cache.save_load(&job, &load(), Some(&minions)).unwrap();
    cache
        .save_minions(&job, &[id("web3"), id("web1")], None)
        .unwrap();
    cache
        .save_minions(&job, &[id("far")], Some(&id("syndic")))
        .unwrap();
    let mut ret = ping(&job, true);
    ret.out = Some("nested".to_owned());
    assert_eq!(
        cache.save_return(&job, &id("web1"), &ret).unwrap(),
        Saved::Stored
    );
    cache
        .save_endtime(&job, "2024, Feb 29 12:34:57.000000")
        .unwrap();

    let dir = job_dir(&dir, &job);
    assert_eq!(fs::read(dir.join("jid")).unwrap(), JID.as_bytes());
    let packed = fs::read(dir.join("web1/return.p")).unwrap();
    assert_eq!(packed, b"\x83\xa6return\xc3\xa7retcode\x00\xa7success\xc3");
    assert_eq!(fs::read(dir.join("web1/out.p")).unwrap(), b"\xa6nested");
    assert_eq!(
        fs::read(dir.join(".minions.p")).unwrap(),
        b"\x93\xa4web1\xa4web2\xa4web3"
    );
    assert_eq!(
        fs::read(dir.join(".minions.syndic.p")).unwrap(),
        b"\x91\xa3far"
    );
    let stored = fs::read(dir.join(".load.p")).unwrap();
    assert!(!stored.windows(6).any(|bytes| bytes == b"secret"));
    assert_eq!(
        fs::metadata(dir.join(".load.p")).unwrap().mode() & 0o777,
        0o600
    );
    let leftover = |entry: std::io::Result<fs::DirEntry>| {
        entry
            .unwrap()
            .file_name()
            .to_string_lossy()
            .starts_with(".tmp")
    };
    assert!(!fs::read_dir(&dir).unwrap().any(leftover));

    let found = cache.load(&job).unwrap().unwrap();
    let names = ["far", "web1", "web2", "web3"].map(Value::from).to_vec();
    assert_eq!(found.get("Minions"), Some(&Value::List(names)));
    let returns = cache.returns(&job).unwrap();
    assert_eq!(returns.len(), 1);
    assert_eq!(returns[0].0, id("web1"));
    assert_eq!(returns[0].1.ret(), &Value::from(true));
    assert_eq!(returns[0].1.out.as_deref(), Some("nested"));
    assert_eq!(cache.return_of(&job, &id("web2")).unwrap(), None);
    assert_eq!(
        cache.endtime(&job).unwrap().as_deref(),
        Some("2024, Feb 29 12:34:57.000000")
    );
    assert_eq!(jids(&cache), [job]);
}

/// A job that another master has published: its minions are those that return.
#[test]
fn all_who_return_of_an_unknown_job_are_its_minions() {
    const MINIONS: usize = 100;
    let (dir, cache) = cache();
    let job = jid(JID);
    let listed = |cache: &Jobs| {
        let load = cache.load(&job).unwrap().unwrap();
        load.get("Minions").and_then(Value::as_list).map(<[_]>::len)
    };
    for number in 0..MINIONS {
        let ret = ping(&job, true);
        let minion = id(&format!("web{number}"));
        assert_eq!(
            cache.save_return(&job, &minion, &ret).unwrap(),
            Saved::Stored
        );
        assert_eq!(listed(&cache), Some(number + 1));
    }
    // The list that Salt's programs read is not written by each; a clean-up and the
    // end write it.
    let path = job_dir(&dir, &job).join(".minions.p");
    let in_file = || {
        let list = unpack_modern(&fs::read(&path).unwrap()).unwrap();
        list.as_list().map(<[_]>::len)
    };
    assert!(in_file() < Some(MINIONS));
    let day = Duration::from_secs(86_400);
    cache.clean(day, SystemTime::now()).unwrap();
    assert_eq!(in_file(), Some(MINIONS));
    for number in 0..9 {
        let minion = id(&format!("late{number}"));
        cache.save_return(&job, &minion, &ping(&job, true)).unwrap();
    }
    assert!(in_file() < Some(MINIONS + 9));
    drop(cache);
    assert_eq!(in_file(), Some(MINIONS + 9));
}

#[test]
fn an_unknown_job_has_nothing() {
    let (_dir, cache) = cache();
    let job = jid(JID);
    assert_eq!(cache.load(&job).unwrap(), None);
    assert!(cache.returns(&job).unwrap().is_empty());
    assert_eq!(cache.endtime(&job).unwrap(), None);
    assert_eq!(jids(&cache).len(), 0);
    let cleaned = cache
        .clean(Duration::from_secs(1), SystemTime::now())
        .unwrap();
    assert_eq!(cleaned, Cleaned::default());
}

#[test]
fn the_first_return_counts() {
    let (_dir, cache) = cache();
    let job = jid(JID);
    cache.prepare(&job, false).unwrap();
    let save = |ret: &str| {
        cache
            .save_return(&job, &id("web1"), &ping(&job, ret))
            .unwrap()
    };
    assert_eq!(save("one"), Saved::Stored);
    assert_eq!(save("one"), Saved::Duplicate { differs: false });
    assert_eq!(save("two"), Saved::Duplicate { differs: true });
    let stored = cache.return_of(&job, &id("web1")).unwrap().unwrap();
    assert_eq!(stored.ret(), &Value::from("one"));
}

#[test]
fn a_return_that_a_power_cut_has_spoilt_is_replaced() {
    let (dir, cache) = cache();
    let job = jid(JID);
    cache.prepare(&job, false).unwrap();
    let save = || {
        cache
            .save_return(&job, &id("web1"), &ping(&job, "one"))
            .unwrap()
    };
    assert_eq!(save(), Saved::Stored);
    let path = job_dir(&dir, &job).join("web1/return.p");
    let whole = fs::read(&path).unwrap();
    for spoilt in [&b""[..], &whole[..whole.len() - 1]] {
        fs::write(&path, spoilt).unwrap();
        assert!(cache.returns(&job).unwrap().is_empty());
        assert_eq!(save(), Saved::Stored);
        assert_eq!(cache.returns(&job).unwrap().len(), 1);
    }
}

#[test]
fn a_return_cut_off_by_a_crash_can_come_again() {
    let (dir, cache) = cache();
    let job = jid(JID);
    cache.prepare(&job, false).unwrap();
    fs::create_dir(job_dir(&dir, &job).join("web1")).unwrap();
    let saved = cache
        .save_return(&job, &id("web1"), &ping(&job, 1))
        .unwrap();
    assert_eq!(saved, Saved::Stored);
}

#[test]
fn returns_of_a_job_without_cache_are_dropped_also_after_a_restart() {
    let (dir, cache) = cache();
    let job = jid(JID);
    cache.prepare(&job, true).unwrap();
    let restarted = open(dir.path());
    for cache in [&cache, &restarted, &restarted] {
        let saved = cache
            .save_return(&job, &id("web1"), &ping(&job, 1))
            .unwrap();
        assert_eq!(saved, Saved::NoCache);
    }
    assert!(cache.returns(&job).unwrap().is_empty());
}

#[test]
fn a_return_of_a_job_from_elsewhere_makes_the_job_known() {
    let (_dir, cache) = cache();
    let job = jid(JID);
    let mut ret = ping(&job, "x");
    ret.fun_args = vec![Value::from(1)];
    ret.user = Some("root".to_owned());
    for (name, expected) in [("web1", 1), ("web2", 2)] {
        assert_eq!(
            cache.save_return(&job, &id(name), &ret).unwrap(),
            Saved::Stored
        );
        assert_eq!(cache.returns(&job).unwrap().len(), expected);
    }
    let load = cache.load(&job).unwrap().unwrap();
    assert_eq!(load.get("fun"), Some(&Value::from("test.ping")));
    assert_eq!(load.get("tgt"), Some(&Value::from("web1")));
    assert_eq!(load.get("user"), Some(&Value::from("root")));
    assert_eq!(load.get("arg"), load.get("fun_args"));
    let minions = ["web1", "web2"].map(Value::from).to_vec();
    assert_eq!(load.get("Minions"), Some(&Value::List(minions)));
    assert_eq!(jids(&cache).len(), 1);
}

#[test]
fn of_many_first_returns_at_once_none_is_lost() {
    let (dir, cache) = cache();
    let job = jid(JID);
    let ids: Vec<MinionId> = (0..8).map(|number| id(&format!("web{number}"))).collect();
    std::thread::scope(|scope| {
        for id in &ids {
            let (cache, job) = (&cache, &job);
            scope.spawn(move || cache.save_return(job, id, &ping(job, id.as_str())).unwrap());
        }
    });
    let returns = cache.returns(&job).unwrap();
    let returned: Vec<_> = returns.into_iter().map(|(id, _)| id).collect();
    assert_eq!(returned, ids);
    let meant = cache.load(&job).unwrap().unwrap().remove("Minions");
    assert_eq!(
        meant,
        Some(Value::List(ids.iter().map(Value::from).collect()))
    );
    let shard = job_dir(&dir, &job);
    let shard = shard.parent().unwrap();
    assert_eq!(
        fs::read_dir(shard).unwrap().count(),
        1,
        "only the job is left"
    );
}

#[test]
fn several_functions_keep_their_codes() {
    let (_dir, cache) = cache();
    let job = jid(JID);
    let mut ret = ping(&job, Map::from([("test.ping", true)]));
    ret.several = Some(Several {
        retcodes: Value::from(Map::from([("test.ping", 0)])),
        successes: Value::from(Map::from([("test.ping", true)])),
    });
    cache.save_return(&job, &id("web1"), &ret).unwrap();
    let stored = cache.return_of(&job, &id("web1")).unwrap().unwrap();
    assert_eq!(
        stored.into_map().get("retcode"),
        Some(&Value::from(Map::from([("test.ping", 0)])))
    );
}

#[test]
fn two_masters_on_one_cache_never_take_the_same_id() {
    let (dir, cache) = cache();
    let other = open(dir.path());
    let mut number = 0_u64;
    let mut next = || {
        number += 1;
        jid(&format!("{:020}", number / 2))
    };
    let first = cache.allocate(false, &mut next).unwrap();
    let second = other.allocate(false, &mut next).unwrap();
    assert_ne!(first, second);
    let error = cache.allocate(false, || first.clone()).unwrap_err();
    assert!(matches!(error, StoreError::JidsTaken { tries: 5, .. }));
}

#[test]
fn the_same_job_of_a_minions_own_gets_the_same_id_again() {
    let (dir, cache) = cache();
    let mark = jid("20261120141841939742");
    let (web1, web2) = (id("web1"), id("web2"));
    assert_eq!(cache.allocate_own(&web1, &mark).unwrap(), mark);
    // Schedules of a fleet start at the same moment.
    let second = cache.allocate_own(&web2, &mark).unwrap();
    assert_eq!(second, jid("20261120141841939743"));
    let next = jid("20261120141841939743");
    let third = cache.allocate_own(&web2, &next).unwrap();
    assert_eq!(
        third,
        jid("20261120141841939744"),
        "not the one of its other job"
    );
    // A cache that is opened anew knows all of them.
    let again = open(dir.path());
    for (owner, mark, expected) in [
        (&web1, &mark, &mark),
        (&web2, &mark, &second),
        (&web2, &next, &third),
    ] {
        assert_eq!(again.allocate_own(owner, mark).unwrap(), *expected);
    }
    assert!(!again.has_load(&mark).unwrap());
    // Ids that are no moment have none after them.
    let odd = jid("99999999999999999999");
    assert_eq!(cache.allocate_own(&web1, &odd).unwrap(), odd);
    let error = cache.allocate_own(&web2, &odd).unwrap_err();
    assert!(matches!(error, StoreError::JidsTaken { .. }));
}

#[test]
fn old_and_broken_jobs_are_removed() {
    let (dir, cache) = cache();
    let now = SystemTime::now();
    let day = Duration::from_secs(86_400);
    let [old, young] = ["20240101000000000000", "20240102000000000000"].map(jid);
    for job in [&old, &young] {
        cache.prepare(job, false).unwrap();
        cache.save_load(job, &load(), None).unwrap();
        cache.save_return(job, &id("web1"), &ping(job, 1)).unwrap();
    }
    let file = File::options()
        .write(true)
        .open(job_dir(&dir, &old).join("jid"))
        .unwrap();
    file.set_modified(now - day * 2).unwrap();
    let in_the_making = dir.path().join("jobs/00/11");
    fs::create_dir_all(&in_the_making).unwrap();

    assert_eq!(
        cache.clean(Duration::ZERO, now + day * 9).unwrap(),
        Cleaned::default()
    );
    let cleaned = cache.clean(day, now).unwrap();
    assert_eq!((cleaned.seen, cleaned.removed, cleaned.failed), (3, 1, 0));
    assert_eq!(jids(&cache), std::slice::from_ref(&young));
    assert!(!job_dir(&dir, &old).parent().unwrap().exists());
    assert!(in_the_making.exists());

    let cleaned = cache.clean(day, now + Duration::from_secs(3600)).unwrap();
    assert_eq!(cleaned.removed, 1);
    assert!(!in_the_making.exists());
    // What was removed is made again by a late return.
    cache.clean(day, now + day * 9).unwrap();
    cache
        .save_return(&young, &id("web2"), &ping(&young, 1))
        .unwrap();
    assert_eq!(cache.returns(&young).unwrap().len(), 1);
}

#[test]
fn a_damaged_return_does_not_hide_the_others() {
    let (dir, cache) = cache();
    let job = jid(JID);
    for name in ["web1", "web2"] {
        cache.save_return(&job, &id(name), &ping(&job, 1)).unwrap();
    }
    let dir = job_dir(&dir, &job);
    fs::write(dir.join("web1/return.p"), "").unwrap();
    fs::create_dir(dir.join("web3")).unwrap();
    fs::create_dir(dir.join("old")).unwrap();
    fs::write(dir.join("old/return.p"), b"\xa5plain").unwrap();
    let returns = cache.returns(&job).unwrap();
    let names: Vec<_> = returns.iter().map(|(id, _)| id.as_str()).collect();
    assert_eq!(names, ["old", "web2"]);
    assert_eq!(returns[0].1.ret(), &Value::from("plain"));

    // Nor does a damaged load hide the returns.
    for damaged in [&b""[..], b"\x93"] {
        fs::write(dir.join(".load.p"), damaged).unwrap();
        assert_eq!(cache.load(&job).unwrap(), None);
        assert_eq!(cache.returns(&job).unwrap().len(), 2);
    }
}

#[test]
fn a_cache_that_cannot_be_written_is_one_clear_line() {
    let (dir, cache) = cache();
    fs::write(dir.path().join("jobs"), "a file").unwrap();
    let error = cache.prepare(&jid(JID), false).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("could not make the directory"),
        "{error}"
    );
}

/// The cleaner takes empty directories away while others make theirs in them.
#[test]
fn a_job_is_stored_while_the_cleaner_runs() {
    use std::sync::atomic::{AtomicBool, Ordering};

    let dir = tempfile::tempdir().unwrap();
    let cache = open(dir.path());
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                cache
                    .clean(Duration::from_secs(3600), SystemTime::now())
                    .unwrap();
            }
        });
        let prepared: Vec<_> = (0..500)
            .map(|n| cache.prepare(&Jid::parse(format!("{n:020}")).unwrap(), false))
            .collect();
        // Before anything can fail: the cleaner's end is waited for.
        done.store(true, Ordering::Relaxed);
        for one in prepared {
            one.unwrap();
        }
    });
}
