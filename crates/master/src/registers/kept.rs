//! The registers on disk: a snapshot, followed by a log of later changes. Both are
//! records, each of a part of the registers.
//!
//! Records are merged when they are read, so reading one twice does no harm.
//! Invariants: what [`Kept::append`] has written survives a power cut; a torn
//! record is dropped together with what follows it.

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io::{Error, ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use halite_cluster::{Delta, PeerId, Registers, Stamp};
use halite_crypto::files::{
    MODE_SECRET, WriteOptions, ensure_private_dir, read_limited, sync_dir, write_atomic,
};
use halite_crypto::{HashType, hash_hex};
use halite_proto::limits::MESSAGE_BYTES_MAX;
use halite_proto::msgpack::{pack_modern, unpack_modern};
use halite_proto::{MinionId, Value};

use super::RegistersError;
use crate::limits::{REGISTERS_BYTES_MAX, REGISTERS_LOG_BYTES_MIN};

const SNAPSHOT: &str = "snapshot";
const LOG: &str = "log";

/// The version of both files.
const VERSION: i128 = 2;

/// Bytes of a record's length and of its checksum.
const LENGTH_BYTES: usize = 8;
const SUM_BYTES: usize = 16;

/// The files of the registers.
pub(super) struct Kept {
    dir: PathBuf,
    log: File,
    log_bytes: u64,
    snapshot_bytes: u64,
}

/// The registers as read from disk.
pub(super) struct Restored {
    pub(super) registers: Registers,
    /// Minions of whose keys something was heard that the key store may not show
    /// yet.
    pub(super) unapplied: BTreeSet<MinionId>,
    /// There was nothing.
    pub(super) is_new: bool,
}

impl Kept {
    /// Opens the files of the master `me`, and reads what they hold.
    ///
    /// # Errors
    /// When a file cannot be used, or the snapshot is not whole.
    pub(super) fn open(dir: PathBuf, me: &PeerId) -> Result<(Self, Restored), RegistersError> {
        ensure_private_dir(&dir, None)?;
        let mut restored = Restored {
            registers: Registers::new(me.clone()),
            unapplied: BTreeSet::new(),
            is_new: true,
        };
        let path = dir.join(SNAPSHOT);
        let snapshot_bytes = match read_limited(&path, REGISTERS_BYTES_MAX) {
            Ok(bytes) => {
                if bytes.is_empty() || read_records(&bytes, &path, &mut restored)? < bytes.len() {
                    return Err(RegistersError::Damaged { path });
                }
                bytes.len() as u64
            }
            Err(error) if error.kind() == Some(ErrorKind::NotFound) => 0,
            Err(error) => return Err(error.into()),
        };
        let log_path = dir.join(LOG);
        let whole = read_log(&log_path, &mut restored)?;
        let failed = |source| RegistersError::Log {
            path: log_path.clone(),
            source,
        };
        let mut options = OpenOptions::new();
        options.append(true).create(true).mode(MODE_SECRET);
        let log = options.open(&log_path).map_err(failed)?;
        log.set_len(whole).map_err(failed)?;
        let kept = Self {
            dir,
            log,
            log_bytes: whole,
            snapshot_bytes,
        };
        Ok((kept, restored))
    }

    /// Whether the files are where they were put: a directory that is not
    /// mounted any more has no keys either, and nobody has deleted those.
    pub(super) fn is_there(&self) -> bool {
        self.dir.join(SNAPSHOT).exists()
    }

    /// Writes changes of the registers to disk and, if they have changed, the minions
    /// whose decisions the key store does not show yet (`unapplied`).
    ///
    /// # Errors
    /// When it cannot be written; a part may be.
    pub(super) fn append(
        &mut self,
        registers: &Registers,
        new: impl Iterator<Item = Delta>,
        mut unapplied: Option<&BTreeSet<MinionId>>,
    ) -> Result<(), RegistersError> {
        for part in new {
            self.write(registers, &part, unapplied.take())?;
        }
        self.log.sync_data().map_err(|source| self.failed(source))
    }

    /// Folds the log into the snapshot where it has become larger than that.
    ///
    /// # Errors
    /// When it cannot be written; what was there holds then.
    pub(super) fn fold(
        &mut self,
        registers: &Registers,
        unapplied: &BTreeSet<MinionId>,
    ) -> Result<(), RegistersError> {
        match self.log_bytes > self.snapshot_bytes.max(REGISTERS_LOG_BYTES_MIN) {
            true => self.snapshot(registers, unapplied),
            false => Ok(()),
        }
    }

    /// Writes down that the key store shows everything. It need not survive a
    /// power cut: showing it again does no harm.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(super) fn applied(&mut self, registers: &Registers) -> Result<(), RegistersError> {
        self.write(registers, &Delta::default(), Some(&BTreeSet::new()))
    }

    fn write(
        &mut self,
        registers: &Registers,
        new: &Delta,
        unapplied: Option<&BTreeSet<MinionId>>,
    ) -> Result<(), RegistersError> {
        let framed = self.framed(registers, new, unapplied)?;
        if let Err(source) = self.log.write_all(&framed) {
            // What was written of it must not stand before the next record.
            let _ = self.log.set_len(self.log_bytes);
            return Err(self.failed(source));
        }
        self.log_bytes += framed.len() as u64;
        Ok(())
    }

    /// A record behind its length and checksum.
    fn framed(
        &self,
        registers: &Registers,
        part: &Delta,
        unapplied: Option<&BTreeSet<MinionId>>,
    ) -> Result<Vec<u8>, RegistersError> {
        let bytes = record(registers, part, unapplied)?;
        self.check_size(bytes.len() as u64, MESSAGE_BYTES_MAX as u64)?;
        let sum = hash_hex(HashType::Sha256, &bytes);
        Ok([
            &(bytes.len() as u64).to_be_bytes()[..],
            &sum.as_bytes()[..SUM_BYTES],
            &bytes,
        ]
        .concat())
    }

    /// What could not be read again is not written.
    fn check_size(&self, bytes: u64, max: u64) -> Result<(), RegistersError> {
        match bytes > max {
            true => Err(RegistersError::TooLarge {
                dir: self.dir.clone(),
                max,
            }),
            false => Ok(()),
        }
    }

    fn failed(&self, source: Error) -> RegistersError {
        RegistersError::Log {
            path: self.dir.join(LOG),
            source,
        }
    }

    /// Writes everything into the snapshot, and empties the log.
    ///
    /// # Errors
    /// When it cannot be written; what was there holds then.
    pub(super) fn snapshot(
        &mut self,
        registers: &Registers,
        unapplied: &BTreeSet<MinionId>,
    ) -> Result<(), RegistersError> {
        let mut unapplied = Some(unapplied);
        let mut bytes = Vec::new();
        for part in registers.all() {
            bytes.extend(self.framed(registers, &part, unapplied.take())?);
        }
        self.check_size(bytes.len() as u64, REGISTERS_BYTES_MAX)?;
        let path = self.dir.join(SNAPSHOT);
        write_atomic(&path, WriteOptions::new(MODE_SECRET), &bytes)?;
        self.snapshot_bytes = bytes.len() as u64;
        let emptied = self.log.set_len(0).and_then(|()| sync_dir(&self.dir));
        emptied.map_err(|source| self.failed(source))?;
        self.log_bytes = 0;
        Ok(())
    }
}

