//! The owner of a directory puts links into it that lead to root's files: no
//! function and no state changes their destinations. Links that root has made, and
//! those that lead to their owner's own files, are followed.
#![allow(clippy::unwrap_used)]

mod machine;

use std::fs;
use std::os::unix::fs::{MetadataExt, chown, lchown, symlink};
use std::path::Path;

use halite_call::{Job, run_function};
use halite_fake_minion::kwargs;
use halite_proto::{Map, Value};
use halite_test_support::{have_programs, have_root, not_run};
use machine::{Machine, OWNER};

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

/// States, the names below the user's directory that they are called with, and
/// what else.
fn state_calls() -> Vec<(&'static str, &'static str, Args)> {
    let user = ("user", Value::from(i64::from(OWNER)));
    let contents = ("contents", Value::from("given\n"));
    let yes = |name| (name, Value::from(true));
    let no = |name| (name, Value::from(false));
    let words = |name, text: &str| (name, Value::from(text));
    vec![
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
    ]
}

#[test]
fn a_state_changes_nothing_behind_a_users_link() {
    if !have_root() {
        return;
    }
    for (fun, name, args) in state_calls() {
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

/// Every way in which `salt-cp` sends a file of several pieces: Salt's, which says only
/// whether there were others before, and ours, which says where each belongs. A
/// directory comes without content.
#[test]
fn a_file_that_comes_in_pieces_is_not_written_behind_a_users_link() {
    if !have_root() {
        return;
    }
    const FUN: &str = "cp.recv_chunked";
    let job = Job::published(Map::from([("fun", FUN), ("jid", "1")]));
    let ways: [&[(&str, Value)]; 4] = [
        &[("eA==", false.into()), ("eQ==", true.into())],
        &[("eA==", true.into())],
        &[("eA==", "".into()), ("eQ==", "last:1:1".into())],
        &[
            ("eA==", "".into()),
            ("eQ==", "more:1:1".into()),
            ("eg==", "last:1:2".into()),
        ],
    ];
    let places = ["f", "none", "d/file", "d/new", "d/x/new", "none.d/new"];
    for (way, name) in ways.iter().flat_map(|way| places.map(|name| (way, name))) {
        let machine = Machine::new();
        let send = |name: &str| -> Vec<Value> {
            let dest = text(&machine.home.join(name));
            let piece = |(chunk, append): &(&str, Value)| {
                let named = kwargs([
                    ("chunk", (*chunk).into()),
                    ("append", append.clone()),
                    ("compressed", false.into()),
                ]);
                let args = [dest.clone(), named];
                run_function(&machine.minion, FUN, &args, &job).ret
            };
            way.iter().map(piece).collect()
        };
        let said = send(name);
        assert!(machine.is_untouched(), "{name} {way:?}: {said:?}");
        assert_ne!(said.last(), Some(&true.into()), "{name} {way:?}: {said:?}");
        // The same into what is the user's.
        let said = send("own");
        assert!(
            said.iter().all(|said| *said == true.into()),
            "{way:?}: {said:?}"
        );
        let own = fs::read_to_string(machine.home.join("own")).unwrap();
        assert!(own.contains('x'), "{way:?}: {own}");
    }
    for name in ["d/x", "d/x/y", "none", "none.d/x"] {
        let machine = Machine::new();
        let dest = text(&machine.home.join(name));
        let none = kwargs([("chunk", Value::Nil)]);
        let ret = machine.minion.run(FUN, &[dest, none]);
        assert!(machine.is_untouched(), "{name}: {ret:?}");
        assert_ne!(ret.ret, true.into(), "{name}");
    }
}

/// What a function is given to read is what its owner may read, too: what it
/// returns goes to whoever has asked, or into a file of the user's.
#[test]
fn a_function_shows_nothing_behind_a_users_link() {
    if !have_root() {
        return;
    }
    let functions: &[(&str, &[&str])] = &[
        ("rsync.config", &["FILE"]),
        ("cp.get_file_str", &["FILE"]),
        ("cp.cache_local_file", &["FILE"]),
        ("cp.get_template", &["FILE", "HOME/own", "jinja"]),
    ];
    for (fun, args) in functions {
        for (file, is_shown) in [("HOME/f", false), ("HOME/own", true)] {
            let machine = Machine::new();
            fs::write(machine.home.join("own"), "precious").unwrap();
            let home = machine.home.to_str().unwrap();
            let full = |arg: &&str| Value::from(arg.replace("FILE", file).replace("HOME", home));
            let args: Vec<Value> = args.iter().map(full).collect();
            let ret = machine.minion.run(fun, &args);
            let cached = ret.ret.as_str().map(fs::read_to_string);
            let shown = format!("{ret:?} {cached:?}");
            // A template of the own file is rendered into itself.
            assert_eq!(
                shown.contains("precious"),
                is_shown,
                "{fun} {file}: {shown}"
            );
            assert!(machine.is_untouched(), "{fun} {file}: {shown}");
        }
    }
}

#[test]
fn an_archive_gives_away_and_writes_nothing_behind_a_users_link() {
    if !have_root() {
        return;
    }
    for overwrite in [false, true] {
        for clean in [false, true] {
            let machine = Machine::new();
            let archive = machine.tar(&[("d/", b""), ("d/file", b"x"), ("d/sub/file", b"y")]);
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

/// Programs follow links on their way; what they extract is brought to its place as
/// what is extracted here. The archives have no entries for directories.
#[test]
fn what_a_program_extracts_is_not_written_behind_a_users_link() {
    if !have_root() || !have_programs(&["tar", "zip", "unzip"]) {
        return;
    }
    let yes = Value::from(true);
    let tar = |options: &str| vec![("options", Value::from(options))];
    let zip = |options: &str| {
        vec![
            ("options", Value::from(options)),
            ("use_cmd_unzip", yes.clone()),
        ]
    };
    let cases = [
        ("tar", "x/d/file", tar("--strip-components=1")),
        (
            "tar",
            "x/d/sub/file",
            tar("--strip-components=1 --numeric-owner"),
        ),
        ("tar", "x/d/new", tar("-v --strip=1")),
        ("zip", "d/file", zip("-o")),
        ("zip", "d/new", zip("")),
        ("zip", "d/sub/file", vec![("use_cmd_unzip", yes.clone())]),
    ];
    for (kind, name, more) in cases {
        for overwrite in [false, true] {
            let machine = Machine::new();
            let archive = match kind {
                "tar" => machine.tar(&[("x/good", b"good"), (name, b"x")]),
                _ => machine.zip(&["good", name]),
            };
            let mut args = vec![
                ("name", text(&machine.home)),
                ("source", text(&archive)),
                ("user", i64::from(OWNER).into()),
                ("enforce_toplevel", false.into()),
                ("overwrite", overwrite.into()),
            ];
            args.extend(more.clone());
            let ret = machine.state("archive.extracted", &args);
            let shown = format!("{kind} {name} {more:?}: {ret:?}");
            assert!(machine.is_untouched() && failed(&ret), "{shown}");
        }
    }
}

#[test]
fn what_a_program_extracts_is_where_it_belongs() {
    if !have_root() || !have_programs(&["tar", "zip", "unzip"]) {
        return;
    }
    let machine = Machine::new();
    let dest = machine.home.join("app");
    let archive = machine.tar(&[("x/bin/", b""), ("x/bin/run", b"one"), ("x/own", b"two")]);
    let args = [
        ("name", text(&dest)),
        ("source", text(&archive)),
        ("user", i64::from(OWNER).into()),
        ("enforce_toplevel", false.into()),
        ("options", "--strip-components=1".into()),
    ];
    let ret = machine.state("archive.extracted", &args).unwrap();
    assert_eq!(ret.get("result"), Some(&Value::Bool(true)), "{ret:?}");
    for (name, content) in [("bin/run", "one"), ("own", "two")] {
        let path = dest.join(name);
        assert_eq!(fs::read_to_string(&path).unwrap(), content);
        assert_eq!(fs::metadata(&path).unwrap().uid(), OWNER);
    }
    let listed = ["x/bin/", "x/bin/run", "x/own"].map(Value::from).to_vec();
    let changes = ret.get("changes").unwrap();
    assert_eq!(changes.get("extracted_files"), Some(&listed.into()));
    let zip = machine.zip(&["own", "bin/more"]);
    let unzip = |options: &str| {
        let args = [text(&zip), text(&dest), Value::Nil, options.into()];
        format!("{:?}", machine.minion.run("archive.cmd_unzip", &args))
    };
    let named = |name: &str| dest.join(name).display().to_string();
    // Nobody says that what is there may be replaced.
    let said = unzip("");
    assert!(
        said.contains(&format!("replace {}?", named("own"))),
        "{said}"
    );
    assert!(dest.join("bin/more").is_file(), "{said}");
    assert_eq!(fs::read_to_string(dest.join("own")).unwrap(), "two");
    let said = unzip("-o");
    assert!(said.contains(&named("bin/more")), "{said}");
    assert_eq!(fs::read_to_string(dest.join("own")).unwrap(), "zipped\n");
    // Nothing is left of where it was extracted first.
    let left = fs::read_dir(machine.work.join("cache/extracting")).unwrap();
    assert_eq!(left.count(), 0);
}

/// Programs that are given a path of a user's.
#[test]
fn a_program_gets_to_nothing_behind_a_users_link() {
    if !have_root() || !have_programs(&["patch", "rsync"]) {
        return;
    }
    const PATCH: &str = "--- f\n+++ f\n@@ -1,2 +1,2 @@\n-precious\n+changed\n b = 1\n";
    let functions: &[(&str, &[&str])] = &[
        ("file.patch", &["HOME/f", "WORK/patch"]),
        ("file.patch", &["HOME/d/file", "WORK/patch"]),
        ("rsync.rsync", &["WORK/srv/tree/d/", "HOME/d"]),
        ("rsync.rsync", &["WORK/srv/tree/d/", "HOME/d/"]),
        ("rsync.rsync", &["WORK/srv/tree/d/file", "HOME/d/new"]),
        ("rsync.rsync", &["WORK/srv/tree/d/", "HOME/d/sub"]),
    ];
    for (fun, args) in functions {
        let machine = Machine::new();
        fs::write(machine.work.join("patch"), PATCH).unwrap();
        let (home, work) = (
            machine.home.to_str().unwrap(),
            machine.work.to_str().unwrap(),
        );
        let full = |arg: &&str| Value::from(arg.replace("HOME", home).replace("WORK", work));
        let args: Vec<Value> = args.iter().map(full).collect();
        let ret = machine.minion.run(fun, &args);
        assert!(machine.is_untouched(), "{fun} {args:?}: {ret:?}");
    }
    for name in ["f", "d/file"] {
        let machine = Machine::new();
        fs::write(machine.work.join("srv/patch"), PATCH).unwrap();
        let args = [
            ("name", text(&machine.home.join(name))),
            ("source", "salt://patch".into()),
        ];
        let ret = machine.state("file.patch", &args);
        assert!(machine.is_untouched() && failed(&ret), "{name}: {ret:?}");
    }
    // What is the user's is changed as ever, and named as it was given.
    let machine = Machine::new();
    fs::write(machine.home.join("own"), "precious\nb = 1\n").unwrap();
    fs::write(machine.work.join("srv/patch"), PATCH).unwrap();
    let own = machine.home.join("own");
    let args = [("name", text(&own)), ("source", "salt://patch".into())];
    let ret = machine.state("file.patch", &args).unwrap();
    assert_eq!(
        fs::read_to_string(&own).unwrap(),
        "changed\nb = 1\n",
        "{ret:?}"
    );
    assert!(
        format!("{ret:?}").contains(&format!("patching file {}", own.display())),
        "{ret:?}"
    );
    let args = ["WORK/srv/tree/d/", "HOME/copy"];
    let (home, work) = (
        machine.home.to_str().unwrap(),
        machine.work.to_str().unwrap(),
    );
    let args = args.map(|arg| Value::from(arg.replace("HOME", home).replace("WORK", work)));
    let ret = machine.minion.run("rsync.rsync", &args);
    assert!(machine.home.join("copy/sub/file").is_file(), "{ret:?}");
}

/// Whether the kernel sets attributes of files here, asked without our own functions.
fn has_attributes(dir: &Path) -> bool {
    use rustix::fs::{IFlags, ioctl_getflags, ioctl_setflags};
    let file = fs::File::create(dir.join("with-attributes")).unwrap();
    let flags = ioctl_getflags(&file);
    flags.is_ok_and(|flags| ioctl_setflags(&file, flags | IFlags::NOATIME).is_ok())
}

#[test]
fn attributes_of_what_is_behind_a_users_link_stay() {
    if !have_root() {
        return;
    }
    let machine = Machine::new();
    if !has_attributes(&machine.work) {
        not_run("a file system with attributes");
        return;
    }
    let attributes = |name: &str| {
        let ret = machine
            .minion
            .run("file.lsattr", &[text(&machine.roots.join(name))]);
        format!("{:?}", ret.ret)
    };
    let own = text(&machine.home.join("own"));
    let add = kwargs([("operator", "add".into()), ("attributes", "A".into())]);
    let ret = machine
        .minion
        .run("file.chattr", &[own.clone(), add.clone()]);
    assert_eq!(ret.ret, Value::Bool(true), "{ret:?}");
    let own = format!("{:?}", machine.minion.run("file.lsattr", &[own]).ret);
    assert!(own.contains("\"A\""), "{own}");
    for name in ["f", "d/file"] {
        let before = attributes("file");
        let path = text(&machine.home.join(name));
        let ret = machine.minion.run("file.chattr", &[path, add.clone()]);
        assert_eq!(attributes("file"), before, "{ret:?}");
        assert_eq!(ret.ret, Value::Bool(false), "{ret:?}");
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
            "the link {link}, made by nobody, leads to something of another owner"
        )),
        "{comment}"
    );
}
