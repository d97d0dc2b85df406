//! Files that minions have pushed, served to others.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use halite_fileserver::{
    Backends, FileServer, FileServerOptions, Inbox, InboxOptions, MinionFsOptions,
};
use halite_proto::request::FileRecv;
use halite_proto::{MinionId, SaltEnv};
use tempfile::TempDir;

/// A master's cache with what `web1` and `db1` have pushed.
struct Pushed(TempDir);

impl Pushed {
    fn new() -> Self {
        let pushed = Self(tempfile::tempdir().unwrap());
        let inbox = Inbox::new(InboxOptions {
            on: true,
            ..InboxOptions::new(pushed.0.path())
        });
        for (id, path, data) in [
            ("web1", "etc/motd", "hello"),
            ("web1", "etc/deep/er/x", "x"),
            ("web1", "etc/top.sls", "{}"),
            ("db1", "dump", "rows"),
        ] {
            let piece = FileRecv {
                path: path.split('/').map(str::to_owned).collect(),
                loc: 0,
                size: Some(data.len() as u64),
                data: data.as_bytes().to_vec(),
                push: None,
            };
            inbox
                .receive(&MinionId::parse(id).unwrap(), &piece)
                .unwrap();
        }
        pushed
    }

    fn path(&self, path: &str) -> PathBuf {
        self.0.path().join("minions").join(path)
    }

    fn server(&self, change: impl FnOnce(&mut MinionFsOptions)) -> FileServer {
        let mut minionfs = MinionFsOptions {
            cachedir: self.0.path().to_owned(),
            ..MinionFsOptions::default()
        };
        change(&mut minionfs);
        let options = FileServerOptions {
            backends: vec!["minion".to_owned()],
            minionfs,
            ..FileServerOptions::default()
        };
        FileServer::open(&options).unwrap()
    }
}

fn read(files: &FileServer, path: &str) -> Option<String> {
    let found = files.find(path, &SaltEnv::base())?;
    Some(String::from_utf8(found.read_whole().unwrap()).unwrap())
}

fn listed(files: &FileServer) -> Vec<String> {
    let lists = files.lists(&SaltEnv::base(), &Backends::All);
    lists.files.clone()
}

#[test]
fn what_a_minion_has_pushed_is_below_its_id() {
    let pushed = Pushed::new();
    let files = pushed.server(|_| {});
    assert_eq!(read(&files, "web1/etc/motd").as_deref(), Some("hello"));
    assert_eq!(read(&files, "db1/dump").as_deref(), Some("rows"));
    for missing in ["web1", "web1/etc", "web2/etc/motd", "etc/motd", "web1/dump"] {
        assert_eq!(read(&files, missing), None, "{missing}");
    }
    let found = files.find("web1/etc/motd", &SaltEnv::base()).unwrap();
    assert_eq!(found.backend, "minionfs");
    assert_eq!(found.stat.size, 5);
    let hash = found.hash().unwrap();
    let expected = halite_crypto::hash_hex(hash.hash_type, b"hello");
    assert_eq!(hash.hsum, expected);

    let lists = files.lists(&SaltEnv::base(), &Backends::All);
    let expected = [
        "db1/dump",
        "web1/etc/deep/er/x",
        "web1/etc/motd",
        "web1/etc/top.sls",
    ];
    assert_eq!(lists.files, expected);
    assert_eq!(
        lists.dirs,
        ["web1/etc", "web1/etc/deep", "web1/etc/deep/er"]
    );
    assert!(lists.empty_dirs.is_empty());
}

#[test]
fn a_top_file_of_a_minion_is_not_served() {
    let pushed = Pushed::new();
    assert_eq!(read(&pushed.server(|_| {}), "web1/etc/top.sls"), None);
}

/// `salt://_modules` is what all minions run, and `salt://_runners` what the master
/// does: a minion may have such an id, and brings no code for others with it.
#[test]
fn a_minion_that_is_called_like_a_directory_of_code_brings_none() {
    let pushed = Pushed::new();
    for id in ["_modules", "_runners", "_x"] {
        let id = MinionId::parse(id).unwrap();
        let to = pushed.path(id.as_str()).join("files");
        fs::create_dir_all(&to).unwrap();
        fs::write(to.join("evil.py"), "import os").unwrap();
    }
    let files = pushed.server(|_| {});
    for path in ["_modules/evil.py", "_runners/evil.py", "_x/evil.py"] {
        assert_eq!(read(&files, path), None, "{path}");
    }
    let all = listed(&files);
    assert!(all.iter().any(|path| path == "web1/etc/motd"));
    assert!(!all.iter().any(|path| path.starts_with('_')), "{all:?}");
    // Below a mount point nothing is taken for code.
    let files = pushed.server(|options| options.mountpoint = "salt://pushed".to_owned());
    assert!(read(&files, "pushed/_x/evil.py").is_some());
    let files = pushed.server(|options| options.mountpoint = "salt://_grains".to_owned());
    assert_eq!(read(&files, "_grains/web1/etc/motd"), None);
    assert_eq!(listed(&files), [""; 0]);
}

