//! Files as minions ask for them, over trees made here.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::fs;
use std::io::Read;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use halite_fileserver::{Roots, RootsOptions};
use halite_proto::request::{FileChunk, FileList, FilePath, ServeBeyond, ServeFile};
use halite_proto::{Map, SaltEnv, Value};
use tempfile::TempDir;

struct Tree {
    dir: TempDir,
}

impl Tree {
    fn new() -> Self {
        Self {
            dir: tempfile::tempdir().unwrap(),
        }
    }

    fn path(&self, path: &str) -> PathBuf {
        self.dir.path().join(path)
    }

    fn file(&self, path: &str, content: impl AsRef<[u8]>) -> &Self {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
        self
    }

    fn dir(&self, path: &str) -> &Self {
        fs::create_dir_all(self.path(path)).unwrap();
        self
    }

    fn link(&self, path: &str, target: impl AsRef<Path>) -> &Self {
        symlink(target, self.path(path)).unwrap();
        self
    }

    fn options(&self, roots: &[(&str, &[&str])]) -> RootsOptions {
        RootsOptions {
            file_roots: roots
                .iter()
                .map(|(env, roots)| {
                    let roots = roots.iter().map(|root| self.path(root)).collect();
                    ((*env).to_owned(), roots)
                })
                .collect(),
            ..RootsOptions::default()
        }
    }

    fn roots(&self, roots: &[(&str, &[&str])]) -> Roots {
        Roots::new(self.options(roots)).unwrap()
    }

    fn base(&self) -> Roots {
        self.roots(&[("base", &["base"])])
    }
}

fn env(name: &str) -> SaltEnv {
    SaltEnv::parse(name).unwrap()
}

fn file(path: &str) -> FilePath {
    FilePath {
        path: path.to_owned(),
        saltenv: Some(SaltEnv::base()),
    }
}

fn list(prefix: &str) -> FileList {
    FileList {
        saltenv: Some(SaltEnv::base()),
        prefix: Some(prefix.to_owned()),
        fsbackend: None,
    }
}

fn serve(path: &str, loc: u64, gzip: Option<i64>) -> ServeFile {
    ServeFile {
        file: file(path),
        loc,
        gzip,
        beyond: None,
    }
}

fn texts(texts: &[&str]) -> Value {
    Value::List(texts.iter().copied().map(Value::from).collect())
}

/// Lets a file or directory look as if it had not changed for long.
fn settle(path: &Path) {
    let long_ago = SystemTime::now() - Duration::from_secs(3600);
    let file = fs::File::open(path).unwrap();
    file.set_modified(long_ago).unwrap();
}

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
        FileChunk::from_value(roots.answer_serve(&wanted).unwrap()).unwrap()
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
    assert_eq!(roots.answer_envs(), texts(&["base"]));
    assert_eq!(
        roots.answer_files(&list("")),
        texts(&["empty.txt", "hello.txt", "link.txt", "sub/two.sls"])
    );
    assert_eq!(roots.answer_files(&list("/sub/")), texts(&["sub/two.sls"]));
    assert_eq!(roots.answer_empty_dirs(&list("")), texts(&["emptydir"]));
    assert_eq!(roots.answer_dirs(&list("")), texts(&["emptydir", "sub"]));
    assert_eq!(
        roots.answer_symlinks(&list("")),
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
    assert_eq!(roots.answer_hash(&file("hello.txt")).unwrap(), hash);
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
        roots.answer_hash_and_stat(&file("hello.txt")).unwrap(),
        vec![hash, stat.clone()].into()
    );
    let full = tree.path("base/hello.txt");
    assert_eq!(
        roots.answer_find(&file("hello.txt")),
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
    for (wanted, answer) in [
        (
            serve("hello.txt", 0, None),
            chunk(b"hello world\n", "hello.txt"),
        ),
        (serve("hello.txt", 12, None), chunk(b"", "hello.txt")),
        (serve("hello.txt", u64::MAX, None), chunk(b"", "hello.txt")),
        (serve("empty.txt", 0, Some(5)), chunk(b"", "empty.txt")),
    ] {
        assert_eq!(roots.answer_serve(&wanted).unwrap(), answer);
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
    };
    let nameless = FilePath {
        path: "hello.txt".to_owned(),
        saltenv: None,
    };
    for missing in [&file("nope"), &file("dir"), &nowhere, &nameless] {
        assert_eq!(roots.answer_hash(missing).unwrap(), "".into());
        assert_eq!(
            roots.answer_hash_and_stat(missing).unwrap(),
            vec!["".into(), Value::Nil].into()
        );
        let nothing: Value = Map::from([("path", ""), ("rel", "")]).into();
        assert_eq!(roots.answer_find(missing), nothing);
        let wanted = ServeFile {
            file: missing.clone(),
            loc: 0,
            gzip: None,
            beyond: None,
        };
        let nothing: Value = Map::from([("data", ""), ("dest", "")]).into();
        assert_eq!(roots.answer_serve(&wanted).unwrap(), nothing);
    }
    for saltenv in [Some(env("nope")), None] {
        let list = FileList {
            saltenv,
            ..FileList::default()
        };
        assert_eq!(roots.answer_files(&list), texts(&[]));
        assert_eq!(roots.answer_dirs(&list), texts(&[]));
        assert_eq!(roots.answer_symlinks(&list), Map::new().into());
    }
}

