//! The state directories, as Salt's programs leave and expect them.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;

use halite_crypto::{HashType, PrivateKey, fingerprint_path, fingerprint_text};
use halite_key::{FingerForm, KeyState, KeyStore, KeyStoreError, TokenCheck};
use halite_proto::MinionId;
use tempfile::TempDir;

fn id(name: &str) -> MinionId {
    MinionId::parse(name).unwrap()
}

fn store() -> (TempDir, KeyStore) {
    let dir = tempfile::tempdir().unwrap();
    let store = KeyStore::open(dir.path().join("pki"), None).unwrap();
    (dir, store)
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().mode() & 0o7777
}

#[test]
fn a_new_directory_is_private_and_complete() {
    let (_dir, store) = store();
    assert_eq!(mode(store.pki().path()), 0o700);
    for state in KeyState::ALL {
        assert_eq!(mode(&store.pki().path().join(state.dir_name())), 0o700);
    }
    assert!(store.list_all().unwrap().is_empty());
}

#[test]
fn a_key_is_in_one_state_at_a_time() {
    let (_dir, store) = store();
    let web = id("web1");
    for state in KeyState::LOOKUP {
        store.put(&web, state, " a key\n").unwrap();
        let key = store.lookup(&web).unwrap().unwrap();
        assert_eq!((key.state, key.pem.as_str()), (state, "a key"));
        assert!(key.is_same_key("a key\r\n"));
        assert_eq!(store.list_all().unwrap().len(), 1);
        assert_eq!(
            mode(&store.pki().path().join(state.dir_name()).join("web1")),
            0o600
        );
    }
    store.put(&web, KeyState::Denied, "other").unwrap();
    assert_eq!(
        store.lookup(&web).unwrap().unwrap().state,
        KeyState::Accepted
    );
    assert_eq!(store.list_all().unwrap().denied, [web]);
}

#[test]
fn of_several_files_the_strictest_decides() {
    let (_dir, store) = store();
    for state in ["minions", "minions_pre", "minions_rejected"] {
        fs::write(store.pki().path().join(state).join("all"), state).unwrap();
    }
    for state in ["minions", "minions_pre"] {
        fs::write(store.pki().path().join(state).join("two"), state).unwrap();
    }
    let state_of = |name| store.lookup(&id(name)).unwrap().unwrap().state;
    assert_eq!(state_of("all"), KeyState::Rejected);
    assert_eq!(state_of("two"), KeyState::Pending);
    let listing = store.list_all().unwrap();
    assert_eq!(listing.rejected, [id("all")]);
    assert_eq!(listing.pending, [id("two")]);
    assert!(listing.accepted.is_empty());
    store
        .accept(&id("two"), &[KeyState::Pending])
        .unwrap()
        .unwrap();
    assert_eq!(
        store.get(KeyState::Accepted, &id("two")).unwrap().unwrap(),
        "minions_pre"
    );
    assert_eq!(state_of("two"), KeyState::Accepted);
}

#[test]
fn listings_are_sorted_by_byte_and_show_no_other_files() {
    let (dir, store) = store();
    let pending = store.pki().path().join("minions_pre");
    for name in ["web1", "B", "a", "10", "9", ".hidden", ".tmp1234"] {
        fs::write(pending.join(name), "key").unwrap();
    }
    fs::create_dir(pending.join("directory")).unwrap();
    let real = dir.path().join("real");
    fs::write(&real, "key").unwrap();
    symlink(&real, pending.join("link")).unwrap();
    let names = ["10", "9", "B", "a", "web1"].map(id);
    assert_eq!(store.list(KeyState::Pending).unwrap(), names);
    assert_eq!(store.lookup(&id("link")).unwrap(), None);
    assert_eq!(store.lookup(&id("directory")).unwrap(), None);
}

#[test]
fn an_empty_file_is_no_key() {
    let (_dir, store) = store();
    fs::write(store.pki().path().join("minions/web1"), "").unwrap();
    assert_eq!(store.lookup(&id("web1")).unwrap(), None);
}

#[test]
fn only_the_states_meant_are_changed() {
    let (_dir, store) = store();
    let web = id("web1");
    store.put(&web, KeyState::Rejected, "key").unwrap();
    assert_eq!(store.accept(&web, &[KeyState::Pending]).unwrap(), None);
    assert_eq!(store.accept(&id("nobody"), &KeyState::ALL).unwrap(), None);
    let from = [KeyState::Pending, KeyState::Rejected];
    let change = store.accept(&web, &from).unwrap().unwrap();
    assert_eq!(
        (change.from, change.to),
        (KeyState::Rejected, Some(KeyState::Accepted))
    );
    assert_eq!(store.reject(&web, &[KeyState::Pending]).unwrap(), None);
    store.reject(&web, &[KeyState::Accepted]).unwrap().unwrap();
    assert_eq!(
        store.lookup(&web).unwrap().unwrap().state,
        KeyState::Rejected
    );
}

#[test]
fn a_denied_key_replaces_the_accepted_one_when_asked_for() {
    let (_dir, store) = store();
    let web = id("web1");
    store.put(&web, KeyState::Accepted, "old").unwrap();
    store.put(&web, KeyState::Denied, "new").unwrap();
    let from = [KeyState::Pending, KeyState::Denied];
    let change = store.accept(&web, &from).unwrap().unwrap();
    assert_eq!(
        (change.from, change.pem.as_str()),
        (KeyState::Denied, "new")
    );
    assert_eq!(store.get(KeyState::Accepted, &web).unwrap().unwrap(), "new");
    assert_eq!(store.get(KeyState::Denied, &web).unwrap(), None);
}

