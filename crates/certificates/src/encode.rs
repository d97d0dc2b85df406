//! Certificates in the encodings that arguments name.

use halite_call::CallError;

use crate::certificate::Certificate;
use crate::containers::{self, Protection};
use crate::keys::{Encoding, PrivateKey};
use crate::text::{to_base64, to_pem};

/// Data as functions return it, and as files hold it.
pub(crate) struct Encoded {
    pub(crate) bytes: Vec<u8>,
    pub(crate) is_text: bool,
}

impl Encoded {
    pub(crate) fn text(text: String) -> Self {
        Self {
            bytes: text.into_bytes(),
            is_text: true,
        }
    }

    pub(crate) fn binary(bytes: Vec<u8>) -> Self {
        Self {
            bytes,
            is_text: false,
        }
    }

    /// Text as it is, else base64.
    pub(crate) fn shown(&self) -> String {
        if self.is_text {
            String::from_utf8_lossy(&self.bytes).into_owned()
        } else {
            to_base64(&self.bytes)
        }
    }
}

/// What goes with a certificate into PKCS#12.
#[derive(Clone, Copy, Default)]
pub(crate) struct Company<'a> {
    pub(crate) key: Option<&'a PrivateKey>,
    pub(crate) friendly_name: Option<&'a str>,
    pub(crate) protection: Protection<'a>,
}

pub(crate) fn certificate(
    first: &Certificate,
    chain: &[Certificate],
    encoding: Encoding,
    company: Company<'_>,
) -> Result<Encoded, CallError> {
    if encoding == Encoding::Der && !chain.is_empty() {
        return Err(CallError::invocation(
            "Cannot encode a certificate chain in DER",
        ));
    }
    let all = || -> Vec<Vec<u8>> {
        let chain = chain.iter().map(|cert| cert.der.clone());
        [first.der.clone()].into_iter().chain(chain).collect()
    };
    Ok(match encoding {
        Encoding::Der => Encoded::binary(first.der.clone()),
        Encoding::Pem => {
            let mut text = first.pem();
            for other in chain {
                text.push('\n');
                text += &other.pem();
            }
            Encoded::text(text)
        }
        Encoding::Pkcs7Der => Encoded::binary(containers::make_pkcs7(&all())),
        Encoding::Pkcs7Pem => Encoded::text(to_pem("PKCS7", &containers::make_pkcs7(&all()))),
        Encoding::Pkcs12 => {
            let key = company.key.ok_or_else(|| {
                CallError::invocation(
                    "Creating a PKCS12-encoded certificate without embedded private key is unsupported",
                )
            })?;
            Encoded::binary(containers::make_pkcs12(
                key,
                &all(),
                company.friendly_name,
                company.protection,
            )?)
        }
    })
}

pub(crate) fn private_key(
    key: &PrivateKey,
    encoding: Encoding,
    protection: Protection<'_>,
) -> Result<Encoded, CallError> {
    Ok(match encoding {
        Encoding::Pem => Encoded::text(key.pem(protection.passphrase)?),
        Encoding::Pkcs12 => Encoded::binary(containers::make_pkcs12(key, &[], None, protection)?),
        _ => Encoded::binary(key.der(protection.passphrase)?),
    })
}

/// A request or a list.
pub(crate) fn other(der: &[u8], label: &str, encoding: Encoding) -> Encoded {
    match encoding {
        Encoding::Pem => Encoded::text(to_pem(label, der)),
        _ => Encoded::binary(der.to_vec()),
    }
}
