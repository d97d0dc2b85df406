//! Links and pipes in place of plain files.

use halite_fileserver::{Backends, FileServer, RootsOptions};
use halite_proto::SaltEnv;

use crate::Tree;

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
    let lists = follows.lists(&base, &Backends::All);
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

    let stays = FileServer::from_roots(RootsOptions {
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
    let lists = stays.lists(&base, &Backends::All);
    assert!(!lists.files.contains(&"out-dir/file".to_owned()));
    assert_eq!(lists.links.len(), 8);

    let ignores = FileServer::from_roots(RootsOptions {
        ignore_symlinks: true,
        ..tree.options(&[("base", &["base"])])
    })
    .unwrap();
    let lists = ignores.lists(&base, &Backends::All);
    assert!(lists.links.is_empty());
    assert!(!lists.files.contains(&"in".to_owned()));
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
    assert_eq!(roots.lists(&base, &Backends::All).files, ["pipe"]);
}
