//! Files in pieces that are requested ahead: from a Halite master, from Salt's, and
//! when the file changes during the transfer.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use halite_call::ContextError;
use halite_crypto::{HashType, hash_hex};
use halite_fake_minion::FakeMinion;
use halite_proto::request::{ChunkBeyond, FileChunk};
use halite_proto::{Map, Value};

/// Larger than what is asked for at once, and no multiple of it.
const SIZE: usize = 5 * (256 << 10) + 77;

fn content(seed: u8) -> Vec<u8> {
    (0..=250)
        .cycle()
        .map(|at: u8| at ^ seed)
        .take(SIZE)
        .collect()
}

fn stat(size: usize) -> Vec<Value> {
    let mut stat = vec![Value::from(0); 10];
    stat[6] = size.into();
    stat
}

/// A Halite master that has `content` as version `version` of every file.
fn halite(load: &Map, content: &[u8], version: &str) -> FileChunk {
    let number = |map: &Map, name: &str| {
        let number = map.get(name).and_then(Value::as_i64).unwrap();
        usize::try_from(number).unwrap()
    };
    let beyond = load.get("halite").and_then(Value::as_map).unwrap();
    let text = |name: &str| beyond.get(name).and_then(Value::as_str);
    let hash = ("sha256".to_owned(), hash_hex(HashType::Sha256, content));
    let same = text("hsum") == Some(&hash.1);
    let loc = number(load, "loc");
    let bytes = number(beyond, "bytes");
    let end = content.len().min(loc + if same { 0 } else { bytes });
    FileChunk {
        data: content[loc.min(end)..end].to_vec(),
        dest: "file".to_owned(),
        beyond: Some(ChunkBeyond {
            version: version.to_owned(),
            stat: stat(content.len()),
            hash: Some(hash).filter(|_| beyond.get("hash").is_some()),
            same,
        }),
        ..FileChunk::default()
    }
}

fn minion(cache: &Path, master: impl Fn(&Map) -> FileChunk + Send + Sync + 'static) -> FakeMinion {
    FakeMinion::new()
        .with_opt("cachedir", cache.to_str().unwrap())
        .with_pieces(true)
        .with_master(move |load| {
            assert_eq!(load.get("cmd"), Some(&"_serve_file".into()), "{load:?}");
            Ok(master(load).into_value())
        })
}

fn get(minion: &FakeMinion, to: &Path) -> Value {
    let to = Value::from(to.to_str().unwrap());
    minion.run("cp.get_file", &["salt://file".into(), to]).ret
}

#[test]
fn a_halite_master_is_asked_for_nothing_but_pieces() {
    let dir = tempfile::tempdir().unwrap();
    let to = dir.path().join("to");
    let minion = minion(dir.path(), |load| halite(load, &content(1), "1"));
    assert_eq!(get(&minion, &to), to.to_str().unwrap().into());
    assert!(fs::read(&to).unwrap() == content(1));
    let asked = minion.take_record();
    assert_eq!(asked.len(), 6, "{asked:?}");
    assert_eq!(asked.iter().filter(|a| a.starts_with("ahead")).count(), 5);
    // What is here already is not sent again.
    assert_eq!(get(&minion, &to), to.to_str().unwrap().into());
    assert_eq!(minion.take_record().len(), 1);
}

#[test]
fn another_kind_of_hash_is_no_other_file() {
    let dir = tempfile::tempdir().unwrap();
    let to = dir.path().join("to");
    fs::write(&to, content(1)).unwrap();
    let minion =
        minion(dir.path(), |load| halite(load, &content(1), "1")).with_opt("hash_type", "md5");
    assert_eq!(get(&minion, &to), to.to_str().unwrap().into());
    assert_eq!(minion.take_record().len(), 1);
}

#[test]
fn a_file_that_changes_on_its_way_is_begun_anew() {
    let dir = tempfile::tempdir().unwrap();
    let to = dir.path().join("to");
    let asked = AtomicUsize::new(0);
    let minion = minion(dir.path(), move |load| {
        match asked.fetch_add(1, Ordering::Relaxed) {
            0..=2 => halite(load, &content(1), "1"),
            _ => halite(load, &content(2), "2"),
        }
    });
    assert_eq!(get(&minion, &to), to.to_str().unwrap().into());
    assert!(fs::read(&to).unwrap() == content(2));
}

