//! A spool that is killed, cut, damaged and filled: what was appended comes back,
//! and nothing else does.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test says what it expects"
)]

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::{Duration, Instant, UNIX_EPOCH};

use halite_spool::{Dropped, Limits, Moment, Spool, SpoolError};
use proptest::prelude::*;

const LARGE: Limits = Limits {
    bytes_max: 64 << 20,
    age_max: Duration::from_secs(86_400),
};

static STEADY: LazyLock<Instant> = LazyLock::new(Instant::now);

fn at(seconds: u64) -> Moment {
    Moment {
        wall: UNIX_EPOCH + Duration::from_secs(1_000_000 + seconds),
        steady: *STEADY + Duration::from_secs(seconds),
    }
}

fn open(dir: &Path, limits: Limits) -> Spool {
    Spool::open(dir, limits, at(0)).unwrap()
}

fn files(dir: &Path) -> Vec<PathBuf> {
    let mut files: Vec<_> = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    files
}

fn payloads(spool: &mut Spool) -> Vec<Vec<u8>> {
    spool
        .pending(at(0), 0, usize::MAX)
        .into_iter()
        .map(|pending| pending.payload)
        .collect()
}

#[test]
fn messages_survive_the_process_until_they_are_acknowledged() {
    let dir = tempfile::tempdir().unwrap();
    let mut spool = open(dir.path(), LARGE);
    let first = spool.append(at(0), b"first").unwrap();
    let second = spool.append(at(1), b"second").unwrap();
    spool.acknowledge(first).unwrap();
    drop(spool);
    let mut spool = open(dir.path(), LARGE);
    let pending = spool.pending(at(9), 0, 10);
    assert_eq!(pending.len(), 1);
    let age = Duration::from_secs(9);
    assert_eq!((pending[0].sequence, pending[0].age), (second, age));
    assert_eq!(pending[0].payload, b"second");
    assert!(
        spool.append(at(2), b"third").unwrap() > second,
        "numbers are not used twice"
    );
}

#[test]
fn a_cut_tail_loses_only_the_message_it_cuts() {
    let dir = tempfile::tempdir().unwrap();
    let mut spool = open(dir.path(), LARGE);
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
        let mut spool = open(dir.path(), LARGE);
        assert_eq!(payloads(&mut spool), [b"whole"]);
    }
    let mut spool = open(dir.path(), LARGE);
    spool.append(at(1), b"after").unwrap();
    drop(spool);
    let mut spool = open(dir.path(), LARGE);
    assert_eq!(payloads(&mut spool), [b"whole".to_vec(), b"after".to_vec()]);
}

