//! A spool whose files somebody removes while it is used.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test says what it expects"
)]

use std::fs;
use std::path::Path;
use std::time::Duration;

use halite_spool::{Limits, Moment, Spool};

const LIMITS: Limits = Limits {
    bytes_max: 64 << 20,
    age_max: Duration::from_secs(86_400),
};

fn open(dir: &Path) -> Spool {
    Spool::open(dir, LIMITS, Moment::now()).unwrap()
}

fn payloads(spool: &mut Spool) -> Vec<Vec<u8>> {
    let pending = spool.pending(Moment::now(), 0, 99);
    pending.into_iter().map(|pending| pending.payload).collect()
}

#[test]
fn what_waits_outlives_the_removal_of_its_directory() {
    let parent = tempfile::tempdir().unwrap();
    let dir = parent.path().join("cache/returns");
    let mut spool = open(&dir);
    let first = spool.append(Moment::now(), b"first").unwrap();
    spool.append(Moment::now(), b"second").unwrap();
    fs::remove_dir_all(parent.path().join("cache")).unwrap();
    spool.acknowledge(first).unwrap();
    assert!(spool.restore().unwrap());
    assert!(!spool.restore().unwrap(), "it is done");
    drop(spool);
    let mut spool = open(&dir);
    assert_eq!(payloads(&mut spool), [b"second"]);
    // The next message finds it out by itself.
    fs::remove_dir_all(parent.path().join("cache")).unwrap();
    spool.append(Moment::now(), b"third").unwrap();
    drop(spool);
    assert_eq!(
        payloads(&mut open(&dir)),
        [b"second".to_vec(), b"third".to_vec()]
    );
}

#[test]
fn an_empty_spool_whose_directory_is_gone_takes_messages() {
    let parent = tempfile::tempdir().unwrap();
    let dir = parent.path().join("cache/returns");
    let mut spool = open(&dir);
    fs::remove_dir_all(parent.path().join("cache")).unwrap();
    spool.append(Moment::now(), b"first").unwrap();
    drop(spool);
    assert_eq!(payloads(&mut open(&dir)), [b"first"]);
}
