//! Reading PKCS#12: a key, its certificate and the chain.

use halite_call::CallError;
use openssl::pkcs12::Pkcs12;

use super::{KeyError, PrivateKey};
use crate::asn1::{DerError, Reader, tag};

/// What was in a PKCS#12 file.
pub(crate) struct Opened {
    pub(crate) key: Option<PrivateKey>,
    /// The certificate in DER.
    pub(crate) certificate: Option<Vec<u8>>,
    pub(crate) chain: Vec<Vec<u8>>,
    pub(crate) friendly_name: Option<Vec<u8>>,
}

/// Whether data begins as PKCS#12 does: a list that begins with a 3.
pub(crate) fn is_pkcs12(data: &[u8]) -> bool {
    let begins = || -> Result<bool, DerError> {
        let mut parts = Reader::one(data, tag::SEQUENCE)?.inside();
        let version = parts.expect(tag::INTEGER)?.number()?;
        parts.expect(tag::SEQUENCE)?;
        Ok(version == 3)
    };
    begins().unwrap_or(false)
}

pub(crate) fn open_pkcs12(data: &[u8], passphrase: Option<&str>) -> Result<Opened, KeyError> {
    let unreadable = |_| {
        KeyError::Unreadable(CallError::invocation(
            "Could not deserialize binary data, neither as DER nor PKCS#12.",
        ))
    };
    let packed = Pkcs12::from_der(data).map_err(unreadable)?;
    let opened = packed
        .parse2(passphrase.unwrap_or_default())
        .map_err(|_| KeyError::Invalid)?;
    let key = match opened.pkey {
        Some(key) => Some(PrivateKey::from_openssl(key).map_err(KeyError::Unreadable)?),
        None => None,
    };
    let friendly_name = opened
        .cert
        .as_ref()
        .and_then(|cert| cert.alias().map(<[u8]>::to_vec));
    let certificate = opened.cert.map(|cert| cert.to_der());
    let chain = opened.ca.iter().flatten().map(|cert| cert.to_der());
    Ok(Opened {
        key,
        certificate: certificate.transpose().map_err(unreadable)?,
        chain: chain.collect::<Result<_, _>>().map_err(unreadable)?,
        friendly_name,
    })
}
