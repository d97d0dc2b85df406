//! The beacon `watchdog`: changes in directories.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use halite_call::{Call, python};
use halite_proto::{Map, Value};
use nix::errno::Errno;
use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify, InotifyEvent, WatchDescriptor};
use tracing::warn;

use super::{Beacon, BeaconError};
use crate::core::beacons::Settings;
use crate::limits::BEACON_CHANGES_MAX;

/// The watched directories with the events to report.
type WatchedEvents = BTreeMap<String, Vec<String>>;

struct Watching {
    kernel: Inotify,
    directories: BTreeMap<WatchDescriptor, (PathBuf, Vec<String>)>,
    wanted: WatchedEvents,
    /// Directories that are not there are complained about once.
    is_complete: bool,
}

#[derive(Default)]
pub(super) struct Watchdog {
    watching: Option<Watching>,
}

impl Beacon for Watchdog {
    fn look(&mut self, settings: &Settings, _: &Call<'_>) -> Result<Vec<Map>, BeaconError> {
        let wanted = wanted(&settings.merged());
        match &mut self.watching {
            Some(watching) if watching.wanted == wanted && watching.is_complete => {
                watching.changes()
            }
            Some(watching) if watching.wanted == wanted => {
                let seen = watching.changes()?;
                watching.watch(false)?;
                Ok(seen)
            }
            other => {
                let flags = InitFlags::IN_NONBLOCK | InitFlags::IN_CLOEXEC;
                let watching = other.insert(Watching {
                    kernel: Inotify::init(flags).map_err(BeaconError::Inotify)?,
                    directories: BTreeMap::new(),
                    wanted,
                    is_complete: false,
                });
                watching.watch(true)?;
                Ok(Vec::new())
            }
        }
    }
}

fn wanted(merged: &Map) -> WatchedEvents {
    let directories = merged.get("directories").and_then(Value::as_map);
    let directories = directories.into_iter().flatten();
    directories
        .map(|(path, about)| {
            let mask = match about.get("mask") {
                Some(mask) => python::texts(mask),
                None => ["create", "delete", "modify", "move"]
                    .map(str::to_owned)
                    .to_vec(),
            };
            (python::str(path), mask)
        })
        .collect()
}

impl Watching {
    fn watch(&mut self, complain: bool) -> Result<(), BeaconError> {
        self.is_complete = true;
        for (path, mask) in &self.wanted {
            let mut known = self.directories.values();
            if known.any(|(known, _)| known == Path::new(path)) {
                continue;
            }
            let flags = AddWatchFlags::IN_CREATE
                | AddWatchFlags::IN_DELETE
                | AddWatchFlags::IN_MODIFY
                | AddWatchFlags::IN_ATTRIB
                | AddWatchFlags::IN_MOVED_FROM
                | AddWatchFlags::IN_MOVED_TO;
            match self.kernel.add_watch(path.as_str(), flags) {
                Ok(watch) => {
                    self.directories.insert(watch, (path.into(), mask.clone()));
                }
                Err(error @ (Errno::ENOENT | Errno::ENOTDIR | Errno::EACCES)) => {
                    self.is_complete = false;
                    if complain {
                        warn!("{path} cannot be watched yet: {error}");
                    }
                }
                Err(error) => return Err(BeaconError::Inotify(error)),
            }
        }
        Ok(())
    }

    fn changes(&mut self) -> Result<Vec<Map>, BeaconError> {
        let mut seen = Vec::new();
        while seen.len() < BEACON_CHANGES_MAX {
            match self.kernel.read_events() {
                Ok(events) if events.is_empty() => break,
                Ok(events) => {
                    // A move within the directories has two ends.
                    let ends = events.iter().filter(|event| event.cookie != 0);
                    let ends: Vec<u32> = ends.map(|event| event.cookie).collect();
                    for event in &events {
                        let ends = ends.iter().filter(|cookie| **cookie == event.cookie);
                        self.tell(event, ends.count() == 2, &mut seen);
                    }
                }
                Err(Errno::EAGAIN | Errno::EINTR) => break,
                Err(error) => return Err(BeaconError::Inotify(error)),
            }
        }
        Ok(seen)
    }

