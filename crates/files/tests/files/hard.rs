//! Failures while files are managed: the old file stays, the result has Salt's
//! shape.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::common::{minion, work};
use halite_fake_minion::{FakeMinion, kwargs};
use halite_proto::{Map, Value};
use halite_test_support::have_programs;

fn managed(minion: &FakeMinion, entries: &[(&str, Value)]) -> Map {
    let kwargs: Map = Map::from_iter(entries.iter().map(|(key, value)| (*key, value.clone())));
    let ret = minion.run_state("file.managed", &kwargs, false).unwrap();
    ret.as_map().unwrap().clone()
}

fn name(path: &Path) -> (&'static str, Value) {
    ("name", path.to_str().unwrap().into())
}

fn comment(ret: &Map) -> &str {
    ret.get("comment").and_then(Value::as_str).unwrap()
}

fn result(ret: &Map) -> Option<bool> {
    ret.get("result").and_then(Value::as_bool)
}

/// A server that answers so many requests with a body, or with 404.
fn serve(body: Option<&'static str>, requests: usize) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().take(requests) {
            let mut stream = stream.unwrap();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let mut line = String::new();
            while reader.read_line(&mut line).unwrap_or(0) > 2 {
                line.clear();
            }
            let answer = match body {
                Some(body) => format!(
                    "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
                    body.len()
                ),
                None => "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
                    .to_owned(),
            };
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    format!("http://{address}/dir/file.txt")
}

fn has_curl() -> bool {
    have_programs(&["curl"])
}

const HELLO: &str = "sha256=5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03";

#[test]
fn a_file_of_the_web_is_checked_and_kept() {
    if !has_curl() {
        return;
    }
    let (_guard, work) = work();
    let minion = minion(&work);
    let url = serve(Some("hello\n"), 1);
    let path = work.join("f");
    let ask = |hash: &str| {
        managed(
            &minion,
            &[
                name(&path),
                ("source", url.as_str().into()),
                ("source_hash", hash.into()),
            ],
        )
    };
    let ret = ask(HELLO);
    assert_eq!(result(&ret), Some(true), "{ret:?}");
    assert_eq!(fs::read_to_string(&path).unwrap(), "hello\n");
    // The second time neither the file nor the server is touched.
    let ret = ask(HELLO);
    assert!(
        ret.get("changes").unwrap().as_map().unwrap().is_empty(),
        "{ret:?}"
    );
}

#[test]
fn a_file_of_the_web_that_is_not_the_one_expected_changes_nothing() {
    if !has_curl() {
        return;
    }
    let (_guard, work) = work();
    let minion = minion(&work);
    let path = work.join("f");
    fs::write(&path, "old").unwrap();
    for (url, hash, why) in [
        (
            serve(Some("evil\n"), 1),
            HELLO,
            "does not match actual checksum",
        ),
        (serve(None, 1), HELLO, "404"),
        ("http://127.0.0.1:1/x".to_owned(), HELLO, "Failed to cache"),
    ] {
        let ret = managed(
            &minion,
            &[
                name(&path),
                ("source", url.as_str().into()),
                ("source_hash", hash.into()),
            ],
        );
        assert_eq!(result(&ret), Some(false), "{ret:?}");
        assert!(comment(&ret).contains(why), "{}", comment(&ret));
        assert!(ret.get("changes").unwrap().as_map().unwrap().is_empty());
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
    }
}

#[test]
fn cp_fetches_from_the_web_too() {
    if !has_curl() {
        return;
    }
    let (_guard, work) = work();
    let minion = minion(&work);
    let url = Value::from(serve(Some("hello\n"), 2));
    let job = halite_call::Job::default();
    let call = |args: &[Value]| halite_call::run_function(&minion, "cp.get_url", args, &job).ret;
    let to = Value::from(work.join("got").to_str().unwrap());
    assert_eq!(call(&[url.clone(), to.clone()]), to);
    assert_eq!(fs::read_to_string(work.join("got")).unwrap(), "hello\n");
    let cached = call(std::slice::from_ref(&url));
    assert!(
        cached.as_str().unwrap().ends_with("/dir/file.txt"),
        "{cached:?}"
    );
    let dest = halite_call::run_function(&minion, "cp.cache_dest", &[url], &job).ret;
    assert_eq!(cached, dest);
}

