//! `cp.*` and scripts against a master that serves small pieces.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use halite_call::ContextError;
use halite_crypto::{HashType, hash_hex};
use halite_fake_minion::{FakeMinion, kwargs};
use halite_proto::{Map, Value};

type Files = BTreeMap<&'static str, Vec<u8>>;

const PIECE: usize = 1000;

fn files() -> Files {
    let big: Vec<u8> = (0..2500_u32)
        .map(|n| u8::try_from(n % 251).unwrap())
        .collect();
    BTreeMap::from([
        ("f.txt", b"hello\n".to_vec()),
        ("empty", Vec::new()),
        ("s.sh", b"#!/bin/sh\necho \"args: $@\"\nexit 3\n".to_vec()),
        ("plain.txt", b"echo no shebang\n".to_vec()),
        ("t.j2", b"{{ x }}\n".to_vec()),
        ("st.sls", b"a: test.nop\n".to_vec()),
        ("web/init.sls", b"b: test.nop\n".to_vec()),
        ("sub/big.bin", big),
    ])
}

/// What a master answers to the file commands of a minion.
fn serve(files: &Files, load: &Map) -> Result<Value, ContextError> {
    let text = |key: &str| load.get(key).and_then(Value::as_str).unwrap_or_default();
    let base = text("saltenv") == "base";
    let file = files.get(text("path")).filter(|_| base);
    let names = |wanted: &dyn Fn(&&&str) -> bool| {
        files
            .keys()
            .filter(wanted)
            .map(|name| Value::from(*name))
            .collect::<Vec<_>>()
            .into()
    };
    Ok(match text("cmd") {
        "_file_hash_and_stat" => match file {
            Some(data) => {
                let hash = hash_hex(HashType::Sha256, data);
                let hash = Map::from([("hash_type", "sha256".to_owned()), ("hsum", hash)]);
                let stat = Value::List(vec![33188.into(); 10]);
                vec![hash.into(), stat].into()
            }
            None => vec!["".into(), Value::Nil].into(),
        },
        "_serve_file" => {
            let Some(data) = file else {
                return Ok(Map::from([("data", ""), ("dest", "")]).into());
            };
            let loc = usize::try_from(load.get("loc").and_then(Value::as_i64).unwrap()).unwrap();
            let piece = &data[loc..data.len().min(loc + PIECE)];
            let mut reply = Map::from([("dest", Value::from(text("path")))]);
            if load.get("gzip").is_some() && !piece.is_empty() {
                let mut packer =
                    flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
                packer.write_all(piece).unwrap();
                reply.insert("data", Value::Bytes(packer.finish().unwrap()));
                reply.insert("gzip", 1);
            } else {
                reply.insert("data", Value::text_or_bytes(piece.to_vec()));
            }
            reply.into()
        }
        "_file_list" if base => {
            let prefix = text("prefix");
            names(&|name| name.starts_with(prefix))
        }
        "_file_list_emptydirs" if base => vec!["sub/none".into()].into(),
        "_file_list" | "_file_list_emptydirs" => Vec::new().into(),
        "_file_envs" => vec!["base".into()].into(),
        other => {
            return Err(ContextError::Refused {
                why: other.to_owned(),
            });
        }
    })
}

fn minion(cache: &Path) -> FakeMinion {
    let mut minion = FakeMinion::new().with_opt("cachedir", cache.to_str().unwrap());
    let files = files();
    minion.set_master(move |load| serve(&files, load));
    minion
}

fn text(path: impl AsRef<Path>) -> Value {
    path.as_ref().to_str().unwrap().into()
}

