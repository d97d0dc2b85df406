//! The key pairs of masters and minions and their files.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use halite_crypto::master_sign::{verify_master_key, verify_successor};
use halite_crypto::{HashType, PrivateKey, PublicKey, Secret, SigAlgo, clean_key};
use halite_key::{
    KeyStoreError, MasterKeyOptions, MasterKeys, MasterSigning, MinionKeys, PkiDir,
    SignatureRequest, TrustedMaster, gen_keys, gen_signature, renew_master_key,
};
use tempfile::TempDir;

const BITS: u32 = 1024;

fn store() -> (TempDir, PkiDir) {
    let dir = tempfile::tempdir().unwrap();
    let store = PkiDir::open(dir.path().join("pki"), None).unwrap();
    (dir, store)
}

fn options(id: &str) -> MasterKeyOptions<'_> {
    MasterKeyOptions {
        id,
        passphrase: None,
        bits: BITS,
        signing: MasterSigning::None,
    }
}

fn load(store: &PkiDir, id: &str) -> MasterKeys {
    MasterKeys::load_or_generate(store, &options(id)).unwrap()
}

fn refused(store: &PkiDir, id: &str) -> KeyStoreError {
    MasterKeys::load_or_generate(store, &options(id)).unwrap_err()
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().mode() & 0o7777
}

#[track_caller]
fn assert_new_layout(store: &PkiDir, name: &str) {
    for half in ["pem", "pub"] {
        let real = store.path().join(format!("{name}.{half}"));
        assert!(fs::symlink_metadata(&real).unwrap().is_file());
        let old = store.path().join(format!("master.{half}"));
        assert_eq!(fs::read_link(old).unwrap(), real);
    }
    assert_eq!(mode(&store.path().join(format!("{name}.pem"))), 0o400);
}

#[test]
fn a_new_master_pair_has_the_layout_of_3008() {
    let (_dir, store) = store();
    let keys = load(&store, "vm_master");
    assert_new_layout(&store, "vm");
    let public = fs::read_to_string(store.path().join("vm.pub")).unwrap();
    assert_eq!(clean_key(&public), keys.public_pem());
    assert!(public.ends_with("-----\n"));
    assert_eq!(mode(&store.path().join("vm.pub")), 0o400);
    assert_eq!(load(&store, "vm_master").public_pem(), keys.public_pem());
}

#[test]
fn the_layout_of_3006_is_taken_over() {
    let (_dir, store) = store();
    let made = gen_keys(store.path(), "master", BITS, None, None).unwrap();
    let keys = load(&store, "vm_master");
    assert_eq!(
        keys.public_pem(),
        made.private.public().unwrap().clean_pem().unwrap()
    );
    assert_new_layout(&store, "vm");
    assert_eq!(load(&store, "vm_master").public_pem(), keys.public_pem());
}

#[test]
fn a_master_renamed_keeps_its_key() {
    let (_dir, store) = store();
    let keys = load(&store, "old_master");
    assert_eq!(load(&store, "new_master").public_pem(), keys.public_pem());
}

#[test]
fn a_key_copied_over_the_link_is_neither_ignored_nor_believed() {
    let (_dir, store) = store();
    let keys = load(&store, "vm_master");
    fs::remove_file(store.path().join("master.pem")).unwrap();
    let shared = gen_keys(store.path(), "master", BITS, None, None).unwrap();
    let error = refused(&store, "vm_master");
    assert!(matches!(error, KeyStoreError::TwoKeys { .. }), "{error}");
    for text in ["master.pem", "vm.pem", "remove the wrong pair"] {
        assert!(error.to_string().contains(text), "{error}");
    }
    fs::remove_file(store.path().join("vm.pem")).unwrap();
    let now = load(&store, "vm_master");
    assert_ne!(now.public_pem(), keys.public_pem());
    let shared = shared.private.public().unwrap().clean_pem().unwrap();
    assert_eq!(now.public_pem(), shared);
}

#[test]
fn a_link_to_a_key_that_is_not_there_makes_no_new_key() {
    let (_dir, store) = store();
    load(&store, "vm_master");
    fs::remove_file(store.path().join("vm.pem")).unwrap();
    let error = refused(&store, "vm_master");
    assert!(
        matches!(error, KeyStoreError::DanglingLink { .. }),
        "{error}"
    );
    assert!(!store.path().join("vm.pem").exists());
}

