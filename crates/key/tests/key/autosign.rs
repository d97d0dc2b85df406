//! Which minions are accepted and rejected automatically.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use halite_key::{Autosign, AutosignOptions};
use halite_proto::MinionId;
use tempfile::TempDir;

fn id(name: &str) -> MinionId {
    MinionId::parse(name).unwrap()
}

fn no_grains(_: &str) -> Option<String> {
    None
}

fn accepts(autosign: &Autosign, name: &str) -> bool {
    autosign.accepts(&id(name), no_grains, SystemTime::now())
}

fn write(path: &Path, text: &str, mode: u32) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

fn list() -> (TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("list");
    (dir, path)
}

#[test]
fn without_options_nobody_is_decided_about() {
    let (dir, _) = list();
    let autosign = Autosign::new(dir.path(), AutosignOptions::default());
    assert!(!accepts(&autosign, "web1"));
    assert!(!autosign.rejects(&id("web1")));
}

#[test]
fn everybody_is_accepted_on_demand() {
    let (dir, _) = list();
    let options = AutosignOptions {
        auto_accept: true,
        ..AutosignOptions::default()
    };
    assert!(accepts(&Autosign::new(dir.path(), options), "web1"));
}

#[test]
fn lists_are_read_again_when_they_change() {
    let (dir, path) = list();
    let options = AutosignOptions {
        autosign_file: Some(path.clone()),
        autoreject_file: Some(path.clone()),
        ..AutosignOptions::default()
    };
    let autosign = Autosign::new(dir.path(), options);
    assert!(!accepts(&autosign, "web1"));
    write(&path, "web*\n", 0o644);
    for _ in 0..2 {
        assert!(accepts(&autosign, "web1"));
        assert!(autosign.rejects(&id("web1")));
        assert!(!accepts(&autosign, "db1"));
    }
    write(&path, "db[12]\n", 0o644);
    assert!(!accepts(&autosign, "web1"));
    assert!(accepts(&autosign, "db1"));
}

#[test]
fn a_list_that_others_may_write_is_ignored() {
    let (dir, path) = list();
    let check = |mode, permissive_pki_access, expected| {
        write(&path, "web1\n", mode);
        let options = AutosignOptions {
            autosign_file: Some(path.clone()),
            permissive_pki_access,
            ..AutosignOptions::default()
        };
        let autosign = Autosign::new(dir.path(), options);
        assert_eq!(accepts(&autosign, "web1"), expected, "{mode:o}");
    };
    check(0o644, false, true);
    check(0o664, false, false);
    check(0o664, true, true);
    check(0o646, false, false);
    check(0o666, true, false);
}

#[test]
fn a_directory_in_place_of_a_list_accepts_nobody() {
    let (dir, path) = list();
    fs::create_dir(&path).unwrap();
    let options = AutosignOptions {
        autosign_file: Some(path),
        ..AutosignOptions::default()
    };
    assert!(!accepts(&Autosign::new(dir.path(), options), "web1"));
}

#[test]
fn a_stub_approves_once() {
    let (dir, _) = list();
    let stubs = dir.path().join("minions_autosign");
    fs::create_dir(&stubs).unwrap();
    fs::write(stubs.join("web1"), "").unwrap();
    let autosign = Autosign::new(dir.path(), AutosignOptions::default());
    assert!(!accepts(&autosign, "web2"));
    assert!(accepts(&autosign, "web1"));
    assert!(!accepts(&autosign, "web1"));
}

#[test]
fn old_stubs_go_whoever_asks() {
    let (dir, _) = list();
    let stubs = dir.path().join("minions_autosign");
    fs::create_dir(&stubs).unwrap();
    fs::write(stubs.join("web1"), "").unwrap();
    let later = SystemTime::now() + Duration::from_secs(121 * 60);
    let lasting = AutosignOptions {
        stub_lifetime: None,
        ..AutosignOptions::default()
    };
    Autosign::new(dir.path(), lasting).accepts(&id("web2"), no_grains, later);
    assert!(stubs.join("web1").exists());
    let autosign = Autosign::new(dir.path(), AutosignOptions::default());
    assert!(!autosign.accepts(&id("web2"), no_grains, later));
    assert!(!stubs.join("web1").exists());
}

#[test]
fn a_grain_counts_when_its_value_is_a_line_of_its_file() {
    let (dir, _) = list();
    let grains = dir.path().join("grains");
    fs::create_dir(&grains).unwrap();
    write(
        &grains.join("datacenter"),
        "# known\n\nams1\n fra1 \n",
        0o644,
    );
    write(&grains.join("open"), "yes\n", 0o666);
    let options = AutosignOptions {
        autosign_grains_dir: Some(grains),
        ..AutosignOptions::default()
    };
    let autosign = Autosign::new(dir.path(), options);
    let with = |name: &str, value: &str| {
        let grain = |asked: &str| (asked == name).then(|| value.to_owned());
        autosign.accepts(&id("web1"), grain, SystemTime::now())
    };
    assert!(with("datacenter", "ams1"));
    assert!(with("datacenter", "fra1"));
    for value in ["", "# known", "ams", "ams12"] {
        assert!(!with("datacenter", value), "{value:?}");
    }
    assert!(!with("open", "yes"));
    assert!(!with("../list", "web1"));
}
