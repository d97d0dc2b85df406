use halite_git::Entry;

use super::*;

/// The bytes of a tree with these entries; ids in hexadecimal.
fn tree(entries: &[(&str, &[u8], &str)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (mode, name, id) in entries {
        bytes.extend(mode.as_bytes());
        bytes.push(b' ');
        bytes.extend(*name);
        bytes.push(0);
        let digit = |at| u8::from_str_radix(&id[at..at + 2], 16).unwrap();
        bytes.extend((0..id.len()).step_by(2).map(digit));
    }
    bytes
}

#[test]
fn no_name_and_no_link_leads_out_of_a_tree() {
    let Some(tried) = Tried::new() else { return };
    let write = |kind: &str, bytes: &[u8]| {
        let words = ["hash-object", "-w", "--literally", "--stdin", "-t", kind];
        tried.git_with(&words, bytes)
    };
    let file = write("blob", b"content");
    let link = |target: &str| write("blob", target.as_bytes());
    let (out, root, within, circle) = (
        link("../../../etc/passwd"),
        link("/etc/passwd"),
        link("../fine"),
        link("circle"),
    );
    let below = write(
        "tree",
        &tree(&[("120000", b"in", &within), ("100755", b"run", &file)]),
    );
    let top = write(
        "tree",
        &tree(&[
            ("100644", b"..", &file),
            ("100644", b".", &file),
            ("100644", b".git", &file),
            ("40000", b".GIT", &below),
            ("100644", b"/etc", &file),
            ("100644", b"a/b", &file),
            ("100644", b"a\\b", &file),
            ("100644", b"a\nb", &file),
            ("100644", b"bad\xff", &file),
            ("120000", b"circle", &circle),
            ("40000", b"dir", &below),
            ("120000", b"dirlink", &link("dir")),
            ("100644", b"fine", &file),
            ("120000", b"out", &out),
            ("120000", b"root", &root),
            ("160000", b"sub", &"1".repeat(40)),
        ]),
    );
    let commit_id = tried.git(&["commit-tree", "-m", "x", &top]);
    tried.git(&["update-ref", "refs/heads/master", &commit_id]);
    let repository = tried.repository();
    update(&repository).unwrap();
    let commit = commit(&repository, "base").unwrap();
    let mut seen = Vec::new();
    let mut on_entry = |path: &str, entry: Entry| {
        let kind = match entry {
            Entry::Directory => "/".to_owned(),
            Entry::File(file) => if file.executable { "*" } else { "" }.to_owned(),
            Entry::Link(target) => format!(" -> {target}"),
        };
        seen.push(format!("{path}{kind}"));
    };
    assert!(commit.tree.walk(&mut on_entry).unwrap());
    assert_eq!(
        seen,
        [
            "circle -> circle",
            "dir/",
            "dir/in -> ../fine",
            "dir/run*",
            "dirlink -> dir",
            "fine",
            "out -> ../../../etc/passwd",
            "root -> /etc/passwd",
        ]
    );
    for (path, text) in [
        ("fine", Some("content")),
        ("dir/in", Some("content")),
        ("dirlink/run", Some("content")),
        ("dir/../fine", Some("content")),
        ("..", None),
        ("../fine", None),
        (".git", None),
        (".GIT/run", None),
        ("a\\b", None),
        ("circle", None),
        ("out", None),
        ("root", None),
        ("sub", None),
        ("dir", None),
        ("fine/x", None),
        ("", None),
    ] {
        assert_eq!(read(&commit, path).as_deref(), text, "{path:?}");
    }
    assert!(commit.tree.below("dir").unwrap().is_some());
    assert!(commit.tree.below("..").unwrap().is_none());
    assert!(commit.tree.below("dirlink").unwrap().is_none());
}

/// A repository on this machine is somebody's, too: what it says of itself is not for
/// whoever fetches it.
#[test]
fn nothing_that_a_repository_names_is_run() {
    let Some(tried) = Tried::new() else { return };
    let marker = tried.dir.path().join("it-has-run");
    let run = format!("touch {}", marker.display());
    let script = format!("#!/bin/sh\n{run}\n");
    tried.commit("x", "one");
    let modules = format!("[submodule \"sub\"]\n\tpath = sub\n\turl = ext::{run}\n");
    tried.commit(".gitattributes", "* filter=evil diff=evil\n");
    tried.commit(".gitmodules", modules);
    let head = tried.git(&["rev-parse", "HEAD"]);
    let entry = format!("160000,{head},sub");
    tried.git(&["update-index", "--add", "--cacheinfo", &entry]);
    tried.git(&["commit", "-q", "-m", "x"]);
    let own = tried.work().join(".git");
    let config = format!(
        "[core]\n\tbare = false\n\tfsmonitor = {run}\n\tsshCommand = {run}\n\tgitProxy = {run}\n\
         [uploadpack]\n\tpackObjectsHook = {run}\n[protocol]\n\tallow = always\n\
         [filter \"evil\"]\n\tsmudge = {run}\n\tprocess = {run}\n[credential]\n\thelper = !{run}\n"
    );
    fs::write(own.join("config"), config).unwrap();
    for hook in ["post-upload-pack", "pre-receive", "reference-transaction"] {
        use std::os::unix::fs::PermissionsExt;

        let hook = own.join("hooks").join(hook);
        fs::create_dir_all(hook.parent().unwrap()).unwrap();
        fs::write(&hook, &script).unwrap();
        fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let repository = tried.repository();
    for _ in 0..2 {
        update(&repository).unwrap();
    }
    let there = commit(&repository, "base").unwrap();
    assert_eq!(read(&there, "x").as_deref(), Some("one"));
    assert_eq!(read(&there, "sub/x"), None);
    assert!(!marker.exists());
    // Nor is a place that is a program one of a remote.
    for place in [format!("ext::{run}"), "-u./x".to_owned()] {
        let opts = Map::from([("gitfs_remotes", Value::List(vec![place.as_str().into()]))]);
        assert!(Remote::gitfs(&opts).is_err(), "{place}");
    }
}
