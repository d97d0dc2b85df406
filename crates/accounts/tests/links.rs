//! A user has put a link or a named pipe in the place of a file of `~/.ssh`: no key
//! is written behind it, none of root's files is read, and nothing waits.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::fs::{MetadataExt, chown, lchown, symlink};
use std::path::Path;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use halite_call::Registry;
use halite_fake_minion::{FakeMinion, kwargs};
use halite_proto::{Map, Value};
use halite_test_support::have_root;
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;

static REGISTRY: Registry = Registry::new(
    &[halite_core_modules::MODULES, halite_accounts::MODULES],
    &[halite_accounts::STATES],
);

const USER: u32 = 65534;

const KEY: &str = "AAAAC3NzaC1lZDI1NTE5AAAAIJ0bl0m0FvS0kFVYqWv0Xo7yZ1B6oGxkqkq7dR7sP2Qv";

/// A machine with a user, whose home directory is theirs.
fn machine(root: &Path) -> FakeMinion {
    fs::create_dir_all(root.join("etc")).unwrap();
    fs::create_dir_all(root.join("home/larry")).unwrap();
    fs::create_dir_all(root.join("roots/.ssh")).unwrap();
    let users = format!("root:x:0:0::/roots:/bin/sh\nlarry:x:{USER}:{USER}::/home/larry:/bin/sh\n");
    fs::write(root.join("etc/passwd"), users).unwrap();
    fs::write(
        root.join("etc/group"),
        format!("root:x:0:\nlarry:x:{USER}:\n"),
    )
    .unwrap();
    for name in ["authorized_keys", "known_hosts"] {
        fs::write(root.join("roots/.ssh").join(name), "# root's\n").unwrap();
    }
    chown(root.join("home/larry"), Some(USER), Some(USER)).unwrap();
    FakeMinion::new()
        .with_registry(&REGISTRY)
        .with_opt("__host_root__", root.to_str().unwrap())
}

fn present(minion: &FakeMinion) -> Value {
    let args = kwargs([
        ("name", KEY.into()),
        ("user", "larry".into()),
        ("enc", "ssh-ed25519".into()),
    ]);
    let ret = minion.run_state("ssh_auth.present", args.as_map().unwrap(), false);
    ret.unwrap_or_else(|error| error.to_string().into())
}

#[test]
fn keys_of_a_user_are_not_written_behind_a_users_link() {
    if !have_root() {
        return;
    }
    for (link, target) in [
        (".ssh", "../../roots/.ssh"),
        (
            ".ssh/authorized_keys",
            "../../../roots/.ssh/authorized_keys",
        ),
        (".ssh", "../../roots/new"),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let minion = machine(dir.path());
        let place = dir.path().join("home/larry").join(link);
        if link != ".ssh" {
            fs::create_dir(place.parent().unwrap()).unwrap();
            chown(place.parent().unwrap(), Some(USER), Some(USER)).unwrap();
        }
        symlink(target, &place).unwrap();
        lchown(&place, Some(USER), Some(USER)).unwrap();
        let ret = present(&minion);
        let roots = dir.path().join("roots");
        for name in ["authorized_keys", "known_hosts"] {
            let text = fs::read_to_string(roots.join(".ssh").join(name)).unwrap();
            assert_eq!(text, "# root's\n", "{link} {target}: {ret:?}");
        }
        assert_eq!(fs::read_dir(&roots).unwrap().count(), 1, "{ret:?}");
        let host = kwargs([
            ("user", "larry".into()),
            ("hostname", "example".into()),
            ("key", KEY.into()),
            ("enc", "ssh-ed25519".into()),
        ]);
        let ret = minion.run("ssh.set_known_host", &[host]);
        let text = fs::read_to_string(roots.join(".ssh/known_hosts")).unwrap();
        assert_eq!(text, "# root's\n", "{link} {target}: {ret:?}");
    }
}

#[test]
fn keys_of_a_user_are_written_where_they_belong() {
    if !have_root() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let minion = machine(dir.path());
    let ret = present(&minion);
    let file = dir.path().join("home/larry/.ssh/authorized_keys");
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.contains(KEY), "{ret:?}");
    assert_eq!(fs::metadata(&file).unwrap().mode() & 0o7777, 0o600);
    let parent = fs::metadata(file.parent().unwrap()).unwrap();
    assert_eq!(parent.mode() & 0o7777, 0o700);
}

