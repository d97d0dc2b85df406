//! Runs of archives (`state.pkg`), as Salt's `salt-ssh` packs them.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use halite_call::Outcome;
use halite_crypto::{HashType, hash_hex};
use halite_proto::Value;

use crate::local_minion::LocalMinion;

/// A minion in a directory of its own.
struct Place {
    dir: tempfile::TempDir,
    minion: LocalMinion,
}

impl Place {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let minion = LocalMinion::laid_out(dir.path(), ("role", "own"));
        std::fs::write(dir.path().join("srv/own"), "own").unwrap();
        Self { dir, minion }
    }

    fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Packs files with these names and texts.
    fn packed(&self, files: &[(&str, &str)]) -> PathBuf {
        let path = self.path().join("state.tgz");
        let file = std::fs::File::create(&path).unwrap();
        let mut tar = tar::Builder::new(GzEncoder::new(file, Compression::fast()));
        for (name, text) in files {
            let mut header = tar::Header::new_gnu();
            header.set_size(text.len() as u64);
            header.set_mode(0o644);
            tar.append_data(&mut header, name, text.as_bytes()).unwrap();
        }
        tar.into_inner().unwrap().finish().unwrap();
        path
    }

    fn run(&self, archive: &Path, more: &[&str]) -> Outcome {
        let sum = hash_hex(HashType::Sha256, &std::fs::read(archive).unwrap());
        let archive = archive.display().to_string();
        let mut arguments = vec![archive.as_str(), &sum, "sha256"];
        arguments.extend(more);
        self.minion.call("state.pkg", &arguments)
    }
}

fn chunk(state: &str, fun: &str, id: &str, order: u32, more: &str) -> String {
    format!(
        r#"{{"state": "{state}", "fun": "{fun}", "__id__": "{id}", "name": "{id}", "__sls__": "a.b",
            "__env__": "base", "order": {order}{more}}}"#
    )
}

fn field(results: &Value, id: &str, name: &str) -> Value {
    let results = results.as_map().unwrap();
    let of = results
        .values()
        .find(|result| result.get("__id__") == Some(&id.into()));
    of.unwrap().get(name).cloned().unwrap()
}

#[test]
fn states_of_an_archive_see_its_files_pillar_and_grains() {
    let place = Place::new();
    let out = place.path().join("out").display().to_string();
    let own = place.path().join("own").display().to_string();
    let low = [
        chunk(
            "test",
            "nop",
            "second",
            2,
            r#", "require": [{"test": "first"}]"#,
        ),
        chunk("test", "fail_without_changes", "first", 1, ""),
        chunk(
            "file",
            "managed",
            &out,
            3,
            r#", "source": "salt://t", "template": "jinja""#,
        ),
        chunk("file", "managed", &own, 4, r#", "source": "salt://own""#),
        chunk("nosuch", "thing", "x", 5, ""),
    ];
    let low = format!("[{}]", low.join(","));
    let template =
        "{{ pillar['a'] }} {{ grains['role'] }} {{ salt['pillar.items']()['a'] }} {{ opts['id'] }}";
    let archive = place.packed(&[
        ("lowstate.json", &low),
        ("pillar.json", r#"{"a": 1}"#),
        ("roster_grains.json", r#"{"role": "web"}"#),
        ("base/t", template),
    ]);
    let tested = place.run(&archive, &["test=True"]);
    assert_eq!(field(&tested.ret, &out, "result"), Value::Nil);
    assert!(!Path::new(&out).exists());

    let outcome = place.run(&archive, &[]);
    assert_eq!(outcome.retcode, 2, "{:?}", outcome.ret);
    assert_eq!(std::fs::read_to_string(&out).unwrap(), "1 web 1 here");
    // The files of the minion are not those of the run.
    assert_eq!(field(&outcome.ret, &own, "result"), false.into());
    assert_eq!(field(&outcome.ret, &out, "result"), true.into());
    assert_eq!(field(&outcome.ret, "first", "__run_num__"), 0.into());
    let comment = field(&outcome.ret, "second", "comment");
    assert_eq!(comment, "One or more requisite failed: a.b.first".into());

    // Without any of its own it has those of the minion.
    let low = format!(
        "[{}]",
        chunk(
            "file",
            "managed",
            &out,
            1,
            r#", "source": "salt://t", "template": "jinja""#
        )
    );
    let files = [
        ("lowstate.json", low.as_str()),
        ("base/t", "{{ grains['role'] }}"),
    ];
    let outcome = place.run(&place.packed(&files), &[]);
    assert_eq!(outcome.retcode, 0, "{:?}", outcome.ret);
    assert_eq!(std::fs::read_to_string(&out).unwrap(), "own");
}

#[test]
fn what_is_no_such_archive_is_not_run() {
    let place = Place::new();
    let low = format!("[{}]", chunk("test", "nop", "x", 1, ""));
    let good = place.packed(&[("lowstate.json", &low)]);
    let path = good.display().to_string();
    let refused = |outcome: Outcome, why: &str| {
        let said = outcome.ret.as_str().unwrap_or_default().to_owned();
        assert!(said.contains(why), "{:?}, not {why}", outcome.ret);
        assert_ne!(outcome.retcode, 0, "{why}");
    };
    let call =
        |path: &str, sum: &str, kind: &str| place.minion.call("state.pkg", &[path, sum, kind]);
    assert_eq!(place.run(&good, &[]).retcode, 0);
    refused(call(&path, "abc", "sha256"), "the sum of");
    refused(call(&path, "abc", "nohash"), "Invalid hash type: nohash");
    refused(call("/nosuch/file", "abc", "md5"), "could not read");
    for (files, why) in [
        (&[("pillar.json", "{}")][..], "there is no lowstate.json"),
        (&[("lowstate.json", "[{")], "is no JSON"),
        (&[("lowstate.json", "{}")], "is no list"),
        (
            &[("lowstate.json", r#"["an error"]"#)],
            "something else than states",
        ),
        (
            &[("lowstate.json", "[]"), ("pillar.json", "[]")],
            "pillar.json is no map",
        ),
    ] {
        refused(place.run(&place.packed(files), &[]), why);
    }
    std::fs::write(&good, "hello").unwrap();
    refused(place.run(&good, &[]), "could not unpack");
}
