//! Large remotes, and machines that are full or die.

use std::fmt::Write;
use std::os::unix::process::ExitStatusExt;
use std::thread;
use std::time::Instant;

use halite_git::Entry;

use super::*;

/// What the child of a test is told: its cache and the address.
const CHILD: &str = "HALITE_GIT_TEST_KILLED";

/// Moments at which an update is killed.
const MOMENTS: u32 = 50;

/// Fills a repository by one run of git.
fn import(tried: &Tried, stream: &str) {
    tried.git_with(&["fast-import", "--quiet", "--force"], stream.as_bytes());
}

fn person() -> &'static str {
    "committer t <t@t> 1700000000 +0000"
}

#[test]
fn two_thousand_branches_come_go_and_move() {
    const BRANCHES: usize = 2_000;
    let Some(tried) = Tried::new() else { return };
    let stream = |round: &str, from: usize| {
        let mut text = String::new();
        for number in from..BRANCHES {
            // No parent: each is a history of its own, as after a forced push.
            let content = format!("{round} {number}");
            let _ = write!(
                text,
                "reset refs/heads/b{number}\ncommit refs/heads/b{number}\n{}\ndata 1\nx\nM 644 inline x\ndata {}\n{content}\n",
                person(),
                content.len()
            );
        }
        text
    };
    import(&tried, &stream("first", 0));
    let repository = tried.repository();
    assert_eq!(update(&repository).unwrap(), Updated::Changed);
    let envs = |repository: &Repository| {
        let snapshot = repository.snapshot().unwrap().unwrap();
        snapshot.envs(repository.remote()).len()
    };
    assert_eq!(envs(&repository), BRANCHES);
    let text = |env: &str| read(&commit(&repository, env)?, "x");
    assert_eq!(text("b1999").as_deref(), Some("first 1999"));
    // Half of them go, the others are other histories now.
    let gone: String = (0..BRANCHES / 2)
        .map(|n| format!("delete refs/heads/b{n}\n"))
        .collect();
    tried.git_with(&["update-ref", "--stdin"], gone.as_bytes());
    import(&tried, &stream("second", BRANCHES / 2));
    assert_eq!(update(&repository).unwrap(), Updated::Changed);
    assert_eq!(envs(&repository), BRANCHES / 2);
    assert_eq!(text("b1999").as_deref(), Some("second 1999"));
    assert_eq!(text("b0"), None);
    assert_eq!(update(&repository).unwrap(), Updated::Same);
}

#[test]
fn a_hundred_thousand_files_are_listed_and_read() {
    const FILES: usize = 100_000;
    let Some(tried) = Tried::new() else { return };
    let mut text = format!("commit refs/heads/master\n{}\ndata 1\nx\n", person());
    for number in 0..FILES {
        let content = number.to_string();
        let path = format!("dir{}/sub{}/file{number}", number % 100, number % 7);
        let _ = write!(
            text,
            "M 644 inline {path}\ndata {}\n{content}\n",
            content.len()
        );
    }
    import(&tried, &text);
    let repository = tried.repository();
    update(&repository).unwrap();
    let commit = commit(&repository, "base").unwrap();
    let mut count = 0;
    let mut on_entry =
        |_: &str, entry: Entry| count += usize::from(matches!(entry, Entry::File(_)));
    let began = Instant::now();
    assert!(commit.tree.walk(&mut on_entry).unwrap());
    assert_eq!(count, FILES);
    assert!(
        began.elapsed() < Duration::from_secs(60),
        "{:?}",
        began.elapsed()
    );
    let path = format!("dir{}/sub{}/file99999", 99_999 % 100, 99_999 % 7);
    assert_eq!(read(&commit, &path).as_deref(), Some("99999"));
}

/// A small file system that is gone when this is dropped.
struct SmallDisk(PathBuf);

impl SmallDisk {
    fn new(at: PathBuf) -> Self {
        fs::create_dir_all(&at).unwrap();
        let mut mount = Command::new("mount");
        mount
            .args(["-t", "tmpfs", "-o", "size=4m", "tmpfs"])
            .arg(&at);
        assert!(mount.status().unwrap().success());
        Self(at)
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        Command::new("umount").arg("-l").arg(&self.0).status().ok();
    }
}

