//! Several sources behind one server. The second one is the source of
//! `memoryfs.rs`.

use std::fs;

use halite_proto::Value;
use halite_proto::request::{
    Commits, FileChunk, FileList, FilePath, HeldFile, HeldFiles, MinionRequest, ServeFile,
};
use halite_test_support::map::Toy;
use tempfile::TempDir;

use super::*;
use crate::memoryfs::Memory;

/// A directory with files for `base` and `here`, and the roots over it.
fn roots(files: &[&str]) -> (TempDir, Source) {
    let dir = tempfile::tempdir().unwrap();
    for path in files {
        let path = dir.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "roots").unwrap();
    }
    let root = |env: &str| (env.to_owned(), vec![dir.path().join(env)]);
    let roots = Roots::new(RootsOptions {
        file_roots: vec![root("base"), root("here")],
        times_file: Some(dir.path().join("times")),
        ..RootsOptions::default()
    });
    (dir, Source::Roots(roots.unwrap()))
}

fn memory() -> Memory {
    Memory::default()
        .with("base", "both", "memory")
        .with("base", "b/second", "memory")
        .with("there", "only", "memory")
}

fn env(name: &str) -> SaltEnv {
    SaltEnv::parse(name).unwrap()
}

fn file(path: &str) -> FilePath {
    FilePath {
        path: path.to_owned(),
        saltenv: Some(SaltEnv::base()),
        commits: Commits::default(),
    }
}

fn answer(files: &FileServer, request: MinionRequest) -> Value {
    files.answer(&request).unwrap().unwrap()
}

fn serve(files: &FileServer, path: &str) -> Vec<u8> {
    let wanted = ServeFile {
        file: file(path),
        loc: 0,
        gzip: None,
        beyond: None,
    };
    let answer = answer(files, MinionRequest::ServeFile(wanted));
    FileChunk::from_value(answer).unwrap().data
}

fn back(files: &FileServer, path: &str) -> String {
    let found = answer(files, MinionRequest::FileFind(file(path)));
    let back = found.as_map().and_then(|found| found.get("back"));
    back.and_then(Value::as_str).unwrap_or_default().to_owned()
}

#[test]
fn the_first_source_that_has_a_file_answers_for_it() {
    let (_dir, roots) = roots(&["base/both", "base/a/first"]);
    let files = FileServer::new(vec![roots, Source::Memory(memory())]);
    assert_eq!(serve(&files, "both"), b"roots");
    assert_eq!(back(&files, "both"), "roots");
    assert_eq!(serve(&files, "b/second"), b"memory");
    assert_eq!(back(&files, "b/second"), "memoryfs");
    assert_eq!(back(&files, "nowhere"), "");

    let FileServer { mut sources, .. } = files;
    sources.reverse();
    let files = FileServer::new(sources);
    assert_eq!(serve(&files, "both"), b"memory");
    assert_eq!(back(&files, "both"), "memoryfs");
    assert_eq!(serve(&files, "a/first"), b"roots");
}

#[test]
fn the_hash_is_that_of_the_content_that_is_served() {
    let (_dir, roots) = roots(&["base/both"]);
    let files = FileServer::new(vec![Source::Memory(memory()), roots]);
    let hash = files.hash("both", &SaltEnv::base()).unwrap().unwrap();
    assert_eq!(hash, crate::memoryfs::hash(b"memory"));
    let held = |hsum: &str| {
        Some(HeldFile {
            path: "both".to_owned(),
            saltenv: SaltEnv::base(),
            hash_type: "sha256".to_owned(),
            hsum: hsum.to_owned(),
        })
    };
    let of_roots = crate::memoryfs::hash(b"roots").hsum;
    let asked = MinionRequest::HeldFiles(HeldFiles {
        files: vec![held(&hash.hsum), held(&of_roots), None],
        ..HeldFiles::default()
    });
    let expected = [true, false, false].map(Value::from).to_vec();
    assert_eq!(answer(&files, asked), Value::List(expected));
}

#[test]
fn environments_are_those_of_all_sources() {
    let (_dir, roots) = roots(&["here/only"]);
    let files = FileServer::new(vec![roots, Source::Memory(memory())]);
    assert_eq!(files.envs(&Backends::All), ["base", "here", "there"]);
    assert_eq!(
        answer(&files, MinionRequest::FileEnvs),
        Value::List(["base", "here", "there"].map(Value::from).to_vec())
    );
    let found = |saltenv| files.find("only", &env(saltenv)).map(|found| found.backend);
    assert_eq!(found("here"), Some("roots"));
    assert_eq!(found("there"), Some("memoryfs"));
    assert_eq!(found("base"), None);
    assert_eq!(files.lists(&env("there"), &Backends::All).files, ["only"]);
    assert!(files.lists(&env("none"), &Backends::All).files.is_empty());
}

