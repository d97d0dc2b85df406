//! What many returns of one job cost on a disk: to write, to look up and to remove, beside
//! a single file that each return would be appended to.
//!
//!     cargo run --release -p halite-store --example returns_of_one_job DIR [RETURNS]
//!
//! `DIR` is on the disk in question, and not in memory.

#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a program to measure with"
)]

use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant, SystemTime};

use halite_crypto::HashType;
use halite_proto::publish::FunSpec;
use halite_proto::returns::{JobReturn, ReturnJid};
use halite_proto::{Jid, Map, MinionId};
use halite_store::StoreOptions;

/// `worker_threads` of a master that sets none.
const THREADS: usize = 5;

/// Bytes of a return: of `test.ping`, and of a state run.
const SIZES: [(&str, usize); 2] = [("a ping", 1), ("a state run of 20 kB", 20_000)];

fn main() {
    let mut args = std::env::args().skip(1);
    let dir = args.next().expect("a directory on a disk");
    let returns = args.next().map_or(10_000, |text| text.parse().unwrap());
    for (name, bytes) in SIZES {
        let dir = tempfile::tempdir_in(&dir).unwrap();
        println!("{returns} returns of {name}");
        in_directories(dir.path(), returns, bytes);
        in_one_file(dir.path(), returns, bytes);
    }
}

/// As the master stores them: a directory for each minion.
fn in_directories(dir: &Path, returns: usize, bytes: usize) {
    let store = halite_store::open(&StoreOptions::local_fs(dir, HashType::Sha256));
    let job = Jid::parse("20260102030405678901".to_owned()).unwrap();
    store.jobs.prepare(&job, false).unwrap();
    let load = Map::from([("fun", "test.ping"), ("tgt", "*"), ("user", "root")]);
    store.jobs.save_load(&job, &load, None).unwrap();
    let fun = FunSpec::One("test.ping".to_owned());
    let value = "x".repeat(bytes).into();
    let ret = JobReturn::new(ReturnJid::Jid(job.clone()), fun, Vec::new(), value, 0);
    let next = AtomicUsize::new(0);
    timed("directories: write", || {
        std::thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| {
                    loop {
                        let number = next.fetch_add(1, Ordering::Relaxed);
                        if number >= returns {
                            return;
                        }
                        let id = MinionId::parse(format!("minion{number}")).unwrap();
                        store.jobs.save_return(&job, &id, &ret).unwrap();
                    }
                });
            }
        });
    });
    let kib = kib_of(dir);
    println!("  directories: {kib} KiB on the disk");
    timed("directories: look all up", || {
        assert_eq!(store.jobs.returns(&job).unwrap().len(), returns);
    });
    timed("directories: look one up", || {
        let id = MinionId::parse(format!("minion{}", returns / 2)).unwrap();
        assert!(store.jobs.return_of(&job, &id).unwrap().is_some());
    });
    let later = SystemTime::now() + Duration::from_secs(3600);
    timed("directories: remove", || {
        let cleaned = store.jobs.clean(Duration::from_secs(60), later).unwrap();
        assert_eq!(cleaned.removed, 1);
    });
}

/// The least that a packed layout would cost: one file, and one call for each return.
fn in_one_file(dir: &Path, returns: usize, bytes: usize) {
    let path = dir.join("packed");
    let record = vec![b'x'; bytes + 200];
    timed("one file: write", || {
        let mut file = File::create(&path).unwrap();
        for _ in 0..returns {
            file.write_all(&record).unwrap();
        }
    });
    println!("  one file: {} KiB on the disk", kib_of(&path));
    timed("one file: read", || {
        assert_eq!(fs::read(&path).unwrap().len(), record.len() * returns);
    });
    timed("one file: remove", || fs::remove_file(&path).unwrap());
}

fn timed(name: &str, work: impl FnOnce()) {
    let began = Instant::now();
    work();
    println!("  {name}: {:.1} ms", began.elapsed().as_secs_f64() * 1e3);
}

/// What a tree takes on its disk.
fn kib_of(path: &Path) -> u64 {
    let own = fs::metadata(path).unwrap().blocks() / 2;
    let inside = fs::read_dir(path).into_iter().flatten();
    own + inside
        .map(|entry| kib_of(&entry.unwrap().path()))
        .sum::<u64>()
}
