//! The answers to minions, in Salt's shapes and in ours.

use std::fs;
use std::io::Read;
use std::os::unix::fs::MetadataExt;

use halite_fileserver::{FileServer, FileServerOptions};
use halite_proto::request::{
    Commits, FileChunk, FileList, FilePath, MinionRequest, ServeBeyond, ServeFile,
};
use halite_proto::{Map, SaltEnv, Value};

use crate::{Tree, answer, env, file, list, serve, texts};

#[test]
fn a_halite_minion_is_told_of_the_file_with_its_first_piece() {
    let tree = Tree::new();
    tree.file("base/hello.txt", "hello world\n");
    let roots = tree.base();
    let ask = |loc, beyond: ServeBeyond| {
        let wanted = ServeFile {
            beyond: Some(beyond),
            ..serve("hello.txt", loc, None)
        };
        FileChunk::from_value(answer(&roots, MinionRequest::ServeFile(wanted))).unwrap()
    };
    let first = ask(
        0,
        ServeBeyond {
            hash: true,
            bytes: Some(5),
            ..ServeBeyond::default()
        },
    );
    assert_eq!(first.data, b"hello");
    let about = first.beyond.unwrap();
    assert_eq!(about.size(), Some(12));
    let hash = about.hash.unwrap();
    assert_eq!(
        hash.1,
        roots.hash("hello.txt", &env("base")).unwrap().unwrap().hsum
    );
    let rest = ask(5, ServeBeyond::default());
    assert_eq!(rest.data, b" world\n");
    assert_eq!(rest.beyond.unwrap().version, about.version);
    let same = ask(
        0,
        ServeBeyond {
            unless: Some(hash),
            ..ServeBeyond::default()
        },
    );
    assert!(same.data.is_empty() && same.beyond.unwrap().same);
    fs::write(tree.path("base/hello.txt"), "something else").unwrap();
    let other = ask(5, ServeBeyond::default());
    assert_ne!(other.beyond.unwrap().version, about.version);
}

#[test]
fn answers_have_salts_shapes() {
    let tree = Tree::new();
    tree.file("base/hello.txt", "hello world\n")
        .file("base/empty.txt", "")
        .file("base/sub/two.sls", "x")
        .dir("base/emptydir")
        .link("base/link.txt", "hello.txt");
    let roots = tree.base();
    assert_eq!(answer(&roots, MinionRequest::FileEnvs), texts(&["base"]));
    assert_eq!(
        answer(&roots, MinionRequest::FileList(list(""))),
        texts(&["empty.txt", "hello.txt", "link.txt", "sub/two.sls"])
    );
    assert_eq!(
        answer(&roots, MinionRequest::FileList(list("/sub/"))),
        texts(&["sub/two.sls"])
    );
    assert_eq!(
        answer(&roots, MinionRequest::FileListEmptydirs(list(""))),
        texts(&["emptydir"])
    );
    assert_eq!(
        answer(&roots, MinionRequest::DirList(list(""))),
        texts(&["emptydir", "sub"])
    );
    assert_eq!(
        answer(&roots, MinionRequest::SymlinkList(list(""))),
        Map::from([("link.txt", "hello.txt")]).into()
    );
    let hash: Value = Map::from([
        ("hash_type", "sha256"),
        (
            "hsum",
            "a948904f2f0f479b8f8197694b30184b0d2ed1c1cd2a1ec0fb85d299a192a447",
        ),
    ])
    .into();
    assert_eq!(
        answer(&roots, MinionRequest::FileHash(file("hello.txt"))),
        hash
    );
    let metadata = fs::metadata(tree.path("base/hello.txt")).unwrap();
    let stat: Vec<i128> = vec![
        metadata.mode().into(),
        metadata.ino().into(),
        metadata.dev().into(),
        metadata.nlink().into(),
        metadata.uid().into(),
        metadata.gid().into(),
        metadata.size().into(),
        metadata.atime().into(),
        metadata.mtime().into(),
        metadata.ctime().into(),
    ];
    let stat = Value::List(stat.into_iter().map(Value::Int).collect());
    assert_eq!(
        answer(&roots, MinionRequest::FileHashAndStat(file("hello.txt"))),
        vec![hash, stat.clone()].into()
    );
    let full = tree.path("base/hello.txt");
    assert_eq!(
        answer(&roots, MinionRequest::FileFind(file("hello.txt"))),
        Map::from([
            ("path", Value::from(full.to_str().unwrap())),
            ("rel", "hello.txt".into()),
            ("back", "roots".into()),
            ("stat", stat),
        ])
        .into()
    );
    let chunk = |data: &[u8], dest: &str| -> Value {
        Map::from([("data", Value::Bytes(data.to_vec())), ("dest", dest.into())]).into()
    };
    for (wanted, chunk) in [
        (
            serve("hello.txt", 0, None),
            chunk(b"hello world\n", "hello.txt"),
        ),
        (serve("hello.txt", 12, None), chunk(b"", "hello.txt")),
        (serve("hello.txt", u64::MAX, None), chunk(b"", "hello.txt")),
        (serve("empty.txt", 0, Some(5)), chunk(b"", "empty.txt")),
    ] {
        assert_eq!(answer(&roots, MinionRequest::ServeFile(wanted)), chunk);
    }
}

