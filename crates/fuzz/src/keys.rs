//! Keys, and operations with a key on untrusted bytes.

use std::sync::OnceLock;

use halite_crypto::{Crypticle, EncAlgo, Opened, PrivateKey, PublicKey, SigAlgo, SymmetricKey};

/// A symmetric key that is the same in each run.
const KEY: &str = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";

/// What a request is told by.
const NONCE: &[u8] = b"0123456789abcdef0123456789abcdef";

/// A sealed message that somebody else made, and one of ours.
pub(crate) fn crypticle(bytes: &[u8]) {
    let key = SymmetricKey::parse(KEY).expect("56 bytes");
    let crypticle = Crypticle::new(&key);
    assert!(crypticle.open(bytes, None).is_err(), "a forgery");
    assert!(crypticle.open(bytes, Some(NONCE)).is_err(), "a forgery");
    let mut large = bytes.to_vec();
    assert!(crypticle.open_large(&mut large, NONCE).is_err());
    let sealed = crypticle.seal(bytes, Some(NONCE));
    match crypticle.open(&sealed, Some(NONCE)) {
        Ok(Opened::Payload(payload)) => assert_eq!(payload.as_slice(), bytes),
        other => assert!(bytes.is_empty(), "{:?}", other.is_ok()),
    }
}

fn pair() -> &'static (PrivateKey, PublicKey) {
    static PAIR: OnceLock<(PrivateKey, PublicKey)> = OnceLock::new();
    PAIR.get_or_init(|| {
        let private = PrivateKey::generate(2048).expect("a key");
        let public = private.public().expect("its public half");
        (private, public)
    })
}

/// What a peer sends for a private or public key: tokens, signatures, secrets.
pub(crate) fn rsa_input(bytes: &[u8]) {
    let (private, public) = pair();
    let _ = public.public_decrypt_x931(bytes);
    assert!(!public.accepts_request_token(bytes));
    assert!(!public.verify_publish_key("key", bytes));
    assert!(!public.verify(SigAlgo::Pkcs1v15Sha1, b"message", bytes));
    let _ = private.decrypt(EncAlgo::OaepSha1, bytes);
}

/// Keys as text.
pub(crate) fn rsa_keys(bytes: &[u8]) {
    let _ = PrivateKey::from_pem(bytes, None);
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    if let Ok(key) = PublicKey::from_pem(text) {
        let pem = key.to_pem().expect("what was read can be written");
        let again = PublicKey::from_pem(&pem).expect("what was written can be read");
        assert_eq!(again.bits(), key.bits());
        let _ = key.encrypt(EncAlgo::OaepSha1, b"secret");
        assert!(!key.verify(SigAlgo::Pkcs1v15Sha1, b"message", b"signature"));
    }
}
