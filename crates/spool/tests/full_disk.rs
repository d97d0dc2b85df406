//! A spool on a full disk.
//!
//! The disk is a limit on the size of files. It applies to a whole process, so the
//! test runs its first part in a process of its own: this program once more.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test says what it expects"
)]

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use halite_spool::{Limits, Moment, Spool, SpoolError};

const LARGE: Limits = Limits {
    bytes_max: 64 << 20,
    age_max: Duration::from_secs(86_400),
};

/// Names the directory to fill to the process that has the limit.
const DIR: &str = "HALITE_FULL_DISK";

#[test]
fn a_full_disk_loses_nothing_that_was_taken() {
    if let Some(dir) = std::env::var_os(DIR) {
        return fill(dir.as_ref());
    }
    let dir = tempfile::tempdir().unwrap();
    let tried = Command::new("sh")
        // In units of 512 or 1024 bytes, as the shell likes.
        .args(["-c", "trap \"\" XFSZ; ulimit -f 64 && exec \"$@\"", "sh"])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "a_full_disk_loses_nothing_that_was_taken"])
        .env(DIR, dir.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&tried.stdout);
    assert!(
        tried.status.success() && said.contains("1 passed"),
        "{said}"
    );
    // What did not fit is not there, not even in part; the rest is.
    let mut spool = Spool::open(dir.path(), LARGE, Moment::now()).unwrap();
    let pending = spool.pending(Moment::now(), 0, usize::MAX);
    let first: Vec<u8> = pending.iter().map(|message| message.payload[0]).collect();
    assert_eq!(first, [0, 1, 100]);
    assert!(
        pending
            .iter()
            .all(|message| message.payload.len() == 10_000)
    );
}

/// Appends until the disk takes no more, then makes room.
fn fill(dir: &Path) {
    let mut spool = Spool::open(dir, LARGE, Moment::now()).unwrap();
    let mut taken = Vec::new();
    let refused = loop {
        let n = u8::try_from(taken.len()).unwrap();
        match spool.append(Moment::now(), &[n; 10_000]) {
            Ok(sequence) => taken.push(sequence),
            Err(error) => break error,
        }
    };
    assert!(matches!(refused, SpoolError::Write { .. }), "{refused}");
    assert!(taken.len() >= 3);
    let read = |spool: &mut Spool| -> Vec<u8> {
        let pending = spool.pending(Moment::now(), 0, usize::MAX);
        pending.iter().map(|message| message.payload[0]).collect()
    };
    assert_eq!(read(&mut spool).len(), taken.len());
    // What has arrived leaves it, whether or not the disk takes the note...
    for sequence in taken.drain(2..) {
        let _ = spool.acknowledge(sequence);
    }
    assert_eq!(read(&mut spool), [0, 1]);
    // ...and makes room again.
    drop(spool);
    for entry in std::fs::read_dir(dir).unwrap() {
        let file = std::fs::OpenOptions::new()
            .write(true)
            .open(entry.unwrap().path());
        file.unwrap().set_len(2 * (17 + 8 + 10_000)).unwrap();
    }
    let mut spool = Spool::open(dir, LARGE, Moment::now()).unwrap();
    spool.append(Moment::now(), &[100; 10_000]).unwrap();
    assert_eq!(read(&mut spool), [0, 1, 100]);
}