#[test]
fn a_full_disk_costs_nothing_that_was_there() {
    if !halite_test_support::have_root() {
        return;
    }
    let Some(tried) = Tried::new() else { return };
    let disk = SmallDisk::new(tried.cache());
    tried.commit("x", "one");
    let repository = tried.repository();
    update(&repository).unwrap();
    // It cannot be made smaller.
    let mut number = 1_u64;
    let noise = (0..8_000_000).map(|_| {
        number = number
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (number >> 56) as u8
    });
    tried.commit("noise", noise.collect::<Vec<u8>>());
    tried.commit("x", "two");
    for _ in 0..2 {
        update(&repository).unwrap_err();
        let there = commit(&tried.repository(), "base").unwrap();
        assert_eq!(read(&there, "x").as_deref(), Some("one"));
    }
    // Not a byte is left: also what is only noted cannot be written.
    let filler = disk.0.join("filler");
    let mut full = Command::new("dd");
    full.arg("if=/dev/zero")
        .arg(format!("of={}", filler.display()))
        .args(["bs=64k", "status=none"]);
    full.stderr(Stdio::null()).status().unwrap();
    update(&repository).unwrap_err();
    let there = commit(&tried.repository(), "base").unwrap();
    assert_eq!(read(&there, "x").as_deref(), Some("one"));
    fs::remove_file(filler).unwrap();
    tried.git(&["reset", "-q", "--hard", "HEAD~2"]);
    tried.commit("x", "three");
    assert_eq!(update(&repository).unwrap(), Updated::Changed);
    let there = commit(&tried.repository(), "base").unwrap();
    assert_eq!(read(&there, "x").as_deref(), Some("three"));
}

#[test]
fn a_kill_at_any_moment_leaves_nothing_to_remove_by_hand() {
    if let Ok(told) = std::env::var(CHILD) {
        let (cache, url) = told.split_once(' ').unwrap();
        update(&repository(Path::new(cache), url, Map::new())).ok();
        return;
    }
    let Some(tried) = Tried::new() else { return };
    tried.commit("x", "start");
    let url = format!("file://{}", tried.work().display());
    let updating = || {
        let name = "hard::a_kill_at_any_moment_leaves_nothing_to_remove_by_hand";
        Command::new(std::env::current_exe().unwrap())
            .args(["--exact", name])
            .env(CHILD, format!("{} {url}", tried.cache().display()))
            .stdout(Stdio::null())
            .spawn()
            .unwrap()
    };
    // The moments are spread over what one update takes here and now: the
    // shortest of three, so that most of them fall within it.
    let whole = (0..3).map(|number| {
        tried.commit("x", format!("before {number}"));
        let begun = Instant::now();
        assert!(updating().wait().unwrap().success());
        begun.elapsed()
    });
    let whole = whole.min().unwrap();
    let mut killed = 0;
    for moment in 0..MOMENTS {
        let text = moment.to_string();
        tried.commit("x", &text);
        // Now and then it begins with nothing, or after a forced push.
        if moment % 10 == 9 {
            tried.repository().clear().unwrap();
        }
        if moment % 5 == 3 {
            tried.git(&["commit", "-q", "--amend", "-m", "other"]);
        }
        let mut child = updating();
        thread::sleep(whole * moment / MOMENTS);
        child.kill().unwrap();
        killed += u32::from(child.wait().unwrap().signal() == Some(9));
        let repository = tried.repository();
        update(&repository).unwrap();
        let there = commit(&repository, "base").unwrap();
        assert_eq!(read(&there, "x"), Some(text));
        let base = tried.cache().join("gitfs").join(repository.remote().dir());
        let left = fs::read_dir(base).unwrap().flatten();
        let left = left.filter(|file| {
            let name = file.file_name().into_string().unwrap();
            ["objects.new", "objects.old", "objects.init"].contains(&name.as_str())
        });
        assert_eq!(left.count(), 0);
    }
    assert!(killed > MOMENTS / 2, "only {killed} were killed at work");
}

/// Two threads with a copy each of the same cache, both updating all the time; two
/// daemons are in the integration tests.
#[test]
fn two_threads_that_share_a_cache_lose_no_commit() {
    let Some(tried) = Tried::new() else { return };
    tried.commit("x", "start");
    let (first, second) = (tried.repository(), tried.repository());
    let stop = Arc::new(AtomicBool::new(false));
    thread::scope(|scope| {
        for repository in [&first, &second] {
            let stop = &stop;
            scope.spawn(move || {
                while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                    match update(repository) {
                        Ok(_) | Err(GitError::Locked { .. }) => {}
                        Err(error) => panic!("{error}"),
                    }
                }
            });
        }
        for round in 0..20 {
            let text = round.to_string();
            tried.commit("x", &text);
            let give_up = Instant::now() + Duration::from_secs(60);
            let seen = |repository: &Repository| read(&commit(repository, "base")?, "x");
            while seen(&first) != Some(text.clone()) || seen(&second) != Some(text.clone()) {
                assert!(Instant::now() < give_up, "commit {round} is not seen");
                thread::sleep(Duration::from_millis(5));
            }
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
    });
}
