//! The owner of a directory puts links into it that lead to files of root's:
//! no function and no state changes what they lead to. Links that root has
//! made, and those that lead to what is their owner's, are followed.
#![allow(clippy::unwrap_used)]

mod common;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, lchown, symlink};
use std::path::{Path, PathBuf};

use common::{minion, work};
use halite_fake_minion::{FakeMinion, kwargs};
use halite_proto::{Map, Value};
use halite_test_support::have_root;

/// Who owns the directory, and what is to be theirs.
const OWNER: u32 = 65534;

/// A directory of a user, beside one that is root's.
struct Machine {
    _guard: tempfile::TempDir,
    work: PathBuf,
    minion: FakeMinion,
    home: PathBuf,
    roots: PathBuf,
    before: BTreeMap<PathBuf, (u32, u32, u32, Vec<u8>)>,
}

impl Machine {
    fn new() -> Self {
        let (guard, work) = work();
        let (home, roots) = (work.join("home"), work.join("roots"));
        for directory in [&home, &roots, &roots.join("sub")] {
            fs::create_dir(directory).unwrap();
        }
        let private = fs::Permissions::from_mode(0o600);
        for name in ["file", "a.zip", "link", "sub/file"] {
            let file = roots.join(name);
            fs::write(&file, "precious\nb = 1\n").unwrap();
            fs::set_permissions(&file, private.clone()).unwrap();
        }
        fs::create_dir_all(work.join("srv/tree/d/sub")).unwrap();
        for name in ["tree/d/file", "tree/d/new", "tree/d/sub/file"] {
            fs::write(work.join("srv").join(name), "of the master\n").unwrap();
        }
        let own = home.join("own");
        fs::write(&own, "own\n").unwrap();
        for own in [&home, &own] {
            chown(own, Some(OWNER), Some(OWNER)).unwrap();
        }
        let minion = minion(&work);
        let mut machine = Self {
            _guard: guard,
            work,
            minion,
            home,
            roots,
            before: BTreeMap::new(),
        };
        machine.link("d", "../roots");
        machine.link("f", "../roots/file");
        machine.link("none", "../roots/none");
        machine.link("none.d", "../roots/none");
        machine.before = machine.look();
        machine
    }

    /// Puts a link of the user's into their directory.
    fn link(&self, name: &str, target: &str) -> PathBuf {
        let link = self.home.join(name);
        symlink(target, &link).unwrap();
        lchown(&link, Some(OWNER), Some(OWNER)).unwrap();
        link
    }

    fn look(&self) -> BTreeMap<PathBuf, (u32, u32, u32, Vec<u8>)> {
        let mut all = BTreeMap::new();
        let mut left = vec![self.roots.clone()];
        while let Some(path) = left.pop() {
            let data = fs::symlink_metadata(&path).unwrap();
            let content = if data.is_dir() {
                left.extend(fs::read_dir(&path).unwrap().map(|e| e.unwrap().path()));
                Vec::new()
            } else {
                fs::read(&path).unwrap_or_default()
            };
            all.insert(path, (data.uid(), data.gid(), data.mode(), content));
        }
        all
    }

    fn is_untouched(&self) -> bool {
        self.look() == self.before
    }

    fn state(&self, fun: &str, args: &[(&str, Value)]) -> Result<Map, String> {
        let mut all = Map::new();
        for (name, value) in args {
            all.insert(*name, value.clone());
        }
        let ret = self.minion.run_state(fun, &all, false);
        match ret.map_err(|error| error.to_string())? {
            Value::Map(ret) => Ok(ret),
            other => panic!("{other:?}"),
        }
    }
}