/// Nothing outside of the root is found, hashed or served, however it is
/// named.
#[test]
fn no_path_leads_out_of_a_root() {
    let tree = Tree::new();
    tree.file("secret", "secret")
        .file("base/sub/inside", "x")
        .file("base-secret", "secret")
        .file("other/base", "secret");
    let roots = tree.roots(&[
        ("base", &["base", "base/sub/"]),
        ("__env__", &["other/__env__"]),
    ]);
    let absolute = tree.path("secret");
    let absolute = absolute.to_str().unwrap();
    let evil = [
        absolute.to_owned(),
        format!("/{absolute}"),
        format!("|{absolute}"),
        format!("sub/{absolute}/../../secret"),
        "../secret".into(),
        "|../secret".into(),
        "||../secret".into(),
        "./../secret".into(),
        "sub/../../secret".into(),
        "sub/inside/../../../secret".into(),
        "sub/..//../secret".into(),
        "..".into(),
        ".".into(),
        "".into(),
        "sub".into(),
        "sub/".into(),
        "..\\secret".into(),
        "..%2fsecret".into(),
        "../base-secret".into(),
        "secret\0".into(),
        "sub/inside\0/../../../secret".into(),
        "../secret?index=0".into(),
        "secret?index=-3".into(),
        "secret?index=9".into(),
        "secret?index=-9223372036854775808".into(),
        "secret?saltenv=..".into(),
        "secret?saltenv=../".into(),
        "base?saltenv=%2e%2e".into(),
        format!("x?saltenv={absolute}"),
        "x/".repeat(5000),
        "\u{2025}/secret".into(),
    ];
    for path in evil {
        for saltenv in [SaltEnv::base(), env("x"), env("__env__")] {
            assert_eq!(roots.find(&path, &saltenv), None, "{path:?}");
            assert_eq!(roots.hash(&path, &saltenv).unwrap(), None, "{path:?}");
            let chunk = roots.serve(&path, &saltenv, 0, None).unwrap();
            assert_eq!(chunk, None, "{path:?}");
        }
    }
    assert!(roots.find("sub/inside", &SaltEnv::base()).is_some());
}

