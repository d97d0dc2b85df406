//! Access control lists behind users' links are not changed.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown, lchown, symlink};
use std::path::{Path, PathBuf};

use halite_call::{Module, Registry};
use halite_fake_minion::{FakeMinion, kwargs};
use halite_proto::{Map, Value};
use halite_test_support::have_root;

static EXEC: &[&[Module]] = &[halite_core_modules::MODULES, halite_storage::MODULES];
static STATES: &[&[Module]] = &[halite_storage::STATES];
static REGISTRY: Registry = Registry::new(EXEC, STATES);

const USER: u32 = 65534;

/// Follows links as the real one does, and goes down without them, through paths.
const SETFACL: &str = r#"#!/bin/sh
down=
for word; do
    case "$word" in
        -R) down=yes ;;
        -*) ;;
        /*) if [ "$down" ] && [ -d "$word" ]; then
                find -H "$word" -type f | while read -r f; do echo changed >> "$f"; done
            elif [ -f "$word" ]; then
                echo changed >> "$word"
            fi ;;
    esac
done
"#;

const GETFACL: &str = r#"#!/bin/sh
for word; do
    case "$word" in
        /*) printf '# file: %s\n# owner: nobody\n# group: nogroup\nuser::rw-\ngroup::r--\nother::r--\n\n' "$word" ;;
    esac
done
"#;

struct Machine {
    dir: tempfile::TempDir,
    minion: FakeMinion,
}

impl Machine {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let (home, roots) = (dir.path().join("home"), dir.path().join("roots"));
        let programs = dir.path().join("bin");
        for directory in [&home, &home.join("tree"), &roots, &programs] {
            fs::create_dir(directory).unwrap();
        }
        for (name, script) in [("setfacl", SETFACL), ("getfacl", GETFACL)] {
            let program = programs.join(name);
            fs::write(&program, script).unwrap();
            fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        }
        fs::write(roots.join("file"), "precious\n").unwrap();
        for own in ["own", "tree/own"] {
            fs::write(home.join(own), "").unwrap();
        }
        for own in ["", "own", "tree", "tree/own"] {
            chown(home.join(own), Some(USER), Some(USER)).unwrap();
        }
        for (name, target) in [
            ("f", "../roots/file"),
            ("d", "../roots"),
            ("tree/f", "../../roots/file"),
            ("tree/d", "../../roots"),
        ] {
            symlink(target, home.join(name)).unwrap();
            lchown(home.join(name), Some(USER), Some(USER)).unwrap();
        }
        let search = format!("{}:/usr/bin:/bin", programs.display());
        let minion = FakeMinion::new()
            .with_registry(&REGISTRY)
            .with_opt("__host_path__", search);
        Self { dir, minion }
    }

    fn home(&self, name: &str) -> PathBuf {
        self.dir.path().join("home").join(name)
    }

    fn is_untouched(&self) -> bool {
        fs::read_to_string(self.dir.path().join("roots/file")).unwrap() == "precious\n"
    }

    fn is_changed(&self, name: &str) -> bool {
        fs::read_to_string(self.home(name))
            .unwrap()
            .contains("changed")
    }
}

fn text(path: &Path) -> Value {
    path.to_str().unwrap().into()
}

#[test]
fn no_list_is_changed_behind_a_users_link() {
    if !have_root() {
        return;
    }
    for name in ["f", "d", "d/file", "tree"] {
        for recursive in [false, true] {
            let machine = Machine::new();
            let path = text(&machine.home(name));
            let more = kwargs([("recursive", recursive.into())]);
            let set = ["user", "daemon", "rwx"].map(Value::from);
            let set = [&set[..], &[path.clone(), more.clone()]].concat();
            let remove = ["user", "daemon"].map(Value::from);
            let remove = [&remove[..], &[path.clone(), more.clone()]].concat();
            for (fun, args) in [
                ("acl.modfacl", set),
                ("acl.delfacl", remove),
                ("acl.wipefacls", vec![path.clone(), more.clone()]),
            ] {
                let ret = machine.minion.run(fun, &args);
                assert!(machine.is_untouched(), "{fun} {name} {recursive}: {ret:?}");
            }
            let args = Map::from([
                ("name", path),
                ("acl_type", "user".into()),
                ("acl_name", "daemon".into()),
                ("perms", "rwx".into()),
                ("recurse", recursive.into()),
                ("force", true.into()),
            ]);
            let ret = machine.minion.run_state("acl.present", &args, false);
            assert!(machine.is_untouched(), "{name} {recursive}: {ret:?}");
            assert_eq!(machine.is_changed("tree/own"), name == "tree" && recursive);
        }
    }
}

#[test]
fn lists_of_what_is_the_users_are_changed_and_shown_as_ever() {
    if !have_root() {
        return;
    }
    let machine = Machine::new();
    let own = text(&machine.home("own"));
    let set = ["user", "daemon", "rwx"].map(Value::from);
    let none = text(&machine.home("none"));
    machine.minion.run(
        "acl.modfacl",
        &[&set[..], &[none.clone(), own.clone()]].concat(),
    );
    assert!(machine.is_changed("own"));
    let fails = kwargs([("raise_err", true.into())]);
    let ret = machine
        .minion
        .run("acl.modfacl", &[&set[..], &[none, fails]].concat());
    assert!(format!("{ret:?}").contains("none: No such file"), "{ret:?}");
    let lists = machine
        .minion
        .run("acl.getfacl", std::slice::from_ref(&own))
        .ret;
    let comment = lists
        .get(&python_text(&own))
        .and_then(|list| list.get("comment"));
    assert_eq!(
        comment.and_then(|comment| comment.get("file")),
        Some(&own),
        "{lists:?}"
    );
}

fn python_text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}