/// A record; without `unapplied` that of an earlier one holds.
fn record(
    registers: &Registers,
    part: &Delta,
    unapplied: Option<&BTreeSet<MinionId>>,
) -> Result<Vec<u8>, RegistersError> {
    let stamp = |stamp: Stamp| Value::List(vec![stamp.micros.into(), stamp.count.into()]);
    let unapplied = unapplied.map(|ids| Value::List(ids.iter().map(Value::from).collect()));
    let record = Value::List(vec![
        Value::Int(VERSION),
        stamp(registers.now()),
        stamp(registers.floor()),
        unapplied.unwrap_or_default(),
        part.to_value(),
    ]);
    Ok(pack_modern(&record)?)
}

/// Applies a record; `None` if it is invalid.
fn read_record(bytes: &[u8], restored: &mut Restored) -> Option<()> {
    let Value::List(items) = unpack_modern(bytes).ok()? else {
        return None;
    };
    let [version, last, floor, unapplied, part] = items.try_into().ok()?;
    if version.as_int() != Some(VERSION) {
        return None;
    }
    let (last, floor) = (read_stamp(&last)?, read_stamp(&floor)?);
    if unapplied != Value::Nil {
        let ids = unapplied.as_list()?.iter();
        let ids = ids.map(|id| MinionId::parse(id.as_str()?).ok());
        restored.unapplied = ids.collect::<Option<_>>()?;
    }
    restored.registers.restore(Delta::from_value(part).ok()?);
    restored.registers.restored(last, floor);
    Some(())
}

fn read_stamp(value: &Value) -> Option<Stamp> {
    let [micros, count] = value.as_list()? else {
        return None;
    };
    Some(Stamp {
        micros: u64::try_from(micros.as_int()?).ok()?,
        count: u32::try_from(count.as_int()?).ok()?,
    })
}

/// Reads the log; how many of its bytes are whole records.
fn read_log(path: &Path, restored: &mut Restored) -> Result<u64, RegistersError> {
    let bytes = match read_limited(path, REGISTERS_BYTES_MAX) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == Some(ErrorKind::NotFound) => return Ok(0),
        Err(error) => return Err(error.into()),
    };
    let whole = read_records(&bytes, path, restored)?;
    if whole < bytes.len() {
        tracing::warn!(
            "{}: ignored the last record, which is incomplete",
            path.display()
        );
    }
    Ok(whole as u64)
}

/// Applies the records of a file; returns the number of bytes read.
fn read_records(
    bytes: &[u8],
    path: &Path,
    restored: &mut Restored,
) -> Result<usize, RegistersError> {
    let mut rest = bytes;
    while let Some((record, after)) = split_record(rest) {
        if read_record(record, restored).is_none() {
            return Err(RegistersError::Damaged {
                path: path.to_owned(),
            });
        }
        restored.is_new = false;
        rest = after;
    }
    Ok(bytes.len() - rest.len())
}

fn split_record(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<LENGTH_BYTES>()?;
    let (sum, rest) = rest.split_first_chunk::<SUM_BYTES>()?;
    let length = usize::try_from(u64::from_be_bytes(*length)).ok()?;
    let (record, rest) = rest.split_at_checked(length)?;
    let is_whole = hash_hex(HashType::Sha256, record).as_bytes()[..SUM_BYTES] == *sum;
    is_whole.then_some((record, rest))
}
