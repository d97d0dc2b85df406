//! A certificate authority, its certificates and its revocation list, compared with
//! real Salt 3008.5.
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

struct Tried {
    machine: halite_recorded::Machine,
    /// Below it are the authorities.
    ca: tempfile::TempDir,
}

impl Tried {
    fn new() -> Self {
        let shims = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/shims");
        let ca = tempfile::tempdir().unwrap();
        let scenario = json!({
            "shims": [], "grains": {"os": "Debian"},
            "opts": {"ca.cert_base_path": ca.path()},
        });
        let machine = halite_recorded::Machine::new(shims, &scenario, &REGISTRY);
        Self { machine, ca }
    }

    fn play(&self, fun: &str, args: &Json, kwargs: &Json) -> Json {
        let kwargs = if kwargs.is_null() {
            json!({})
        } else {
            kwargs.clone()
        };
        let call = json!({"fun": format!("tls.{fun}"), "args": args, "kwargs": kwargs});
        self.play_call(&call)
    }

    /// What a call gives, with `@CA@` for the directory of authorities.
    fn play_call(&self, call: &Json) -> Json {
        let replaced = |json: &Json, from: &str, to: &str| -> Json {
            serde_json::from_str(&json.to_string().replace(from, to)).unwrap()
        };
        let ca = self.ca.path().to_str().unwrap();
        replaced(&self.machine.play(&replaced(call, "@CA@", ca)), ca, "@CA@")
    }

    fn run(&self, fun: &str, args: &Json, kwargs: &Json) -> Json {
        self.play(fun, args, kwargs)["ret"].clone()
    }

    fn path(&self, path: &str) -> std::path::PathBuf {
        self.ca.path().join(path)
    }

    fn mode(&self, path: &str) -> u32 {
        self.path(path).metadata().unwrap().mode() & 0o777
    }
}

fn with_authority() -> Tried {
    let tried = Tried::new();
    let base = json!({"cacert_path": "@CA@"});
    assert_eq!(
        tried.run("create_ca", &json!(["koji"]), &base),
        json!(
            "Created Private Key: \"@CA@/koji/koji_ca_cert.key\" Created CA \"koji\": \"@CA@/koji/koji_ca_cert.crt\""
        )
    );
    tried
}

/// Arguments with the directory of the test.
fn here(more: &Json) -> Json {
    let mut kwargs = json!({"cacert_path": "@CA@"});
    for (key, value) in more.as_object().unwrap() {
        kwargs[key] = value.clone();
    }
    kwargs
}

#[test]
fn an_authority_is_made_once_and_keeps_its_key() {
    let tried = with_authority();
    let again = tried.run("create_ca", &json!(["koji"]), &here(&json!({})));
    assert_eq!(
        again,
        json!("Certificate for CA named \"koji\" already exists")
    );
    assert_eq!(tried.mode("koji/koji_ca_cert.key"), 0o600);
    assert_eq!(tried.mode("koji/koji_ca_cert.crt"), 0o644);
    let key = std::fs::read_to_string(tried.path("koji/koji_ca_cert.key")).unwrap();
    let anew = tried.run(
        "create_ca",
        &json!(["koji"]),
        &here(&json!({"replace": true})),
    );
    assert!(anew.as_str().unwrap().starts_with("Created Private Key"));
    let kept = std::fs::read_to_string(tried.path("koji/koji_ca_cert.key")).unwrap();
    assert_eq!(key, kept);
    assert_eq!(
        tried.run("ca_exists", &json!(["koji"]), &here(&json!({}))),
        json!(true)
    );
    assert_eq!(
        tried.run("ca_exists", &json!(["nope"]), &here(&json!({}))),
        json!(false)
    );
    let missing = tried.play("get_ca", &json!(["nope"]), &here(&json!({})));
    assert!(
        missing
            .to_string()
            .contains("Certificate does not exist for nope"),
        "{missing}"
    );
    let fix = here(&json!({"fixmode": true}));
    let refused = tried.play("create_ca", &json!(["three"]), &fix);
    assert!(
        refused
            .to_string()
            .contains("three_ca_cert.crt does not exists, can't fix")
    );
}