#[test]
fn deleting_takes_every_trace() {
    let (_dir, store) = store();
    let web = id("web1");
    store.put(&web, KeyState::Accepted, "one").unwrap();
    store.put(&web, KeyState::Denied, "two").unwrap();
    let changes = store.delete(&web).unwrap();
    let from: Vec<_> = changes.iter().map(|change| change.from).collect();
    assert_eq!(from, [KeyState::Accepted, KeyState::Denied]);
    assert!(changes.iter().all(|change| change.to.is_none()));
    assert!(store.list_all().unwrap().is_empty());
    assert!(store.delete(&web).unwrap().is_empty());
}

#[test]
fn an_id_that_would_be_hidden_is_refused() {
    let (_dir, store) = store();
    let error = store
        .put(&id(".key_cache"), KeyState::Accepted, "key")
        .unwrap_err();
    assert!(matches!(error, KeyStoreError::HiddenId { .. }));
}

#[test]
fn errors_name_the_path_in_one_line() {
    let (dir, store) = store();
    let missing = dir.path().join("nothing");
    let error = KeyStore::open_existing(&missing).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("the key directory {} does not exist", missing.display())
    );
    let file = dir.path().join("file");
    fs::write(&file, "").unwrap();
    let error = KeyStore::open_existing(file.join("pki")).unwrap_err();
    assert!(matches!(error, KeyStoreError::NoDirectory { .. }));
    fs::remove_dir_all(store.pki().path()).unwrap();
    let error = store
        .put(&id("web1"), KeyState::Pending, "key")
        .unwrap_err();
    let path = store.pki().path().join("minions_pre/web1");
    assert_eq!(
        error.to_string(),
        format!("could not write {}", path.display())
    );

    fs::write(store.pki().path(), "a file").unwrap();
    let error = KeyStore::open(store.pki().path(), None).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("could not make the directory")
    );
}

#[test]
fn what_is_no_key_is_an_error_only_when_it_is_used() {
    let (_dir, store) = store();
    let web = id("web1");
    store.put(&web, KeyState::Accepted, "no key").unwrap();
    assert!(matches!(
        store.accepted_key(&web),
        Err(KeyStoreError::Key { .. })
    ));
    fs::write(store.pki().path().join("minions/web2"), b"\xff\xfe").unwrap();
    assert!(matches!(
        store.get(KeyState::Accepted, &id("web2")),
        Err(KeyStoreError::NotText { .. })
    ));
    assert_eq!(store.delete(&id("web2")).unwrap().len(), 1);
}

#[test]
fn both_fingerprints_are_those_of_the_file() {
    let (_dir, store) = store();
    let web = id("web1");
    let pem = PrivateKey::generate(1024)
        .unwrap()
        .public()
        .unwrap()
        .to_pem()
        .unwrap();
    store.put(&web, KeyState::Pending, &pem).unwrap();
    let finger = |form| store.finger(KeyState::Pending, &web, form, HashType::Sha256);
    assert_eq!(
        finger(FingerForm::Body).unwrap().unwrap(),
        fingerprint_path(pem.as_bytes(), HashType::Sha256)
    );
    assert_eq!(
        finger(FingerForm::WholeText).unwrap().unwrap(),
        fingerprint_text(pem.trim().as_bytes(), HashType::Sha256)
    );
    assert_eq!(
        store
            .finger(KeyState::Accepted, &web, FingerForm::Body, HashType::Md5)
            .unwrap(),
        None
    );
}

#[test]
fn a_token_counts_while_its_key_is_accepted() {
    let (_dir, store) = store();
    let web = id("web1");
    let keys = [(); 2].map(|()| PrivateKey::generate(1024).unwrap());
    let pem = |index: usize| keys[index].public().unwrap().to_pem().unwrap();
    let token = |index: usize| keys[index].request_token().unwrap();
    let check = TokenCheck::new(store.clone());
    let right = |index: usize| check.is_right(&web, &token(index)).unwrap();

    assert!(!right(0));
    store.put(&web, KeyState::Accepted, &pem(0)).unwrap();
    for _ in 0..2 {
        assert!(right(0));
        assert!(!right(1));
        assert!(!check.is_right(&web, b"").unwrap());
    }
    store.put(&web, KeyState::Accepted, &pem(1)).unwrap();
    assert!(!right(0));
    assert!(right(1));
    store.reject(&web, &[KeyState::Accepted]).unwrap().unwrap();
    assert!(!right(1));
}

#[test]
fn an_open_directory_is_closed() {
    let (_dir, store) = store();
    fs::set_permissions(store.pki().path(), Permissions::from_mode(0o755)).unwrap();
    KeyStore::open(store.pki().path(), None).unwrap();
    assert_eq!(mode(store.pki().path()), 0o700);
}

#[test]
fn a_directory_that_cannot_be_seen_is_not_said_to_be_missing() {
    let dir = tempfile::tempdir().unwrap();
    // Root may look everywhere, but not behind a link to itself.
    let link = dir.path().join("loop");
    symlink(&link, &link).unwrap();
    let pki = link.join("pki");
    let error = KeyStore::open_existing(&pki).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("could not read {}", pki.display())
    );
}

#[test]
fn a_state_directory_that_cannot_be_seen_says_nothing_about_keys() {
    let (_dir, store) = store();
    let place = store.pki().path().join(KeyState::Accepted.dir_name());
    fs::remove_dir_all(&place).unwrap();
    let version = || store.version(KeyState::Accepted, &id("web1"));
    assert!(version().unwrap().is_none());
    symlink(&place, &place).unwrap();
    assert!(version().is_err());
}