#[test]
fn what_is_not_there_has_salts_shapes_too() {
    let tree = Tree::new();
    tree.file("base/hello.txt", "hello").dir("base/dir");
    let roots = tree.base();
    let nowhere = FilePath {
        path: "hello.txt".to_owned(),
        saltenv: Some(env("nope")),
        commits: Commits::default(),
    };
    let nameless = FilePath {
        path: "hello.txt".to_owned(),
        saltenv: None,
        commits: Commits::default(),
    };
    for missing in [&file("nope"), &file("dir"), &nowhere, &nameless] {
        assert_eq!(
            answer(&roots, MinionRequest::FileHash(missing.clone())),
            "".into()
        );
        assert_eq!(
            answer(&roots, MinionRequest::FileHashAndStat(missing.clone())),
            vec!["".into(), Value::Nil].into()
        );
        let nothing: Value = Map::from([("path", ""), ("rel", "")]).into();
        assert_eq!(
            answer(&roots, MinionRequest::FileFind(missing.clone())),
            nothing
        );
        let wanted = ServeFile {
            file: missing.clone(),
            loc: 0,
            gzip: None,
            beyond: None,
        };
        let nothing: Value = Map::from([("data", ""), ("dest", "")]).into();
        assert_eq!(answer(&roots, MinionRequest::ServeFile(wanted)), nothing);
    }
    for saltenv in [Some(env("nope")), None] {
        let list = FileList {
            saltenv,
            ..FileList::default()
        };
        assert_eq!(
            answer(&roots, MinionRequest::FileList(list.clone())),
            texts(&[])
        );
        assert_eq!(
            answer(&roots, MinionRequest::DirList(list.clone())),
            texts(&[])
        );
        assert_eq!(
            answer(&roots, MinionRequest::SymlinkList(list.clone())),
            Map::new().into()
        );
    }
}

#[test]
fn a_file_comes_in_chunks_of_the_buffers_size() {
    let tree = Tree::new();
    let content: Vec<u8> = (0..100_000u32).flat_map(u32::to_be_bytes).collect();
    tree.file("base/big", &content);
    let roots = FileServer::open(&FileServerOptions {
        buffer_bytes: 65_537,
        roots: tree.options(&[("base", &["base"])]),
        ..FileServerOptions::default()
    })
    .unwrap();
    let base = SaltEnv::base();
    for gzip in [None, Some(0), Some(5), Some(99), Some(-1)] {
        let mut got = Vec::new();
        loop {
            let loc = got.len() as u64;
            let chunk = roots.serve("big", &base, loc, gzip).unwrap().unwrap();
            if chunk.data.is_empty() {
                assert_eq!(chunk.gzip, None);
                break;
            }
            match chunk.gzip {
                None => got.extend(chunk.data),
                Some(level) => {
                    assert_eq!(Some(level), gzip);
                    let mut member = flate2::read::GzDecoder::new(&*chunk.data);
                    let mut data = Vec::new();
                    member.read_to_end(&mut data).unwrap();
                    assert!(data.len() <= 65_537);
                    got.extend(data);
                }
            }
        }
        assert_eq!(got, content, "{gzip:?}");
    }
}