#[test]
fn a_new_key_is_signed_by_the_one_before() {
    let (_dir, store) = store();
    let mut keys = vec![load(&store, "vm_master")];
    assert!(keys[0].changes().is_empty());
    for count in 1..=2 {
        let renewed = renew_master_key(&store, "vm_master", BITS, None).unwrap();
        let now = load(&store, "vm_master");
        let before = keys.last().unwrap();
        assert_eq!(renewed.old_pem, before.public_pem());
        assert_eq!(renewed.new_pem, now.public_pem());
        assert_ne!(now.public_pem(), before.public_pem());
        assert_eq!(now.changes().len(), count);
        let last = now.changes().last().unwrap();
        assert_eq!(last.old_key, before.public_pem());
        let old = PublicKey::from_pem(&last.old_key).unwrap();
        assert!(verify_successor(&old, now.public_pem(), &last.signature));
        assert!(!verify_successor(
            &old,
            before.public_pem(),
            &last.signature
        ));
        assert_new_layout(&store, "vm");
        assert_eq!(mode(&renewed.kept), 0o400);
        keys.push(now);
    }
    // A change that was cut off before the new pair was written leads nowhere.
    let pair = fs::read(store.path().join("vm.pem")).unwrap();
    renew_master_key(&store, "vm_master", BITS, None).unwrap();
    fs::remove_file(store.path().join("vm.pem")).unwrap();
    fs::write(store.path().join("vm.pem"), pair).unwrap();
    let now = load(&store, "vm_master");
    assert_eq!(now.public_pem(), keys[2].public_pem());
    assert_eq!(now.changes(), keys[2].changes());
}

#[test]
fn a_master_called_master_needs_no_links() {
    let (_dir, store) = store();
    let keys = load(&store, "master_master");
    assert!(
        fs::symlink_metadata(store.path().join("master.pem"))
            .unwrap()
            .is_file()
    );
    assert_eq!(load(&store, "master").public_pem(), keys.public_pem());
}

#[test]
fn a_missing_or_foreign_public_file_is_written_anew() {
    let (_dir, store) = store();
    let keys = load(&store, "vm_master");
    let path = store.path().join("vm.pub");
    fs::remove_file(&path).unwrap();
    load(&store, "vm_master");
    assert_eq!(
        clean_key(&fs::read_to_string(&path).unwrap()),
        keys.public_pem()
    );
    let other = PrivateKey::generate(BITS).unwrap().public().unwrap();
    fs::remove_file(&path).unwrap();
    fs::write(&path, other.to_pem().unwrap()).unwrap();
    load(&store, "vm_master");
    assert_eq!(
        clean_key(&fs::read_to_string(&path).unwrap()),
        keys.public_pem()
    );
}

#[test]
fn a_private_key_open_to_others_is_closed() {
    let (_dir, store) = store();
    load(&store, "vm_master");
    let path = store.path().join("vm.pem");
    fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
    load(&store, "vm_master");
    assert_eq!(mode(&path), 0o400);
}

#[test]
fn a_passphrase_seals_the_key_and_a_wrong_one_makes_no_new_key() {
    let (_dir, store) = store();
    let passphrase = Secret::new("long and secret".to_owned());
    let sealed = MasterKeyOptions {
        passphrase: Some(&passphrase),
        ..options("vm_master")
    };
    let keys = MasterKeys::load_or_generate(&store, &sealed).unwrap();
    let text = fs::read_to_string(store.path().join("vm.pem")).unwrap();
    assert!(text.contains("Proc-Type: 4,ENCRYPTED"));
    let again = MasterKeys::load_or_generate(&store, &sealed).unwrap();
    assert_eq!(again.public_pem(), keys.public_pem());
    let error = MasterKeys::load_or_generate(&store, &options("vm_master")).unwrap_err();
    assert!(matches!(error, KeyStoreError::Key { .. }));
    assert_eq!(
        fs::read_to_string(store.path().join("vm.pem")).unwrap(),
        text
    );
}

#[test]
fn a_damaged_key_is_an_error_that_names_the_file() {
    let (_dir, store) = store();
    let path = store.path().join("vm.pem");
    fs::write(&path, "not a key").unwrap();
    let error = MasterKeys::load_or_generate(&store, &options("vm_master")).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("could not read the key in {}", path.display())
    );
}

#[test]
fn an_id_that_is_no_file_name_is_refused() {
    let (_dir, store) = store();
    for bad in ["", "../x", "a/b", ".hidden"] {
        let error = MasterKeys::load_or_generate(&store, &options(bad)).unwrap_err();
        assert!(matches!(error, KeyStoreError::Name { .. }), "{bad:?}");
    }
}

