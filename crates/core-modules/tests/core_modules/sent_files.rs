//! Files that are sent in pieces: by `cp.push` and by `salt-cp`.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use halite_call::{ContextError, Job, Outcome, run_function};
use halite_fake_minion::{FakeMinion, kwargs};
use halite_proto::{Map, Value};

fn text(path: impl AsRef<Path>) -> Value {
    path.as_ref().to_str().unwrap().into()
}

#[test]
fn files_are_pushed_piece_by_piece() {
    let dir = tempfile::tempdir().unwrap();
    let mut minion = FakeMinion::new().with_opt("file_buffer_size", 4);
    let sent: Arc<Mutex<Vec<Map>>> = Arc::default();
    let inbox = Arc::clone(&sent);
    minion.set_master(move |load| {
        inbox.lock().unwrap().push(load.clone());
        Ok(true.into())
    });
    let file = dir.path().join("x/y");
    fs::create_dir(dir.path().join("x")).unwrap();
    fs::write(&file, "123456").unwrap();
    assert_eq!(minion.ret("cp.push", &[text(&file)]), true.into());
    let loads = std::mem::take(&mut *sent.lock().unwrap());
    let field = |load: &Map, key: &str| load.get(key).cloned().unwrap();
    assert_eq!(loads.len(), 2);
    assert_eq!(field(&loads[0], "data"), Value::Bytes(b"1234".to_vec()));
    assert_eq!(field(&loads[1], "data"), Value::Bytes(b"56".to_vec()));
    assert_eq!(field(&loads[1], "loc"), 4.into());
    let parts = field(&loads[0], "path");
    assert_eq!(parts.as_list().unwrap().last(), Some(&"y".into()));
    fs::write(&file, "").unwrap();
    assert_eq!(minion.ret("cp.push", &[text(&file)]), true.into());
    assert_eq!(sent.lock().unwrap().len(), 1, "an empty file is sent once");
    for wrong in [
        text("rel"),
        text(dir.path()),
        text("/no/such"),
        format!("{}/../y", file.display()).into(),
    ] {
        assert_eq!(minion.ret("cp.push", &[wrong]), false.into());
    }
    assert_eq!(minion.ret("cp.push_dir", &[text(dir.path())]), true.into());
    let none = [text(dir.path()), kwargs([("glob", "*.nosuch".into())])];
    assert_eq!(minion.ret("cp.push_dir", &none), false.into());
}

/// What a minion asks its master, and what that answers.
type Answer = dyn Fn(&Map) -> Result<Value, ContextError> + Send + Sync;

/// The places at which pieces were sent, and what `cp.push` said.
fn pushed(file: &Path, answer: Box<Answer>) -> (Vec<i64>, Outcome) {
    let mut minion = FakeMinion::new().with_opt("file_buffer_size", 4);
    let sent: Arc<Mutex<Vec<i64>>> = Arc::default();
    let inbox = Arc::clone(&sent);
    minion.set_master(move |load| {
        let loc = load.get("loc").and_then(Value::as_i64).unwrap();
        inbox.lock().unwrap().push(loc);
        answer(load)
    });
    let outcome = minion.run("cp.push", &[text(file)]);
    let sent = sent.lock().unwrap().clone();
    (sent, outcome)
}

#[test]
fn a_push_begins_anew_when_the_master_is_lost() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("data");
    fs::write(&file, "123456").unwrap();
    let lost = Mutex::new(1);
    let once = move |load: &Map| {
        let mut lost = lost.lock().unwrap();
        if load.get("loc") == Some(&4.into()) && *lost > 0 {
            *lost -= 1;
            return Err(ContextError::TimedOut { seconds: 5 });
        }
        Ok(true.into())
    };
    let (sent, outcome) = pushed(&file, Box::new(once));
    assert_eq!((sent, outcome.ret), (vec![0, 4, 0, 4], true.into()));

    let (sent, outcome) = pushed(&file, Box::new(|_| Err(ContextError::NoMaster)));
    assert_eq!(sent, vec![0, 0, 0]);
    let said = outcome.ret.as_str().unwrap().to_owned();
    assert!(said.contains("no master is connected"), "{said}");

    // Refused at once, or by a master that lacks the beginning.
    let (sent, outcome) = pushed(&file, Box::new(|_| Ok(false.into())));
    assert_eq!((sent, outcome.ret), (vec![0], false.into()));
    let gap = |load: &Map| Ok((load.get("loc") == Some(&0.into())).into());
    let (sent, outcome) = pushed(&file, Box::new(gap));
    assert_eq!((sent, outcome.ret), (vec![0, 4, 0, 4], false.into()));
}

/// A Halite master hears which attempt of which push a piece belongs to, Salt's
/// nothing that Salt does not say.
#[test]
fn a_push_has_a_name() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("data");
    fs::write(&file, "123456").unwrap();
    let names = |pieces: bool| {
        let mut minion = FakeMinion::new()
            .with_opt("file_buffer_size", 4)
            .with_pieces(pieces);
        let sent: Arc<Mutex<Vec<Map>>> = Arc::default();
        let inbox = Arc::clone(&sent);
        minion.set_master(move |load| {
            let mut sent = inbox.lock().unwrap();
            sent.push(load.clone());
            match sent.len() {
                2 => Err(ContextError::NoMaster),
                _ => Ok(true.into()),
            }
        });
        assert_eq!(minion.ret("cp.push", &[text(&file)]), true.into());
        let sent = sent.lock().unwrap();
        let names = sent.iter().map(|load| load.get("halite").cloned());
        names.collect::<Vec<_>>()
    };
    let named = names(true);
    let field = |name: &str| -> Vec<Value> {
        let fields = named.iter().flatten();
        fields.map(|map| map.get(name).cloned().unwrap()).collect()
    };
    assert_eq!(field("attempt"), [0, 0, 1, 1].map(Value::from));
    let ids = field("push");
    assert!(ids.iter().all(|id| *id == ids[0]), "{ids:?}");
    assert_ne!(names(true)[0], named[0]);
    assert_eq!(names(false), [const { None }; 4]);
}

