//! Lists of jobs show what is on disk, whoever wrote it.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use halite_crypto::{HashType, hash_hex};
use halite_proto::msgpack::pack_modern;
use halite_proto::{Jid, Map, Value};
use halite_store::limits::INDEXED_LOAD_BYTES_MAX;
use halite_store::{Jobs, StoreOptions};
use tempfile::TempDir;

const JOBS: u64 = 40;

fn jid(number: u64) -> Jid {
    Jid::parse(format!("202402291234567{number:05}")).unwrap()
}

fn load(number: u64, filling: usize) -> Map {
    Map::from([
        ("fun", Value::from(format!("test.f{number}"))),
        ("filling", "x".repeat(filling).into()),
    ])
}

fn open(dir: &Path) -> Jobs {
    halite_store::open(&StoreOptions::local_fs(dir, HashType::Sha256)).jobs
}

/// Jobs in files, and what should be listed of them.
struct Cache {
    dir: TempDir,
    expected: BTreeMap<Jid, Option<Map>>,
}

impl Cache {
    fn new() -> Self {
        Self {
            dir: tempfile::tempdir().unwrap(),
            expected: BTreeMap::new(),
        }
    }

    fn job_dir(&self, jid: &Jid) -> PathBuf {
        let hash = hash_hex(HashType::Sha256, jid.as_str().as_bytes());
        let (shard, rest) = hash.split_at(2);
        self.dir.path().join("jobs").join(shard).join(rest)
    }

    /// Makes a job as Salt does: in several steps, each in its place.
    fn make(&mut self, jid: &Jid) {
        let dir = self.job_dir(jid);
        fs::create_dir_all(&dir).unwrap();
        fs::write(dir.join("jid"), jid.as_str()).unwrap();
        self.expected.entry(jid.clone()).or_default();
    }

    fn write_load(&mut self, jid: &Jid, load: Map) {
        let packed = pack_modern(&load.clone().into()).unwrap();
        fs::write(self.job_dir(jid).join(".load.p"), packed).unwrap();
        self.expected.insert(jid.clone(), Some(load));
    }

    fn remove(&mut self, jid: &Jid) {
        let dir = self.job_dir(jid);
        fs::remove_dir_all(&dir).unwrap();
        // As cleaners do with the last job.
        let _ = fs::remove_dir(dir.parent().unwrap());
        self.expected.remove(jid);
    }

    fn check(&self, lists: &Jobs, after: &str) {
        let expected: Vec<(Jid, Map)> = self
            .expected
            .iter()
            .rev()
            .filter_map(|(jid, load)| Some((jid.clone(), load.clone()?)))
            .collect();
        let listed = lists.newest(usize::MAX).unwrap();
        assert!(listed == expected, "after {after}: {listed:?}");
    }
}

#[test]
fn lists_agree_with_the_disk_after_each_change_of_another_program() {
    let mut cache = Cache::new();
    let lists = open(cache.dir.path());
    let other = open(cache.dir.path());
    let mut random = 7_u64;
    let mut next = |below: u64| {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (random >> 33) % below
    };
    for step in 0..600 {
        let job = jid(next(JOBS));
        let is_there = cache.expected.contains_key(&job);
        let what = match next(7) {
            0 if is_there => {
                cache.remove(&job);
                "a removal"
            }
            1 if is_there => {
                cache.write_load(&job, load(step, 3));
                "a load that came later, or again"
            }
            2 if is_there => {
                cache.write_load(&job, load(step, INDEXED_LOAD_BYTES_MAX));
                "a large load"
            }
            3 => {
                lists.prepare_lists().unwrap();
                "nothing"
            }
            4 => {
                other.prepare(&job, false).unwrap();
                other.save_load(&job, &load(step, 5), None).unwrap();
                cache.expected.insert(job, Some(load(step, 5)));
                "a job of another program"
            }
            5 => {
                lists.prepare(&job, false).unwrap();
                lists.save_load(&job, &load(step, 5), None).unwrap();
                cache.expected.insert(job, Some(load(step, 5)));
                "a job of its own"
            }
            _ => {
                cache.make(&job);
                "a job without a load"
            }
        };
        cache.check(&lists, &format!("step {step}, {what}"));
    }
    assert!(cache.expected.len() > 10);
    cache.check(&open(cache.dir.path()), "all steps");
}

