//! Files that change: no remembered answer is out of date.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use halite_fileserver::Backends;
use halite_proto::SaltEnv;

use crate::Tree;

/// Lets a file or directory look as if it had not changed for long.
fn settle(path: &Path) {
    let long_ago = SystemTime::now() - Duration::from_secs(3600);
    let file = fs::File::open(path).unwrap();
    file.set_modified(long_ago).unwrap();
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
    let first = roots.lists(&base, &Backends::All);
    assert_eq!(first.files, ["b", "sub/a"]);
    assert!(
        Arc::ptr_eq(&first, &roots.lists(&base, &Backends::All)),
        "not remembered"
    );
    tree.file("base/sub/c", "");
    assert_eq!(
        roots.lists(&base, &Backends::All).files,
        ["b", "sub/a", "sub/c"]
    );
    fs::remove_file(tree.path("base/b")).unwrap();
    assert_eq!(roots.lists(&base, &Backends::All).files, ["sub/a", "sub/c"]);
    fs::remove_dir_all(tree.path("base")).unwrap();
    assert!(roots.lists(&base, &Backends::All).files.is_empty());
    tree.file("base/again", "");
    assert_eq!(roots.lists(&base, &Backends::All).files, ["again"]);
}