#[test]
fn the_signing_pair_is_made_and_signs() {
    let (_dir, store) = store();
    let signed = MasterKeyOptions {
        signing: MasterSigning::Key {
            name: "master_sign",
            passphrase: None,
        },
        ..options("vm_master")
    };
    let keys = MasterKeys::load_or_generate(&store, &signed).unwrap();
    let pem = fs::read_to_string(store.path().join("master_sign.pub")).unwrap();
    let signer = PublicKey::from_pem(&pem).unwrap();
    for algorithm in [SigAlgo::Pkcs1v15Sha1, SigAlgo::Pkcs1v15Sha224] {
        let text = keys.pub_sig(algorithm).unwrap().unwrap();
        assert!(text.ends_with('\n'));
        assert!(verify_master_key(
            &signer,
            algorithm,
            keys.public_pem(),
            text.as_bytes()
        ));
        assert_eq!(keys.pub_sig(algorithm).unwrap().unwrap(), text);
    }
}

#[test]
fn a_stored_signature_is_sent_as_it_is() {
    let (_dir, store) = store();
    let keys = load(&store, "vm_master");
    assert_eq!(keys.pub_sig(SigAlgo::Pkcs1v15Sha1).unwrap(), None);
    let stored = || MasterKeyOptions {
        signing: MasterSigning::Stored { file_name: None },
        ..options("vm_master")
    };
    let error = MasterKeys::load_or_generate(&store, &stored()).unwrap_err();
    assert!(matches!(error, KeyStoreError::NoSignature { .. }));

    let mut request = SignatureRequest {
        private_path: None,
        key_name: "master_sign",
        public_path: None,
        signature_path: None,
        id: "vm_master",
        auto_create: false,
        bits: BITS,
        algorithm: SigAlgo::Pkcs1v15Sha1,
        passphrase: None,
    };
    let error = gen_signature(&store, &request).unwrap_err();
    assert!(matches!(error, KeyStoreError::NoKey { .. }));
    request.auto_create = true;
    let path = gen_signature(&store, &request).unwrap();
    assert_eq!(path, store.path().join("vm_master_pubkey_signature"));
    assert_eq!(mode(&path), 0o400);
    let text = fs::read_to_string(&path).unwrap();

    let sent = |keys: &MasterKeys| keys.pub_sig(SigAlgo::Pkcs1v15Sha224).unwrap().unwrap();
    let keys = MasterKeys::load_or_generate(&store, &stored()).unwrap();
    assert_eq!(sent(&keys), text.trim_end());
    fs::rename(&path, store.path().join("master_pubkey_signature")).unwrap();
    let keys = MasterKeys::load_or_generate(&store, &stored()).unwrap();
    assert_eq!(sent(&keys), text.trim_end());
}

#[test]
fn a_generated_pair_is_not_replaced() {
    let dir = tempfile::tempdir().unwrap();
    let made = gen_keys(dir.path(), "web1", BITS, None, None).unwrap();
    for path in [&made.private_path, &made.public_path] {
        assert_eq!(mode(path), 0o400);
    }
    let error = gen_keys(dir.path(), "web1", BITS, None, None).unwrap_err();
    assert!(matches!(error, KeyStoreError::Exists { .. }));
    let error = gen_keys(dir.path(), "../web1", BITS, None, None).unwrap_err();
    assert!(matches!(error, KeyStoreError::Name { .. }));
}

#[test]
fn a_minion_keeps_its_pair() {
    let dir = tempfile::tempdir().unwrap();
    let pki = dir.path().join("pki/minion");
    let keys = MinionKeys::load_or_generate(&pki, BITS, None).unwrap();
    assert_eq!(mode(&pki), 0o700);
    assert_eq!(mode(&pki.join("minion.pem")), 0o400);
    fs::remove_file(pki.join("minion.pub")).unwrap();
    let again = MinionKeys::load_or_generate(&pki, BITS, None).unwrap();
    assert_eq!(again.public_pem(), keys.public_pem());
    assert!(pki.join("minion.pub").exists());
    assert_eq!(again.finger(HashType::Sha256).len(), 95);
}

#[test]
fn a_minion_trusts_the_first_master_until_told_otherwise() {
    let dir = tempfile::tempdir().unwrap();
    let trusted = TrustedMaster::of_minion(dir.path(), None);
    assert!(trusted.key().unwrap().is_none());
    assert!(trusted.finger(HashType::Sha256).unwrap().is_none());
    let key = PrivateKey::generate(BITS).unwrap().public().unwrap();
    trusted.trust(&key.to_pem().unwrap()).unwrap();
    assert_eq!(
        fs::read_to_string(trusted.path()).unwrap(),
        key.clean_pem().unwrap()
    );
    assert_eq!(mode(trusted.path()), 0o644);
    assert_eq!(trusted.key().unwrap().unwrap(), key);
    fs::write(trusted.path(), "not a key").unwrap();
    assert!(matches!(trusted.key(), Err(KeyStoreError::Key { .. })));
    assert!(trusted.forget().unwrap());
    assert!(!trusted.forget().unwrap());
}
