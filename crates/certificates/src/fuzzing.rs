//! Access for fuzz targets to the readers of certificates, requests, lists and
//! keys; no interface.

use halite_proto::Value;

use crate::certificate::{Certificate, List, Request};
use crate::functions::read;
use crate::keys::{PrivateKey, PublicKey};

/// Something that is read as whatever it may be: PEM, DER, PKCS#7 or PKCS#12.
pub fn certificate(bytes: &[u8]) {
    let value = Value::Bytes(bytes.to_vec());
    if let Ok(found) = Certificate::load_all(&value, Some("secret")) {
        let _ = read::shown_certificate(&found.certificate, false);
        let again = Value::from(found.certificate.pem());
        assert!(Certificate::load(&again).is_ok());
    }
    if let Ok((request, _)) = Request::load(&value) {
        let _ = read::shown_request(&request);
    }
    if let Ok((list, _)) = List::load(&value) {
        let _ = read::shown_list(&list);
    }
    let _ = PrivateKey::load(&value, Some("secret"));
    if let Ok(key) = PublicKey::load(&value) {
        assert!(PublicKey::load(&key.pem().into()).is_ok());
    }
}