#[test]
fn files_go_where_they_are_wanted() {
    let dir = tempfile::tempdir().unwrap();
    let minion = minion(&dir.path().join("cache"));
    let out = dir.path().join("out");
    let get = |args: &[Value]| minion.ret("cp.get_file", args);
    let url = Value::from("salt://f.txt");
    assert_eq!(get(&[url.clone(), text(out.join("f"))]), false.into());
    assert_eq!(
        get(&[
            url.clone(),
            text(out.join("f")),
            kwargs([("makedirs", true.into())])
        ]),
        text(out.join("f"))
    );
    assert_eq!(get(&[url.clone(), text(&out)]), text(out.join("f.txt")));
    assert_eq!(
        get(&[url.clone(), format!("{}/", out.display()).into()]),
        text(out.join("f.txt"))
    );
    assert_eq!(get(&["salt://nope".into(), text(out.join("x"))]), "".into());
    assert_eq!(get(&[url.clone(), "rel".into()]), false.into());
    let cached = dir.path().join("cache/files/base/f.txt");
    assert_eq!(get(&[url.clone(), "".into()]), text(&cached));
    assert_eq!(
        get(&["salt://f.txt?saltenv=dev".into(), text(out.join("i"))]),
        "".into()
    );
    let failed = minion.run(
        "cp.get_file",
        &["/etc/hostname".into(), text(out.join("h"))],
    );
    assert!(
        failed
            .ret
            .as_str()
            .unwrap()
            .ends_with("MinionError: Unsupported path: /etc/hostname\n")
    );
    assert_eq!(fs::read(out.join("f")).unwrap(), b"hello\n");
    for private in ["cache/files", "cache/files/base"] {
        let mode = fs::metadata(dir.path().join(private))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o700, "{private}");
    }
}

#[test]
fn large_files_come_in_pieces_compressed_or_not() {
    let dir = tempfile::tempdir().unwrap();
    let minion = minion(&dir.path().join("cache"));
    let want = &files()["sub/big.bin"];
    for (name, more) in [("a", kwargs([])), ("b", kwargs([("gzip", 5.into())]))] {
        let to = dir.path().join(name);
        minion.ret(
            "cp.get_file",
            &["salt://sub/big.bin".into(), text(&to), more],
        );
        assert_eq!(&fs::read(&to).unwrap(), want);
    }
    minion.ret("cp.cache_file", &["salt://empty".into()]);
    assert_eq!(
        fs::read(dir.path().join("cache/files/base/empty")).unwrap(),
        b""
    );
    assert!(
        fs::read_dir(dir.path()).unwrap().count() == 3,
        "something partial was left"
    );
}

#[test]
fn what_is_there_already_is_not_fetched() {
    let dir = tempfile::tempdir().unwrap();
    let minion = minion(dir.path());
    minion.ret("cp.cache_file", &["salt://f.txt".into()]);
    minion.take_record();
    minion.ret("cp.cache_file", &["salt://f.txt".into()]);
    let asked = minion.take_record();
    assert_eq!(asked.len(), 1);
    assert!(asked[0].contains("_file_hash_and_stat"));
}

#[test]
fn the_cache_is_told_apart_from_other_places() {
    let dir = tempfile::tempdir().unwrap();
    let minion = minion(dir.path());
    let base = dir.path().join("files/base");
    let cache = |url: &str| minion.ret("cp.cache_file", &[url.into()]);
    assert_eq!(cache("salt://f.txt"), text(base.join("f.txt")));
    assert_eq!(cache("salt://nope"), false.into());
    assert_eq!(cache("/etc/hostname"), "/etc/hostname".into());
    assert_eq!(
        minion.ret("cp.get_file_str", &["salt://f.txt".into()]),
        "hello\n".into()
    );
    assert_eq!(
        minion.ret("cp.get_file_str", &["salt://nope".into()]),
        false.into()
    );
    assert_eq!(
        minion.ret("cp.cache_files", &["salt://f.txt,salt://nope".into()]),
        vec![text(base.join("f.txt")), false.into()].into()
    );
    assert_eq!(
        minion.ret(
            "cp.cache_dir",
            &[
                "salt://sub".into(),
                kwargs([("include_empty", true.into())])
            ]
        ),
        vec![text(base.join("sub/big.bin")), text(base.join("sub/none"))].into()
    );
    assert_eq!(minion.ret("cp.cache_dest", &["/a/b".into()]), "/a/b".into());
    assert_eq!(
        minion.ret("cp.cache_dest", &["https://u:p@h:80/x/y?q=1".into()]),
        text(dir.path().join("extrn_files/base/h80/x/y-q=1"))
    );
    assert_eq!(
        minion.ret("cp.is_cached", &["salt://f.txt".into()]),
        text(base.join("f.txt"))
    );
    assert_eq!(
        minion.ret("cp.is_cached", &["salt://s.sh".into()]),
        "".into()
    );
    assert_eq!(
        minion.ret("cp.stat_file", &["salt://f.txt".into()]),
        "0644".into()
    );
    assert_eq!(
        minion.ret(
            "cp.stat_file",
            &["salt://f.txt".into(), kwargs([("octal", false.into())])]
        ),
        33188.into()
    );
    assert_eq!(
        minion.ret("cp.list_states", &[]),
        vec!["st".into(), "web".into()].into()
    );
    let evil = minion.run("cp.cache_file", &["salt://../../etc/passwd".into()]);
    assert_eq!(evil.retcode, 1);
    assert_eq!(
        evil.ret,
        "ERROR: not a path below a file root: ../../etc/passwd".into()
    );
    let remote = minion.run("cp.cache_file", &["s3://bucket/x".into()]);
    assert!(
        remote
            .ret
            .as_str()
            .unwrap()
            .contains("not supported by this minion yet")
    );
}