#[test]
fn a_place_that_takes_no_files_is_a_failed_state() {
    let (_guard, work) = work();
    let minion = minion(&work);
    let ret = managed(
        &minion,
        &[
            ("name", "/proc/halite-nope".into()),
            ("contents", "x".into()),
        ],
    );
    assert_eq!(result(&ret), Some(false));
    assert!(comment(&ret).contains("/proc/halite-nope"), "{ret:?}");
    assert!(ret.get("changes").unwrap().as_map().unwrap().is_empty());
}

#[test]
fn what_the_system_refuses_is_told_in_the_words_of_python() {
    let (_guard, work) = work();
    let minion = minion(&work);
    symlink("loop", work.join("loop")).unwrap();
    fs::write(work.join("file"), "a\n").unwrap();
    let path = |name: &str| work.join(name).display().to_string();
    let missing = |name: &str| format!("[Errno 2] No such file or directory: '{}'", path(name));
    let looped = format!(
        "[Errno 40] Too many levels of symbolic links: '{}'",
        path("loop")
    );
    for (fun, args, expect) in [
        (
            "hashutil.base64_encodefile",
            vec![path("none")],
            missing("none"),
        ),
        ("file.read", vec![path("it's")], {
            format!("[Errno 2] No such file or directory: \"{}\"", path("it's"))
        }),
        ("file.read", vec![path("loop")], looped),
        (
            "file.lchown",
            vec![path("none"), "root".into(), "root".into()],
            missing("none"),
        ),
        (
            "file.chgrp",
            vec![path("none"), "root".into()],
            format!("Path not found: {}", path("none")),
        ),
        (
            "file.move",
            vec![path("file"), path("none/b")],
            missing("none/b"),
        ),
        (
            "file.seek_write",
            vec![path("none/x"), "text".into(), "0".into()],
            missing("none/x"),
        ),
    ] {
        let args: Vec<Value> = args.into_iter().map(Value::from).collect();
        let ret = minion.run(fun, &args).ret;
        let said = halite_proto::python::str(&ret);
        assert!(said.contains(&expect), "{fun}: {said}, not {expect}");
    }
    let found = minion.run("file.contains", &[path("loop").into(), "a".into()]);
    assert_eq!(found.ret, false.into());
}

#[test]
fn a_program_that_fails_is_the_return_code_of_the_call() {
    if !have_programs(&["patch", "sed"]) {
        return;
    }
    let (_guard, work) = work();
    let minion = minion(&work);
    fs::write(work.join("file"), "a\n").unwrap();
    let path = |name: &str| Value::from(work.join(name).display().to_string());
    for (fun, args) in [
        ("file.patch", vec![path("file"), path("none")]),
        ("file.sed", vec![path("file"), "(".into(), "b".into()]),
    ] {
        let ran = minion.run(fun, &args);
        let code = ran.ret.get("retcode").and_then(Value::as_i64);
        assert!(code.is_some_and(|code| code > 0), "{fun}: {:?}", ran.ret);
        assert_eq!(Some(ran.retcode), code, "{fun}");
    }
}

#[test]
fn a_file_in_the_way_of_a_directory_is_named() {
    let (_guard, work) = work();
    let minion = minion(&work);
    fs::write(work.join("file"), "a\n").unwrap();
    let path = |name: &str| work.join(name).display().to_string();
    let told = minion.run("file.makedirs", &[path("file/a").into()]).ret;
    let wanted = format!(
        "The path '{}' already exists and is not a directory",
        path("file")
    );
    assert_eq!(told.as_str(), Some(wanted.as_str()));
    let told = minion.run("file.makedirs", &[path("file/a/b").into()]).ret;
    let wanted = format!("[Errno 17] File exists: '{}'", path("file"));
    assert!(
        halite_proto::python::str(&told).contains(&wanted),
        "{told:?}"
    );
    // A link that leads to itself is told of as a link.
    symlink(work.join("loop"), work.join("loop")).unwrap();
    let told = minion.run("file.stats", &[path("loop").into()]).ret;
    assert_eq!(
        told.get("type").and_then(Value::as_str),
        Some("link"),
        "{told:?}"
    );
}

