//! Files that minions push.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::{Duration, SystemTime};

use halite_fileserver::{Inbox, InboxOptions, ReceiveError};
use halite_proto::MinionId;
use halite_proto::request::{FileRecv, PushId};

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

/// A piece of a file that is said to have `size` bytes.
fn piece(path: &[String], loc: u64, data: &[u8], size: u64) -> FileRecv {
    FileRecv {
        path: path.to_vec(),
        size: Some(size),
        loc,
        data: data.to_vec(),
        push: None,
    }
}

/// A piece of a push that has a name.
fn of_push(id: &str, attempt: u64, piece: FileRecv) -> FileRecv {
    let push = PushId {
        id: id.to_owned(),
        attempt,
    };
    FileRecv {
        push: Some(push),
        ..piece
    }
}

/// The last piece.
fn last(path: &[String], loc: u64, data: &[u8]) -> FileRecv {
    piece(path, loc, data, loc.saturating_add(data.len() as u64))
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
        let piece = piece(&path, loc, data.as_bytes(), 11);
        inbox.receive(&id(), &piece).unwrap();
    }
    let file = dir.path().join("minions/web1/files/etc/app/conf");
    assert_eq!(fs::read_to_string(&file).unwrap(), "hello world");
    inbox.receive(&id(), &last(&path, 0, b"new")).unwrap();
    assert_eq!(fs::read_to_string(&file).unwrap(), "new");
    inbox.receive(&id(), &last(&path, 0, b"")).unwrap();
    assert_eq!(fs::read_to_string(&file).unwrap(), "");
    let gap = inbox.receive(&id(), &last(&path, 5, b"x")).unwrap_err();
    assert!(matches!(gap, ReceiveError::Gap { .. }), "{gap}");
}

#[test]
fn no_name_commands_a_terminal_or_a_program() {
    let dir = tempfile::tempdir().unwrap();
    let inbox = inbox(dir.path());
    for evil in [
        &["a\nb"][..],
        &["a", "\x1b[2Jb"],
        &["a\rb"],
        &["a\x7fb"],
        &["a\u{9b}2J"],
        &["-rf"],
        &["a", "-b", "c"],
        &["a/./-b"],
    ] {
        let error = inbox
            .receive(&id(), &last(&parts(evil), 0, b"x"))
            .unwrap_err();
        assert!(matches!(error, ReceiveError::Path { .. }), "{evil:?}");
        assert!(!error.to_string().contains(char::is_control), "{error}");
    }
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    for good in [&["a-b"][..], &["a b", "ü -x"], &["*"]] {
        inbox.receive(&id(), &last(&parts(good), 0, b"x")).unwrap();
    }
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
        let error = inbox
            .receive(&id(), &last(&parts(evil), 0, b"x"))
            .unwrap_err();
        assert!(matches!(error, ReceiveError::Path { .. }), "{evil:?}");
    }
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);

    // Links that something else has left there.
    let outside = tempfile::tempdir().unwrap();
    let files = dir.path().join("minions/web1/files");
    fs::create_dir_all(&files).unwrap();
    symlink(outside.path(), files.join("dir")).unwrap();
    symlink(outside.path().join("file"), files.join("file")).unwrap();
    for path in [&["dir", "x"][..], &["dir", "new", "x"], &["file"]] {
        inbox
            .receive(&id(), &last(&parts(path), 0, b"x"))
            .unwrap_err();
    }
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
}

#[test]
fn limits_and_the_switch_hold() {
    let dir = tempfile::tempdir().unwrap();
    let on = inbox(dir.path());
    let path = parts(&["x"]);
    on.receive(&id(), &last(&path, 0, &[0; 1000])).unwrap();
    for (loc, bytes) in [(0, 1001), (1000, 1), (u64::MAX, 1)] {
        let error = on
            .receive(&id(), &last(&path, loc, &vec![0; bytes]))
            .unwrap_err();
        assert!(matches!(error, ReceiveError::TooLarge { .. }), "{error}");
    }
    let error = on.receive(&id(), &piece(&path, 0, b"x", 1001)).unwrap_err();
    assert!(matches!(error, ReceiveError::TooLarge { .. }), "{error}");
    let unsized_piece = FileRecv {
        size: None,
        ..last(&path, 0, b"x")
    };
    let error = on.receive(&id(), &unsized_piece).unwrap_err();
    assert!(matches!(error, ReceiveError::NoSize), "{error}");
    let off = Inbox::new(InboxOptions::new(dir.path()));
    let error = off.receive(&id(), &last(&path, 0, b"x")).unwrap_err();
    assert!(matches!(error, ReceiveError::Off), "{error}");
}

