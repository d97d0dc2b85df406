//! Starting and ending.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::time::Duration;

use halite_config::Port;
use halite_master::{Daemon, chain};
use tokio::time::timeout;

use crate::support::{Master, Minion, config};

/// A master that has not stopped by then hangs.
const STOP: Duration = Duration::from_secs(60);

#[tokio::test]
async fn nothing_is_left_behind() {
    let master = Master::start("");
    let minion = Minion::signed_in(&master, "web1").await;
    let sockets = [
        "master_event_pub.ipc",
        "master_event_pull.ipc",
        "publish_pull.ipc",
        "workers.ipc",
    ];
    for name in sockets {
        assert!(master.path("run").join(name).exists(), "{name}");
    }
    for name in ["startup", "ready", "alive"] {
        assert!(master.path("cache/health").join(name).exists(), "{name}");
    }
    let dir = timeout(STOP, master.stop()).await.unwrap();
    drop(minion);
    let left: Vec<_> = fs::read_dir(dir.path().join("run")).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
    assert!(!dir.path().join("cache/health/ready").exists());
}

#[tokio::test]
async fn a_taken_port_or_socket_is_one_clear_line() {
    let master = Master::start("");
    let other = tempfile::tempdir().unwrap();
    let mut config = config(other.path(), "");
    config.ret_port = Port(master.requests.port().unwrap());
    let error = Daemon::start(&config).err().unwrap();
    let line = chain(&error);
    assert!(
        line.contains("ret_port") && line.contains("in use"),
        "{line}"
    );
    config.ret_port = Port(0);
    config.sock_dir = master.path("run");
    let line = chain(&Daemon::start(&config).err().unwrap());
    assert!(line.contains("publish_pull.ipc"), "{line}");
    assert!(!line.contains('\n'), "{line}");
    // The one that runs is not disturbed.
    Minion::signed_in(&master, "web1").await;
    let dir = master.stop().await;
    Master::start_in(dir, "").stop().await;
}

/// A program reads its key as soon as it sees the sockets; what is not there
/// by then makes it a stranger.
#[tokio::test]
async fn keys_of_local_users_are_there_before_any_socket() {
    let dir = tempfile::tempdir().unwrap();
    let config = config(dir.path(), "");
    fs::create_dir_all(config.sock_dir.join("publish_pull.ipc/in the way")).unwrap();
    let line = chain(&Daemon::start(&config).err().unwrap());
    assert!(line.contains("publish_pull.ipc"), "{line}");
    let files = fs::read_dir(dir.path().join("cache")).unwrap();
    let names: Vec<String> = files
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .collect();
    assert!(names.iter().any(|name| name.ends_with("_key")), "{names:?}");
}

#[tokio::test]
async fn what_cannot_be_used_is_named() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir_all(dir.path().join("pki")).unwrap();
    fs::write(dir.path().join("pki/m1.pem"), "not a key").unwrap();
    let line = chain(&Daemon::start(&config(dir.path(), "")).err().unwrap());
    assert!(line.contains("m1.pem"), "{line}");

    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("cache"), "in the way").unwrap();
    let line = chain(&Daemon::start(&config(dir.path(), "")).err().unwrap());
    assert!(line.contains("cache"), "{line}");
}

/// What programs on the machine need of a master is made again at once, and what
/// they have read of it still holds.
#[tokio::test]
async fn what_is_removed_under_a_running_master_is_made_again() {
    let master = Master::start("");
    let key = master.root_key();
    let needed = [
        "cache/.root_key",
        "cache/jobs",
        "cache/sessions",
        "run/master_event_pub.ipc",
        "run/master_event_pull.ipc",
        "run/publish_pull.ipc",
        "run/workers.ipc",
    ];
    fs::remove_dir_all(master.path("cache")).unwrap();
    fs::remove_dir_all(master.path("run")).unwrap();
    let all_there = || needed.iter().all(|path| master.path(path).exists());
    timeout(STOP, async {
        while !all_there() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await
    .unwrap();
    assert_eq!(master.root_key(), key);
    let mode = fs::metadata(master.path("cache/.root_key")).unwrap().mode();
    assert_eq!(mode & 0o777, 0o600);
    Minion::signed_in(&master, "web1").await;
    assert_eq!(
        master.standing("web1").await.key.as_deref(),
        Some("accepted")
    );
    let dir = master.stop().await;
    let left: Vec<_> = fs::read_dir(dir.path().join("run")).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
}

/// Who rotates a leaked key removes it and restarts the master.
#[tokio::test]
async fn a_local_key_that_is_removed_alone_stays_away() {
    let master = Master::start("");
    fs::remove_file(master.path("cache/.root_key")).unwrap();
    // The first look may have begun before; a second one has not.
    for _ in 0..2 {
        fs::remove_file(master.path("run/workers.ipc")).unwrap();
        let looked = async {
            while !master.path("run/workers.ipc").exists() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        timeout(STOP, looked).await.unwrap();
    }
    assert!(!master.path("cache/.root_key").exists());
}
