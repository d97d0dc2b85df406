//! A spool that is killed, cut, damaged and filled: what was appended comes
//! back, and nothing else does.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test says what it expects"
)]

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use halite_spool::{Dropped, Limits, Spool, SpoolError};
use proptest::prelude::*;

const LARGE: Limits = Limits {
    bytes_max: 64 << 20,
    age_max: Duration::from_secs(86_400),
};

fn at(seconds: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(1_000_000 + seconds)
}

fn files(dir: &Path) -> Vec<PathBuf> {
    let mut files: Vec<_> = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    files
}

fn payloads(spool: &Spool) -> Vec<Vec<u8>> {
    spool
        .pending(0, usize::MAX)
        .unwrap()
        .into_iter()
        .map(|pending| pending.payload)
        .collect()
}

#[test]
fn messages_survive_the_process_until_they_are_acknowledged() {
    let dir = tempfile::tempdir().unwrap();
    let mut spool = Spool::open(dir.path(), LARGE).unwrap();
    let first = spool.append(at(0), b"first").unwrap();
    let second = spool.append(at(1), b"second").unwrap();
    spool.acknowledge(first).unwrap();
    drop(spool);
    let mut spool = Spool::open(dir.path(), LARGE).unwrap();
    let pending = spool.pending(0, 10).unwrap();
    assert_eq!(pending.len(), 1);
    assert_eq!((pending[0].sequence, pending[0].appended), (second, at(1)));
    assert_eq!(pending[0].payload, b"second");
    assert!(
        spool.append(at(2), b"third").unwrap() > second,
        "numbers are not used twice"
    );
}

#[test]
fn a_cut_tail_loses_only_the_message_it_cuts() {
    let dir = tempfile::tempdir().unwrap();
    let mut spool = Spool::open(dir.path(), LARGE).unwrap();
    spool.append(at(0), b"whole").unwrap();
    spool.append(at(0), b"to be cut").unwrap();
    drop(spool);
    let file = files(dir.path()).remove(0);
    let length = fs::metadata(&file).unwrap().len();
    for cut in 1..20 {
        OpenOptions::new()
            .write(true)
            .open(&file)
            .unwrap()
            .set_len(length - cut)
            .unwrap();
        let spool = Spool::open(dir.path(), LARGE).unwrap();
        assert_eq!(payloads(&spool), [b"whole"]);
    }
    let mut spool = Spool::open(dir.path(), LARGE).unwrap();
    spool.append(at(1), b"after").unwrap();
    drop(spool);
    let spool = Spool::open(dir.path(), LARGE).unwrap();
    assert_eq!(payloads(&spool), [b"whole".to_vec(), b"after".to_vec()]);
}

#[test]
fn the_oldest_goes_first_when_there_is_too_much() {
    let limits = Limits {
        bytes_max: 1000,
        ..LARGE
    };
    let dir = tempfile::tempdir().unwrap();
    let mut spool = Spool::open(dir.path(), limits).unwrap();
    for n in 0..10u8 {
        spool.append(at(0), &[n; 192]).unwrap();
    }
    let left: Vec<u8> = payloads(&spool).iter().map(|payload| payload[0]).collect();
    assert_eq!(left, [5, 6, 7, 8, 9]);
    assert_eq!(
        spool.dropped(),
        Dropped {
            too_much: 5,
            too_old: 0
        }
    );
    let error = spool.append(at(0), &[0; 1000]).unwrap_err();
    assert!(matches!(error, SpoolError::TooLarge { .. }), "{error}");
}

#[test]
fn what_nobody_acknowledges_gets_too_old() {
    let limits = Limits {
        age_max: Duration::from_secs(60),
        ..LARGE
    };
    let dir = tempfile::tempdir().unwrap();
    let mut spool = Spool::open(dir.path(), limits).unwrap();
    spool.append(at(0), b"old").unwrap();
    spool.append(at(50), b"young").unwrap();
    spool.expire(at(61)).unwrap();
    assert_eq!(payloads(&spool), [b"young"]);
    drop(spool);
    let spool = Spool::open(dir.path(), limits).unwrap();
    assert_eq!(payloads(&spool), [b"young"]);
}

#[test]
fn disk_use_follows_what_is_pending() {
    let dir = tempfile::tempdir().unwrap();
    let mut spool = Spool::open(dir.path(), LARGE).unwrap();
    let kept = spool.append(at(0), b"kept").unwrap();
    for _ in 0..5000 {
        let sequence = spool.append(at(0), &[7; 1000]).unwrap();
        spool.acknowledge(sequence).unwrap();
    }
    let bytes: u64 = files(dir.path())
        .iter()
        .map(|file| fs::metadata(file).unwrap().len())
        .sum();
    assert!(bytes < 600_000, "{bytes} bytes for one small message");
    drop(spool);
    let spool = Spool::open(dir.path(), LARGE).unwrap();
    assert_eq!(spool.pending(0, 10).unwrap()[0].sequence, kept);
    assert_eq!(spool.len(), 1);
}

#[derive(Clone, Debug)]
enum Step {
    Append(usize),
    Acknowledge(usize),
    Sync,
    Crash,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        5 => (0usize..200_000).prop_map(Step::Append),
        4 => any::<usize>().prop_map(Step::Acknowledge),
        1 => Just(Step::Sync),
        1 => Just(Step::Crash),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn a_spool_is_a_map_whatever_happens(steps in prop::collection::vec(step(), 1..60)) {
        let dir = tempfile::tempdir().unwrap();
        let mut spool = Spool::open(dir.path(), LARGE).unwrap();
        let mut expected: BTreeMap<u64, usize> = BTreeMap::new();
        for step in steps {
            match step {
                Step::Append(bytes) => {
                    let sequence = spool.append(at(0), &vec![1; bytes]).unwrap();
                    expected.insert(sequence, bytes);
                }
                Step::Acknowledge(which) if !expected.is_empty() => {
                    let sequence = *expected.keys().nth(which % expected.len()).unwrap();
                    spool.acknowledge(sequence).unwrap();
                    expected.remove(&sequence);
                }
                Step::Acknowledge(_) => {}
                Step::Sync => spool.sync().unwrap(),
                Step::Crash => {
                    drop(spool);
                    spool = Spool::open(dir.path(), LARGE).unwrap();
                }
            }
            let found: BTreeMap<u64, usize> = spool
                .pending(0, usize::MAX)
                .unwrap()
                .into_iter()
                .map(|pending| (pending.sequence, pending.payload.len()))
                .collect();
            prop_assert_eq!(&found, &expected);
        }
    }

    #[test]
    fn rubbish_in_a_file_is_survived(rubbish in prop::collection::vec(any::<u8>(), 0..300)) {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("00000000000000000001.seg"), &rubbish).unwrap();
        let mut spool = Spool::open(dir.path(), LARGE).unwrap();
        spool.append(at(0), b"new").unwrap();
        drop(spool);
        let spool = Spool::open(dir.path(), LARGE).unwrap();
        prop_assert_eq!(payloads(&spool), vec![b"new".to_vec()]);
    }
}
