//! The beacon `inotify`: changes of files and directories, as the kernel reports
//! them.
//!
//! Invariant: exactly the configured paths are watched: a path that disappears and
//! comes back is watched again, and one that is no longer configured is not.

mod exclude;

use std::collections::{HashMap, HashSet, VecDeque};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use halite_call::{Call, python};
use halite_proto::{Map, Value};
use nix::errno::Errno;
use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify as Kernel, WatchDescriptor};
use tracing::{info, warn};

use self::exclude::{is_excluded, is_left_out};
use super::{Beacon, BeaconError};
use crate::core::beacons::Settings;
use crate::limits::{BEACON_CHANGES_MAX, BEACON_WATCHES_MAX};

/// The names of what is reported and of how.
const MASKS: [(&str, AddWatchFlags); 18] = [
    ("access", AddWatchFlags::IN_ACCESS),
    ("attrib", AddWatchFlags::IN_ATTRIB),
    ("close_nowrite", AddWatchFlags::IN_CLOSE_NOWRITE),
    ("close_write", AddWatchFlags::IN_CLOSE_WRITE),
    ("create", AddWatchFlags::IN_CREATE),
    ("delete", AddWatchFlags::IN_DELETE),
    ("delete_self", AddWatchFlags::IN_DELETE_SELF),
    ("dont_follow", AddWatchFlags::IN_DONT_FOLLOW),
    ("ignored", AddWatchFlags::IN_IGNORED),
    ("modify", AddWatchFlags::IN_MODIFY),
    ("move_self", AddWatchFlags::IN_MOVE_SELF),
    ("moved_from", AddWatchFlags::IN_MOVED_FROM),
    ("moved_to", AddWatchFlags::IN_MOVED_TO),
    ("oneshot", AddWatchFlags::IN_ONESHOT),
    ("onlydir", AddWatchFlags::IN_ONLYDIR),
    ("open", AddWatchFlags::IN_OPEN),
    ("unmount", AddWatchFlags::IN_UNMOUNT),
    ("excl_unlink", AddWatchFlags::from_bits_retain(0x0400_0000)),
];

/// How a path is watched.
#[derive(Clone, Debug, PartialEq)]
struct Manner {
    mask: AddWatchFlags,
    recurse: bool,
    auto_add: bool,
    exclude: Value,
}

/// A watched path.
struct Watch {
    path: PathBuf,
    /// The configured path that it is watched for.
    root: String,
}

/// A configured path.
struct Root {
    manner: Manner,
    /// The file that was there.
    inode: u64,
}

/// Something that has happened.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Change {
    watch: WatchDescriptor,
    mask: AddWatchFlags,
    cookie: u32,
    name: Option<String>,
}

#[derive(Default)]
pub(super) struct Inotify {
    kernel: Option<Kernel>,
    watches: HashMap<WatchDescriptor, Watch>,
    roots: HashMap<String, Root>,
}

impl Beacon for Inotify {
    fn look(&mut self, settings: &Settings, _: &Call<'_>) -> Result<Vec<Map>, BeaconError> {
        let merged = settings.merged();
        let coalesce = merged.get("coalesce").and_then(Value::as_bool) == Some(true);
        let wanted = wanted(&merged);
        let seen = self.changes(coalesce)?;
        self.reconcile(wanted)?;
        Ok(seen)
    }
}

