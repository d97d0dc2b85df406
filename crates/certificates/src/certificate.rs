//! Certificates, requests and revocation lists that were read.

use halite_call::CallError;
use halite_proto::Value;

use crate::asn1::{DerError, Item, Reader, oid, sequence, set, tag, tlv};
use crate::containers;
use crate::extension::{self, Extension, Issuer};
use crate::keys::{Encoding, KeyError, Opened, PublicKey, is_pkcs12, open_pkcs12};
use crate::name::Name;
use crate::text::{self, Pem};
use crate::time;

const EXTENSION_REQUEST: &str = "1.2.840.113549.1.9.14";

/// A certificate.
#[derive(Debug, Clone)]
pub(crate) struct Certificate {
    pub(crate) der: Vec<u8>,
    pub(crate) version: i64,
    pub(crate) serial: Vec<u8>,
    /// The algorithm of the signature.
    pub(crate) algorithm: String,
    pub(crate) issuer: Name,
    pub(crate) issuer_der: Vec<u8>,
    pub(crate) subject: Name,
    pub(crate) subject_der: Vec<u8>,
    pub(crate) not_before: i64,
    pub(crate) not_after: i64,
    /// In DER.
    pub(crate) public_key: Vec<u8>,
    pub(crate) extensions: Vec<Extension>,
}

/// A certificate with what was around it.
pub(crate) struct Loaded {
    pub(crate) certificate: Certificate,
    pub(crate) encoding: Encoding,
    pub(crate) chain: Vec<Certificate>,
    /// The name of a certificate in PKCS#12.
    pub(crate) friendly_name: Option<Vec<u8>>,
}

fn bad(what: &str) -> CallError {
    CallError::invocation(what)
}

impl Certificate {
    /// What the extensions of a certificate take over that this one signs.
    pub(crate) fn as_issuer(&self) -> Issuer<'_> {
        Issuer {
            issuer_der: &self.issuer_der,
            serial: &self.serial,
            public_key: &self.public_key,
            extensions: &self.extensions,
        }
    }

    pub(crate) fn from_der(der: &[u8]) -> Result<Self, DerError> {
        let mut whole = Reader::one(der, tag::SEQUENCE)?.inside();
        let mut parts = whole.expect(tag::SEQUENCE)?.inside();
        let version = match parts.maybe(tag::explicit(0))? {
            Some(item) => item.inside().expect(tag::INTEGER)?.number()? + 1,
            None => 1,
        };
        let serial = parts.expect(tag::INTEGER)?.body.to_vec();
        parts.expect(tag::SEQUENCE)?;
        let issuer = parts.expect(tag::SEQUENCE)?;
        let mut validity = parts.expect(tag::SEQUENCE)?.inside();
        let subject = parts.expect(tag::SEQUENCE)?;
        let public_key = parts.expect(tag::SEQUENCE)?.whole.to_vec();
        parts.maybe(0x81)?;
        parts.maybe(0x82)?;
        let extensions = extensions_of(parts.maybe(tag::explicit(3))?)?;
        let algorithm = algorithm(whole.expect(tag::SEQUENCE)?)?;
        whole.expect(tag::BITS)?;
        whole.end()?;
        Ok(Self {
            der: der.to_vec(),
            version,
            serial,
            algorithm,
            issuer: Name::from_der(&issuer)?,
            issuer_der: issuer.whole.to_vec(),
            subject: Name::from_der(&subject)?,
            subject_der: subject.whole.to_vec(),
            not_before: time::read(&validity.next()?)?,
            not_after: time::read(&validity.next()?)?,
            public_key,
            extensions,
        })
    }

    /// From a file or data in any encoding that can hold one.
    pub(crate) fn load(value: &Value) -> Result<Self, CallError> {
        Ok(Self::load_all(value, None)?.certificate)
    }

    pub(crate) fn load_all(value: &Value, passphrase: Option<&str>) -> Result<Loaded, CallError> {
        let data = text::load(value)?;
        if text::is_pem(&data) {
            return from_pem(&String::from_utf8_lossy(&data));
        }
        let neither =
            || bad("Could not deserialize binary data, neither as DER nor PKCS#7, PKCS#12.");
        if let Ok(certificate) = Self::from_der(&data) {
            return Ok(Loaded {
                certificate,
                encoding: Encoding::Der,
                chain: Vec::new(),
                friendly_name: None,
            });
        }
        if is_pkcs12(&data) {
            let opened = match open_pkcs12(&data, passphrase) {
                Ok(opened) => opened,
                Err(KeyError::Unreadable(_)) => return Err(neither()),
                Err(error) => return Err(error.into()),
            };
            return from_pkcs12(&opened).ok_or_else(neither);
        }
        let found = containers::open_pkcs7(&data).map_err(|_| neither())?;
        chain_of(&found, Encoding::Pkcs7Der).ok_or_else(neither)
    }

    pub(crate) fn key(&self) -> Result<PublicKey, CallError> {
        PublicKey::from_der(&self.public_key)
    }

    pub(crate) fn pem(&self) -> String {
        text::to_pem("CERTIFICATE", &self.der)
    }
}