#[test]
fn the_oldest_goes_first_when_there_is_too_much() {
    let limits = Limits {
        bytes_max: 1000,
        ..LARGE
    };
    let dir = tempfile::tempdir().unwrap();
    let mut spool = open(dir.path(), limits);
    for n in 0..10u8 {
        spool.append(at(0), &[n; 192]).unwrap();
    }
    let left: Vec<u8> = payloads(&mut spool)
        .iter()
        .map(|payload| payload[0])
        .collect();
    assert_eq!(left, [5, 6, 7, 8, 9]);
    assert_eq!(
        spool.dropped(),
        Dropped {
            too_much: 5,
            too_old: 0,
            unreadable: 0
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
    let mut spool = open(dir.path(), limits);
    spool.append(at(0), b"old").unwrap();
    spool.append(at(50), b"young").unwrap();
    spool.expire(at(61)).unwrap();
    assert_eq!(payloads(&mut spool), [b"young"]);
    drop(spool);
    let mut spool = open(dir.path(), limits);
    assert_eq!(payloads(&mut spool), [b"young"]);
}

#[test]
fn what_waited_while_nobody_ran_is_not_dropped_before_it_was_tried() {
    let dir = tempfile::tempdir().unwrap();
    open(dir.path(), LARGE).append(at(0), b"of friday").unwrap();
    const DAYS_3: u64 = 3 * 86_400;
    let monday = at(DAYS_3);
    let mut spool = Spool::open(dir.path(), LARGE, monday).unwrap();
    spool.expire(at(DAYS_3 + 3600)).unwrap();
    assert_eq!(payloads(&mut spool), [b"of friday"]);
    spool.expire(at(DAYS_3 + 3601)).unwrap();
    assert_eq!(spool.dropped().too_old, 1);
    // A window is about what may still be done, so it believes the stamps.
    let mut window = Spool::open_window(dir.path(), LARGE, monday).unwrap();
    window.append(monday, b"new").unwrap();
    window.expire(monday).unwrap();
    assert_eq!(payloads(&mut window), [b"new"]);
}

#[test]
fn a_clock_that_is_set_drops_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let mut spool = open(dir.path(), LARGE);
    // A machine without a battery begins in 1970 and is told the time later.
    let begin = Moment {
        wall: UNIX_EPOCH,
        ..at(0)
    };
    spool.append(begin, b"early").unwrap();
    spool.append(at(1), b"late").unwrap();
    spool.expire(at(2)).unwrap();
    spool
        .expire(Moment {
            wall: UNIX_EPOCH,
            ..at(3)
        })
        .unwrap();
    assert_eq!(spool.len(), 2);
    drop(spool);
    let mut spool = Spool::open(dir.path(), LARGE, at(4)).unwrap();
    spool.expire(at(5)).unwrap();
    assert_eq!(spool.len(), 2);
}

/// A spool of three messages in one file, with what `change` makes of it.
fn changed(change: impl FnOnce(&mut Vec<u8>)) -> (tempfile::TempDir, Vec<Vec<u8>>) {
    let dir = tempfile::tempdir().unwrap();
    let mut spool = open(dir.path(), LARGE);
    for n in 1..=3u8 {
        spool.append(at(0), &[n; 1000]).unwrap();
    }
    drop(spool);
    let file = files(dir.path()).remove(0);
    let mut bytes = fs::read(&file).unwrap();
    change(&mut bytes);
    fs::write(&file, bytes).unwrap();
    let mut spool = open(dir.path(), LARGE);
    let found = payloads(&mut spool);
    // What comes after it stands behind all that is good.
    let next = spool.append(at(0), b"next").unwrap();
    drop(spool);
    let mut spool = open(dir.path(), LARGE);
    let last = spool.pending(at(0), next - 1, 9);
    assert_eq!(last.len(), 1);
    assert_eq!(last[0].payload, b"next");
    assert_eq!(payloads(&mut spool).len(), found.len() + 1);
    (dir, found)
}

#[test]
fn damage_costs_the_messages_that_it_hits() {
    const RECORD: usize = 17 + 8 + 1000;
    let message = |n: u8| vec![n; 1000];
    let hit = |change: &dyn Fn(&mut Vec<u8>)| changed(|bytes| change(bytes)).1;
    let all = [1, 2, 3].map(message);
    let without_second = [message(1), message(3)];
    // A bit of the payload, of the length, of the checksum, of the kind.
    for at in [500, 0, 2, 3, 4, 8] {
        let found = hit(&|bytes| bytes[RECORD + at] ^= 0x40);
        assert_eq!(found, without_second, "byte {at} of the second");
    }
    let found = hit(&|bytes| bytes[RECORD..2 * RECORD].fill(0));
    assert_eq!(found, without_second, "a page that never reached the disk");
    let found = hit(&|bytes| bytes.resize(bytes.len() + 4096, 0));
    assert_eq!(found, all, "a tail that never reached the disk");
    let found = hit(&|bytes| drop(bytes.drain(RECORD + 100..RECORD + 200)));
    assert_eq!(found, without_second, "a hole");
    let found = hit(&|bytes| bytes.fill(0));
    assert!(found.is_empty());
}

#[test]
fn a_file_that_cannot_be_read_does_not_keep_the_others_from_their_work() {
    let dir = tempfile::tempdir().unwrap();
    let mut spool = open(dir.path(), LARGE);
    spool.append(at(0), b"kept").unwrap();
    drop(spool);
    fs::create_dir(dir.path().join("00000000000000000007.seg")).unwrap();
    let mut spool = open(dir.path(), LARGE);
    spool.append(at(0), b"new").unwrap();
    drop(spool);
    let mut spool = open(dir.path(), LARGE);
    assert_eq!(payloads(&mut spool), [b"kept".to_vec(), b"new".to_vec()]);
}

#[test]
fn disk_use_follows_what_is_pending() {
    let dir = tempfile::tempdir().unwrap();
    let mut spool = open(dir.path(), LARGE);
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
    let mut spool = open(dir.path(), LARGE);
    assert_eq!(spool.pending(at(0), 0, 10)[0].sequence, kept);
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
        let mut spool = open(dir.path(), LARGE);
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
                    spool = open(dir.path(), LARGE);
                }
            }
            let found: BTreeMap<u64, usize> = spool
                .pending(at(0), 0, usize::MAX)
                .into_iter()
                .map(|pending| (pending.sequence, pending.payload.len()))
                .collect();
            prop_assert_eq!(&found, &expected);
        }
    }

    #[test]
    fn a_changed_byte_costs_one_message_at_most(at in any::<prop::sample::Index>(), to in any::<u8>()) {
        let (_dir, found) = changed(|bytes| {
            let at = at.index(bytes.len());
            bytes[at] = to;
        });
        let kept = [1u8, 2, 3].iter().filter(|n| found.contains(&vec![**n; 1000])).count();
        prop_assert!(kept >= 2 && found.len() == kept);
    }

    #[test]
    fn rubbish_in_a_file_is_survived(rubbish in prop::collection::vec(any::<u8>(), 0..300)) {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("00000000000000000001.seg"), &rubbish).unwrap();
        let mut spool = open(dir.path(), LARGE);
        spool.append(at(0), b"new").unwrap();
        drop(spool);
        let mut spool = open(dir.path(), LARGE);
        prop_assert_eq!(payloads(&mut spool), vec![b"new".to_vec()]);
    }
}
