//! Certificates, requests and lists from arguments.
//!
//! Invariant: the result is complete except for the signature, so that it can be compared
//! with the existing one before anything is signed.

mod list;
mod signature;

pub(crate) use list::UnsignedList;
pub(crate) use signature::{algorithm_name, digest_of_algorithm};

use halite_call::{CallError, python};
use halite_proto::{Map, Value};

use self::signature::{algorithm, signed};
use crate::asn1::{integer, sequence, small, tag, tlv};
use crate::certificate::{Certificate, Request};
use crate::extension::{self, Extension, Parties};
use crate::keys::{PrivateKey, PublicKey, random_serial};
use crate::name::{self, Name};
use crate::{text, time};

/// Renames what has long names.
pub(crate) fn short_names(kwargs: &mut Map) {
    for (long, short) in name::LONG_NAMES.iter().chain(extension::LONG_NAMES) {
        if let Some(value) = kwargs.remove(long) {
            kwargs.insert(*short, value);
        }
    }
}

/// An argument that was given and is not nothing.
pub(crate) fn given<'m>(kwargs: &'m Map, name: &str) -> Option<&'m Value> {
    kwargs.get(name).filter(|value| value.is_true())
}

pub(crate) fn text_of(kwargs: &Map, name: &str) -> Option<String> {
    match kwargs.get(name) {
        None | Some(Value::Nil) => None,
        Some(value) => Some(python::str(value)),
    }
}

/// A serial number from a number or hexadecimal digits.
pub(crate) fn serial(value: Option<&Value>) -> Result<Vec<u8>, CallError> {
    let number = |number: &i128| {
        u128::try_from(*number)
            .ok()
            .map(|number| number.to_be_bytes().to_vec())
    };
    let found = match value {
        None | Some(Value::Nil) => return random_serial(),
        Some(Value::Int(int)) => number(int),
        Some(Value::Str(digits)) => text::from_hex(&digits.replace(':', "")),
        Some(Value::Bytes(bytes)) => Some(bytes.clone()),
        Some(_) => None,
    };
    let bytes = found.filter(|bytes| bytes.iter().any(|byte| *byte != 0));
    let bytes = bytes.ok_or_else(|| {
        let value = value.map(python::str).unwrap_or_default();
        CallError::command(format!("Could not parse serial number {value}"))
    })?;
    let significant = bytes.iter().skip_while(|byte| **byte == 0).count();
    if significant > 20 {
        return Err(CallError::exception(
            "ValueError",
            "The serial number should not be more than 159 bits.",
        ));
    }
    Ok(bytes)
}

/// The DER of a positive number without leading zeros, to compare.
pub(crate) fn same_number(one: &[u8], other: &[u8]) -> bool {
    let bare = |bytes: &[u8]| -> Vec<u8> {
        bytes
            .iter()
            .copied()
            .skip_while(|byte| *byte == 0)
            .collect()
    };
    bare(one) == bare(other)
}

fn days(kwargs: &Map, name: &str, default: i64) -> Result<i64, CallError> {
    match kwargs.get(name) {
        None | Some(Value::Nil) => Ok(default),
        Some(value) => python::int(value),
    }
}

/// A certificate that is not signed yet.
pub(crate) struct Unsigned {
    serial: Vec<u8>,
    pub(crate) subject: Name,
    pub(crate) issuer: Name,
    issuer_der: Vec<u8>,
    not_before: i64,
    not_after: i64,
    pub(crate) public_key: PublicKey,
    pub(crate) extensions: Vec<Extension>,
    /// The key that signs; nothing if another minion has it.
    pub(crate) signing_key: Option<PrivateKey>,
    /// The key of the certificate, where that is known.
    pub(crate) private_key: Option<PrivateKey>,
    pub(crate) signing_cert: Option<Certificate>,
}

/// Who signs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Signer {
    Here,
    Elsewhere,
}