#[test]
fn several_roots_are_searched_in_order_and_listed_together() {
    let tree = Tree::new();
    tree.file("one/both", "1")
        .file("two/both", "22")
        .file("two/only", "x")
        .file("any/qa/x", "x");
    let roots = tree.roots(&[
        ("base", &["missing", "one", "two"]),
        ("__env__", &["any/__env__"]),
    ]);
    let base = SaltEnv::base();
    let size = |path: &str| roots.find(path, &base).map(|found| found.stat.size);
    assert_eq!(size("both"), Some(1));
    assert_eq!(size("both?index=2"), Some(2));
    assert_eq!(size("both?index=-2"), Some(1));
    assert_eq!(size("both?index=0"), None);
    assert_eq!(size("only"), Some(1));
    assert_eq!(roots.answer_files(&list("")), texts(&["both", "only"]));
    assert_eq!(roots.envs(), ["__env__", "base"]);
    assert!(roots.find("x", &env("qa")).is_some());
    assert!(roots.find("x?saltenv=qa", &base).is_some());
    assert!(roots.find("x", &env("dev")).is_none());
    assert_eq!(roots.lists(&env("qa")).files, ["x"]);
}

#[test]
fn a_bar_escapes_a_question_mark() {
    let tree = Tree::new();
    tree.file("base/a?b=c", "x");
    let roots = tree.base();
    let base = SaltEnv::base();
    assert!(roots.find("a?b=c", &base).is_none());
    assert_eq!(roots.find("|a?b=c", &base).unwrap().rel, "a?b=c");
}

#[test]
fn links_are_followed_or_not() {
    let tree = Tree::new();
    tree.file("base/real/file", "x")
        .file("outside/file", "x")
        .file("outside/empty/.keep", "")
        .link("base/in", "real/file")
        .link("base/in-absolute", tree.path("base/real/file"))
        .link("base/in-dir", "real")
        .link("base/out", "../outside/file")
        .link("base/out-absolute", tree.path("outside/file"))
        .link("base/out-dir", tree.path("outside"))
        .link("base/dangling", "nothing")
        .link("base/circle", ".");
    let names = |lists: &[(String, String)]| -> Vec<String> {
        lists.iter().map(|(name, _)| name.clone()).collect()
    };

    let follows = tree.base();
    let base = SaltEnv::base();
    for path in [
        "in",
        "in-absolute",
        "in-dir/file",
        "out",
        "out-absolute",
        "out-dir/file",
    ] {
        assert!(follows.find(path, &base).is_some(), "{path}");
        assert!(follows.hash(path, &base).unwrap().is_some(), "{path}");
    }
    let lists = follows.lists(&base);
    assert_eq!(
        lists.files,
        [
            "dangling",
            "in",
            "in-absolute",
            "in-dir/file",
            "out",
            "out-absolute",
            "out-dir/empty/.keep",
            "out-dir/file",
            "real/file"
        ]
    );
    assert_eq!(
        lists.dirs,
        ["circle", "in-dir", "out-dir", "out-dir/empty", "real"]
    );
    assert_eq!(
        names(&lists.links),
        // `out` is taken for one that leads to `base/outside`.
        ["circle", "dangling", "in", "in-absolute", "in-dir", "out"]
    );

    let stays = Roots::new(RootsOptions {
        follow_symlinks: false,
        ..tree.options(&[("base", &["base"])])
    })
    .unwrap();
    for path in ["in", "in-absolute", "in-dir/file"] {
        assert!(stays.find(path, &base).is_some(), "{path}");
        assert!(stays.serve(path, &base, 0, None).unwrap().is_some());
    }
    for path in ["out", "out-absolute", "out-dir/file", "dangling"] {
        assert!(stays.find(path, &base).is_none(), "{path}");
        assert!(stays.serve(path, &base, 0, None).unwrap().is_none());
    }
    let lists = stays.lists(&base);
    assert!(!lists.files.contains(&"out-dir/file".to_owned()));
    assert_eq!(lists.links.len(), 8);

    let ignores = Roots::new(RootsOptions {
        ignore_symlinks: true,
        ..tree.options(&[("base", &["base"])])
    })
    .unwrap();
    let lists = ignores.lists(&base);
    assert!(lists.links.is_empty());
    assert!(!lists.files.contains(&"in".to_owned()));
}