#[test]
fn the_files_have_one_environment_and_a_mount_point() {
    let pushed = Pushed::new();
    let files = pushed.server(|options| {
        options.env = "pushed".to_owned();
        options.mountpoint = "salt://from/minions/".to_owned();
    });
    let env = SaltEnv::parse("pushed").unwrap();
    assert_eq!(files.envs(&Backends::All), ["pushed"]);
    assert!(listed(&files).is_empty());
    assert_eq!(read(&files, "from/minions/db1/dump"), None);
    let found = files.find("from/minions/db1/dump", &env).unwrap();
    assert_eq!(found.rel, "db1/dump");
    assert_eq!(found.read_whole().unwrap(), b"rows");
    // As long as the mount point, and not it.
    assert!(files.find("from/xxxxxxx/db1/dump", &env).is_none());
    assert!(files.find("db1/dump", &env).is_none());
    let lists = files.lists(&env, &Backends::All);
    assert!(lists.files.contains(&"from/minions/db1/dump".to_owned()));
}

#[test]
fn white_and_black_lists_hide_minions() {
    let pushed = Pushed::new();
    let files = pushed.server(|options| options.whitelist = vec!["db*".to_owned()]);
    assert_eq!(listed(&files), ["db1/dump"]);
    assert_eq!(read(&files, "web1/etc/motd"), None);
    let files = pushed.server(|options| options.blacklist = vec![r"db\d".to_owned()]);
    assert!(!listed(&files).contains(&"db1/dump".to_owned()));
    assert_eq!(read(&files, "db1/dump"), None);
    assert!(read(&files, "web1/etc/motd").is_some());
}

#[test]
fn no_link_leads_out_of_a_minions_files() {
    let pushed = Pushed::new();
    let outside = tempfile::tempdir().unwrap();
    fs::create_dir(outside.path().join("d")).unwrap();
    fs::write(outside.path().join("d/secret"), "secret").unwrap();
    let secret = outside.path().join("d/secret");
    symlink(&secret, pushed.path("web1/files/link")).unwrap();
    symlink(outside.path().join("d"), pushed.path("web1/files/dir")).unwrap();
    symlink(outside.path(), pushed.path("web2")).unwrap();
    fs::create_dir(pushed.path("web3")).unwrap();
    symlink(outside.path().join("d"), pushed.path("web3/files")).unwrap();
    let files = pushed.server(|_| {});
    for path in [
        "web1/link",
        "web1/dir/secret",
        "web2/d/secret",
        "web3/secret",
        "web1/../web3/secret",
        "../d/secret",
    ] {
        assert!(files.find(path, &SaltEnv::base()).is_none(), "{path}");
    }
    let lists = files.lists(&SaltEnv::base(), &Backends::All);
    for name in lists.files.iter().chain(&lists.dirs) {
        assert!(name.starts_with("web1/etc") || name == "db1/dump", "{name}");
    }
}

#[test]
fn a_file_that_became_a_link_is_not_read() {
    let pushed = Pushed::new();
    let files = pushed.server(|_| {});
    let found = files.find("db1/dump", &SaltEnv::base()).unwrap();
    fs::remove_file(pushed.path("db1/files/dump")).unwrap();
    symlink("/etc/passwd", pushed.path("db1/files/dump")).unwrap();
    assert!(found.read_whole().is_err());
    assert!(found.hash().is_err());
}

#[test]
fn the_first_file_of_a_minion_shows_in_the_list() {
    let pushed = Pushed::new();
    fs::create_dir(pushed.path("new")).unwrap();
    let files = pushed.server(|_| {});
    assert!(!listed(&files).contains(&"new/x".to_owned()));
    fs::create_dir(pushed.path("new/files")).unwrap();
    fs::write(pushed.path("new/files/x"), "").unwrap();
    assert!(listed(&files).contains(&"new/x".to_owned()));
}