impl Unsigned {
    /// The certificate that the arguments describe.
    ///
    /// # Errors
    /// When an argument is not valid, or one is missing.
    pub(crate) fn new(kwargs: &Map, signer: Signer) -> Result<Self, CallError> {
        let signing_key = match signer {
            Signer::Here => Some(signing_key(kwargs)?),
            Signer::Elsewhere => None,
        };
        let serial = serial(kwargs.get("serial_number"))?;
        let csr = match given(kwargs, "csr") {
            Some(value) => Some(Request::load(value)?.0),
            None => None,
        };
        let signing_cert = match given(kwargs, "signing_cert") {
            Some(value) => Some(Certificate::load(value)?),
            None => None,
        };
        let (public_key, private_key) = match (&signing_cert, &signing_key) {
            (None, Some(key)) => (key.public()?, None),
            (None, None) => {
                return Err(CallError::invocation(
                    "The certificate of the ca_server is needed to know who issues: its signing policy names no signing_cert",
                ));
            }
            (Some(_), _) => certified_key(kwargs, csr.as_ref())?,
        };
        if let (Some(certificate), Some(key)) = (&signing_cert, &signing_key)
            && !certificate.key()?.is_pair_of(key)
        {
            return Err(mismatch());
        }
        let subject = subject(kwargs)?;
        let (issuer, issuer_der) = match &signing_cert {
            Some(issuer) => (issuer.subject.clone(), issuer.subject_der.clone()),
            None => (subject.clone(), subject.der()),
        };
        let (not_before, not_after) = validity(kwargs)?;
        let own_key = signing_cert.is_none().then_some(public_key.der.as_slice());
        let parties = Parties {
            subject: Some(&public_key.der),
            issuer: signing_cert.as_ref().map(Certificate::as_issuer),
            issuer_key: own_key,
        };
        let extensions = extensions(kwargs, parties, csr.as_ref())?;
        Ok(Self {
            serial,
            subject,
            issuer,
            issuer_der,
            not_before,
            not_after,
            extensions,
            signing_key,
            private_key,
            signing_cert,
            public_key,
        })
    }

    /// The serial number, if one was asked for.
    pub(crate) fn serial(&self) -> &[u8] {
        &self.serial
    }

    /// The key of the certificate: the one that signs where it signs itself.
    pub(crate) fn own_key(&self) -> Option<&PrivateKey> {
        match self.signing_cert {
            Some(_) => self.private_key.as_ref(),
            None => self.signing_key.as_ref(),
        }
    }

    pub(crate) fn sign(&self, digest: &str) -> Result<Certificate, CallError> {
        let key = self.signing_key.as_ref().ok_or_else(|| {
            CallError::invocation(
                "Creating a certificate locally at least requires a signing private key.",
            )
        })?;
        let algorithm = algorithm(key.kind, digest)?;
        let mut parts = vec![
            tlv(tag::explicit(0), &small(2)),
            integer(&self.serial),
            algorithm.clone(),
            self.issuer_der.clone(),
            sequence(&[time::der(self.not_before), time::der(self.not_after)]),
            self.subject.der(),
            self.public_key.der.clone(),
        ];
        if !self.extensions.is_empty() {
            let list: Vec<Vec<u8>> = self.extensions.iter().map(Extension::der).collect();
            parts.push(tlv(tag::explicit(3), &sequence(&list)));
        }
        let der = signed(key, digest, &algorithm, sequence(&parts))?;
        Certificate::from_der(&der)
            .map_err(|error| CallError::command(format!("could not make a certificate: {error}")))
    }
}

fn private_key(kwargs: &Map, name: &str) -> Result<Option<PrivateKey>, CallError> {
    let Some(value) = given(kwargs, name) else {
        return Ok(None);
    };
    let passphrase = text_of(kwargs, &format!("{name}_passphrase"));
    let (key, _) = PrivateKey::load(value, passphrase.as_deref())?;
    Ok(Some(key))
}

fn signing_key(kwargs: &Map) -> Result<PrivateKey, CallError> {
    private_key(kwargs, "signing_private_key")?.ok_or_else(|| {
        CallError::invocation(
            "Creating a certificate locally at least requires a signing private key.",
        )
    })
}