fn from_pem(data: &str) -> Result<Loaded, CallError> {
    let pems = text::pems(data);
    let unreadable = || bad("Could not load PEM-encoded certificate.");
    let first = pems.first().ok_or_else(unreadable)?;
    if first.label == "PKCS7" {
        let unreadable = || bad("Could not load PEM-encoded PKCS#7 blob");
        let data = first.data().ok_or_else(unreadable)?;
        let found = containers::open_pkcs7(&data).map_err(|_| unreadable())?;
        return chain_of(&found, Encoding::Pkcs7Pem).ok_or_else(unreadable);
    }
    if !["CERTIFICATE", "X509 CERTIFICATE"].contains(&first.label.as_str()) {
        return Err(unreadable());
    }
    let mut found = pems
        .iter()
        .map(|pem| Certificate::from_der(&pem.data().unwrap_or_default()));
    let certificate = found.next().and_then(Result::ok).ok_or_else(unreadable)?;
    Ok(Loaded {
        certificate,
        encoding: Encoding::Pem,
        chain: found.flatten().collect(),
        friendly_name: None,
    })
}

fn from_pkcs12(opened: &Opened) -> Option<Loaded> {
    let certificate = opened.certificate.as_ref()?;
    let chain = opened.chain.iter().map(|der| Certificate::from_der(der));
    Some(Loaded {
        certificate: Certificate::from_der(certificate).ok()?,
        encoding: Encoding::Pkcs12,
        chain: chain.collect::<Result<_, _>>().ok()?,
        friendly_name: opened.friendly_name.clone(),
    })
}

fn chain_of(ders: &[Vec<u8>], encoding: Encoding) -> Option<Loaded> {
    let mut all = ders.iter().map(|der| Certificate::from_der(der).ok());
    Some(Loaded {
        certificate: all.next()??,
        encoding,
        chain: all.collect::<Option<_>>()?,
        friendly_name: None,
    })
}

fn algorithm(item: Item<'_>) -> Result<String, DerError> {
    item.inside().expect(tag::OID)?.oid()
}

fn extensions_of(item: Option<Item<'_>>) -> Result<Vec<Extension>, DerError> {
    match item {
        Some(item) => extension::from_list(&item.inside().expect(tag::SEQUENCE)?),
        None => Ok(Vec::new()),
    }
}

/// A request for a certificate.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) der: Vec<u8>,
    pub(crate) algorithm: String,
    pub(crate) subject: Name,
    pub(crate) subject_der: Vec<u8>,
    pub(crate) public_key: Vec<u8>,
    pub(crate) extensions: Vec<Extension>,
}

impl Request {
    fn from_der(der: &[u8]) -> Result<Self, DerError> {
        let mut whole = Reader::one(der, tag::SEQUENCE)?.inside();
        let mut parts = whole.expect(tag::SEQUENCE)?.inside();
        parts.expect(tag::INTEGER)?;
        let subject = parts.expect(tag::SEQUENCE)?;
        let public_key = parts.expect(tag::SEQUENCE)?.whole.to_vec();
        let mut extensions = Vec::new();
        if let Some(attributes) = parts.maybe(tag::explicit(0))? {
            for attribute in attributes.inside().all()? {
                let mut pair = attribute.inside();
                if pair.expect(tag::OID)?.oid()? == EXTENSION_REQUEST {
                    let list = pair.expect(tag::SET)?.inside().expect(tag::SEQUENCE)?;
                    extensions = extension::from_list(&list)?;
                }
            }
        }
        let algorithm = algorithm(whole.expect(tag::SEQUENCE)?)?;
        whole.expect(tag::BITS)?;
        whole.end()?;
        Ok(Self {
            der: der.to_vec(),
            algorithm,
            subject: Name::from_der(&subject)?,
            subject_der: subject.whole.to_vec(),
            public_key,
            extensions,
        })
    }

    pub(crate) fn load(value: &Value) -> Result<(Self, Encoding), CallError> {
        let data = text::load(value)?;
        let labels = ["CERTIFICATE REQUEST", "NEW CERTIFICATE REQUEST"];
        let what = "certificate signing request.";
        let (der, encoding) = unpacked(&data, &labels, what)?;
        let request = Self::from_der(&der).map_err(|_| unreadable(encoding, what))?;
        Ok((request, encoding))
    }

