//! Keys and their containers: passphrases, PKCS#12, modes of files.
#![allow(clippy::unwrap_used)]

use std::os::unix::fs::MetadataExt;

use halite_call::{Module, Registry};
use serde_json::{Value as Json, json};

static EXEC: &[&[Module]] = &[
    halite_core_modules::MODULES,
    halite_certificates::MODULES,
    halite_files::MODULES,
];
static STATES: &[&[Module]] = &[halite_certificates::STATES, halite_files::STATES];
static REGISTRY: Registry = Registry::new(EXEC, STATES);

struct Tried(halite_recorded::Machine);

impl Tried {
    fn new() -> Self {
        let shims = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/shims");
        let scenario = json!({"shims": [], "grains": {"os": "Debian"}});
        Self(halite_recorded::Machine::new(shims, &scenario, &REGISTRY))
    }

    fn run(&self, fun: &str, kwargs: &Json) -> Json {
        let call = json!({"fun": format!("x509.{fun}"), "args": [], "kwargs": kwargs});
        self.0.play(&call)["ret"].clone()
    }

    fn state(&self, fun: &str, args: &Json) -> Json {
        let call = json!({"state": format!("x509.{fun}"), "args": args});
        self.0.play(&call)["ret"].clone()
    }
}

#[test]
fn keys_of_every_kind_open_with_their_passphrase_only() {
    let tried = Tried::new();
    for (algo, size) in [
        ("rsa", json!(2048)),
        ("ec", json!(384)),
        ("ed25519", Json::Null),
        ("ed448", Json::Null),
    ] {
        for encoding in ["pem", "der", "pkcs12"] {
            let key = tried.run(
                "create_private_key",
                &json!({"algo": algo, "keysize": size, "encoding": encoding, "passphrase": "secret"}),
            );
            let open = |with: &str| {
                tried.run(
                    "get_private_key_size",
                    &json!({"private_key": key, "passphrase": with}),
                )
            };
            assert_eq!(open("secret"), size, "{algo} {encoding}");
            assert_eq!(
                open("wrong"),
                json!("EXC SaltInvocationError: Bad decrypt - is the password correct?"),
                "{algo} {encoding}"
            );
            let again = tried.run(
                "encode_private_key",
                &json!({"private_key": key, "private_key_passphrase": "secret", "encoding": encoding}),
            );
            let bare = tried.run("get_private_key_size", &json!({"private_key": again}));
            assert_eq!(bare, size, "{algo} {encoding} without a passphrase");
        }
    }
}

#[test]
fn every_encoding_of_a_certificate_is_read_again() {
    let tried = Tried::new();
    let key = tried.run("create_private_key", &json!({"algo": "ed25519"}));
    let mut serials = Vec::new();
    for (encoding, more) in [
        ("pem", json!({})),
        ("der", json!({})),
        ("pkcs7_pem", json!({})),
        ("pkcs7_der", json!({})),
        ("pkcs12", json!({})),
        ("pkcs12", json!({"pkcs12_friendlyname": "me"})),
    ] {
        let mut kwargs = json!({
            "signing_private_key": key, "CN": "x", "encoding": encoding, "serial_number": 77,
        });
        kwargs
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        let made = tried.run("create_certificate", &kwargs);
        let read = tried.run("read_certificate", &json!({"certificate": made}));
        serials.push(read["serial_number"].clone());
        let verified = tried.run("verify_signature", &json!({"certificate": made}));
        assert_eq!(verified, json!(true), "{encoding}");
    }
    assert_eq!(serials, vec![json!("4D"); 6]);
}