/// The configured paths.
fn wanted(merged: &Map) -> Vec<(String, Manner)> {
    let files = merged.get("files").and_then(Value::as_map);
    let files = files.into_iter().flatten();
    files
        .map(|(path, about)| {
            let flag = |name: &str| about.get(name).and_then(Value::as_bool) == Some(true);
            let mask = match about.get("mask").and_then(Value::as_list) {
                Some(names) => names
                    .iter()
                    .filter_map(|name| {
                        let known = MASKS.iter().find(|(known, _)| name.as_str() == Some(known));
                        known.map(|(_, flag)| *flag)
                    })
                    .collect(),
                None => {
                    AddWatchFlags::IN_CREATE | AddWatchFlags::IN_DELETE | AddWatchFlags::IN_MODIFY
                }
            };
            let auto_add = flag("auto_add");
            let manner = Manner {
                // Without that nobody would tell of what is to be added.
                mask: match auto_add {
                    true => mask | AddWatchFlags::IN_CREATE,
                    false => mask,
                },
                recurse: flag("recurse"),
                auto_add,
                exclude: about.get("exclude").cloned().unwrap_or_default(),
            };
            (python::str(path), manner)
        })
        .collect()
}

impl Inotify {
    fn kernel(&mut self) -> Result<&Kernel, BeaconError> {
        if self.kernel.is_none() {
            let flags = InitFlags::IN_NONBLOCK | InitFlags::IN_CLOEXEC;
            self.kernel = Some(Kernel::init(flags).map_err(BeaconError::Inotify)?);
        }
        self.kernel
            .as_ref()
            .ok_or(BeaconError::Inotify(Errno::EBADF))
    }

    /// The changes since the last check.
    fn changes(&mut self, coalesce: bool) -> Result<Vec<Map>, BeaconError> {
        let mut queue = VecDeque::new();
        while queue.len() < BEACON_CHANGES_MAX {
            match self.kernel()?.read_events() {
                Ok(events) if events.is_empty() => break,
                Ok(events) => queue.extend(events.into_iter().map(|event| Change {
                    watch: event.wd,
                    mask: event.mask,
                    cookie: event.cookie,
                    name: event.name.map(|name| name.to_string_lossy().into_owned()),
                })),
                Err(Errno::EAGAIN | Errno::EINTR) => break,
                Err(error) => return Err(BeaconError::Inotify(error)),
            }
        }
        let mut once = HashSet::new();
        let mut seen = Vec::new();
        while let Some(change) = queue.pop_front() {
            if coalesce && !once.insert(change.clone()) {
                continue;
            }
            if change.mask.contains(AddWatchFlags::IN_Q_OVERFLOW) {
                warn!("inotify: the kernel dropped changes because there were too many");
                continue;
            }
            let Some(watch) = self.watches.get(&change.watch) else {
                continue;
            };
            let directory = watch.path.display().to_string();
            let place = match &change.name {
                Some(name) => watch.path.join(name),
                None => watch.path.clone(),
            };
            let root = watch.root.clone();
            let is_new = change
                .mask
                .intersects(AddWatchFlags::IN_CREATE | AddWatchFlags::IN_MOVED_TO);
            if is_new && change.mask.contains(AddWatchFlags::IN_ISDIR) {
                self.add_new(&root, &place, &mut queue)?;
            }
            if change.mask.contains(AddWatchFlags::IN_IGNORED) {
                self.watches.remove(&change.watch);
                if place == Path::new(&root) {
                    self.roots.remove(&root);
                }
            }
            let place = place.display().to_string();
            let exclude = self.roots.get(&root).map(|root| &root.manner.exclude);
            if exclude.is_some_and(|exclude| is_excluded(exclude, &place)) {
                info!("Excluding {place} from event for {root}");
                continue;
            }
            seen.push(Map::from([
                ("tag", Value::from(directory)),
                ("path", place.into()),
                ("change", mask_name(change.mask).into()),
            ]));
        }
        Ok(seen)
    }

