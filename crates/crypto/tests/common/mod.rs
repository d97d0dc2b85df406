//! Reads the vectors.

use std::io::Read;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::read::GzDecoder;
use halite_crypto::{PrivateKey, PublicKey, Secret};
use serde_json::Value;

pub(crate) fn vectors(gz: &[u8]) -> Value {
    let mut text = String::new();
    GzDecoder::new(gz).read_to_string(&mut text).unwrap();
    serde_json::from_str(&text).unwrap()
}

pub(crate) fn keys() -> Value {
    vectors(include_bytes!("../vectors/keys.json.gz"))
}

pub(crate) fn text<'a>(object: &'a Value, field: &str) -> &'a str {
    object[field]
        .as_str()
        .unwrap_or_else(|| panic!("no text {field}"))
}

pub(crate) fn bytes(object: &Value, field: &str) -> Vec<u8> {
    STANDARD.decode(text(object, field)).unwrap()
}

pub(crate) fn list<'a>(object: &'a Value, field: &str) -> &'a [Value] {
    let list = object[field].as_array().unwrap();
    assert!(!list.is_empty());
    list
}

#[allow(dead_code, reason = "not every test needs it")]
pub(crate) fn private_key(keys: &Value, name: &str) -> PrivateKey {
    let key = &keys[name];
    let passphrase = key["passphrase"]
        .as_str()
        .map(|text| Secret::new(text.to_owned()));
    PrivateKey::from_pem(&bytes(key, "private_pem_b64"), passphrase.as_ref()).unwrap()
}

#[allow(dead_code, reason = "not every test needs it")]
pub(crate) fn public_key(keys: &Value, name: &str) -> PublicKey {
    PublicKey::from_pem(text(&keys[name], "public_pem")).unwrap()
}