#[test]
fn a_protected_certificate_is_kept_and_made_anew_when_asked_for() {
    let tried = Tried::new();
    let key = tried.run("create_private_key", &json!({"algo": "ec"}));
    let args = |friendly: &str, compatible: bool| {
        json!({
            "name": "@TMP@/both.p12", "encoding": "pkcs12", "signing_private_key": key, "CN": "x",
            "pkcs12_passphrase": "secret", "pkcs12_friendlyname": friendly, "mode": "0640",
            "pkcs12_encryption_compat": compatible,
        })
    };
    let comment = |ret: &Json| ret["comment"].as_str().unwrap().to_owned();
    let first = tried.state("certificate_managed", &args("me", true));
    assert_eq!(comment(&first), "The certificate has been created");
    let second = tried.state("certificate_managed", &args("me", true));
    assert_eq!(comment(&second), "The certificate is in the correct state");
    let third = tried.state("certificate_managed", &args("you", false));
    assert_eq!(third["changes"], json!({"pkcs12_friendlyname": "you"}));
    let path = tried.0.dir.path().join("both.p12");
    assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o640);
}

#[test]
fn only_its_owner_can_read_a_key() {
    let tried = Tried::new();
    let mode = |name: &str| {
        let path = tried.0.dir.path().join(name);
        path.metadata().unwrap().mode() & 0o777
    };
    let made = tried.state(
        "private_key_managed",
        &json!({"name": "@TMP@/kept.key", "algo": "ec"}),
    );
    assert_eq!(made["result"], json!(true));
    assert_eq!(mode("kept.key"), 0o400);
    assert!(!made.to_string().contains("PRIVATE KEY-----"));
    tried.run(
        "create_private_key",
        &json!({"algo": "ec", "path": "@TMP@/made.key"}),
    );
    assert_eq!(mode("made.key"), 0o600);
    let der = tried.state(
        "private_key_managed",
        &json!({"name": "@TMP@/der.key", "algo": "ec", "encoding": "der"}),
    );
    assert_eq!(der["result"], json!(true));
    assert_eq!(mode("der.key"), 0o400);
}

#[test]
fn another_minion_gets_what_the_policy_says_and_no_file_of_ours() {
    let tried = Tried::new();
    let key = tried.run("create_private_key", &json!({"algo": "ec"}));
    let ca = tried.run(
        "create_certificate",
        &json!({"signing_private_key": key, "CN": "ca", "basicConstraints": "CA:true"}),
    );
    let leaf = tried.run("create_private_key", &json!({"algo": "ec"}));
    let public = tried.run("get_public_key", &json!({"key": leaf}));
    let scenario = json!({
        "shims": [], "grains": {"os": "Debian"},
        "opts": {"x509_signing_policies": {"www": {
            "minions": "www*", "signing_private_key": key, "signing_cert": ca, "O": "Policy",
        }}},
    });
    let shims = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/shims");
    let server = Tried(halite_recorded::Machine::new(shims, &scenario, &REGISTRY));
    let ask = |id: &str, kwargs: &Json| {
        server.run(
            "sign_remote_certificate",
            &json!({"signing_policy": "www", "kwargs": kwargs, "__pub_id": id}),
        )
    };
    let wanted = json!({
        "public_key": public, "CN": "www1", "O": "Mine", "copypath": "@TMP@",
        "signing_private_key": leaf,
    });
    let granted = ask("www1", &wanted);
    assert_eq!(granted["errors"], json!([]));
    let read = server.run("read_certificate", &json!({"certificate": granted["data"]}));
    assert_eq!(read["subject"], json!({"O": "Policy", "CN": "www1"}));
    assert_eq!(read["issuer"], json!({"CN": "ca"}));
    assert_eq!(
        ask("db1", &wanted)["errors"],
        json!(["minion not permitted to use specified signing policy"])
    );
    let of_ours = json!({"csr": "/etc/hostname"});
    assert_eq!(
        ask("www1", &of_ours)["errors"],
        json!(["csr must be sent, it may not name a file here"])
    );
    let copies = std::fs::read_dir(server.0.dir.path()).unwrap();
    let is_copy =
        |entry: &std::fs::DirEntry| entry.path().extension().is_some_and(|ext| ext == "crt");
    assert_eq!(copies.flatten().filter(is_copy).count(), 0);
}
