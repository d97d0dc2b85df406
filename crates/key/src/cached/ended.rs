//! Acceptances that have ended: those of keys that were rejected or deleted since.
//!
//! A server that was restored to yesterday's state has them as accepted again. Each
//! record that we write has a mark of its own, and a rejection names the mark of
//! the record that it replaces. So an ended acceptance differs from a new one of
//! the same key, whichever master made it and whatever its clock says. A record of
//! a Python master has no mark, or that of the record before: it is believed.
//!
//! Invariant: only a decision ends an acceptance, never its absence on the server.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use halite_crypto::files::{
    FileError, MODE_SECRET, WriteOptions, ensure_private_dir, read_limited, write_atomic,
};
use halite_proto::MinionId;

use super::record::{Mark, Record};
use crate::error::KeyStoreError;
use crate::key_file::{plain_files, remove_if_there};
use crate::limits::{ENDED_BYTES_MAX, ENDED_IDS_MAX, ENDED_OF_ID_MAX};
use crate::state::KeyState;

/// The directory in the mirror's.
const DIR: &str = "ended";

/// The ended acceptances that this master knows of; the oldest ids are dropped first.
#[derive(Debug, Default)]
pub(super) struct Ended {
    files: Option<Files>,
    ids: HashMap<MinionId, Ids>,
    /// Counts ids, for their order.
    count: u64,
    /// Minions whose acceptance came back, and for which that was logged.
    told: HashSet<MinionId>,
}

#[derive(Debug)]
struct Ids {
    order: u64,
    marks: Vec<(Mark, By)>,
}

/// The reason why an acceptance has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum By {
    Rejection,
    Deletion,
}

impl By {
    fn word(self) -> &'static str {
        match self {
            Self::Rejection => "rejected",
            Self::Deletion => "deleted",
        }
    }
}

#[derive(Debug)]
struct Files {
    dir: PathBuf,
    owner: Option<u32>,
    is_read_only: bool,
}

impl Ended {
    /// The ended acceptances recorded in a mirror, where later ones are recorded too.
    pub(super) fn in_mirror(mirror: &Path, owner: Option<u32>) -> Result<Self, KeyStoreError> {
        let dir = mirror.join(DIR);
        ensure_private_dir(&dir, owner)?;
        Self::read(Files {
            dir,
            owner,
            is_read_only: false,
        })
    }

    /// The ended acceptances recorded in the mirror of a master.
    pub(super) fn of_master(mirror: &Path) -> Result<Self, KeyStoreError> {
        Self::read(Files {
            dir: mirror.join(DIR),
            owner: None,
            is_read_only: true,
        })
    }

    fn read(files: Files) -> Result<Self, KeyStoreError> {
        let names = plain_files(&files.dir)?.into_iter();
        let mut found: Vec<_> = names
            .filter_map(|name| {
                let id = MinionId::parse(name.to_str()?).ok()?;
                let path = files.dir.join(&name);
                let time = fs::metadata(&path).and_then(|meta| meta.modified()).ok()?;
                let bytes = read_limited(&path, ENDED_BYTES_MAX)
                    .inspect_err(
                        |error| tracing::warn!(%error, "skipping an entry that cannot be read"),
                    )
                    .ok()?;
                Some((time, id, bytes))
            })
            .collect();
        found.sort_unstable();
        let mut ended = Self::default();
        for (_, id, bytes) in found {
            let text = String::from_utf8_lossy(&bytes);
            let marks: Vec<_> = text
                .lines()
                .filter_map(line)
                .take(ENDED_OF_ID_MAX)
                .collect();
            if !marks.is_empty() {
                ended.put(id, marks);
            }
        }
        ended.files = Some(files);
        Ok(ended)
    }

    /// The record as this master understands it: a key whose acceptance has ended counts
    /// as rejected or missing.
    pub(super) fn believed(&mut self, id: &MinionId, record: Record) -> Option<Record> {
        if record.state != KeyState::Accepted {
            let by = match record.state {
                KeyState::Rejected => By::Rejection,
                _ => By::Deletion,
            };
            if let Some(mark) = &record.ended {
                self.record_end(id, mark, by);
            }
            return Some(record);
        }
        let ended = self.ids.get(id).and_then(|ids| {
            let mut marks = ids.marks.iter();
            marks.find(|(mark, _)| Some(mark) == record.mark.as_ref())
        });
        let Some(&(_, by)) = ended else {
            self.forget_key(id, &record);
            return Some(record);
        };
        if self.told.insert(id.clone()) {
            tracing::warn!(
                minion = %id,
                "the store lists as accepted a key that was {0}. It may have been restored from \
                 a backup: the key counts as {0} until it is accepted again",
                by.word()
            );
        }
        match by {
            By::Rejection => Some(Record {
                state: KeyState::Rejected,
                ..record
            }),
            By::Deletion => None,
        }
    }

    /// Records that the acceptance with a mark has ended.
    pub(super) fn record_end(&mut self, id: &MinionId, mark: &Mark, by: By) {
        let known = self.ids.get(id).map_or(&[][..], |ids| &ids.marks);
        if known.iter().any(|(known, _)| known == mark) {
            return;
        }
        let mut marks = known.to_vec();
        marks.push((mark.clone(), by));
        let beyond = marks.len().saturating_sub(ENDED_OF_ID_MAX);
        marks.drain(..beyond);
        self.put(id.clone(), marks);
        self.write(id);
        if self.ids.len() > ENDED_IDS_MAX {
            let oldest = self.ids.iter().min_by_key(|(_, ids)| ids.order);
            if let Some(oldest) = oldest.map(|(id, _)| id.clone()) {
                self.ids.remove(&oldest);
                self.write(&oldest);
            }
        }
    }

