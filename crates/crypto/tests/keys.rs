//! Key texts, fingerprints and signatures as Salt 3006 to 3008 make them.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod common;

use common::{bytes, keys, list, private_key, public_key, text, vectors};
use halite_crypto::master_sign::{sign_master_key, verify_master_key};
use halite_crypto::{
    EncAlgo, HashType, KeyError, PrivateKey, PublicKey, Secret, SigAlgo, clean_key,
    fingerprint_path, fingerprint_text,
};

#[test]
fn every_key_pair_is_read_and_written_back() {
    let keys = keys();
    for (name, key) in keys.as_object().unwrap() {
        let private = private_key(&keys, name);
        let public = public_key(&keys, name);
        assert_eq!(private.public().unwrap(), public, "{name}");
        assert_eq!(public.to_pem().unwrap(), text(key, "public_pem"), "{name}");
        assert_eq!(
            private.public().unwrap().clean_pem().unwrap(),
            text(key, "public_pem_clean"),
            "{name}"
        );
        assert_eq!(
            clean_key(text(key, "public_pem")),
            text(key, "public_pem_clean")
        );
        if key.get("passphrase").is_none() {
            let pem = private.to_pem().unwrap();
            assert_eq!(
                pem.expose().as_bytes(),
                bytes(key, "private_pem_b64"),
                "{name}"
            );
        }
    }
}

#[test]
fn an_encrypted_key_needs_its_passphrase() {
    let keys = keys();
    let pem = bytes(&keys["encrypted"], "private_pem_b64");
    assert!(matches!(
        PrivateKey::from_pem(&pem, None),
        Err(KeyError::PassphraseMissing)
    ));
    assert!(matches!(
        PrivateKey::from_pem(&pem, Some(&Secret::new("wrong".to_owned()))),
        Err(KeyError::PassphraseWrong(_))
    ));
}

#[test]
fn an_encrypted_key_is_written_as_salt_writes_it() {
    let keys = keys();
    let passphrase = Secret::new("vector passphrase".to_owned());
    let key = private_key(&keys, "encrypted");
    let pem = key.to_pem_encrypted(&passphrase).unwrap();
    let lines: Vec<&str> = pem.expose().lines().collect();
    assert_eq!(lines[0], "-----BEGIN RSA PRIVATE KEY-----");
    assert_eq!(lines[1], "Proc-Type: 4,ENCRYPTED");
    assert!(lines[2].starts_with("DEK-Info: AES-256-CBC,"));
    let back = PrivateKey::from_pem(pem.expose().as_bytes(), Some(&passphrase)).unwrap();
    assert_eq!(back.public().unwrap(), key.public().unwrap());
}

#[test]
fn pkcs8_keys_are_read_plain_and_encrypted() {
    let keys = keys();
    let expected = public_key(&keys, "minion");
    let plain = PrivateKey::from_pem(include_bytes!("vectors/minion.pkcs8.pem"), None).unwrap();
    assert_eq!(plain.public().unwrap(), expected);
    let sealed = include_bytes!("vectors/minion.pkcs8-encrypted.pem");
    let passphrase = Secret::new("vector passphrase".to_owned());
    let opened = PrivateKey::from_pem(sealed, Some(&passphrase)).unwrap();
    assert_eq!(opened.public().unwrap(), expected);
    assert!(matches!(
        PrivateKey::from_pem(sealed, None),
        Err(KeyError::PassphraseMissing)
    ));
    assert!(matches!(
        PrivateKey::from_pem(sealed, Some(&Secret::new("x".to_owned()))),
        Err(KeyError::PassphraseWrong(_))
    ));
}

#[test]
fn what_is_no_rsa_key_is_refused() {
    for bad in [
        "",
        "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----",
        "x",
    ] {
        assert!(matches!(
            PublicKey::from_pem(bad),
            Err(KeyError::ReadPublic(_))
        ));
        assert!(matches!(
            PrivateKey::from_pem(bad.as_bytes(), None),
            Err(KeyError::ReadPrivate(_))
        ));
    }
    let elliptic = include_str!("vectors/elliptic.pub");
    assert!(matches!(
        PublicKey::from_pem(elliptic),
        Err(KeyError::NotRsa)
    ));
    let small = include_str!("vectors/512-bits.pub");
    assert!(matches!(
        PublicKey::from_pem(small),
        Err(KeyError::Size { bits: 512 })
    ));
    let long = "x".repeat(100_000);
    assert!(matches!(
        PublicKey::from_pem(&long),
        Err(KeyError::TooLong { bytes: 100_000 })
    ));
    assert!(matches!(
        PrivateKey::generate(512),
        Err(KeyError::Size { bits: 512 })
    ));
}