#[test]
fn a_file_that_changes_all_the_time_is_taken_as_salt_takes_it() {
    let dir = tempfile::tempdir().unwrap();
    let to = dir.path().join("to");
    let asked = AtomicUsize::new(0);
    let mut minion = minion(dir.path(), |_| FileChunk::default());
    minion.set_master(move |load| {
        let at = asked.fetch_add(1, Ordering::Relaxed);
        Ok(match load.get("halite") {
            Some(_) => halite(load, &content(1), &at.to_string()).into_value(),
            None => plain(load, &content(1)),
        })
    });
    assert_eq!(get(&minion, &to), to.to_str().unwrap().into());
    assert!(fs::read(&to).unwrap() == content(1));
}

#[test]
fn a_missing_file_is_missing() {
    let dir = tempfile::tempdir().unwrap();
    let to = dir.path().join("to");
    let minion = minion(dir.path(), |_| FileChunk::default());
    assert_eq!(get(&minion, &to), "".into());
    assert!(!to.exists());
}

#[test]
fn a_master_that_is_gone_in_the_middle_is_an_error_and_nothing_is_left() {
    let dir = tempfile::tempdir().unwrap();
    let to = dir.path().join("to");
    let mut minion = minion(dir.path(), |_| FileChunk::default());
    let asked = AtomicUsize::new(0);
    minion.set_master(move |load| match asked.fetch_add(1, Ordering::Relaxed) {
        0..=2 => Ok(halite(load, &content(1), "1").into_value()),
        _ => Err(ContextError::TimedOut { seconds: 1 }),
    });
    let ret = get(&minion, &to);
    assert!(
        ret.as_str().unwrap().contains("could not ask for file"),
        "{ret:?}"
    );
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}

/// A master of Salt, with pieces of 100,000 bytes.
fn plain(load: &Map, content: &[u8]) -> Value {
    const PIECE: usize = 100_000;
    if load.get("cmd") == Some(&"_file_hash_and_stat".into()) {
        let hash = hash_hex(HashType::Sha256, content);
        let hash = Map::from([("hash_type", "sha256".to_owned()), ("hsum", hash)]);
        return vec![hash.into(), stat(content.len()).into()].into();
    }
    assert_eq!(load.get("halite"), None);
    let loc = load.get("loc").and_then(Value::as_i64).unwrap();
    let loc = usize::try_from(loc).unwrap();
    let end = content.len().min(loc + PIECE);
    FileChunk {
        data: content[loc.min(end)..end].to_vec(),
        dest: "file".to_owned(),
        ..FileChunk::default()
    }
    .into_value()
}

#[test]
fn pieces_of_salt_are_asked_for_ahead_too() {
    let dir = tempfile::tempdir().unwrap();
    let to = dir.path().join("to");
    let mut minion = minion(dir.path(), |_| FileChunk::default()).with_pieces(false);
    minion.set_master(|load| Ok(plain(load, &content(1))));
    assert_eq!(get(&minion, &to), to.to_str().unwrap().into());
    assert!(fs::read(&to).unwrap() == content(1));
    let asked = minion.take_record();
    let ahead = asked.iter().filter(|a| a.starts_with("ahead")).count();
    assert_eq!(ahead, SIZE.div_ceil(100_000) - 1, "{asked:?}");
}

#[test]
fn a_file_that_grows_meanwhile_is_taken_to_its_end() {
    let dir = tempfile::tempdir().unwrap();
    let to = dir.path().join("to");
    let mut minion = minion(dir.path(), |_| FileChunk::default()).with_pieces(false);
    let whole = Arc::new(content(1));
    minion.set_master(move |load| {
        let is_serve = load.get("cmd") == Some(&"_serve_file".into());
        Ok(plain(
            load,
            if is_serve { &whole } else { &whole[..SIZE / 2] },
        ))
    });
    assert_eq!(get(&minion, &to), to.to_str().unwrap().into());
    assert!(fs::read(&to).unwrap() == content(1));
}