/// Nobody else reads what a minion pushes, and one minion does not fill the
/// disk: neither with bytes nor with names.
#[test]
fn all_files_of_a_minion_are_bounded_and_private() {
    use std::os::unix::fs::PermissionsExt;

    let dir = tempfile::tempdir().unwrap();
    let inbox = inbox(dir.path());
    let push =
        |id: &MinionId, name: String| inbox.receive(id, &last(&parts(&["d", &name]), 0, b"x"));
    let taken = (0..200)
        .filter(|n| push(&id(), n.to_string()).is_ok())
        .count();
    assert!((98..=100).contains(&taken), "{taken} files are taken");
    let error = push(&id(), "more".to_owned()).unwrap_err();
    assert!(matches!(error, ReceiveError::Full { .. }), "{error}");
    push(&MinionId::parse("web2").unwrap(), "x".to_owned()).unwrap();
    let deep = vec!["a".to_owned(); 65];
    inbox
        .receive(&MinionId::parse("web3").unwrap(), &last(&deep, 0, b"x"))
        .unwrap_err();
    let mode = |path: &str| {
        let path = dir.path().join("minions/web1").join(path);
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    };
    assert_eq!((mode("files/d"), mode("files/d/0")), (0o700, 0o600));
}

/// Directories cost as much as files, from the first piece on.
#[test]
fn directories_of_a_minion_are_bounded_too() {
    let dir = tempfile::tempdir().unwrap();
    let inbox = inbox(dir.path());
    let deep = |n: usize| {
        let mut path = vec![format!("d{n}"); 63];
        path.push("x".to_owned());
        path
    };
    // Not whole: only what is known of them at the first piece can count.
    let begin = |n: usize| inbox.receive(&id(), &piece(&deep(n), 0, b"x", 2));
    assert_eq!((0..10).filter(|n| begin(*n).is_ok()).count(), 1);
    let error = begin(1).unwrap_err();
    assert!(matches!(error, ReceiveError::Full { .. }), "{error}");
    let files = dir.path().join("minions/web1/files");
    assert_eq!(names(&files), ["d0"]);
    // Another in the same place costs itself.
    let mut beside = deep(0);
    beside.pop();
    beside.push("y".to_owned());
    inbox.receive(&id(), &last(&beside, 0, b"y")).unwrap();
    inbox.receive(&id(), &last(&deep(0), 1, b"y")).unwrap();
}

/// Before the rest of it was sent for nothing.
#[test]
fn what_is_in_the_way_is_known_at_the_first_piece() {
    let dir = tempfile::tempdir().unwrap();
    let inbox = inbox(dir.path());
    inbox
        .receive(&id(), &last(&parts(&["d", "x"]), 0, b"x"))
        .unwrap();
    for path in [&["d"][..], &["d", "x", "y"], &["d", "x", "y", "z"]] {
        let error = inbox.receive(&id(), &piece(&parts(path), 0, b"x", 2));
        let error = error.unwrap_err();
        assert!(matches!(error, ReceiveError::Write { .. }), "{error}");
    }
    assert!(names(&dir.path().join("minions/web1/unfinished")).is_empty());
}