    /// What is signed of a request.
    pub(crate) fn body(subject: &Name, public_key: &[u8], extensions: &[Extension]) -> Vec<u8> {
        let attributes = if extensions.is_empty() {
            Vec::new()
        } else {
            let list: Vec<Vec<u8>> = extensions.iter().map(Extension::der).collect();
            sequence(&[oid(EXTENSION_REQUEST), set(vec![sequence(&list)])])
        };
        sequence(&[
            crate::asn1::small(0),
            subject.der(),
            public_key.to_vec(),
            tlv(tag::explicit(0), &attributes),
        ])
    }
}

/// A certificate that was revoked.
#[derive(Debug, Clone)]
pub(crate) struct Revoked {
    pub(crate) serial: Vec<u8>,
    pub(crate) date: i64,
    pub(crate) extensions: Vec<Extension>,
}

impl Revoked {
    pub(crate) fn der(&self) -> Vec<u8> {
        let mut parts = vec![crate::asn1::integer(&self.serial), time::der(self.date)];
        if !self.extensions.is_empty() {
            let list: Vec<Vec<u8>> = self.extensions.iter().map(Extension::der).collect();
            parts.push(sequence(&list));
        }
        sequence(&parts)
    }
}

/// A revocation list.
#[derive(Debug, Clone)]
pub(crate) struct List {
    pub(crate) der: Vec<u8>,
    pub(crate) algorithm: String,
    pub(crate) issuer: Name,
    pub(crate) last_update: i64,
    pub(crate) next_update: Option<i64>,
    pub(crate) revoked: Vec<Revoked>,
    pub(crate) extensions: Vec<Extension>,
}

impl List {
    fn from_der(der: &[u8]) -> Result<Self, DerError> {
        let mut whole = Reader::one(der, tag::SEQUENCE)?.inside();
        let mut parts = whole.expect(tag::SEQUENCE)?.inside();
        parts.maybe(tag::INTEGER)?;
        parts.expect(tag::SEQUENCE)?;
        let issuer = Name::from_der(&parts.expect(tag::SEQUENCE)?)?;
        let last_update = time::read(&parts.next()?)?;
        let next_update = match parts.peek() {
            Some(tag::UTC_TIME | tag::TIME) => Some(time::read(&parts.next()?)?),
            _ => None,
        };
        let mut revoked = Vec::new();
        if let Some(list) = parts.maybe(tag::SEQUENCE)? {
            for entry in list.inside().all()? {
                let mut entry = entry.inside();
                revoked.push(Revoked {
                    serial: entry.expect(tag::INTEGER)?.body.to_vec(),
                    date: time::read(&entry.next()?)?,
                    extensions: match entry.maybe(tag::SEQUENCE)? {
                        Some(list) => extension::from_list(&list)?,
                        None => Vec::new(),
                    },
                });
            }
        }
        let extensions = extensions_of(parts.maybe(tag::explicit(0))?)?;
        let algorithm = algorithm(whole.expect(tag::SEQUENCE)?)?;
        whole.expect(tag::BITS)?;
        whole.end()?;
        Ok(Self {
            der: der.to_vec(),
            algorithm,
            issuer,
            last_update,
            next_update,
            revoked,
            extensions,
        })
    }

    pub(crate) fn load(value: &Value) -> Result<(Self, Encoding), CallError> {
        let data = text::load(value)?;
        let what = "certificate revocation list.";
        let (der, encoding) = unpacked(&data, &["X509 CRL"], what)?;
        let list = Self::from_der(&der).map_err(|_| unreadable(encoding, what))?;
        Ok((list, encoding))
    }
}

fn unreadable(encoding: Encoding, what: &str) -> CallError {
    let encoding = encoding.name().to_uppercase();
    CallError::invocation(format!("Could not load {encoding}-encoded {what}"))
}

/// The DER of PEM with one of the labels, or the data as it is.
fn unpacked(data: &[u8], labels: &[&str], what: &str) -> Result<(Vec<u8>, Encoding), CallError> {
    if !text::is_pem(data) {
        return Ok((data.to_vec(), Encoding::Der));
    }
    let pems = text::pems(&String::from_utf8_lossy(data));
    let found = pems
        .iter()
        .find(|pem| labels.contains(&pem.label.as_str()))
        .and_then(Pem::data);
    let found = found.ok_or_else(|| unreadable(Encoding::Pem, what))?;
    Ok((found, Encoding::Pem))
}
