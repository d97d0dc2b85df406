use std::net::TcpListener;
use std::os::unix::process::ExitStatusExt;

use super::*;

/// What the child of a test is told: its cache and the address.
const CHILD: &str = "HALITE_GIT_TEST_UPDATE";

/// A process that is killed while git fetches leaves nothing in the way.
#[test]
fn an_update_that_was_killed_leaves_nothing_in_the_way() {
    if let Ok(told) = std::env::var(CHILD) {
        let (cache, url) = told.split_once(' ').unwrap();
        let own = Map::from([("gitfs_user", "u"), ("gitfs_password", "secret")]);
        let mut own = own;
        own.insert("gitfs_insecure_auth", true);
        update(&repository(Path::new(cache), url, own)).ok();
        return;
    }
    if Tried::new().is_none() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let cache = dir.path().join("cache");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!(
        "http://127.0.0.1:{}/x.git",
        listener.local_addr().unwrap().port()
    );
    let name = "interrupted::an_update_that_was_killed_leaves_nothing_in_the_way";
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name])
        .env(CHILD, format!("{} {url}", cache.display()))
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    // Git is at work when it is here.
    let held = listener.accept().unwrap();
    child.kill().unwrap();
    assert_eq!(child.wait().unwrap().signal(), Some(9));
    let repository = repository(&cache, &url, Map::new()).with_limits(quick());
    let base = cache.join("gitfs").join(repository.remote().dir());
    assert!(
        base.join("run/credentials").exists(),
        "it was killed too late"
    );
    assert!(
        cache
            .join("gitfs/work")
            .join(repository.remote().dir())
            .join("_/update.lk")
            .exists()
    );
    let error = update(&repository).unwrap_err();
    assert!(matches!(error, GitError::Idle { .. }), "{error}");
    assert!(!base.join("run/credentials").exists());
    assert!(
        !cache
            .join("gitfs/work")
            .join(repository.remote().dir())
            .join("_/update.lk")
            .exists()
    );
    drop(held);
}

#[test]
fn two_do_not_update_at_once() {
    let Some(tried) = Tried::new() else { return };
    tried.commit("x", "one");
    let repository = tried.repository();
    update(&repository).unwrap();
    assert!(repository.lock().unwrap());
    assert!(!repository.lock().unwrap());
    let error = update(&tried.repository()).unwrap_err();
    assert!(matches!(error, GitError::Locked { .. }), "{error}");
    assert!(
        repository.status().failed.is_none(),
        "the holder says how it went"
    );
    assert!(repository.unlock().unwrap());
    assert!(!repository.unlock().unwrap());
    update(&repository).unwrap();
}

/// A machine whose lock nobody has renewed for a moment.
#[test]
fn what_another_machine_holds_counts_where_locks_are_global() {
    let Some(tried) = Tried::new() else { return };
    tried.commit("x", "one");
    let url = format!("file://{}", tried.work().display());
    let opts = Map::from([("gitfs_remotes", Value::List(vec![url.into()]))]);
    let with = |global_lock| {
        let remote = Remote::gitfs(&opts).unwrap().remove(0);
        Repository::new(&tried.cache(), remote, global_lock)
    };
    let (global, own) = (with(true), with(false));
    let lock = tried
        .cache()
        .join("gitfs/work")
        .join(own.remote().dir())
        .join("_/update.lk");
    fs::create_dir_all(lock.parent().unwrap()).unwrap();
    fs::write(&lock, "12\nanother-machine\n").unwrap();
    let error = update(&global).unwrap_err();
    assert!(error.to_string().contains("another-machine"), "{error}");
    assert_eq!(update(&own).unwrap(), Updated::Changed);
    assert!(!lock.exists());
    // What this machine holds counts for both.
    assert!(own.lock().unwrap());
    for other in [with(true), with(false)] {
        let error = update(&other).unwrap_err();
        assert!(matches!(error, GitError::Locked { .. }), "{error}");
    }
}