/// What is sent belongs together, and the last piece says how large it was.
#[test]
fn a_file_that_changes_while_it_is_pushed() {
    type Change = fn(&fs::File, u64);
    /// The place of each piece, and the size that goes with it.
    type Sent = [(i64, i64)];
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("data");
    let touched: Change = |file, times| {
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(times);
        file.set_modified(time).unwrap();
    };
    let cases: [(&str, Change, &Sent); 4] = [
        (
            "grows",
            |file, _| file.set_len(14).unwrap(),
            &[(0, 12), (4, 12), (8, 13), (12, 14)],
        ),
        (
            "shrinks",
            |file, _| file.set_len(3).unwrap(),
            &[(0, 12), (0, 3)],
        ),
        (
            "is written anew",
            touched,
            &[
                (0, 12),
                (4, 12),
                (0, 12),
                (4, 12),
                (0, 12),
                (4, 12),
                (8, 12),
            ],
        ),
        ("stays", |_, _| {}, &[(0, 12), (4, 12), (8, 12)]),
    ];
    for (what, change, expected) in cases {
        fs::write(&file, "123456789012").unwrap();
        let mut minion = FakeMinion::new().with_opt("file_buffer_size", 4);
        let sent: Arc<Mutex<Vec<(i64, i64)>>> = Arc::default();
        let inbox = Arc::clone(&sent);
        let changing = fs::File::options().write(true).open(&file).unwrap();
        minion.set_master(move |load| {
            let field = |name: &str| load.get(name).and_then(Value::as_i64).unwrap();
            let mut sent = inbox.lock().unwrap();
            sent.push((field("loc"), field("size")));
            change(&changing, sent.len() as u64);
            Ok(true.into())
        });
        assert_eq!(minion.ret("cp.push", &[text(&file)]), true.into());
        assert_eq!(*sent.lock().unwrap(), expected, "a file that {what}");
    }
}

#[test]
fn salt_cp_delivers() {
    let dir = tempfile::tempdir().unwrap();
    let minion = FakeMinion::new();
    let files = || Value::from(Map::from([("/x/a", "data")]));
    let target = dir.path().join("recv");
    let got = minion.ret("cp.recv", &[files(), text(&target)]);
    assert_eq!(got, Map::from([(text(&target), true)]).into());
    let got = minion.ret("cp.recv", &[files(), text(dir.path())]);
    assert_eq!(got, Map::from([(text(dir.path().join("a")), true)]).into());
    assert_eq!(
        minion.ret("cp.recv", &[files(), text(dir.path().join("no/z"))]),
        "Destination unavailable".into()
    );
    let chunk = |append: bool| {
        let args = kwargs([
            ("chunk", "aGk=\n".into()),
            ("compressed", false.into()),
            ("append", append.into()),
            ("mode", 0o600.into()),
        ]);
        minion.ret("cp.recv_chunked", &[text(dir.path().join("c/d")), args])
    };
    assert_eq!(chunk(false), true.into());
    assert_eq!(chunk(true), true.into());
    assert_eq!(fs::read(dir.path().join("c/d")).unwrap(), b"hihi");
}

#[test]
fn a_file_of_several_pieces_appears_when_it_is_whole() {
    let dir = tempfile::tempdir().unwrap();
    let cache = dir.path().join("cache");
    let minion = FakeMinion::new().with_opt("cachedir", cache.to_str().unwrap());
    let place = dir.path().join("etc/conf");
    let chunk = |jid: &str, base64: &str, append: &str| {
        let args = kwargs([
            ("chunk", base64.into()),
            ("compressed", false.into()),
            ("append", append.into()),
            ("mode", 0o640.into()),
        ]);
        let fun = "cp.recv_chunked";
        let job = Job::published(Map::from([("fun", fun), ("jid", jid)]));
        run_function(&minion, fun, &[text(&place), args], &job).ret
    };
    let is_refused = |ret: Value, why: &str| {
        let said = ret.as_str().unwrap().to_owned();
        assert!(said.contains(why), "{said}");
    };
    is_refused(chunk("2", "aGk=", "last:1:1"), "first piece is missing");
    fs::write(&place, "old").unwrap();
    // Two copies at once, and one that was broken off.
    for (jid, base64, append) in [
        ("0", "eA==", ""),
        ("1", "YQ==", ""),
        ("4", "eA==", ""),
        ("2", "Yg==", "more:1:1"),
        ("5", "eQ==", "more:4:1"),
    ] {
        assert_eq!(chunk(jid, base64, append), true.into());
        assert_eq!(fs::read(&place).unwrap(), b"old");
    }
    for again in ["more:1:1", "last:1:1", "last:1:3"] {
        is_refused(chunk("3", "Yg==", again), "there are 2 bytes");
    }
    assert_eq!(chunk("3", "Yw==", "last:1:2"), true.into());
    assert_eq!(fs::read(&place).unwrap(), b"abc");
    assert_eq!(fs::read_dir(cache.join("salt-cp")).unwrap().count(), 1);
    assert_eq!(chunk("6", "eg==", "last:4:2"), true.into());
    assert_eq!(fs::read(&place).unwrap(), b"xyz");
    let mode = fs::metadata(&place).unwrap().permissions().mode() & 0o7777;
    assert_eq!(mode, 0o640);
    assert_eq!(fs::read_dir(cache.join("salt-cp")).unwrap().count(), 0);
}
