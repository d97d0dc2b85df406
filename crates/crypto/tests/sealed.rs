//! Sealed messages, alone and in whole exchanges of Salt 3006 to 3008.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod common;

use common::{bytes, keys, list, private_key, public_key, text, vectors};
use halite_crypto::master_sign::verify_master_key;
use halite_crypto::{Crypticle, EncAlgo, OpenError, Opened, SerialGate, SigAlgo, SymmetricKey};
use serde_json::Value;

fn crypticle(key: &str) -> Crypticle {
    Crypticle::new(&SymmetricKey::parse(key).unwrap())
}

fn payload(plaintext: &[u8], nonce: Option<&str>) -> Opened {
    let skip = "pickle::".len() + nonce.map_or(0, str::len);
    Opened::Payload(plaintext[skip..].to_vec())
}

#[test]
fn messages_open_to_their_content_and_seal_again() {
    let vectors = vectors(include_bytes!("vectors/crypticle.json.gz"));
    for case in list(&vectors, "cases") {
        let name = text(case, "name");
        let crypticle = crypticle(text(&vectors["keys"][text(case, "key")], "key_string"));
        let nonce = case["nonce"].as_str();
        let packed = bytes(case, "msgpack");
        let sealed = bytes(case, "encrypted");
        let opened = crypticle.open(&sealed, nonce.map(str::as_bytes)).unwrap();
        assert_eq!(opened, Opened::Payload(packed.clone()), "{name}");

        let again = crypticle.seal(&packed, nonce.map(str::as_bytes));
        assert_eq!(again.len(), sealed.len(), "{name}");
        assert_ne!(again, sealed, "the IV of {name} is not random");
        let opened = crypticle.open(&again, nonce.map(str::as_bytes)).unwrap();
        assert_eq!(opened, Opened::Payload(packed), "{name}");
    }
}

#[test]
fn bad_messages_are_refused_as_salt_refuses_them() {
    let vectors = vectors(include_bytes!("vectors/crypticle.json.gz"));
    for case in list(&vectors, "negative") {
        let crypticle = crypticle(text(case, "key_string"));
        let nonce = case["nonce"].as_str().map(str::as_bytes);
        let result = crypticle.open(&bytes(case, "encrypted"), nonce);
        let expected = match case["raises"].as_str() {
            Some("AuthenticationError") => Err(OpenError::NotAuthentic),
            Some("SaltClientError") => Err(OpenError::WrongNonce),
            Some(other) => panic!("unknown expectation {other}"),
            None => Ok(Opened::Empty),
        };
        assert_eq!(result, expected, "{}", text(case, "name"));
    }
}

#[test]
fn no_shortened_or_changed_message_opens() {
    let crypticle = Crypticle::new(&SymmetricKey::generate());
    let nonce = [b'n'; 32];
    let sealed = crypticle.seal(b"payload", Some(&nonce));
    for length in 0..sealed.len() {
        assert_eq!(
            crypticle.open(&sealed[..length], None),
            Err(OpenError::NotAuthentic)
        );
    }
    for index in 0..sealed.len() {
        let mut changed = sealed.clone();
        changed[index] ^= 0x40;
        assert_eq!(crypticle.open(&changed, None), Err(OpenError::NotAuthentic));
    }
}

#[test]
fn a_reply_without_room_for_a_nonce_is_refused() {
    let crypticle = Crypticle::new(&SymmetricKey::generate());
    let sealed = crypticle.seal(b"short", None);
    assert_eq!(
        crypticle.open(&sealed, Some(&[b'n'; 32])),
        Err(OpenError::WrongNonce)
    );
}

#[test]
fn serials_pass_once_and_in_order() {
    let vectors = vectors(include_bytes!("vectors/crypticle.json.gz"));
    let crypticle = crypticle(text(&vectors["keys"]["publish"], "key_string"));
    let mut gate = SerialGate::new();
    for case in list(&vectors, "serial_sequence_one_receiver") {
        assert!(matches!(
            crypticle.open(&bytes(case, "encrypted"), None),
            Ok(Opened::Payload(_))
        ));
        let passes = gate.admit(case["serial"].as_u64());
        let expected = case["loads_result"]
            .as_object()
            .is_some_and(|map| !map.is_empty());
        assert_eq!(passes, expected);
    }
    assert!(gate.admit(None));
    assert_eq!(gate.last(), 5);
}

