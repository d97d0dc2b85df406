//! Which file a path names, and which it can never name.

use halite_fileserver::{Backends, FileServer, RootsOptions};
use halite_proto::SaltEnv;
use halite_proto::request::MinionRequest;

use crate::{Tree, answer, env, list, texts};

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
            assert!(roots.find(&path, &saltenv).is_none(), "{path:?}");
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
    assert_eq!(
        answer(&roots, MinionRequest::FileList(list(""))),
        texts(&["both", "only"])
    );
    assert_eq!(roots.envs(&Backends::All), ["__env__", "base"]);
    assert!(roots.find("x", &env("qa")).is_some());
    assert!(roots.find("x?saltenv=qa", &base).is_some());
    assert!(roots.find("x", &env("dev")).is_none());
    assert_eq!(roots.lists(&env("qa"), &Backends::All).files, ["x"]);
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
fn ignored_files_are_neither_listed_nor_served() {
    let tree = Tree::new();
    tree.file("base/keep.sls", "x")
        .file("base/drop.pyc", "x")
        .file("base/.git/config", "x")
        .dir("base/.git/empty");
    let roots = FileServer::from_roots(RootsOptions {
        ignore_glob: vec!["*.pyc".to_owned()],
        ignore_regex: vec![r"/\.git($|/)|^\.git".to_owned()],
        ..tree.options(&[("base", &["base"])])
    })
    .unwrap();
    let base = SaltEnv::base();
    assert_eq!(
        answer(&roots, MinionRequest::FileList(list(""))),
        texts(&["keep.sls"])
    );
    assert_eq!(answer(&roots, MinionRequest::DirList(list(""))), texts(&[]));
    assert_eq!(
        answer(&roots, MinionRequest::FileListEmptydirs(list(""))),
        texts(&[])
    );
    for path in ["drop.pyc", ".git/config"] {
        assert!(roots.find(path, &base).is_none(), "{path}");
    }
    let error = FileServer::from_roots(RootsOptions {
        ignore_regex: vec!["(".to_owned()],
        ..RootsOptions::default()
    })
    .unwrap_err();
    assert!(error.to_string().contains("file_ignore_regex"));
}
