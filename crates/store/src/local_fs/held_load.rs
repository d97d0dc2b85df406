//! The loads that the index of jobs keeps in memory.
//!
//! Invariant: a load in memory equals its file, as far as the file's stamp shows.

use std::borrow::Cow;
use std::fs::{self, File};
use std::io::Read;
use std::path::Path;
use std::time::{Duration, SystemTime};

use halite_proto::msgpack::{Head, Heads, Reading, unpack_modern};
use halite_proto::{Jid, Map, Value};

use super::atomic::read;
use super::jobs::{Jobs, LOAD};
use super::lookup::load_as_map;
use super::stamp::Stamp;
use crate::error::StoreError;
use crate::limits::{INDEXED_LOAD_BYTES_MAX, INDEXED_LOADS_BYTES_MAX};

/// A load of this age is no longer expected to change.
pub(super) const SETTLED_LOAD: Duration = Duration::from_secs(300);

/// The state of a job's load in the index.
#[derive(Debug)]
pub(super) enum Load {
    /// It does not exist, or is read each time.
    NotHeld,
    /// The file's content, packed.
    Held {
        packed: Box<[u8]>,
        stamp: Stamp,
        /// Whether the file was seen to be the same when it had been there for long.
        is_settled: bool,
    },
}

impl Load {
    /// The load of a job whose directory this is, and the id that the load says, if
    /// there is a small file that says an id that belongs there.
    pub(super) fn with_id(
        dir: &Path,
        bytes_held: &mut usize,
        now: SystemTime,
        is_there: impl Fn(&Jid) -> bool,
    ) -> Option<(Jid, Self)> {
        let (packed, stamp) = read_small(&dir.join(LOAD))?;
        let jid = id_in(&packed).filter(is_there)?;
        let mut load = Self::NotHeld;
        // What is not kept is read again when it is shown.
        load.keep(packed, stamp, bytes_held, now);
        Some((jid, load))
    }

    /// The load, packed; `None` if it is missing.
    pub(super) fn packed(
        &mut self,
        all: &Jobs,
        jid: &Jid,
        bytes_held: &mut usize,
        now: SystemTime,
    ) -> Option<Cow<'_, [u8]>> {
        let read = self.refresh(all, jid, bytes_held, now);
        match (read, self) {
            (Some(packed), _) => Some(Cow::Owned(packed.into())),
            (None, Self::Held { packed, .. }) => Some(Cow::Borrowed(&**packed)),
            (None, Self::NotHeld) => None,
        }
    }

    /// Compares it with the file. A load that is not held is returned.
    pub(super) fn refresh(
        &mut self,
        all: &Jobs,
        jid: &Jid,
        bytes_held: &mut usize,
        now: SystemTime,
    ) -> Option<Box<[u8]>> {
        if let Self::Held {
            is_settled: true, ..
        } = self
        {
            return None;
        }
        let path = all.job_dir(jid).join(LOAD);
        if let Self::Held {
            stamp, is_settled, ..
        } = self
        {
            let found = Stamp::of(&path);
            if found == Some(*stamp) {
                *is_settled = stamp.is_older_than(SETTLED_LOAD, now);
                return None;
            }
        }
        self.let_go(bytes_held);
        match read_small(&path) {
            Some((packed, stamp)) => self.keep(packed, stamp, bytes_held, now),
            None => Some(read(&path).ok()??.into()),
        }
    }

    /// Keeps the content of a file; what is not kept is returned.
    fn keep(
        &mut self,
        packed: Box<[u8]>,
        stamp: Stamp,
        bytes_held: &mut usize,
        now: SystemTime,
    ) -> Option<Box<[u8]>> {
        // Salt writes it in its place: it may not be whole yet.
        let is_kept = stamp.is_settled()
            && packed.len() <= INDEXED_LOAD_BYTES_MAX
            && *bytes_held + packed.len() <= INDEXED_LOADS_BYTES_MAX;
        if !is_kept {
            return Some(packed);
        }
        *bytes_held += packed.len();
        *self = Self::Held {
            packed,
            stamp,
            is_settled: stamp.is_older_than(SETTLED_LOAD, now),
        };
        None
    }

    /// Has it compared with the file once more.
    pub(super) fn unsettle(&mut self) {
        if let Self::Held { is_settled, .. } = self {
            *is_settled = false;
        }
    }

    pub(super) fn let_go(&mut self, bytes_held: &mut usize) {
        if let Self::Held { packed, .. } = std::mem::replace(self, Self::NotHeld) {
            *bytes_held -= packed.len();
        }
    }
}

impl Jobs {
    /// The load; `None` if it is damaged, which is logged.
    pub(super) fn unpacked_load(&self, jid: &Jid, packed: &[u8]) -> Option<Map> {
        let unpacked = unpack_modern(packed);
        if let Ok(Value::Map(map)) = unpacked {
            return Some(map);
        }
        let path = self.job_dir(jid).join(LOAD);
        let unpacked = unpacked.map(Some);
        let unpacked = unpacked.map_err(|source| StoreError::damaged(path.display(), source));
        load_as_map(&path, unpacked).ok()?
    }
}

/// A file that is small enough to be held, and its stamp, in as few system calls as
/// possible: with many jobs these are what the first list takes its time for. `None` if
/// it is not there, larger, or written at this moment.
fn read_small(path: &Path) -> Option<(Box<[u8]>, Stamp)> {
    let mut file = File::open(path).ok()?;
    let data = file.metadata().ok().filter(fs::Metadata::is_file)?;
    let length = usize::try_from(data.len()).ok()?;
    if length > INDEXED_LOAD_BYTES_MAX {
        return None;
    }
    // With room for one byte more, less than that is the end of the file.
    let mut bytes = vec![0; length + 1];
    if file.read(&mut bytes).ok()? != length {
        return None;
    }
    bytes.truncate(length);
    Some((bytes.into(), Stamp::from(&data)))
}

/// The id that a load says.
fn id_in(load: &[u8]) -> Option<Jid> {
    let mut heads = Heads::new(load, Reading::Modern);
    let Head::Map(entries) = heads.head().ok()? else {
        return None;
    };
    for _ in 0..entries {
        let is_id = heads.key().ok()? == Head::Str("jid");
        let mut value = Heads::new(heads.value().ok()?, Reading::Modern);
        if is_id {
            return match value.head().ok()? {
                Head::Str(jid) => Jid::parse(jid).ok(),
                _ => None,
            };
        }
    }
    None
}