#[test]
fn a_key_is_76_characters_of_base64() {
    let key = SymmetricKey::generate();
    assert_eq!(key.expose().len(), SymmetricKey::CHARS);
    let stored = format!("{}\n", key.expose());
    assert!(SymmetricKey::parse(&stored).unwrap().is_same(&key));
    assert!(!SymmetricKey::generate().is_same(&key));
    for bad in [
        "",
        "AAAA",
        &"!".repeat(76),
        &"A".repeat(76),
        &"A".repeat(77),
    ] {
        assert!(SymmetricKey::parse(bad).is_err(), "{bad}");
    }
}

fn exchanges() -> Value {
    vectors(include_bytes!("vectors/exchanges.json.gz"))
}

#[test]
fn sealed_messages_of_whole_exchanges_open() {
    for case in list(&exchanges(), "sealed_messages") {
        let nonce = case["nonce"].as_str();
        let crypticle = crypticle(text(case, "key"));
        let opened = crypticle.open(&bytes(case, "sealed"), nonce.map(str::as_bytes));
        let expected = payload(&bytes(case, "plaintext"), nonce);
        assert_eq!(opened, Ok(expected), "{}", text(case, "what"));
    }
}

#[test]
fn keys_and_tokens_of_sign_ins_decrypt() {
    let keys = keys();
    for case in list(&exchanges(), "rsa_sealed") {
        let algorithm = EncAlgo::parse(text(case, "algorithm")).unwrap();
        let key = private_key(&keys, text(case, "key"));
        let plain = key.decrypt(algorithm, &bytes(case, "sealed")).unwrap();
        assert_eq!(
            plain.expose(),
            &bytes(case, "plaintext"),
            "{}",
            text(case, "what")
        );
    }
}

#[test]
fn signatures_of_whole_exchanges_verify_and_are_made_equal() {
    let keys = keys();
    for case in list(&exchanges(), "signatures") {
        let what = text(case, "what");
        let name = text(case, "key");
        let algorithm = SigAlgo::parse(text(case, "algorithm")).unwrap();
        let (message, signature) = (bytes(case, "message"), bytes(case, "signature"));
        assert!(
            public_key(&keys, name).verify(algorithm, &message, &signature),
            "{what}"
        );
        let made = private_key(&keys, name).sign(algorithm, &message).unwrap();
        assert_eq!(made, signature, "{what}");
    }
}

#[test]
fn proofs_over_publish_keys_verify_and_are_made_equal() {
    let keys = keys();
    let exchanges = exchanges();
    for case in list(&exchanges, "publish_key_proofs") {
        let (name, key_text) = (text(case, "key"), text(case, "key_text"));
        let proof = bytes(case, "signature");
        let public = public_key(&keys, name);
        assert!(public.verify_publish_key(key_text, &proof));
        assert!(!public.verify_publish_key("other", &proof));
        assert_eq!(
            private_key(&keys, name).sign_publish_key(key_text).unwrap(),
            proof
        );
    }
    let token = bytes(&exchanges["request_token"], "token");
    assert_eq!(private_key(&keys, "minion").request_token().unwrap(), token);
    assert!(public_key(&keys, "minion").accepts_request_token(&token));
    assert!(!public_key(&keys, "minion_other").accepts_request_token(&token));
}

#[test]
fn signed_master_keys_of_sign_ins_verify() {
    let keys = keys();
    for case in list(&exchanges(), "master_key_signatures") {
        let algorithm = SigAlgo::parse(text(case, "algorithm")).unwrap();
        let signer = public_key(&keys, text(case, "key"));
        let (pub_key, pub_sig) = (text(case, "pub_key"), text(case, "pub_sig"));
        assert!(
            verify_master_key(&signer, algorithm, pub_key, pub_sig.as_bytes()),
            "{}",
            text(case, "what")
        );
    }
}
