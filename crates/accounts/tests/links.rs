//! A user has linked `~/.ssh` to a directory of root's: no key is written
//! there.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::os::unix::fs::{MetadataExt, chown, lchown, symlink};
use std::path::Path;

use halite_call::Registry;
use halite_fake_minion::{FakeMinion, kwargs};
use halite_proto::Value;
use halite_test_support::have_root;

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