/// What reads files of a user: the function or state, its arguments, and the
/// file.
fn readers() -> Vec<(&'static str, Map, &'static str)> {
    let user = |more: &[(&str, &str)]| {
        let mut map = Map::from([("user", "larry")]);
        for (name, value) in more {
            map.insert(*name, *value);
        }
        map
    };
    let (key, enc) = (("key", KEY), ("enc", "ssh-ed25519"));
    let host = ("hostname", "example");
    vec![
        ("ssh.auth_keys", user(&[]), "authorized_keys"),
        (
            "ssh.check_key",
            user(&[key, enc, ("comment", ""), ("options", "")]),
            "authorized_keys",
        ),
        ("ssh.set_auth_key", user(&[key, enc]), "authorized_keys"),
        ("ssh.rm_auth_key", user(&[key]), "authorized_keys"),
        (
            "ssh_auth.present",
            user(&[("name", KEY), enc]),
            "authorized_keys",
        ),
        (
            "ssh_auth.absent",
            user(&[("name", KEY), enc]),
            "authorized_keys",
        ),
        ("ssh.get_known_host_entries", user(&[host]), "known_hosts"),
        ("ssh.check_known_host", user(&[host, key]), "known_hosts"),
        ("ssh.set_known_host", user(&[host, key, enc]), "known_hosts"),
        ("ssh.rm_known_host", user(&[host]), "known_hosts"),
        ("ssh.hash_known_hosts", user(&[]), "known_hosts"),
        (
            "ssh_known_hosts.present",
            user(&[("name", "example"), key, enc]),
            "known_hosts",
        ),
        (
            "ssh.key_is_encrypted",
            Map::from([("key", "/home/larry/.ssh/id_rsa")]),
            "id_rsa",
        ),
        ("ssh.user_keys", user(&[]), "id_rsa"),
        ("ssh.user_keys", user(&[]), "id_rsa.pub"),
    ]
}

/// Runs a function or a state, which must not wait for ever.
fn run_soon(root: &Path, fun: &'static str, mut args: Map, test: bool) -> String {
    let programs = root.join("bin");
    fs::create_dir_all(&programs).unwrap();
    let program = programs.join("ssh-keygen");
    fs::write(&program, "#!/bin/sh\ncat \"$4\"\n").unwrap();
    fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
    let path = format!("{}:/usr/bin:/bin", programs.display());
    let minion = machine(root).with_opt("__host_path__", path.as_str());
    let (done, result) = mpsc::channel();
    thread::spawn(move || {
        let said = match fun.starts_with("ssh.") {
            true => {
                args.insert("__kwarg__", true);
                format!("{:?}", minion.run(fun, &[args.into()]).ret)
            }
            false => format!("{:?}", minion.run_state(fun, &args, test)),
        };
        let _ = done.send(said);
    });
    let said = result.recv_timeout(Duration::from_secs(30));
    said.unwrap_or_else(|_| panic!("{fun} waits"))
}

#[test]
fn nothing_that_reads_files_of_a_user_waits_at_a_pipe_or_reads_behind_a_link() {
    if !have_root() {
        return;
    }
    const SECRET: &str = "example root:$6$hash:20000:0:99999:7:::";
    for (fun, args, name) in readers() {
        for test in [false, true] {
            let dir = tempfile::tempdir().unwrap();
            let ssh = dir.path().join("home/larry/.ssh");
            fs::create_dir_all(&ssh).unwrap();
            mkfifo(&ssh.join(name), Mode::from_bits_truncate(0o600)).unwrap();
            for place in [&ssh, &ssh.join(name)] {
                chown(place, Some(USER), Some(USER)).unwrap();
            }
            run_soon(dir.path(), fun, args.clone(), test);

            let dir = tempfile::tempdir().unwrap();
            let ssh = dir.path().join("home/larry/.ssh");
            fs::create_dir_all(&ssh).unwrap();
            fs::create_dir_all(dir.path().join("etc")).unwrap();
            fs::write(dir.path().join("etc/shadow"), format!("{SECRET}\n")).unwrap();
            symlink("../../../etc/shadow", ssh.join(name)).unwrap();
            lchown(ssh.join(name), Some(USER), Some(USER)).unwrap();
            chown(&ssh, Some(USER), Some(USER)).unwrap();
            let said = run_soon(dir.path(), fun, args.clone(), test);
            assert!(!said.contains("hash"), "{fun}: {said}");
        }
    }
}

/// `-R DIR` and the like are options of the programs that change accounts.
#[test]
fn a_name_of_a_user_or_a_group_is_never_an_option() {
    let dir = tempfile::tempdir().unwrap();
    let minion = machine(dir.path());
    let name = || Value::from("-Rx");
    for (fun, args) in [
        ("user.add", vec![name()]),
        ("user.delete", vec![name()]),
        ("user.chgroups", vec![name(), "root".into()]),
        ("user.chgroups", vec!["larry".into(), name()]),
        ("group.add", vec![name()]),
        ("group.delete", vec![name()]),
        ("group.adduser", vec!["root".into(), name()]),
        ("group.adduser", vec![name(), "larry".into()]),
        ("shadow.del_password", vec![name()]),
    ] {
        let outcome = format!("{:?}", minion.run(fun, &args));
        assert!(
            outcome.contains("must not begin with"),
            "{fun} {args:?}: {outcome}"
        );
    }
}