#[test]
fn a_public_key_under_the_rsa_label_is_read_with_either_content() {
    let keys = keys();
    let spki = text(&keys["minion"], "public_pem").replace("PUBLIC", "RSA PUBLIC");
    assert_eq!(
        PublicKey::from_pem(&spki).unwrap(),
        public_key(&keys, "minion")
    );
    let pkcs1 = include_str!("vectors/minion.pkcs1.pub");
    assert_eq!(
        PublicKey::from_pem(pkcs1).unwrap(),
        public_key(&keys, "minion")
    );
}

#[test]
fn fingerprints_equal_those_of_each_release() {
    let keys = keys();
    for (name, key) in keys.as_object().unwrap() {
        let pem = text(key, "public_pem");
        let clean = text(key, "public_pem_clean");
        for (hash_name, by_form) in key["fingerprints"]["3008"].as_object().unwrap() {
            let hash_type = HashType::parse(hash_name).unwrap();
            let path = text(by_form, "by_path");
            for file in [pem.to_owned(), clean.to_owned(), pem.replace('\n', "\r\n")] {
                assert_eq!(fingerprint_path(file.as_bytes(), hash_type), path, "{name}");
            }
            assert_eq!(
                fingerprint_text(clean.as_bytes(), hash_type),
                text(by_form, "by_key_string_clean")
            );
            assert_eq!(
                fingerprint_text(pem.as_bytes(), hash_type),
                text(by_form, "by_key_string_file_text")
            );
            for release in ["3006", "3007"] {
                let old = &key["fingerprints"][release][hash_name];
                assert_eq!(text(old, "by_path"), path);
                assert_eq!(text(old, "by_key_string_clean"), path);
            }
        }
    }
}

#[test]
fn x931_signatures_are_equal_byte_for_byte() {
    let keys = keys();
    let vectors = vectors(include_bytes!("vectors/x931.json.gz"));
    for case in list(&vectors, "cases") {
        let name = text(case, "key");
        let message = bytes(case, "message");
        let signature = private_key(&keys, name)
            .private_encrypt_x931(&message)
            .unwrap();
        assert_eq!(signature, bytes(case, "signature"), "{name} {message:?}");
        let public = public_key(&keys, name);
        assert_eq!(public.public_decrypt_x931(&signature), Some(message));
        let mut damaged = signature.clone();
        damaged[10] ^= 1;
        assert_eq!(public.public_decrypt_x931(&damaged), None);
        assert_eq!(public.public_decrypt_x931(&signature[1..]), None);
        assert_eq!(public.public_decrypt_x931(&[]), None);
    }
}

#[test]
fn x931_takes_a_message_of_two_bytes_less_than_the_key() {
    let keys = keys();
    let key = private_key(&keys, "minion");
    for length in [1, 252, 254] {
        let message = vec![b'm'; length];
        let signature = key.private_encrypt_x931(&message).unwrap();
        let found = key.public().unwrap().public_decrypt_x931(&signature);
        assert_eq!(found, Some(message), "{length}");
    }
    assert!(matches!(
        key.private_encrypt_x931(&[0; 255]),
        Err(KeyError::Sign(_))
    ));
}

#[test]
fn signatures_are_equal_byte_for_byte() {
    let keys = keys();
    let vectors = vectors(include_bytes!("vectors/signatures.json.gz"));
    for case in list(&vectors, "raw") {
        let name = text(case, "key");
        let algorithm = SigAlgo::parse(text(case, "algorithm")).unwrap();
        let message = bytes(case, "message");
        let signature = private_key(&keys, name).sign(algorithm, &message).unwrap();
        assert_eq!(signature, bytes(case, "signature"), "{name} {algorithm}");
        let public = public_key(&keys, name);
        assert!(public.verify(algorithm, &message, &signature));
        assert!(!public.verify(algorithm, b"other", &signature));
        let other = match algorithm {
            SigAlgo::Pkcs1v15Sha1 => SigAlgo::Pkcs1v15Sha224,
            SigAlgo::Pkcs1v15Sha224 => SigAlgo::Pkcs1v15Sha1,
        };
        assert!(!public.verify(other, &message, &signature));
        assert!(!public.verify(algorithm, &message, &[]));
        assert!(!public.verify(algorithm, &message, &vec![0xff; signature.len()]));
    }
    let signed = &vectors["minion_sign_messages"];
    let algorithm = SigAlgo::parse(text(signed, "algorithm")).unwrap();
    assert_eq!(
        private_key(&keys, "minion")
            .sign(algorithm, &bytes(signed, "serialized"))
            .unwrap(),
        bytes(signed, "sig")
    );
}