/// Pieces of different pushes never become one file.
#[test]
fn pieces_of_different_pushes_do_not_meet() {
    let dir = tempfile::tempdir().unwrap();
    let path = parts(&["data"]);
    let file = dir.path().join("minions/web1/files/data");
    let unfinished = dir.path().join("minions/web1/unfinished");
    let inbox = large_inbox(dir.path());
    let send = |push: &str, attempt, loc, data: &[u8], size| {
        inbox.receive(
            &id(),
            &of_push(push, attempt, piece(&path, loc, data, size)),
        )
    };
    let is_gap = |sent: Result<(), ReceiveError>| matches!(sent, Err(ReceiveError::Gap { .. }));
    // Begun here, begun anew elsewhere, and gone on with here.
    send("a", 0, 0, b"old", 9).unwrap();
    assert!(is_gap(send("a", 1, 3, b"new", 9)));
    assert!(is_gap(send("b", 0, 3, b"new", 9)));
    // An earlier attempt is over when the next begins.
    send("a", 1, 0, b"new", 9).unwrap();
    assert_eq!(names(&unfinished).len(), 1);
    assert!(is_gap(send("a", 0, 3, b"old", 6)));
    // Two at once are two; pieces of any length say nothing.
    send("b", 0, 0, b"other", 100).unwrap();
    assert_eq!(names(&unfinished).len(), 2);
    send("a", 1, 3, b"er", 9).unwrap();
    assert!(!file.exists());
    // Also after the master was started anew.
    let inbox = large_inbox(dir.path());
    let send = |push: &str, attempt, loc, data: &[u8], size| {
        inbox.receive(
            &id(),
            &of_push(push, attempt, piece(&path, loc, data, size)),
        )
    };
    send("b", 0, 5, b"wise", 100).unwrap();
    send("a", 1, 5, b"...", 8).unwrap();
    assert_eq!(fs::read(&file).unwrap(), b"newer...");
    // What was begun before is over, a last piece that comes twice is not.
    assert!(names(&unfinished).is_empty());
    assert!(is_gap(send("b", 0, 9, b"!", 10)));
    send("c", 0, 0, b"next", 8).unwrap();
    send("a", 1, 5, b"...", 8).unwrap();
    assert_eq!(names(&unfinished).len(), 1);
    // The same bytes at the same place of another push prove nothing.
    assert!(is_gap(send("d", 0, 5, b"...", 8)));
    assert_eq!(fs::read(&file).unwrap(), b"newer...");
}

/// `file_buffer_size` may be any number on a minion of Salt.
#[test]
fn pieces_of_odd_lengths_become_whole_files() {
    const BYTES: usize = 10_000;
    let dir = tempfile::tempdir().unwrap();
    let inbox = large_inbox(dir.path());
    // The second looks like a file of `/sys` at first.
    for size in [35_000_usize, 32_768, 20_000] {
        let content: Vec<u8> = (0..=250_u8).cycle().take(size).collect();
        let path = parts(&[&size.to_string()]);
        let file = dir.path().join(format!("minions/web1/files/{size}"));
        for (n, data) in content.chunks(BYTES).enumerate() {
            let loc = (n * BYTES) as u64;
            let piece = piece(&path, loc, data, size as u64);
            inbox.receive(&id(), &piece).unwrap();
            let is_whole = n * BYTES + data.len() == size;
            assert!(is_whole || size == 32_768 || !file.exists());
        }
        assert_eq!(fs::read(&file).unwrap(), content, "{size}");
    }
}

const PIECE: usize = 16 * 1024;

/// What there is below a directory, by name.
fn names(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    entries
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect()
}

fn large_inbox(cachedir: &Path) -> Inbox {
    Inbox::new(InboxOptions {
        on: true,
        ..InboxOptions::new(cachedir)
    })
}