    /// A key was accepted again: its ended acceptances no longer matter.
    fn forget_key(&mut self, id: &MinionId, accepted: &Record) {
        self.told.remove(id);
        let (Some(ids), Some(now)) = (self.ids.get_mut(id), &accepted.mark) else {
            return;
        };
        let before = ids.marks.len();
        ids.marks.retain(|(mark, _)| !mark.is_of_key_of(now));
        if ids.marks.len() == before {
            return;
        }
        if ids.marks.is_empty() {
            self.ids.remove(id);
        }
        self.write(id);
    }

    fn put(&mut self, id: MinionId, marks: Vec<(Mark, By)>) {
        self.count += 1;
        let order = self.count;
        self.ids.insert(id, Ids { order, marks });
    }

    /// Writes it to disk. If that fails, it is known until this process ends.
    fn write(&self, id: &MinionId) {
        let Some(files) = self.files.as_ref().filter(|files| !files.is_read_only) else {
            return;
        };
        let marks = self.ids.get(id).map(|ids| ids.marks.as_slice());
        if let Err(error) = files.write(id, marks) {
            tracing::warn!(
                minion = %id, %error,
                "could not record that an acceptance is no longer valid"
            );
        }
    }
}

impl Files {
    fn write(&self, id: &MinionId, marks: Option<&[(Mark, By)]>) -> Result<(), KeyStoreError> {
        let path = self.dir.join(super::checked(id)?.as_str());
        let Some(marks) = marks else {
            return remove_if_there(&path).map(drop);
        };
        let lines = marks
            .iter()
            .map(|(mark, by)| format!("{} {}\n", mark.as_str(), by.word()));
        let options = WriteOptions::new(MODE_SECRET).owned_by(self.owner);
        write_atomic(&path, options, lines.collect::<String>().as_bytes())
            .map_err(|error: FileError| error.into())
    }
}

fn line(line: &str) -> Option<(Mark, By)> {
    let (mark, word) = line.split_once(' ')?;
    let by = [By::Rejection, By::Deletion]
        .into_iter()
        .find(|by| by.word() == word)?;
    Some((Mark::parse(mark)?, by))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(name: &str) -> MinionId {
        MinionId::parse(name).unwrap()
    }

    fn accepted(pem: &str) -> Record {
        Record::new(KeyState::Accepted, pem)
    }

    #[test]
    fn the_oldest_are_dropped_from_memory_and_disk() {
        let dir = tempfile::tempdir().unwrap();
        let mut ended = Ended::in_mirror(dir.path(), None).unwrap();
        let first = accepted("key");
        let mark = first.mark.clone().unwrap();
        ended.record_end(&id("first"), &mark, By::Rejection);
        assert!(dir.path().join("ended/first").exists());
        for number in 1..=ENDED_IDS_MAX {
            ended.put(id(&format!("web{number}")), Vec::new());
        }
        ended.record_end(&id("last"), &mark, By::Rejection);
        assert!(!dir.path().join("ended/first").exists());
        assert_eq!(ended.believed(&id("first"), first.clone()), Some(first));
        for _ in 0..2 * ENDED_OF_ID_MAX {
            let mark = accepted("key").mark.unwrap();
            ended.record_end(&id("last"), &mark, By::Rejection);
        }
        assert_eq!(ended.ids[&id("last")].marks.len(), ENDED_OF_ID_MAX);
    }

    #[test]
    fn what_is_on_disk_is_checked() {
        let dir = tempfile::tempdir().unwrap();
        let record = accepted("key");
        let mark = record.mark.clone().unwrap();
        let texts = [
            format!("{} rejected\n", mark.as_str()),
            format!("{} accepted\n", mark.as_str()),
            "../x rejected\n".to_owned(),
            "\u{0}".repeat(10),
        ];
        fs::create_dir(dir.path().join(DIR)).unwrap();
        for (number, text) in texts.iter().enumerate() {
            fs::write(dir.path().join(DIR).join(format!("web{number}")), text).unwrap();
        }
        let mut ended = Ended::of_master(dir.path()).unwrap();
        assert_eq!(ended.ids.len(), 1);
        let told = ended.believed(&id("web0"), record.clone());
        assert_eq!(told.unwrap().state, KeyState::Rejected);
        assert_eq!(ended.believed(&id("web1"), record.clone()), Some(record));
    }

    #[test]
    fn another_key_of_the_id_does_not_bring_the_first_one_back() {
        let mut ended = Ended::default();
        let (first, again, other) = (accepted("key"), accepted("key"), accepted("other"));
        let web = id("web1");
        ended.record_end(&web, first.mark.as_ref().unwrap(), By::Deletion);
        assert_eq!(ended.believed(&web, other.clone()), Some(other));
        assert_eq!(ended.believed(&web, first.clone()), None);
        assert_eq!(ended.believed(&web, again.clone()), Some(again));
        assert_eq!(ended.believed(&web, first.clone()), Some(first));
    }
}