#[test]
fn a_directory_comes_along_with_its_name() {
    let dir = tempfile::tempdir().unwrap();
    let minion = minion(&dir.path().join("cache"));
    let out = dir.path().join("out");
    let got = minion.ret("cp.get_dir", &["salt://sub/".into(), text(&out)]);
    let want = vec![text(out.join("sub/big.bin")), text(out.join("sub/none"))];
    assert_eq!(got, want.into());
    assert!(out.join("sub/none").is_dir());
}

#[test]
fn urls_of_all_kinds() {
    let dir = tempfile::tempdir().unwrap();
    let minion = minion(&dir.path().join("cache"));
    let get = |args: &[Value]| minion.ret("cp.get_url", args);
    let to = dir.path().join("u");
    assert_eq!(get(&["salt://f.txt".into(), text(&to)]), text(&to));
    assert_eq!(get(&["salt://f.txt".into(), Value::Nil]), "hello\n".into());
    assert_eq!(get(&["salt://nope".into(), text(&to)]), false.into());
    assert_eq!(
        get(&["file:///etc/hostname".into(), text(&to)]),
        "/etc/hostname".into()
    );
}

#[test]
fn scripts_run_with_their_arguments() {
    let dir = tempfile::tempdir().unwrap();
    let minion = minion(dir.path());
    let run = |args: &[Value]| {
        let outcome = minion.run("cmd.script", args);
        let get = |key: &str| outcome.ret.get(key).cloned().unwrap_or_default();
        (get("stdout"), get("retcode"), outcome.retcode)
    };
    let script = Value::from("salt://s.sh");
    for (args, stdout) in [
        (vec![script.clone()], "args:"),
        (vec![script.clone(), "a 'b c'".into()], "args: a b c"),
        (
            vec![script.clone(), kwargs([("args", "x $HOME".into())])],
            "args: x $HOME",
        ),
        (
            vec![
                script.clone(),
                kwargs([("args", vec!["a".into(), "b c".into()].into())]),
            ],
            "args: a b c",
        ),
    ] {
        assert_eq!(run(&args), (stdout.into(), 3.into(), 3), "{args:?}");
    }
    assert_eq!(
        run(&["salt://plain.txt".into()]),
        ("no shebang".into(), 0.into(), 0)
    );
    let missing = minion.ret("cmd.script", &["salt://nope.sh".into()]);
    assert_eq!(missing.get("cache_error"), Some(&true.into()));
    assert_eq!(minion.run("cmd.script_retcode", &[script]).ret, 3.into());
    let template = minion.run(
        "cmd.script",
        &["salt://t.j2".into(), kwargs([("template", "jinja".into())])],
    );
    assert_eq!(template.retcode, 1);
}

#[test]
fn a_file_list_from_elsewhere_cannot_lead_out_of_the_cache() {
    let dir = tempfile::tempdir().unwrap();
    let mut minion = FakeMinion::new().with_opt("cachedir", dir.path().to_str().unwrap());
    minion.set_master(|load| {
        Ok(match load.get("cmd").and_then(Value::as_str).unwrap() {
            "_file_list" => vec!["../../../evil".into()].into(),
            "_file_hash_and_stat" => vec![
                Map::from([("hash_type", "sha256"), ("hsum", "0")]).into(),
                Value::Nil,
            ]
            .into(),
            _ => Map::from([("data", "x"), ("dest", "x")]).into(),
        })
    });
    let outcome = minion.run("cp.cache_master", &[]);
    assert_eq!(outcome.retcode, 1);
}