#[test]
fn half_written_jobs_are_listed_when_they_are_whole() {
    let mut cache = Cache::new();
    let lists = open(cache.dir.path());
    let job = jid(1);
    let dir = cache.job_dir(&job);
    fs::create_dir_all(&dir).unwrap();
    cache.check(&lists, "a directory");
    File::create(dir.join("jid")).unwrap();
    cache.check(&lists, "an empty jid");
    fs::write(dir.join("jid"), job.as_str()).unwrap();
    cache.check(&lists, "a jid");
    File::create(dir.join(".load.p")).unwrap();
    cache.check(&lists, "an empty load");
    cache.write_load(&job, load(1, 3));
    cache.check(&lists, "a whole load");
    // One where no reader looks for it is none.
    let elsewhere = dir.with_file_name("0".repeat(62));
    fs::create_dir(&elsewhere).unwrap();
    fs::write(elsewhere.join("jid"), jid(2).as_str()).unwrap();
    cache.check(&lists, "a job under another hash");
}

#[test]
fn loads_that_have_been_there_for_long_are_not_read_again() {
    let mut cache = Cache::new();
    let lists = open(cache.dir.path());
    let long_ago = SystemTime::now() - Duration::from_secs(3600);
    let set_back = |path: &Path| File::open(path).unwrap().set_modified(long_ago).unwrap();
    for number in 0..3 {
        let job = jid(number);
        cache.make(&job);
        cache.write_load(&job, load(number, 3));
        set_back(&cache.job_dir(&job).join(".load.p"));
    }
    lists.prepare_lists().unwrap();
    // Nobody does this; it shows where the list is from.
    let path = cache.job_dir(&jid(1)).join(".load.p");
    fs::write(&path, "no load").unwrap();
    set_back(&path);
    cache.check(&lists, "what was read before");
    // What is asked of one job is read from its files.
    assert_eq!(lists.load(&jid(1)).unwrap(), None);
    // The next part of a batch is published under the same id.
    cache.write_load(&jid(2), load(7, 3));
    lists.save_load(&jid(2), &load(7, 3), None).unwrap();
    set_back(&cache.job_dir(&jid(2)).join(".load.p"));
    cache.check(&lists, "what was published anew");
}

/// `jobs.migrate` and the parts of a batch are written by another process than that
/// which lists them.
#[test]
fn a_load_that_another_program_writes_anew_is_seen_after_a_long_time() {
    let mut cache = Cache::new();
    let lists = open(cache.dir.path());
    let long_ago = SystemTime::now() - Duration::from_secs(3600);
    for number in 0..3 {
        cache.make(&jid(number));
        cache.write_load(&jid(number), load(number, 3));
        let path = cache.job_dir(&jid(number)).join(".load.p");
        File::open(path).unwrap().set_modified(long_ago).unwrap();
    }
    lists.prepare_lists().unwrap();
    cache.check(&lists, "what was read before");
    let other = open(cache.dir.path());
    other.save_load(&jid(1), &load(8, 3), None).unwrap();
    cache.expected.insert(jid(1), Some(load(8, 3)));
    cache.check(&lists, "what another program has written anew");
}

/// A Python master says nothing of it.
#[test]
fn a_load_that_nobody_speaks_of_is_seen_after_old_jobs_were_removed() {
    let mut cache = Cache::new();
    let lists = open(cache.dir.path());
    let long_ago = SystemTime::now() - Duration::from_secs(3600);
    cache.make(&jid(1));
    cache.write_load(&jid(1), load(1, 3));
    let path = cache.job_dir(&jid(1)).join(".load.p");
    let set_back = |time| File::open(&path).unwrap().set_modified(time).unwrap();
    set_back(long_ago);
    lists.prepare_lists().unwrap();
    cache.check(&lists, "what was read before");
    cache.write_load(&jid(1), load(2, 3));
    set_back(long_ago + Duration::from_secs(1));
    let day = Duration::from_secs(24 * 3600);
    lists.clean(day, SystemTime::now()).unwrap();
    cache.check(&lists, "what was written anew");
}