#[test]
fn a_signed_master_key_is_equal_byte_for_byte() {
    let keys = keys();
    let vectors = vectors(include_bytes!("vectors/signatures.json.gz"));
    for case in list(&vectors, "master_pubkey_signature") {
        let algorithm = SigAlgo::parse(text(case, "algorithm")).unwrap();
        let content = text(case, "file_content");
        let made = sign_master_key(
            &private_key(&keys, "master_sign"),
            algorithm,
            text(&keys["master"], "public_pem"),
        );
        assert_eq!(made.unwrap(), content);
        let signer = public_key(&keys, "master_sign");
        let signed = text(case, "signed_message");
        let broken = content.replacen('A', " \r\nA", 3);
        for form in [content, text(case, "pub_sig_sent_precomputed"), &broken] {
            assert!(verify_master_key(
                &signer,
                algorithm,
                signed,
                form.as_bytes()
            ));
        }
        assert!(!verify_master_key(
            &signer,
            algorithm,
            "other",
            content.as_bytes()
        ));
        assert!(!verify_master_key(&signer, algorithm, signed, b"\xff=!"));
        let wrong = public_key(&keys, "master");
        assert!(!verify_master_key(
            &wrong,
            algorithm,
            signed,
            content.as_bytes()
        ));
    }
}

#[test]
fn algorithm_names_are_those_of_the_wire() {
    for name in ["OAEP-SHA1", "OAEP-SHA224"] {
        assert_eq!(EncAlgo::parse(name).unwrap().name(), name);
    }
    for name in ["PKCS1v15-SHA1", "PKCS1v15-SHA224"] {
        assert_eq!(SigAlgo::parse(name).unwrap().name(), name);
    }
    assert_eq!(
        SigAlgo::parse("PKCS1v15-SHA256").unwrap_err().to_string(),
        "unknown signing algorithm \"PKCS1v15-SHA256\", known are PKCS1v15-SHA1, PKCS1v15-SHA224"
    );
    assert!(EncAlgo::parse("").is_err());
}

#[test]
fn a_new_pair_works() {
    let key = PrivateKey::generate(2048).unwrap();
    assert_eq!(key.bits(), 2048);
    let public = key.public().unwrap();
    for algorithm in [EncAlgo::OaepSha1, EncAlgo::OaepSha224] {
        let sealed = public.encrypt(algorithm, b"secret").unwrap();
        assert_eq!(key.decrypt(algorithm, &sealed).unwrap().expose(), b"secret");
        assert!(matches!(
            public.encrypt(algorithm, &[0; 255]),
            Err(KeyError::Encrypt(_))
        ));
        assert!(matches!(
            key.decrypt(algorithm, &sealed[..255]),
            Err(KeyError::Decrypt(_))
        ));
        assert!(key.decrypt(algorithm, b"").is_err());
    }
    assert_eq!(
        format!("{key:?} {public:?}"),
        "PrivateKey(2048 bits) PublicKey(2048 bits)"
    );
}

/// Public keys of strangers, whose numbers anybody can choose.
#[test]
fn a_key_whose_numbers_protect_nothing_is_refused() {
    use openssl::bn::{BigNum, BigNumRef};
    use openssl::rsa::Rsa;

    let keys = keys();
    let good = private_key(&keys, "encrypted")
        .public()
        .unwrap()
        .to_pem()
        .unwrap();
    let n = Rsa::public_key_from_pem(good.as_bytes())
        .unwrap()
        .n()
        .to_owned()
        .unwrap();
    let even = {
        let mut even = n.to_owned().unwrap();
        even.add_word(1).unwrap();
        even
    };
    let number = |text: &str| BigNum::from_dec_str(text).unwrap();
    let read = |n: &BigNumRef, e: BigNum| {
        let rsa = Rsa::from_public_components(n.to_owned().unwrap(), e).unwrap();
        let pem = String::from_utf8(rsa.public_key_to_pem().unwrap()).unwrap();
        PublicKey::from_pem(&pem)
    };
    assert!(read(&n, number("3")).is_ok());
    assert!(read(&n, number("65537")).is_ok());
    for e in ["1", "0", "65536", "36893488147419103233"] {
        assert!(matches!(read(&n, number(e)), Err(KeyError::Unsafe)), "{e}");
    }
    assert!(matches!(
        read(&even, number("65537")),
        Err(KeyError::Unsafe)
    ));
}