    /// Watches a directory that has come, and tells of what it holds already.
    fn add_new(
        &mut self,
        root: &str,
        place: &Path,
        queue: &mut VecDeque<Change>,
    ) -> Result<(), BeaconError> {
        let Some(manner) = self.roots.get(root).map(|root| root.manner.clone()) else {
            return Ok(());
        };
        if !manner.auto_add || is_left_out(&manner.exclude, place) {
            return Ok(());
        }
        let Some(added) = self.watch(place, root, &manner)? else {
            return Ok(());
        };
        for entry in fs::read_dir(place).into_iter().flatten().flatten() {
            let is_dir = entry.file_type().is_ok_and(|kind| kind.is_dir());
            let directory = match is_dir {
                true => AddWatchFlags::IN_ISDIR,
                false => AddWatchFlags::empty(),
            };
            queue.push_back(Change {
                watch: added,
                mask: AddWatchFlags::IN_CREATE | directory,
                cookie: 0,
                name: Some(entry.file_name().to_string_lossy().into_owned()),
            });
        }
        Ok(())
    }

    /// Watches one path, if it is there.
    fn watch(
        &mut self,
        path: &Path,
        root: &str,
        manner: &Manner,
    ) -> Result<Option<WatchDescriptor>, BeaconError> {
        if self.watches.len() >= BEACON_WATCHES_MAX {
            warn!(
                "inotify: {} is not watched: the limit of watches is reached",
                path.display()
            );
            return Ok(None);
        }
        match self.kernel()?.add_watch(path, manner.mask) {
            Ok(watch) => {
                let root = root.to_owned();
                let path = path.to_owned();
                self.watches.insert(watch, Watch { path, root });
                Ok(Some(watch))
            }
            // Gone again.
            Err(Errno::ENOENT | Errno::ENOTDIR) => Ok(None),
            Err(error) => {
                warn!("inotify: {} is not watched: {error}", path.display());
                Ok(None)
            }
        }
    }

    /// Makes what is watched what is configured.
    fn reconcile(&mut self, wanted: Vec<(String, Manner)>) -> Result<(), BeaconError> {
        let is_as_wanted = |path: &String, root: &Root| {
            let inode = fs::metadata(path).map(|about| about.ino());
            wanted.iter().any(|(known, manner)| {
                known == path && *manner == root.manner && inode.as_ref().ok() == Some(&root.inode)
            })
        };
        let over: Vec<String> = self
            .roots
            .iter()
            .filter(|(path, root)| !is_as_wanted(path, root))
            .map(|(path, _)| path.clone())
            .collect();
        for root in over {
            self.roots.remove(&root);
            let gone: Vec<WatchDescriptor> = self
                .watches
                .extract_if(|_, watch| watch.root == root)
                .map(|(watch, _)| watch)
                .collect();
            for watch in gone {
                // The kernel may have dropped it itself.
                let _ = self.kernel()?.rm_watch(watch);
            }
        }
        for (path, manner) in wanted {
            if self.roots.contains_key(&path) {
                continue;
            }
            let Ok(about) = fs::metadata(&path) else {
                continue;
            };
            self.watch_below(Path::new(&path), &path, &manner)?;
            let inode = about.ino();
            self.roots.insert(path, Root { manner, inode });
        }
        Ok(())
    }

    fn watch_below(&mut self, path: &Path, root: &str, manner: &Manner) -> Result<(), BeaconError> {
        let mut todo = vec![path.to_owned()];
        while let Some(path) = todo.pop() {
            if is_left_out(&manner.exclude, &path) {
                continue;
            }
            if self.watch(&path, root, manner)?.is_none() || !manner.recurse {
                continue;
            }
            let entries = fs::read_dir(&path).into_iter().flatten().flatten();
            // Links are not followed: they may lead in circles.
            let below = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
            todo.extend(below.map(|entry| entry.path()));
        }
        Ok(())
    }
}

