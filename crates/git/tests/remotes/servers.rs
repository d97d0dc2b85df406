use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::MetadataExt;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Instant;

use super::*;

/// A server that answers no one. It keeps what it has accepted.
fn silent() -> (TcpListener, u16) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    (listener, port)
}

#[test]
fn a_remote_that_does_not_answer_is_given_up() {
    if Tried::new().is_none() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let (_listener, port) = silent();
    for scheme in ["git", "http"] {
        let url = format!("{scheme}://127.0.0.1:{port}/x.git");
        let repository = repository(dir.path(), &url, Map::new()).with_limits(quick());
        let began = Instant::now();
        let error = update(&repository).unwrap_err();
        assert!(matches!(error, GitError::Idle { .. }), "{error}");
        assert!(began.elapsed() < Duration::from_secs(30));
    }
}

/// Who waits for a fetch has something to read all the same.
#[test]
fn a_remote_that_has_fallen_silent_is_given_up_sooner() {
    let Some(tried) = Tried::new() else { return };
    tried.commit("x", "1");
    let limits = Limits {
        idle_with_copy: Duration::from_secs(1),
        ..Limits::default()
    };
    let repository = tried.repository().with_limits(limits);
    update(&repository).unwrap();
    // Whoever reads it waits for somebody who writes it.
    let head = tried.work().join(".git/HEAD");
    fs::remove_file(&head).unwrap();
    let made = Command::new("mkfifo").arg(&head).status();
    assert!(made.unwrap().success());
    let error = update(&repository).unwrap_err();
    assert!(
        matches!(error, GitError::Idle { limit } if limit == limits.idle_with_copy),
        "{error}"
    );
    assert!(commit(&repository, "base").is_some());
}

#[test]
fn an_update_that_is_not_wanted_any_more_ends() {
    if Tried::new().is_none() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let (listener, port) = silent();
    let url = format!("git://127.0.0.1:{port}/x.git");
    let repository = repository(dir.path(), &url, Map::new());
    let stop = Arc::new(AtomicBool::new(false));
    let setter = Arc::clone(&stop);
    let waiting = thread::spawn(move || {
        let held = listener.accept().unwrap();
        setter.store(true, std::sync::atomic::Ordering::Relaxed);
        held
    });
    let error = repository.update(&stop).unwrap_err();
    assert!(matches!(error, GitError::Stopped), "{error}");
    waiting.join().unwrap();
}

#[test]
fn a_repository_that_is_too_large_is_not_fetched() {
    let Some(tried) = Tried::new() else { return };
    // It cannot be made smaller, and takes longer to send than a look at it.
    let mut number = 1_u64;
    let noise: Vec<u8> = (0..60_000_000)
        .map(|_| {
            number = number
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (number >> 56) as u8
        })
        .collect();
    tried.commit("x", noise);
    let repository = tried.repository().with_limits(Limits {
        repository_bytes: 100_000,
        ..Limits::default()
    });
    let error = update(&repository).unwrap_err();
    assert!(matches!(error, GitError::Large { .. }), "{error}");
    assert!(commit(&repository, "base").is_none());
}

/// A web server that asks for a password, and is silent once it has one.
fn asking() -> (u16, Receiver<String>) {
    let (listener, port) = silent();
    let (sender, receiver) = channel();
    thread::spawn(move || {
        let mut held: Vec<TcpStream> = Vec::new();
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
            let headers = lines.by_ref().map_while(Result::ok);
            let headers: Vec<String> = headers.take_while(|line| !line.is_empty()).collect();
            let login = headers.iter().find_map(|line| {
                line.strip_prefix("Authorization: Basic ")
                    .map(str::to_owned)
            });
            match login {
                Some(login) => {
                    held.push(stream);
                    sender.send(login).ok();
                }
                None => {
                    let answer = "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"x\"\
                                  \r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
                    stream.write_all(answer.as_bytes()).ok();
                }
            }
        }
    });
    (port, receiver)
}

#[test]
fn a_password_is_told_to_its_server_alone() {
    if Tried::new().is_none() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let (port, logins) = asking();
    let url = format!("http://127.0.0.1:{port}/x.git");
    let opts = Map::from([
        ("gitfs_user", Value::from("us er")),
        ("gitfs_password", "pass'\"wörd".into()),
        ("gitfs_insecure_auth", true.into()),
    ]);
    let repository = Arc::new(repository(dir.path(), &url, opts));
    let base = dir.path().join("gitfs").join(repository.remote().dir());
    let stop = Arc::new(AtomicBool::new(false));
    let (updating, stopping) = (Arc::clone(&repository), Arc::clone(&stop));
    let update = thread::spawn(move || updating.update(&stopping).unwrap_err().to_string());
    let login = logins.recv_timeout(Duration::from_secs(60)).unwrap();
    // Base64 of `us er:pass'"wörd`.
    assert_eq!(login, "dXMgZXI6cGFzcycid8O2cmQ=");
    for process in fs::read_dir("/proc").unwrap().flatten() {
        for file in ["cmdline", "environ"] {
            let text = fs::read(process.path().join(file)).unwrap_or_default();
            let text = String::from_utf8_lossy(&text);
            assert!(
                !text.contains("pass'\""),
                "{}: {text}",
                process.path().display()
            );
        }
    }
    let credentials = fs::metadata(base.join("run/credentials")).unwrap();
    assert_eq!(credentials.mode() & 0o777, 0o600);
    assert_eq!(fs::metadata(&base).unwrap().mode() & 0o777, 0o700);
    for file in ["run/.gitconfig", "objects.git/config"] {
        let text = fs::read_to_string(base.join(file)).unwrap();
        assert!(!text.contains("pass'"), "{file}: {text}");
    }
    stop.store(true, std::sync::atomic::Ordering::Relaxed);
    assert_eq!(update.join().unwrap(), "git fetch was stopped");
    assert!(!base.join("run/credentials").exists());
}

#[test]
fn what_is_fetched_by_way_of_a_proxy_is_asked_of_the_proxy() {
    if Tried::new().is_none() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let (proxy, port) = silent();
    let opts = Map::from([(
        "gitfs_proxy",
        Value::from(format!("http://127.0.0.1:{port}")),
    )]);
    let repository = repository(dir.path(), "http://git.invalid/x.git", opts);
    let stop = Arc::new(AtomicBool::new(false));
    let stopping = Arc::clone(&stop);
    let update = thread::spawn(move || repository.update(&stopping).unwrap_err().to_string());
    let (stream, _) = proxy.accept().unwrap();
    let asked = BufReader::new(stream).lines().next().unwrap().unwrap();
    stop.store(true, std::sync::atomic::Ordering::Relaxed);
    update.join().unwrap();
    let expected = "GET http://git.invalid/x.git/info/refs?service=git-upload-pack HTTP/1.1";
    assert_eq!(asked, expected);
}

#[test]
fn a_wrong_password_fails_without_a_question() {
    if Tried::new().is_none() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let (port, _logins) = asking();
    let url = format!("http://127.0.0.1:{port}/x.git");
    let repository = repository(dir.path(), &url, Map::new()).with_limits(quick());
    let error = update(&repository).unwrap_err();
    assert!(matches!(error, GitError::Failed { .. }), "{error}");
}