#[test]
fn a_request_becomes_a_certificate_that_can_be_revoked() {
    let tried = with_authority();
    let base = here(&json!({}));
    let asked = here(&json!({
        "CN": "www.example.com", "emailAddress": "a@b.c",
        "subjectAltName": ["DNS:a.example.com", "IP:1.2.3.4"],
    }));
    assert_eq!(
        tried.run("create_csr", &json!(["koji"]), &asked),
        json!(
            "Created Private Key: \"@CA@/koji/certs/www.example.com.key\" Created CSR for \"www.example.com\": \"@CA@/koji/certs/www.example.com.csr\""
        )
    );
    assert_eq!(
        tried.run("create_csr", &json!(["koji"]), &asked),
        json!("Certificate Request \"@CA@/koji/certs//www.example.com.csr\" already exists")
    );
    assert_eq!(
        tried.run("create_csr", &json!(["nope"]), &asked),
        json!("Certificate for CA named \"nope\" does not exist, please create it first.")
    );
    let signed = json!(["koji", "www.example.com"]);
    assert_eq!(
        tried.run("create_ca_signed_cert", &signed, &base),
        json!(
            "Created Certificate for \"www.example.com\": \"@CA@/koji/certs/www.example.com.crt\""
        )
    );
    assert_eq!(
        tried.run("create_ca_signed_cert", &signed, &base),
        json!("Certificate \"www.example.com\" already exists")
    );
    assert_eq!(
        tried.run("create_ca_signed_cert", &json!(["koji", "other"]), &base),
        json!({"retcode": 1, "comment": "There is no CSR that matches the CN \"other\""})
    );
    let path = "@CA@/koji/certs/www.example.com.crt";
    let info = tried.run("cert_info", &json!([path]), &Json::Null);
    assert_eq!(
        info["subject"],
        json!({"C": "US", "ST": "Utah", "L": "Salt Lake City", "O": "SaltStack", "CN": "www.example.com", "emailAddress": "a@b.c"})
    );
    assert_eq!(info["issuer"]["CN"], json!("localhost"));
    assert_eq!(
        info["extensions"],
        json!({
            "basicConstraints": "CA:FALSE",
            "extendedKeyUsage": "TLS Web Server Authentication",
            "keyUsage": "Digital Signature, Key Encipherment",
            "subjectAltName": "DNS:a.example.com, IP Address:1.2.3.4",
        })
    );
    assert_eq!(
        info["subject_alt_names"],
        json!(["1.2.3.4", "a.example.com"])
    );
    assert_eq!(
        info["signature_algorithm"],
        json!("sha256WithRSAEncryption")
    );

    let crl = "@CA@/koji/crl.pem";
    let made = tried.run("create_empty_crl", &json!(["koji"]), &base);
    assert_eq!(made, json!(format!("Created an empty CRL: \"{crl}\"")));
    let check = json!([path, "koji", crl]);
    let valid = || tried.run("validate", &check, &Json::Null);
    assert_eq!(valid(), json!({"valid": true}));
    let revoked = tried.run("revoke_cert", &signed, &base);
    let revoked = revoked.as_str().unwrap().to_owned();
    let start = format!("Revoked Certificate: \"{path}\", serial number: ");
    let serial = revoked.strip_prefix(&start).unwrap();
    assert_eq!(
        tried.run("revoke_cert", &signed, &base),
        json!(format!(
            "\"{path}\" was already revoked, serial number: {serial}"
        ))
    );
    let now = valid();
    assert_eq!(
        (&now["valid"], &now["error"]),
        (&json!(false), &json!("certificate revoked"))
    );
    let index = std::fs::read_to_string(tried.path("koji/index.txt")).unwrap();
    let states: Vec<&str> = index.lines().map(|line| &line[..1]).collect();
    assert_eq!(states, ["V", "R"]);
    assert!(
        index.contains(&format!("\t{serial}\tunknown\t/C=US/ST=Utah/")),
        "{index}"
    );
    assert_eq!(
        tried.run("revoke_cert", &json!(["koji", "nope"]), &base),
        json!("There is no client certificate named \"nope\"")
    );
}

#[test]
fn certificates_of_other_kinds_and_what_holds_them() {
    let tried = with_authority();
    let client = here(&json!({"CN": "c", "cert_type": "client", "type_ext": true}));
    tried.run("create_csr", &json!(["koji"]), &client);
    let kind = here(&json!({"cert_type": "client", "type_ext": true}));
    assert_eq!(
        tried.run("create_ca_signed_cert", &json!(["koji", "c"]), &kind),
        json!("Created Certificate for \"c\": \"@CA@/koji/certs/c_client.crt\"")
    );
    let half = here(&json!({"type_ext": true}));
    assert_eq!(
        tried.run("create_ca_signed_cert", &json!(["koji", "c"]), &half),
        json!({})
    );
    let named = here(&json!({"CN": "c"}));
    tried.run("create_csr", &json!(["koji"]), &named);
    tried.run(
        "create_ca_signed_cert",
        &json!(["koji", "c"]),
        &here(&json!({})),
    );
    let packed = here(&json!({"passphrase": "x"}));
    assert_eq!(
        tried.run("create_pkcs12", &json!(["koji", "c"]), &packed),
        json!("Created PKCS#12 Certificate for \"c\": \"@CA@/koji/certs/c.p12\"")
    );
    assert_eq!(tried.mode("koji/certs/c.p12"), 0o600);
    assert_eq!(
        tried.run("create_pkcs12", &json!(["koji", "nope"]), &packed),
        json!("There is no certificate that matches the CN \"nope\"")
    );
    let own = here(&json!({"CN": "x.org", "bits": 1024, "days": 10}));
    assert_eq!(
        tried.run("create_self_signed_cert", &json!(["mine"]), &own),
        json!(
            "Created Private Key: \"@CA@/mine/certs/x.org.key\" Created Certificate: \"@CA@/mine/certs/x.org.crt\""
        )
    );
    assert_eq!(tried.mode("mine/certs/x.org.key"), 0o600);
    let name = "@CA@/mine/certs/x.org.crt";
    let check = |args: Json| {
        tried.play_call(&json!({"state": "tls.valid_certificate", "args": args}))["ret"].clone()
    };
    let good = check(json!({"name": name, "days": 9}));
    assert_eq!(good["result"], json!(true));
    let comment = good["comment"].as_str().unwrap();
    let expected = [
        "Certificate is valid for 10 days, 0:00:00",
        "Certificate is valid for 9 days, 23:59:",
    ];
    assert!(
        expected.iter().any(|start| comment.starts_with(start)),
        "{comment}"
    );
    let short = check(json!({"name": name, "weeks": 2}));
    assert_eq!(short["result"], json!(false));
    assert!(
        short["comment"]
            .as_str()
            .unwrap()
            .ends_with("which is less than 14 days, 0:00:00")
    );
    let none = check(json!({"name": "@TMP@/none.crt"}));
    assert_eq!(
        none["comment"],
        json!("[Errno 2] No such file or directory: '@TMP@/none.crt'")
    );
}