#[test]
fn ignored_files_are_neither_listed_nor_served() {
    let tree = Tree::new();
    tree.file("base/keep.sls", "x")
        .file("base/drop.pyc", "x")
        .file("base/.git/config", "x")
        .dir("base/.git/empty");
    let roots = Roots::new(RootsOptions {
        ignore_glob: vec!["*.pyc".to_owned()],
        ignore_regex: vec![r"/\.git($|/)|^\.git".to_owned()],
        ..tree.options(&[("base", &["base"])])
    })
    .unwrap();
    let base = SaltEnv::base();
    assert_eq!(roots.answer_files(&list("")), texts(&["keep.sls"]));
    assert_eq!(roots.answer_dirs(&list("")), texts(&[]));
    assert_eq!(roots.answer_empty_dirs(&list("")), texts(&[]));
    for path in ["drop.pyc", ".git/config"] {
        assert!(roots.find(path, &base).is_none(), "{path}");
    }
    let error = Roots::new(RootsOptions {
        ignore_regex: vec!["(".to_owned()],
        ..RootsOptions::default()
    })
    .unwrap_err();
    assert!(error.to_string().contains("file_ignore_regex"));
}

#[test]
fn a_file_comes_in_chunks_of_the_buffers_size() {
    let tree = Tree::new();
    let content: Vec<u8> = (0..100_000u32).flat_map(u32::to_be_bytes).collect();
    tree.file("base/big", &content);
    let roots = Roots::new(RootsOptions {
        buffer_bytes: 65_537,
        ..tree.options(&[("base", &["base"])])
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

#[test]
fn a_pipe_is_no_file_and_stops_nobody() {
    let tree = Tree::new();
    tree.dir("base");
    let mode = nix::sys::stat::Mode::S_IRWXU;
    nix::unistd::mkfifo(&tree.path("base/pipe"), mode).unwrap();
    let roots = tree.base();
    let base = SaltEnv::base();
    assert!(roots.serve("pipe", &base, 0, None).unwrap().is_none());
    assert!(roots.hash("pipe", &base).unwrap().is_none());
    assert_eq!(roots.lists(&base).files, ["pipe"]);
}

#[test]
fn a_changed_file_has_a_new_hash() {
    let tree = Tree::new();
    tree.file("base/f", "aaaa");
    let path = tree.path("base/f");
    let roots = tree.base();
    let base = SaltEnv::base();
    let hash = || roots.hash("f", &base).unwrap().unwrap().hsum;
    let first = hash();
    assert_eq!(hash(), first);
    // The same size, and even the same time stamp.
    let modified = fs::metadata(&path).unwrap().modified().unwrap();
    fs::write(&path, "bbbb").unwrap();
    fs::File::open(&path)
        .unwrap()
        .set_modified(modified)
        .unwrap();
    let second = hash();
    assert_ne!(first, second);
    fs::write(tree.path("base/g"), "aaaa").unwrap();
    fs::rename(tree.path("base/g"), &path).unwrap();
    assert_eq!(hash(), first);
}

#[test]
fn lists_are_never_old() {
    let tree = Tree::new();
    tree.file("base/sub/a", "").file("base/b", "");
    settle(&tree.path("base/sub"));
    settle(&tree.path("base"));
    let roots = tree.base();
    let base = SaltEnv::base();
    let first = roots.lists(&base);
    assert_eq!(first.files, ["b", "sub/a"]);
    assert!(Arc::ptr_eq(&first, &roots.lists(&base)), "not remembered");
    tree.file("base/sub/c", "");
    assert_eq!(roots.lists(&base).files, ["b", "sub/a", "sub/c"]);
    fs::remove_file(tree.path("base/b")).unwrap();
    assert_eq!(roots.lists(&base).files, ["sub/a", "sub/c"]);
    fs::remove_dir_all(tree.path("base")).unwrap();
    assert!(roots.lists(&base).files.is_empty());
    tree.file("base/again", "");
    assert_eq!(roots.lists(&base).files, ["again"]);
}