#[test]
fn owner_mode_and_attributes_survive_a_change() {
    let (_guard, work) = work();
    let minion = minion(&work);
    let path = work.join("f");
    fs::write(&path, "old").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o751)).unwrap();
    let flags = rustix::fs::XattrFlags::empty();
    let marked = rustix::fs::setxattr(&path, "user.halite", b"kept", flags).is_ok();
    let ret = managed(&minion, &[name(&path), ("contents", "new".into())]);
    assert_eq!(result(&ret), Some(true));
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o751);
    if marked {
        let mut value = [0_u8; 16];
        let length = rustix::fs::getxattr(&path, "user.halite", value.as_mut_slice()).unwrap();
        assert_eq!(&value[..length], b"kept");
    }
}

#[test]
fn nothing_lies_beside_a_managed_file() {
    let (_guard, work) = work();
    let minion = minion(&work);
    let dir = work.join("d");
    fs::create_dir(&dir).unwrap();
    for round in 0..3 {
        for file in 0..20 {
            let path = dir.join(file.to_string());
            let text = format!("{round}\n").repeat(100);
            managed(&minion, &[name(&path), ("contents", text.into())]);
        }
    }
    assert_eq!(fs::read_dir(&dir).unwrap().count(), 20);
}

#[test]
fn a_link_out_of_a_cleaned_directory_is_removed_and_not_followed() {
    let (_guard, work) = work();
    let minion = minion(&work);
    let (outside, dir) = (work.join("outside"), work.join("d"));
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("precious"), "x").unwrap();
    fs::create_dir(&dir).unwrap();
    symlink(&outside, dir.join("way-out")).unwrap();
    let kwargs = Map::from([
        ("name", Value::from(dir.to_str().unwrap())),
        ("clean", true.into()),
    ]);
    minion.run_state("file.directory", &kwargs, false).unwrap();
    assert!(outside.join("precious").exists());
    assert!(fs::symlink_metadata(dir.join("way-out")).is_err());
}

#[test]
fn recursive_modes_do_not_follow_links() {
    let (_guard, work) = work();
    let minion = minion(&work);
    let (outside, dir) = (work.join("outside"), work.join("d"));
    fs::write(&outside, "x").unwrap();
    fs::set_permissions(&outside, fs::Permissions::from_mode(0o600)).unwrap();
    fs::create_dir(&dir).unwrap();
    symlink(&outside, dir.join("l")).unwrap();
    let kwargs = Map::from([
        ("name", Value::from(dir.to_str().unwrap())),
        ("file_mode", "0666".into()),
        ("dir_mode", "0755".into()),
        ("recurse", vec![Value::from("mode")].into()),
    ]);
    minion.run_state("file.directory", &kwargs, false).unwrap();
    assert_eq!(fs::metadata(&outside).unwrap().mode() & 0o7777, 0o600);
}

#[test]
fn a_kept_copy_can_be_listed_and_brought_back() {
    let (_guard, work) = work();
    let minion = minion(&work);
    let path = work.join("f");
    fs::write(&path, "one\n").unwrap();
    let with = |text: &str| {
        let ret = managed(
            &minion,
            &[
                name(&path),
                ("contents", text.into()),
                ("backup", "minion".into()),
            ],
        );
        assert_eq!(result(&ret), Some(true));
    };
    with("two");
    let call = |fun: &str, args: &[Value]| {
        let job = halite_call::Job::default();
        halite_call::run_function(&minion, fun, args, &job).ret
    };
    let file = Value::from(path.to_str().unwrap());
    let list = call("file.list_backups", std::slice::from_ref(&file));
    assert_eq!(list.as_map().unwrap().len(), 1, "{list:?}");
    call("file.restore_backup", &[file, 0.into()]);
    assert_eq!(fs::read_to_string(&path).unwrap(), "one\n");
}