/// A file has its name when it is whole, also when the master dies in between:
/// the old one is there till then, and the rest is taken by the next master.
#[test]
fn a_file_appears_when_it_is_whole() {
    let dir = tempfile::tempdir().unwrap();
    let path = parts(&["var", "data"]);
    let content: Vec<u8> = (0..=250_u8).cycle().take(PIECE * 2 + 5).collect();
    let size = content.len() as u64;
    let send = |inbox: &Inbox, n: usize| {
        let from = n * PIECE;
        let to = content.len().min(from + PIECE);
        inbox.receive(&id(), &piece(&path, from as u64, &content[from..to], size))
    };
    let file = dir.path().join("minions/web1/files/var/data");
    let unfinished = dir.path().join("minions/web1/unfinished");
    let inbox = large_inbox(dir.path());
    send(&inbox, 0).unwrap();
    send(&inbox, 1).unwrap();
    assert!(!file.exists());
    assert_eq!(names(&unfinished).len(), 1);

    // Another master goes on; a piece that is sent again does no harm.
    let inbox = large_inbox(dir.path());
    send(&inbox, 1).unwrap();
    assert!(!file.exists());
    send(&inbox, 2).unwrap();
    assert_eq!(fs::read(&file).unwrap(), content);
    assert!(names(&unfinished).is_empty());
    send(&inbox, 2).unwrap();
    send(&inbox, 1).unwrap();
    assert_eq!(fs::read(&file).unwrap(), content);

    // The old one stays while a new one is on its way.
    let new = vec![7; PIECE];
    inbox.receive(&id(), &piece(&path, 0, &new, size)).unwrap();
    assert_eq!(fs::read(&file).unwrap(), content);
    let gap = inbox.receive(&id(), &last(&path, size - 1, b"x"));
    assert!(matches!(gap.unwrap_err(), ReceiveError::Gap { .. }));
    inbox.receive(&id(), &last(&path, 0, b"short")).unwrap();
    assert_eq!(fs::read(&file).unwrap(), b"short");
    // Nobody has begun this one, and the rest of it is not the old one's.
    fs::write(&file, vec![7; PIECE]).unwrap();
    let gap = inbox.receive(&id(), &piece(&path, PIECE as u64, b"rest", size));
    assert!(matches!(gap.unwrap_err(), ReceiveError::Gap { .. }));
}

/// Minions of Salt say how large a file was when they began with it, and send
/// what they read.
#[test]
fn files_that_change_on_their_way_are_what_was_read() {
    let dir = tempfile::tempdir().unwrap();
    let inbox = large_inbox(dir.path());
    let (a, b, c) = (vec![b'a'; PIECE], vec![b'b'; PIECE], vec![b'c'; 10]);
    let said = (PIECE * 2) as u64;
    for (name, said, sent) in [
        ("grown", said, vec![&a, &b, &c]),
        ("grown in the end", said - 5, vec![&a, &b, &c]),
        ("shrunk", said, vec![&a, &c]),
        ("page", 4096, vec![&c]),
        ("emptied", said, vec![&vec![]]),
        ("proc", 0, vec![&a, &b, &c]),
    ] {
        let mut loc = 0;
        for data in &sent {
            let piece = piece(&parts(&[name]), loc, data, said);
            inbox.receive(&id(), &piece).unwrap();
            loc += data.len() as u64;
        }
        let file = dir.path().join("minions/web1/files").join(name);
        let whole: Vec<u8> = sent.into_iter().flatten().copied().collect();
        assert_eq!(fs::read(&file).unwrap(), whole, "{name}");
    }
    assert!(names(&dir.path().join("minions/web1/unfinished")).is_empty());
}

#[test]
fn what_nobody_sends_the_rest_of_is_removed() {
    let dir = tempfile::tempdir().unwrap();
    let inbox = large_inbox(dir.path());
    let begin = |name: &str| {
        let piece = piece(&parts(&[name]), 0, &[1; PIECE], 100_000);
        inbox.receive(&id(), &piece).unwrap();
    };
    begin("old");
    let unfinished = dir.path().join("minions/web1/unfinished");
    let old = unfinished.join(&names(&unfinished)[0]);
    begin("new");
    let file = fs::File::options().write(true).open(&old).unwrap();
    let two_days_ago = SystemTime::now() - Duration::from_secs(2 * 86_400);
    file.set_modified(two_days_ago).unwrap();
    // Also by a master that takes none any more.
    Inbox::new(InboxOptions::new(dir.path())).remove_abandoned();
    assert!(!old.exists());
    assert_eq!(names(&unfinished).len(), 1);

    // And no way out of it.
    let outside = tempfile::tempdir().unwrap();
    let web2 = MinionId::parse("web2").unwrap();
    fs::create_dir_all(dir.path().join("minions/web2")).unwrap();
    symlink(outside.path(), dir.path().join("minions/web2/unfinished")).unwrap();
    let error = inbox.receive(&web2, &last(&parts(&["x"]), 0, b"x"));
    assert!(matches!(error.unwrap_err(), ReceiveError::Path { .. }));
    assert!(names(outside.path()).is_empty());
}
