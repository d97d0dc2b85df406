//! Files that minions push.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use halite_fileserver::{Inbox, InboxOptions, ReceiveError};
use halite_proto::MinionId;
use halite_proto::request::FileRecv;

fn inbox(cachedir: &Path) -> Inbox {
    Inbox::new(InboxOptions {
        on: true,
        bytes_max: 1000,
        ..InboxOptions::new(cachedir)
    })
}

fn id() -> MinionId {
    MinionId::parse("web1").unwrap()
}

fn parts(parts: &[&str]) -> Vec<String> {
    parts.iter().map(|part| (*part).to_owned()).collect()
}

#[test]
fn pieces_become_a_file_below_the_minions_directory() {
    let dir = tempfile::tempdir().unwrap();
    let inbox = inbox(dir.path());
    let path = parts(&["etc", "app", "conf"]);
    for (loc, data) in [(0, "hello "), (6, "world"), (6, "world")] {
        inbox.receive(&id(), &path, loc, data.as_bytes()).unwrap();
    }
    let file = dir.path().join("minions/web1/files/etc/app/conf");
    assert_eq!(fs::read_to_string(&file).unwrap(), "hello world");
    inbox.receive(&id(), &path, 0, b"new").unwrap();
    assert_eq!(fs::read_to_string(&file).unwrap(), "new");
    inbox.receive(&id(), &path, 0, b"").unwrap();
    assert_eq!(fs::read_to_string(&file).unwrap(), "");
    let gap = inbox.receive(&id(), &path, 5, b"x").unwrap_err();
    assert!(matches!(gap, ReceiveError::Gap { .. }), "{gap}");
}

#[test]
fn no_path_leads_out_of_the_minions_directory() {
    let dir = tempfile::tempdir().unwrap();
    let inbox = inbox(dir.path());
    for evil in [
        &["..", "x"][..],
        &["../x"],
        &["a", "..", "..", "x"],
        &["a/../../x"],
        &["/etc/x"],
        &["", "etc", "x"],
        &[],
        &[""],
        &["."],
        &[".."],
        &["a", ".."],
        &["a\0b"],
    ] {
        let error = inbox.receive(&id(), &parts(evil), 0, b"x").unwrap_err();
        assert!(matches!(error, ReceiveError::Path { .. }), "{evil:?}");
    }
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);

    // Links that something else has left there.
    let outside = tempfile::tempdir().unwrap();
    let files = dir.path().join("minions/web1/files");
    fs::create_dir_all(&files).unwrap();
    symlink(outside.path(), files.join("dir")).unwrap();
    symlink(outside.path().join("file"), files.join("file")).unwrap();
    for path in [&["dir", "x"][..], &["file"]] {
        inbox.receive(&id(), &parts(path), 0, b"x").unwrap_err();
    }
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
}

#[test]
fn limits_and_the_switch_hold() {
    let dir = tempfile::tempdir().unwrap();
    let on = inbox(dir.path());
    let path = parts(&["x"]);
    on.receive(&id(), &path, 0, &[0; 1000]).unwrap();
    for (loc, bytes) in [(0, 1001), (1000, 1), (u64::MAX, 1)] {
        let error = on.receive(&id(), &path, loc, &vec![0; bytes]).unwrap_err();
        assert!(matches!(error, ReceiveError::TooLarge { .. }), "{error}");
    }
    let pushed = FileRecv {
        path,
        size: Some(1),
        loc: 0,
        data: b"x".to_vec(),
    };
    assert_eq!(on.answer(&id(), &pushed), true.into());
    let off = Inbox::new(InboxOptions::new(dir.path()));
    assert_eq!(off.answer(&id(), &pushed), false.into());
}