/// `HALITE_MEASURE=1` prints how long 1,000 files take.
#[test]
#[allow(clippy::print_stdout)]
fn a_thousand_files() {
    let (_guard, work) = work();
    let minion = minion(&work);
    let count = if std::env::var_os("HALITE_MEASURE").is_some() {
        1000
    } else {
        50
    };
    fs::write(work.join("srv/s"), "hello {{ grains.role }}\n").unwrap();
    for round in ["first", "second"] {
        let start = Instant::now();
        for file in 0..count {
            let path = work.join(format!("f{file}"));
            let ret = managed(
                &minion,
                &[
                    name(&path),
                    ("source", "salt://s".into()),
                    ("template", "jinja".into()),
                    ("mode", "0640".into()),
                ],
            );
            assert_eq!(result(&ret), Some(true), "{ret:?}");
        }
        println!("{round} run of {count}: {:?}", start.elapsed());
    }
    assert_eq!(fs::read_to_string(work.join("f7")).unwrap(), "hello web\n");
}

/// `- context:` with the variables beside it and not below it is a mistake
/// that many formulas make, and that works.
#[test]
fn arguments_that_the_state_does_not_know_are_names_in_the_template() {
    let (_guard, work) = work();
    let minion = minion(&work);
    fs::write(work.join("srv/s"), "{{ config.a }} {{ zone }} {{ c }}\n").unwrap();
    let path = work.join("f");
    let ret = managed(
        &minion,
        &[
            name(&path),
            ("source", "salt://s".into()),
            ("template", "jinja".into()),
            ("context", Value::from(Map::from([("c", "context")]))),
            ("config", Value::from(Map::from([("a", 1)]))),
            ("zone", "z".into()),
            ("c", "argument".into()),
        ],
    );
    assert_eq!(result(&ret), Some(true), "{ret:?}");
    assert_eq!(fs::read_to_string(&path).unwrap(), "1 z context\n");
}

#[test]
fn a_password_of_an_archive_is_on_no_command_line() {
    if !have_programs(&["zip", "unzip"]) {
        return;
    }
    let (_guard, work) = work();
    let minion = minion(&work);
    fs::write(work.join("file"), "content\n").unwrap();
    let (zip, dest) = (work.join("a.zip"), work.join("dest"));
    for password in ["secret", "of two words", "q\"u\\o;$(te)'"] {
        let mut program = Command::new("zip");
        program.args(["-q", "-P", password, "a.zip", "file"]);
        assert!(program.current_dir(&work).status().unwrap().success());
        let args = |zip: &Path| {
            let more = kwargs([("password", password.into()), ("options", "-o".into())]);
            let paths = [zip, &dest].map(|path| path.to_str().unwrap().into());
            [paths.to_vec(), vec![more]].concat()
        };
        minion.ret("archive.cmd_unzip", &args(&zip));
        assert_eq!(fs::read_to_string(dest.join("file")).unwrap(), "content\n");
        fs::remove_dir_all(&dest).unwrap();
        fs::remove_file(&zip).unwrap();
        // It waits for somebody who writes: its command line can be read.
        let pipe = work.join("pipe");
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
        let looker = std::thread::spawn({
            let pipe = pipe.clone();
            move || command_lines_of_reader(&pipe)
        });
        minion.run("archive.cmd_unzip", &args(&pipe));
        let seen = looker.join().unwrap();
        assert!(seen.contains("unzip"), "{seen}");
        assert!(!seen.contains(password), "{seen}");
        fs::remove_file(&pipe).unwrap();
    }
}

/// The command line that names a pipe, which is waited for until then.
fn command_lines_of_reader(pipe: &Path) -> String {
    let until = Instant::now() + Duration::from_secs(60);
    let seen = loop {
        let seen = command_line_with(pipe.to_str().unwrap());
        if let Some(seen) = seen {
            break seen;
        }
        assert!(Instant::now() < until, "nobody reads the pipe");
        std::thread::yield_now();
    };
    let mut options = fs::OpenOptions::new();
    options.write(true).custom_flags(nix::libc::O_NONBLOCK);
    while options.open(pipe).is_err() {
        assert!(Instant::now() < until, "nobody reads the pipe");
        std::thread::yield_now();
    }
    seen
}

fn command_line_with(word: &str) -> Option<String> {
    let mut lines = fs::read_dir("/proc").unwrap().flatten().map(|entry| {
        let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).replace('\0', " ")
    });
    lines.find(|line| line.contains(word))
}
