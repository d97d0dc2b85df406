//! PKCS#12 as it is written, and PKCS#7: certificates with their chain, and a key.

use halite_call::CallError;
use openssl::hash::MessageDigest;
use openssl::nid::Nid;
use openssl::pkcs12::Pkcs12;
use openssl::stack::Stack;
use openssl::x509::{X509, X509Crl};

use crate::asn1::{DerError, Reader, around, oid, sequence, small, tag, tlv};
use crate::keys::{PrivateKey, PublicKey, failed};

/// How often a passphrase is stirred.
const ROUNDS: u32 = 20_000;
/// The same where old programs are to read the result.
const ROUNDS_COMPATIBLE: u32 = 50_000;

const SIGNED_DATA: &str = "1.2.840.113549.1.7.2";
const DATA: &str = "1.2.840.113549.1.7.1";

/// How a PKCS#12 file is protected.
#[derive(Clone, Copy, Default)]
pub(crate) struct Protection<'a> {
    pub(crate) passphrase: Option<&'a str>,
    /// In a way that old programs can read.
    pub(crate) compatible: bool,
}

/// A key, and the certificates that go with it, the first of them that of the
/// key.
pub(crate) fn make_pkcs12(
    key: &PrivateKey,
    certificates: &[Vec<u8>],
    friendly_name: Option<&str>,
    protection: Protection<'_>,
) -> Result<Vec<u8>, CallError> {
    let make = || {
        let mut builder = Pkcs12::builder();
        builder.pkey(key.openssl());
        if let Some(name) = friendly_name {
            builder.name(name);
        }
        let own;
        if let Some((first, chain)) = certificates.split_first() {
            own = X509::from_der(first)?;
            builder.cert(&own);
            if !chain.is_empty() {
                let mut stack = Stack::new()?;
                for der in chain {
                    stack.push(X509::from_der(der)?)?;
                }
                builder.ca(stack);
            }
        }
        let algorithm = match protection {
            Protection {
                passphrase: None, ..
            } => Nid::from_raw(-1),
            Protection {
                compatible: true, ..
            } => Nid::PBE_WITHSHA1AND3_KEY_TRIPLEDES_CBC,
            _ => Nid::AES_256_CBC,
        };
        builder.key_algorithm(algorithm).cert_algorithm(algorithm);
        if protection.compatible {
            builder
                .key_iter(ROUNDS_COMPATIBLE)
                .mac_md(MessageDigest::sha1());
        } else {
            builder.key_iter(ROUNDS).mac_md(MessageDigest::sha256());
        }
        builder
            .build2(protection.passphrase.unwrap_or_default())?
            .to_der()
    };
    make().map_err(failed("could not write PKCS#12"))
}

/// Certificates in PKCS#7, without a signature.
pub(crate) fn make_pkcs7(certificates: &[Vec<u8>]) -> Vec<u8> {
    let mut sorted = certificates.to_vec();
    sorted.sort();
    let signed = sequence(&[
        small(1),
        around(tag::SET, &[]),
        sequence(&[oid(DATA)]),
        tlv(tag::explicit(0), &sorted.concat()),
        around(tag::SET, &[]),
    ]);
    sequence(&[oid(SIGNED_DATA), tlv(tag::explicit(0), &signed)])
}

/// The certificates of a PKCS#7 file.
pub(crate) fn open_pkcs7(data: &[u8]) -> Result<Vec<Vec<u8>>, DerError> {
    let mut parts = Reader::one(data, tag::SEQUENCE)?.inside();
    if parts.expect(tag::OID)?.oid()? != SIGNED_DATA {
        return Err(DerError::Value);
    }
    let mut signed = parts
        .expect(tag::explicit(0))?
        .inside()
        .expect(tag::SEQUENCE)?
        .inside();
    signed.expect(tag::INTEGER)?;
    signed.expect(tag::SET)?;
    signed.expect(tag::SEQUENCE)?;
    let certificates = signed.expect(tag::explicit(0))?.inside().all()?;
    Ok(certificates
        .iter()
        .map(|item| item.whole.to_vec())
        .collect())
}

/// What OpenSSL writes of each extension of a certificate, in their order.
pub(crate) fn extension_texts(der: &[u8]) -> Result<Vec<String>, CallError> {
    let text = X509::from_der(der).and_then(|certificate| certificate.to_text());
    let text = text.map_err(failed("could not read the certificate"))?;
    Ok(extensions_in(&String::from_utf8_lossy(&text)))
}

/// The values below `X509v3 extensions:`, where names are indented by 12 and
/// what is said by 16.
fn extensions_in(text: &str) -> Vec<String> {
    let mut found: Vec<Vec<&str>> = Vec::new();
    let lines = text.lines();
    let mut lines = lines.skip_while(|line| line.trim() != "X509v3 extensions:");
    lines.next();
    for line in lines.take_while(|line| line.starts_with("            ")) {
        match (line.strip_prefix("                "), found.last_mut()) {
            (Some(value), Some(last)) => last.push(value.trim_end()),
            _ => found.push(Vec::new()),
        }
    }
    let texts = found.into_iter().map(|lines| lines.join("\n"));
    texts.map(|text| text.trim_end().to_owned()).collect()
}

/// What a signature is under.
#[derive(Clone, Copy)]
pub(crate) enum Signed {
    Certificate,
    List,
}

/// Whether `key` has signed.
pub(crate) fn is_signed_by(what: Signed, der: &[u8], key: &PublicKey) -> Result<bool, CallError> {
    let key = key.openssl();
    let good = match what {
        Signed::Certificate => X509::from_der(der).and_then(|signed| signed.verify(key)),
        Signed::List => X509Crl::from_der(der).and_then(|signed| signed.verify(key)),
    };
    // A key of another kind is an error there, and no signature here.
    Ok(good.unwrap_or(false))
}
