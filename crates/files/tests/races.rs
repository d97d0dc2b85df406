//! A user who may write to a directory replaces parts of paths by links while
//! states work there: nothing outside the directory is written, changed or removed.
#![allow(clippy::unwrap_used)]

#[path = "files/common/mod.rs"]
mod common;

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use common::{minion, work};
use halite_proto::{Map, Value};

const ROUNDS: usize = 300;

/// So many that a link comes while they are gone through.
const FILES: usize = 40;

/// Files outside, and below the directory that a link to outside replaces.
fn names() -> impl Iterator<Item = String> {
    let beside = (0..FILES).map(|number| format!("file{number}"));
    ["file", "deep/file"]
        .map(str::to_owned)
        .into_iter()
        .chain(beside)
}

/// Puts files into the directory that is moved aside now and then. The swap may
/// come at any time here too, so that nothing is created by its path.
fn fill(work: &Path, aside: &Path) {
    let made = work.join("made");
    for name in names() {
        fs::write(&made, "").unwrap();
        let _ = fs::rename(&made, aside.join(name));
    }
}

/// Puts a link to `to` in the place of `at` and takes it away again, all the
/// time.
struct Swapper {
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Swapper {
    fn start(at: PathBuf, to: PathBuf) -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let thread = std::thread::spawn({
            let over = Arc::clone(&over);
            move || {
                let aside = at.with_file_name("aside");
                while !over.load(Ordering::Relaxed) {
                    // Any of it may be gone, or be there again.
                    let _ = fs::rename(&at, &aside);
                    let _ = symlink(&to, &at);
                    std::thread::yield_now();
                    if fs::symlink_metadata(&at).is_ok_and(|data| data.is_symlink()) {
                        let _ = fs::remove_file(&at);
                    }
                    let _ = fs::rename(&aside, &at);
                    std::thread::yield_now();
                }
            }
        });
        Self {
            over,
            thread: Some(thread),
        }
    }
}

impl Drop for Swapper {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }
}

/// A directory that nobody is to touch.
struct Outside(PathBuf);

impl Outside {
    fn new(work: &Path) -> Self {
        let outside = work.join("outside");
        fs::create_dir_all(outside.join("deep")).unwrap();
        for name in names() {
            fs::write(outside.join(&name), "precious").unwrap();
            let mode = fs::Permissions::from_mode(0o600);
            fs::set_permissions(outside.join(name), mode).unwrap();
        }
        Self(outside)
    }

    fn check(&self) {
        for name in names() {
            let path = self.0.join(name);
            assert_eq!(fs::read_to_string(&path).unwrap(), "precious");
            assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o600);
        }
        assert_eq!(fs::read_dir(&self.0).unwrap().count(), FILES + 2);
        assert_eq!(fs::read_dir(self.0.join("deep")).unwrap().count(), 1);
    }
}

fn text(path: &Path) -> Value {
    path.to_str().unwrap().into()
}

#[test]
fn modes_and_cleaning_below_a_directory_stay_below_it() {
    let (_guard, work) = work();
    let minion = minion(&work);
    let outside = Outside::new(&work);
    let root = work.join("root");
    let sub = root.join("sub");
    fs::create_dir_all(&root).unwrap();
    for cleans in [false, true] {
        fs::create_dir_all(sub.join("deep")).unwrap();
        let _swapper = Swapper::start(sub.clone(), outside.0.clone());
        for round in 0..ROUNDS {
            fill(&work, &root.join("aside"));
            let mut kwargs = Map::from([
                ("name", text(&root)),
                ("recurse", vec![Value::from("mode")].into()),
                ("file_mode", ["0666", "0644"][round % 2].into()),
                ("dir_mode", ["0777", "0755"][round % 2].into()),
            ]);
            if cleans {
                kwargs.insert("clean", true);
                kwargs.insert("exclude_pat", "E@^(sub|aside)(/deep)?$");
            }
            // What comes of it is anybody's guess.
            let _ = minion.run_state("file.directory", &kwargs, false);
        }
    }
    outside.check();
}

#[test]
fn a_file_that_becomes_a_link_is_replaced() {
    let (_guard, work) = work();
    let minion = minion(&work);
    let outside = Outside::new(&work);
    let dir = work.join("dir");
    fs::create_dir(&dir).unwrap();
    let file = dir.join("f");
    let _swapper = Swapper::start(file.clone(), outside.0.join("file"));
    for round in 0..ROUNDS {
        let kwargs = Map::from([
            ("name", text(&file)),
            ("contents", format!("round {round}").into()),
            ("mode", "0666".into()),
            ("follow_symlinks", false.into()),
            // Every other time the mode alone is looked at.
            ("replace", (round % 2 == 0).into()),
        ]);
        let _ = minion.run_state("file.managed", &kwargs, false);
    }
    outside.check();
}

#[test]
fn what_is_tidied_and_removed_is_below_the_directory() {
    let (_guard, work) = work();
    let minion = minion(&work);
    let outside = Outside::new(&work);
    let root = work.join("root");
    let sub = root.join("sub");
    fs::create_dir(&root).unwrap();
    let _swapper = Swapper::start(sub.clone(), outside.0.clone());
    for round in 0..ROUNDS {
        let aside = root.join("aside");
        if fs::create_dir_all(aside.join("deep")).is_ok() {
            fill(&work, &aside);
        }
        let kwargs = Map::from([
            ("name", text(if round % 3 == 0 { &sub } else { &root })),
            ("rmdirs", true.into()),
        ]);
        let fun = ["file.absent", "file.tidied", "file.tidied"][round % 3];
        let _ = minion.run_state(fun, &kwargs, false);
        if round % 3 == 0 {
            let _ = fs::create_dir(&sub);
        }
    }
    outside.check();
}