#[test]
fn lists_hold_the_names_of_all_sources_once() {
    let (dir, roots) = roots(&["base/both", "base/b/first"]);
    let file = fs::File::open(dir.path().join("base/b")).unwrap();
    file.set_modified(std::time::UNIX_EPOCH).unwrap();
    std::os::unix::fs::symlink("both", dir.path().join("base/link")).unwrap();
    let memory = memory()
        .with_link("link", "elsewhere")
        .with_link("more", "x");
    let files = FileServer::new(vec![roots, Source::Memory(memory)]);
    let lists = files.lists(&SaltEnv::base(), &Backends::All);
    assert_eq!(lists.files, ["b/first", "b/second", "both", "link"]);
    assert_eq!(lists.dirs, ["b"]);
    let link = |link: &str, target: &str| (link.to_owned(), target.to_owned());
    assert_eq!(lists.links, [link("link", "both"), link("more", "x")]);

    fs::remove_file(dir.path().join("base/b/first")).unwrap();
    let lists = files.lists(&SaltEnv::base(), &Backends::All);
    assert_eq!(lists.files, ["b/second", "both", "link"]);
}

#[test]
fn a_request_may_name_the_sources_that_it_means() {
    let (_dir, roots) = roots(&["base/one"]);
    let files = FileServer::new(vec![roots, Source::Memory(memory())]);
    for (named, expected) in [
        ("roots", &["one"][..]),
        ("memory", &["b/second", "both"]),
        ("-memoryfs", &["one"]),
        ("memoryfs,roots", &["b/second", "both", "one"]),
        ("git", &[]),
    ] {
        let list = FileList {
            saltenv: Some(SaltEnv::base()),
            prefix: None,
            fsbackend: Some(named.into()),
            ..FileList::default()
        };
        let expected = expected.iter().copied().map(Value::from).collect();
        let listed = answer(&files, MinionRequest::FileList(list));
        assert_eq!(listed, Value::List(expected), "{named}");
    }
    let meant = Backends::from_value(Some(&"memory".into()));
    assert_eq!(files.backends(&meant), ["memoryfs"]);
    assert_eq!(files.backends(&Backends::All), ["roots", "memoryfs"]);
    assert_eq!(files.envs(&meant), ["base", "there"]);
}

#[test]
fn each_source_tells_of_its_own_changes() {
    let (dir, roots) = roots(&["base/one"]);
    let files = FileServer::new(vec![roots, Source::Memory(memory())]);
    let told = |meant: &Backends| -> Vec<(&'static str, Vec<String>)> {
        let updated = files.update(meant, &UpdateWish::default()).into_iter();
        updated
            .map(|updated| (updated.backend, updated.changes.unwrap().added))
            .collect()
    };
    let one = dir.path().join("base/one").display().to_string();
    let all = told(&Backends::All);
    assert_eq!(all[0], ("roots", vec![one]));
    assert_eq!(all[1].0, "memoryfs");
    let meant = Backends::Only(vec!["roots".to_owned()]);
    assert_eq!(told(&meant), [("roots", Vec::new())]);
}

#[test]
fn no_name_leads_out_whichever_source_is_asked() {
    let (_dir, roots) = roots(&["base/one"]);
    let files = FileServer::new(vec![roots, Source::Memory(memory())]);
    for path in ["../base/one", "/etc/passwd", "a/../../x", "|../x", ""] {
        assert!(files.find(path, &SaltEnv::base()).is_none(), "{path}");
    }
}

#[test]
fn a_name_that_no_source_has_is_refused() {
    for name in ["hg", "hgfs", "root", "file_roots", ""] {
        let options = FileServerOptions {
            backends: vec!["roots".to_owned(), name.to_owned()],
            ..FileServerOptions::default()
        };
        let error = FileServer::open(&options).unwrap_err().to_string();
        let expected = format!("fileserver_backend: there is no source of files {name:?}");
        assert_eq!(error, expected);
    }
}

/// The source in memory shows what a further source touches.
#[test]
fn a_source_touches_only_the_files_that_the_map_names() {
    let toy = Toy {
        row: "a file server source",
        names: &["memoryfs"],
        own: &[
            "crates/fileserver/src/memoryfs.rs",
            "crates/fileserver/src/server/tests.rs",
        ],
        bypassed: &[
            "crates/config/src/file_backends.rs",
            "crates/fileserver/src/server.rs",
            "crates/halite/src/minion.rs",
            "crates/master/src/files/settings.rs",
            "crates/minion/src/minion/own_files.rs",
        ],
    };
    toy.check(env!("CARGO_MANIFEST_DIR"));
}