    fn tell(&mut self, event: &InotifyEvent, is_whole_move: bool, seen: &mut Vec<Map>) {
        if event.mask.contains(AddWatchFlags::IN_Q_OVERFLOW) {
            warn!("inotify: the kernel dropped changes because there were too many");
        }
        if event.mask.contains(AddWatchFlags::IN_IGNORED) {
            self.directories.remove(&event.wd);
            self.is_complete = false;
        }
        let Some((directory, mask)) = self.directories.get(&event.wd) else {
            return;
        };
        let place = match &event.name {
            Some(name) => directory.join(name),
            None => directory.clone(),
        };
        let mut say = |kind: &str, change: &str, place: &Path| {
            if mask.iter().any(|wanted| wanted == kind) {
                seen.push(Map::from([
                    ("tag", "watchdog".to_owned()),
                    ("path", place.display().to_string()),
                    ("change", change.to_owned()),
                ]));
            }
        };
        let is = |flags| event.mask.intersects(flags);
        if is(AddWatchFlags::IN_CREATE) {
            say("create", "created", &place);
        } else if is(AddWatchFlags::IN_DELETE) {
            say("delete", "deleted", &place);
        } else if is(AddWatchFlags::IN_MOVED_FROM) && is_whole_move {
            say("move", "moved", &place);
        } else if is(AddWatchFlags::IN_MOVED_FROM) {
            say("delete", "deleted", &place);
        } else if is(AddWatchFlags::IN_MOVED_TO) && !is_whole_move {
            say("create", "created", &place);
        } else if is(AddWatchFlags::IN_MODIFY | AddWatchFlags::IN_ATTRIB) {
            return say("modify", "modified", &place);
        } else {
            return;
        }
        // Whatever comes or goes changes its directory.
        say("modify", "modified", directory);
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn what_happens_in_a_directory_is_told_as_by_salt() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().display().to_string();
        let about = Map::from([(
            "mask",
            vec!["create".into(), "delete".into(), "move".into()],
        )]);
        let directories = Map::from([(path.as_str(), about)]);
        let merged = Map::from([("directories", directories)]);
        let mut watching = Watching {
            kernel: Inotify::init(InitFlags::IN_NONBLOCK).unwrap(),
            directories: BTreeMap::new(),
            wanted: wanted(&merged),
            is_complete: false,
        };
        watching.watch(true).unwrap();
        assert!(watching.is_complete);
        fs::write(dir.path().join("a"), "x").unwrap();
        fs::rename(dir.path().join("a"), dir.path().join("b")).unwrap();
        fs::remove_file(dir.path().join("b")).unwrap();
        let seen = watching.changes().unwrap();
        let seen: Vec<String> = seen
            .iter()
            .map(|event| {
                let place = python::str(event.get("path").unwrap());
                let place = place.strip_prefix(&path).unwrap().to_owned();
                format!("{place} {}", python::str(event.get("change").unwrap()))
            })
            .collect();
        assert_eq!(seen, ["/a created", "/a moved", "/b deleted"]);
    }

    #[test]
    fn a_directory_that_comes_later_is_watched_then() {
        let dir = tempfile::tempdir().unwrap();
        let late = dir.path().join("late");
        let mut watching = Watching {
            kernel: Inotify::init(InitFlags::IN_NONBLOCK).unwrap(),
            directories: BTreeMap::new(),
            wanted: WatchedEvents::from([(late.display().to_string(), vec!["modify".to_owned()])]),
            is_complete: false,
        };
        watching.watch(true).unwrap();
        assert!(!watching.is_complete);
        fs::create_dir(&late).unwrap();
        watching.watch(false).unwrap();
        assert!(watching.is_complete);
        fs::write(late.join("a"), "").unwrap();
        assert_eq!(watching.changes().unwrap().len(), 1);
    }
}