/// `IN_CREATE|IN_ISDIR`.
fn mask_name(mask: AddWatchFlags) -> String {
    let kind = mask - AddWatchFlags::IN_ISDIR;
    let name = kind
        .iter_names()
        .map(|(name, _)| name)
        .next()
        .unwrap_or("IN_UNKNOWN");
    match mask.contains(AddWatchFlags::IN_ISDIR) {
        true => format!("{name}|IN_ISDIR"),
        false => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    fn settings(text: String) -> Map {
        let value = halite_yaml::load(&text, "test").unwrap().into_value();
        Settings::of(&value).merged()
    }

    fn look(beacon: &mut Inotify, merged: &Map) -> Vec<(String, String)> {
        let coalesce = merged.get("coalesce").is_some();
        let seen = beacon.changes(coalesce).unwrap();
        looked(beacon, merged, &seen)
    }

    /// A look once there is something: a child of another test may hold a file
    /// that is gone open until it has become its program.
    fn first_look(beacon: &mut Inotify, merged: &Map) -> Vec<(String, String)> {
        let end = Instant::now() + Duration::from_secs(60);
        let mut seen = Vec::new();
        while seen.is_empty() && Instant::now() < end {
            seen = beacon.changes(false).unwrap();
            std::thread::yield_now();
        }
        looked(beacon, merged, &seen)
    }

    /// The reported changes, once the watches match the configuration.
    fn looked(beacon: &mut Inotify, merged: &Map, seen: &[Map]) -> Vec<(String, String)> {
        beacon.reconcile(wanted(merged)).unwrap();
        let text = |map: &Map, key: &str| map.get(key).and_then(Value::as_str).unwrap().to_owned();
        seen.iter()
            .map(|map| (text(map, "path"), text(map, "change")))
            .collect()
    }

    #[test]
    fn changes_of_files_are_told() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().display().to_string();
        let merged = settings(format!(
            "[{{files: {{{top}: {{mask: [create, delete, modify], recurse: true, auto_add: true, \
             exclude: ['{top}/not']}}}}}}]"
        ));
        fs::create_dir(dir.path().join("old")).unwrap();
        let mut beacon = Inotify::default();
        assert_eq!(look(&mut beacon, &merged), []);
        fs::write(dir.path().join("old/a"), "").unwrap();
        fs::write(dir.path().join("not"), "").unwrap();
        fs::create_dir_all(dir.path().join("new/sub")).unwrap();
        let seen = look(&mut beacon, &merged);
        let at = |name: &str, change: &str| (format!("{top}/{name}"), change.to_owned());
        assert_eq!(
            seen,
            [
                at("old/a", "IN_CREATE"),
                at("new", "IN_CREATE|IN_ISDIR"),
                at("new/sub", "IN_CREATE|IN_ISDIR"),
            ]
        );
        fs::write(dir.path().join("new/sub/b"), "x").unwrap();
        let seen = look(&mut beacon, &merged);
        let created = at("new/sub/b", "IN_CREATE");
        assert_eq!(seen, [created, at("new/sub/b", "IN_MODIFY")]);
        assert_eq!(look(&mut beacon, &merged), []);
        // Nothing is told of what is not configured any more.
        assert_eq!(look(&mut beacon, &Map::new()), []);
        fs::write(dir.path().join("old/c"), "").unwrap();
        assert_eq!(look(&mut beacon, &Map::new()), []);
    }

    #[test]
    fn a_file_that_is_replaced_is_watched_again() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        let name = file.display().to_string();
        let merged = settings(format!("[{{files: {{{name}: {{mask: [modify]}}}}}}]"));
        let mut beacon = Inotify::default();
        assert_eq!(look(&mut beacon, &merged), []);
        fs::write(&file, "a").unwrap();
        look(&mut beacon, &merged);
        fs::write(dir.path().join("other"), "b").unwrap();
        fs::rename(dir.path().join("other"), &file).unwrap();
        let seen = first_look(&mut beacon, &merged);
        assert_eq!(seen, [(name.clone(), "IN_IGNORED".to_owned())]);
        fs::OpenOptions::new()
            .append(true)
            .open(&file)
            .and_then(|mut file| std::io::Write::write_all(&mut file, b"c"))
            .unwrap();
        let seen = look(&mut beacon, &merged);
        assert_eq!(seen, [(name, "IN_MODIFY".to_owned())]);
    }
}