/// The key that somebody else certifies, with its private half where that is
/// given.
fn certified_key(
    kwargs: &Map,
    csr: Option<&Request>,
) -> Result<(PublicKey, Option<PrivateKey>), CallError> {
    let private_key = private_key(kwargs, "private_key")?;
    let public_key = match (&private_key, given(kwargs, "public_key"), csr) {
        (Some(key), _, _) => key.public()?,
        (None, Some(value), _) => PublicKey::load(value)?,
        (None, None, Some(csr)) => PublicKey::from_der(&csr.public_key)?,
        (None, None, None) => {
            return Err(CallError::invocation(
                "This certificate is not self-signed (signing_cert is set) and thus needs public_key, private_key or csr to derive public key to sign",
            ));
        }
    };
    Ok((public_key, private_key))
}

fn subject(kwargs: &Map) -> Result<Name, CallError> {
    match given(kwargs, "subject") {
        Some(subject) => Name::from_value(subject),
        None => Name::from_map(kwargs),
    }
}

/// From when and until when, in seconds since 1970.
fn validity(kwargs: &Map) -> Result<(i64, i64), CallError> {
    let now = time::now();
    let not_before = match text_of(kwargs, "not_before") {
        Some(text) => time::parse(&text)?,
        None => now,
    };
    let not_after = match text_of(kwargs, "not_after") {
        Some(text) => time::parse(&text)?,
        None => time::later(now, days(kwargs, "days_valid", 30)?),
    };
    if not_after < not_before {
        return Err(CallError::exception(
            "ValueError",
            "The not valid after date must be after the not valid before date.",
        ));
    }
    Ok((not_before, not_after))
}

pub(crate) fn mismatch() -> CallError {
    CallError::invocation("Signing private key does not match the certificate's public key")
}

/// Those of the arguments, and what else the request asks for.
fn extensions(
    kwargs: &Map,
    parties: Parties<'_>,
    csr: Option<&Request>,
) -> Result<Vec<Extension>, CallError> {
    let mut made: Vec<Extension> = Vec::new();
    for (name, _) in extension::KNOWN {
        if !extension::is_of_certificates(name) {
            continue;
        }
        match kwargs.get(name) {
            None | Some(Value::Nil) => {}
            Some(value) => made.push(extension::build(name, value, parties)?),
        }
    }
    let asked = csr.map(|csr| csr.extensions.as_slice()).unwrap_or_default();
    for (name, oid) in extension::KNOWN {
        let wanted = asked.iter().find(|extension| extension.oid == *oid);
        if let Some(wanted) = wanted
            && extension::is_of_requests(name)
            && !made.iter().any(|extension| extension.oid == *oid)
        {
            made.push(wanted.clone());
        }
    }
    Ok(made)
}

/// A request that is not signed yet.
pub(crate) struct UnsignedRequest {
    pub(crate) key: PrivateKey,
    pub(crate) subject: Name,
    pub(crate) extensions: Vec<Extension>,
}

impl UnsignedRequest {
    pub(crate) fn new(
        private_key: &Value,
        passphrase: Option<&str>,
        kwargs: &Map,
    ) -> Result<Self, CallError> {
        let (key, _) = PrivateKey::load(private_key, passphrase)?;
        let public = key.public()?;
        let subject = subject(kwargs)?;
        let parties = Parties {
            subject: Some(&public.der),
            ..Parties::default()
        };
        let mut extensions = Vec::new();
        for (name, _) in extension::KNOWN {
            if let Some(value) = kwargs.get(name)
                && extension::is_of_requests(name)
            {
                extensions.push(extension::build(name, value, parties)?);
            }
        }
        Ok(Self {
            key,
            subject,
            extensions,
        })
    }

    pub(crate) fn sign(&self, digest: &str) -> Result<Vec<u8>, CallError> {
        let body = Request::body(&self.subject, &self.key.public()?.der, &self.extensions);
        let algorithm = algorithm(self.key.kind, digest)?;
        signed(&self.key, digest, &algorithm, body)
    }
}