/// Arguments of a state, by name.
type Args = Vec<(&'static str, Value)>;

fn text(path: &Path) -> Value {
    path.to_str().unwrap().into()
}

fn failed(ret: &Result<Map, String>) -> bool {
    match ret {
        Ok(ret) => ret.get("result") == Some(&Value::Bool(false)),
        Err(_) => true,
    }
}

#[test]
fn a_state_changes_nothing_behind_a_users_link() {
    if !have_root() {
        return;
    }
    let user = ("user", Value::from(i64::from(OWNER)));
    let contents = ("contents", Value::from("given\n"));
    let yes = |name| (name, Value::from(true));
    let no = |name| (name, Value::from(false));
    let words = |name, text: &str| (name, Value::from(text));
    let states: Vec<(&str, &str, Args)> = vec![
        ("file.managed", "f", vec![contents.clone(), user.clone()]),
        ("file.managed", "f", vec![no("replace"), user.clone()]),
        (
            "file.managed",
            "f",
            vec![words("mode", "0666"), no("replace")],
        ),
        (
            "file.managed",
            "d/file",
            vec![contents.clone(), user.clone()],
        ),
        (
            "file.managed",
            "d/new",
            vec![contents.clone(), user.clone()],
        ),
        ("file.managed", "none", vec![contents.clone(), user.clone()]),
        (
            "file.managed",
            "d/x/y/new",
            vec![contents, user.clone(), yes("makedirs")],
        ),
        (
            "file.directory",
            "d",
            vec![user.clone(), yes("allow_symlink")],
        ),
        ("file.directory", "d/sub", vec![user.clone()]),
        (
            "file.directory",
            "d/x/y",
            vec![user.clone(), yes("makedirs")],
        ),
        (
            "file.directory",
            "d/sub",
            vec![
                user.clone(),
                ("recurse", vec![Value::from("user")].into()),
                yes("clean"),
            ],
        ),
        (
            "file.recurse",
            "",
            vec![words("source", "salt://tree"), user.clone()],
        ),
        (
            "file.recurse",
            "d",
            vec![words("source", "salt://tree/d"), user.clone()],
        ),
        ("file.append", "f", vec![words("text", "more")]),
        ("file.append", "d/file", vec![words("text", "more")]),
        ("file.prepend", "f", vec![words("text", "more")]),
        (
            "file.replace",
            "f",
            vec![words("pattern", "precious"), words("repl", "x")],
        ),
        (
            "file.line",
            "f",
            vec![
                words("content", "x"),
                words("mode", "insert"),
                words("location", "end"),
            ],
        ),
        ("file.comment", "f", vec![words("regex", "^precious")]),
        (
            "file.keyvalue",
            "f",
            vec![
                words("key", "b"),
                words("value", "2"),
                words("separator", " = "),
            ],
        ),
        (
            "file.blockreplace",
            "f",
            vec![words("content", "x"), yes("append_if_not_found")],
        ),
        (
            "file.serialize",
            "f",
            vec![
                ("dataset", Map::from([("a", 1)]).into()),
                words("serializer", "json"),
                user.clone(),
            ],
        ),
        ("file.absent", "d/file", vec![]),
        ("file.absent", "d/sub", vec![]),
        ("file.touch", "f", vec![]),
        ("file.touch", "d/new", vec![]),
        (
            "file.symlink",
            "d/new",
            vec![words("target", "/x"), user.clone()],
        ),
        (
            "file.symlink",
            "d/file",
            vec![words("target", "/x"), yes("force")],
        ),
        (
            "file.copy",
            "f",
            vec![words("source", "HOME/own"), yes("force"), user.clone()],
        ),
        (
            "file.copy",
            "d/new",
            vec![words("source", "HOME/own"), user.clone()],
        ),
        (
            "file.copy",
            "d",
            vec![
                words("source", "WORK/srv/tree/d"),
                yes("force"),
                user.clone(),
            ],
        ),
        ("file.rename", "d/new", vec![words("source", "HOME/own")]),
        ("file.rename", "new", vec![words("source", "HOME/d/file")]),
        ("file.hardlink", "d/new", vec![words("target", "HOME/own")]),
        (
            "file.mknod",
            "d/new",
            vec![words("ntype", "p"), user.clone()],
        ),
        ("file.tidied", "d", vec![words("matches", ".*")]),
        ("file.prune", "d/sub", vec![]),
    ];
    for (fun, name, args) in states {
        let machine = Machine::new();
        let shown = format!("{fun} {name} {args:?}");
        let place = |value: &Value| match value.as_str() {
            Some(text) => {
                let home = machine.home.to_str().unwrap();
                let text = text.replace("HOME", home);
                text.replace("WORK", machine.work.to_str().unwrap()).into()
            }
            None => value.clone(),
        };
        let mut args: Args = args
            .iter()
            .map(|(name, value)| (*name, place(value)))
            .collect();
        args.push(("name", text(&machine.home.join(name))));
        let ret = machine.state(fun, &args);
        assert!(machine.is_untouched(), "{shown}: {ret:?}");
        if matches!(fun, "file.managed" | "file.append" | "file.replace") {
            assert!(failed(&ret), "{shown}: {ret:?}");
        }
    }
}

#[test]
fn a_function_changes_nothing_behind_a_users_link() {
    if !have_root() {
        return;
    }
    let functions: &[(&str, &[&str])] = &[
        ("file.chown", &["HOME/f", "nobody", "nogroup"]),
        ("file.chown", &["HOME/d/file", "nobody", "nogroup"]),
        ("file.lchown", &["HOME/d/file", "nobody", "nogroup"]),
        ("file.set_mode", &["HOME/f", "0666"]),
        ("file.set_mode", &["HOME/d/file", "0666"]),
        ("file.write", &["HOME/f", "x"]),
        ("file.write", &["HOME/d/new", "x"]),
        ("file.append", &["HOME/f", "x"]),
        ("file.prepend", &["HOME/f", "x"]),
        ("file.truncate", &["HOME/f", "1"]),
        ("file.touch", &["HOME/d/new"]),
        ("file.touch", &["HOME/none"]),
        ("file.mkdir", &["HOME/d/new"]),
        ("file.makedirs", &["HOME/d/x/y/"]),
        ("file.makedirs_perms", &["HOME/d/x/y"]),
        ("file.remove", &["HOME/d/file"]),
        ("file.remove", &["HOME/d/sub"]),
        ("file.rmdir", &["HOME/d/sub"]),
        ("file.rename", &["HOME/d/file", "HOME/new"]),
        ("file.rename", &["HOME/own", "HOME/d/new"]),
        ("file.move", &["HOME/own", "HOME/d"]),
        ("file.copy", &["HOME/own", "HOME/d/file"]),
        ("file.symlink", &["/x", "HOME/d/new"]),
        ("file.link", &["HOME/own", "HOME/d/new"]),
        ("file.mknod_fifo", &["HOME/d/new"]),
        ("file.replace", &["HOME/f", "precious", "x"]),
        ("hashutil.base64_decodefile", &["eA==", "HOME/f"]),
        ("cp.recv", &["FILES", "HOME/d"]),
        ("cp.recv", &["FILES", "HOME/f"]),
        ("cp.get_file", &["salt://tree/d/file", "HOME/f"]),
        ("cp.get_file", &["salt://tree/d/file", "HOME/d/file"]),
        ("cp.get_dir", &["salt://tree/d", "HOME"]),
    ];
    for (fun, args) in functions {
        let machine = Machine::new();
        let home = machine.home.to_str().unwrap();
        let args: Vec<Value> = args
            .iter()
            .map(|arg| match *arg {
                "FILES" => Map::from([("/file", "sent")]).into(),
                arg => arg.replace("HOME", home).into(),
            })
            .collect();
        let ret = machine.minion.run(fun, &args);
        assert!(machine.is_untouched(), "{fun} {args:?}: {ret:?}");
    }
}

fn tar(machine: &Machine, entries: &[(&str, &[u8])]) -> PathBuf {
    let path = machine.work.join("a.tar");
    let mut builder = tar::Builder::new(fs::File::create(&path).unwrap());
    for (name, content) in entries {
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        header.set_mode(0o755);
        let kind = match name.ends_with('/') {
            true => tar::EntryType::Directory,
            false => tar::EntryType::Regular,
        };
        header.set_entry_type(kind);
        builder.append_data(&mut header, name, *content).unwrap();
    }
    builder.finish().unwrap();
    path
}

#[test]
fn an_archive_gives_away_and_writes_nothing_behind_a_users_link() {
    if !have_root() {
        return;
    }
    for overwrite in [false, true] {
        for clean in [false, true] {
            let machine = Machine::new();
            let archive = tar(
                &machine,
                &[("d/", b""), ("d/file", b"x"), ("d/sub/file", b"y")],
            );
            let args = [
                ("name", text(&machine.home)),
                ("source", text(&archive)),
                ("user", i64::from(OWNER).into()),
                ("enforce_toplevel", false.into()),
                ("overwrite", overwrite.into()),
                ("clean", clean.into()),
            ];
            let ret = machine.state("archive.extracted", &args);
            assert!(machine.is_untouched(), "{overwrite} {clean}: {ret:?}");
        }
    }
}

#[test]
fn an_archive_is_not_made_through_a_users_link() {
    if !have_root() {
        return;
    }
    let machine = Machine::new();
    machine.link("a.zip.part", "../roots/file");
    let source = text(&machine.work.join("srv"));
    for zip in ["a.zip", "d/a.zip", "f"] {
        let zip = text(&machine.home.join(zip));
        let ret = machine.minion.run("archive.zip", &[zip, source.clone()]);
        assert!(machine.is_untouched(), "{ret:?}");
    }
    assert!(machine.home.join("a.zip").is_file());
}

#[test]
fn a_content_that_is_checked_is_written_nowhere_else() {
    if !have_root() {
        return;
    }
    let machine = Machine::new();
    let ret = machine.state(
        "file.managed",
        &[
            ("name", text(&machine.home.join("new"))),
            ("contents", "x".into()),
            ("check_cmd", "test -s".into()),
            ("tmp_dir", text(&machine.home.join("d"))),
        ],
    );
    assert!(machine.is_untouched(), "{ret:?}");
    assert!(failed(&ret), "{ret:?}");
}

#[test]
fn links_of_roots_and_links_to_what_is_the_owners_are_followed() {
    if !have_root() {
        return;
    }
    let machine = Machine::new();
    // As /etc/resolv.conf and /var/run are.
    symlink("roots/file", machine.work.join("resolv.conf")).unwrap();
    symlink("roots", machine.work.join("run")).unwrap();
    // Root's own in a directory of the user's.
    symlink("../roots/sub/file", machine.home.join("roots-own")).unwrap();
    // The user's, to what is theirs.
    let theirs = machine.link("theirs", "own");
    // Given to the user, where only root makes names.
    symlink("a.zip", machine.roots.join("given")).unwrap();
    lchown(machine.roots.join("given"), Some(OWNER), Some(OWNER)).unwrap();
    for (place, real) in [
        (machine.work.join("resolv.conf"), machine.roots.join("file")),
        (machine.work.join("run/new"), machine.roots.join("new")),
        (
            machine.home.join("roots-own"),
            machine.roots.join("sub/file"),
        ),
        (theirs, machine.home.join("own")),
        (machine.roots.join("given"), machine.roots.join("a.zip")),
    ] {
        let args = [("name", text(&place)), ("contents", "managed\n".into())];
        let ret = machine.state("file.managed", &args).unwrap();
        assert_eq!(ret.get("result"), Some(&Value::Bool(true)), "{ret:?}");
        assert!(!fs::symlink_metadata(&real).unwrap().is_symlink());
        assert_eq!(fs::read_to_string(&real).unwrap(), "managed\n", "{place:?}");
        let args = [("name", text(&place)), ("text", "more".into())];
        machine.state("file.append", &args).unwrap();
        assert_eq!(fs::read_to_string(&real).unwrap(), "managed\nmore\n");
    }
    let new = machine.home.join("theirs.d/new");
    fs::create_dir(machine.home.join("data")).unwrap();
    chown(machine.home.join("data"), Some(OWNER), Some(OWNER)).unwrap();
    machine.link("theirs.d", "data");
    let args = kwargs([("name", text(&new)), ("contents", "x".into())]);
    let ret = machine
        .minion
        .run_state("file.managed", args.as_map().unwrap(), false);
    assert!(machine.home.join("data/new").is_file(), "{ret:?}");
}

#[test]
fn who_refuses_to_follow_a_link_says_whose_it_is() {
    if !have_root() {
        return;
    }
    let machine = Machine::new();
    let place = machine.home.join("f");
    let args = [("name", text(&place)), ("contents", "x".into())];
    let ret = machine.state("file.managed", &args).unwrap();
    let comment = ret.get("comment").and_then(Value::as_str).unwrap();
    let link = place.display();
    assert!(
        comment.contains(&format!(
            "the link {link}, which nobody has made, leads to what is not theirs"
        )),
        "{comment}"
    );
}
