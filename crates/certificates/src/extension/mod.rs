//! Extensions: what arguments say about them, and what a certificate has.

mod access;
mod conf;
mod constraints;
mod identifiers;
mod list;
mod names;
mod points;
mod policies;
mod show;
mod usage;

use halite_call::CallError;
use halite_proto::{Map, Value};

pub(crate) use show::show;

use crate::asn1::{DerError, Item, boolean, octets, oid, sequence, tag};

/// Names of the extensions of certificates, lists and requests, in the order
/// in which they are written and shown; and the identifier of each.
pub(crate) const KNOWN: &[(&str, &str)] = &[
    ("basicConstraints", "2.5.29.19"),
    ("keyUsage", "2.5.29.15"),
    ("extendedKeyUsage", "2.5.29.37"),
    ("subjectKeyIdentifier", "2.5.29.14"),
    ("authorityKeyIdentifier", "2.5.29.35"),
    ("issuerAltName", "2.5.29.18"),
    ("authorityInfoAccess", "1.3.6.1.5.5.7.1.1"),
    ("subjectAltName", "2.5.29.17"),
    ("crlDistributionPoints", "2.5.29.31"),
    ("issuingDistributionPoint", "2.5.29.28"),
    ("certificatePolicies", "2.5.29.32"),
    ("policyConstraints", "2.5.29.36"),
    ("inhibitAnyPolicy", "2.5.29.54"),
    ("nameConstraints", "2.5.29.30"),
    ("noCheck", "1.3.6.1.5.5.7.48.1.5"),
    ("tlsfeature", "1.3.6.1.5.5.7.1.24"),
    ("nsComment", "2.16.840.1.113730.1.13"),
    ("nsCertType", "2.16.840.1.113730.1.1"),
    ("cRLNumber", "2.5.29.20"),
    ("deltaCRLIndicator", "2.5.29.27"),
    ("freshestCRL", "2.5.29.46"),
];

/// Those of an entry of a revocation list.
pub(crate) const OF_ENTRIES: &[(&str, &str)] = &[
    ("certificateIssuer", "2.5.29.29"),
    ("CRLReason", "2.5.29.21"),
    ("invalidityDate", "2.5.29.24"),
];

/// What arguments may also call them.
pub(crate) const LONG_NAMES: &[(&str, &str)] = &[
    ("X509v3 Basic Constraints", "basicConstraints"),
    ("X509v3 Key Usage", "keyUsage"),
    ("X509v3 Extended Key Usage", "extendedKeyUsage"),
    ("X509v3 Subject Key Identifier", "subjectKeyIdentifier"),
    ("X509v3 Authority Key Identifier", "authorityKeyIdentifier"),
    ("X509v3 Issuer Alternative Name", "issuerAltName"),
    ("issuserAltName", "issuerAltName"),
    ("Authority Information Access", "authorityInfoAccess"),
    ("X509v3 Subject Alternative Name", "subjectAltName"),
    ("X509v3 CRL Distribution Points", "crlDistributionPoints"),
    (
        "X509v3 Issuing Distribution Point",
        "issuingDistributionPoint",
    ),
    ("X509v3 Certificate Policies", "certificatePolicies"),
    ("X509v3 Policy Constraints", "policyConstraints"),
    ("X509v3 Inhibit Any Policy", "inhibitAnyPolicy"),
    ("X509v3 Name Constraints", "nameConstraints"),
    ("OCSP No Check", "noCheck"),
    ("TLS Feature", "tlsfeature"),
    ("Netscape Comment", "nsComment"),
    ("Netscape Certificate Type", "nsCertType"),
    ("X509v3 CRLNumber", "cRLNumber"),
    ("X509v3 Delta CRL Indicator", "deltaCRLIndicator"),
    ("x509v3 Freshest CRL", "freshestCRL"),
];

/// Which a revocation list may have.
const OF_LISTS: [&str; 7] = [
    "authorityKeyIdentifier",
    "authorityInfoAccess",
    "cRLNumber",
    "deltaCRLIndicator",
    "freshestCRL",
    "issuerAltName",
    "issuingDistributionPoint",
];

/// What only the one who signs can say.
const NOT_OF_REQUESTS: [&str; 4] = [
    "authorityInfoAccess",
    "authorityKeyIdentifier",
    "issuerAltName",
    "crlDistributionPoints",
];

/// Whether a certificate may have it.
pub(crate) fn is_of_certificates(name: &str) -> bool {
    let only_lists = [
        "issuingDistributionPoint",
        "cRLNumber",
        "deltaCRLIndicator",
        "freshestCRL",
    ];
    KNOWN.iter().any(|(known, _)| *known == name) && !only_lists.contains(&name)
}

/// Whether a request may ask for it.
pub(crate) fn is_of_requests(name: &str) -> bool {
    is_of_certificates(name) && !NOT_OF_REQUESTS.contains(&name)
}

/// Whether a revocation list may have it.
pub(crate) fn is_of_lists(name: &str) -> bool {
    OF_LISTS.contains(&name)
}

/// The identifier of an extension by its name.
pub(crate) fn identifier(name: &str) -> Option<&'static str> {
    let mut all = KNOWN.iter().chain(OF_ENTRIES);
    all.find(|(known, _)| *known == name).map(|(_, oid)| *oid)
}

/// What OpenSSL calls an extension.
pub(crate) fn short_name(oid: &str) -> &str {
    let mut all = KNOWN.iter().chain(OF_ENTRIES);
    all.find(|(_, known)| *known == oid)
        .map_or("UNDEF", |(name, _)| *name)
}

/// What others call an extension, which is how changes name it.
pub(crate) fn common_name(oid: &str) -> &str {
    match oid {
        "2.5.29.31" => "cRLDistributionPoints",
        "1.3.6.1.5.5.7.48.1.5" => "OCSPNoCheck",
        "1.3.6.1.5.5.7.1.24" => "TLSFeature",
        "2.5.29.21" => "cRLReason",
        "2.5.29.9" => "subjectDirectoryAttributes",
        "2.5.29.16" => "privateKeyUsagePeriod",
        "2.5.29.33" => "policyMappings",
        "1.3.6.1.5.5.7.1.11" => "subjectInfoAccess",
        "1.3.6.1.4.1.11129.2.4.2" => "signedCertificateTimestampList",
        "1.3.6.1.4.1.11129.2.4.3" => "ctPoison",
        "1.3.6.1.4.1.311.21.7" => "msCertificateTemplate",
        "2.16.840.1.113730.1.13" | "2.16.840.1.113730.1.1" => "Unknown OID",
        oid => {
            let mut all = KNOWN.iter().chain(OF_ENTRIES);
            all.find(|(_, known)| *known == oid)
                .map_or("Unknown OID", |(name, _)| *name)
        }
    }
}

/// An extension in DER.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Extension {
    pub(crate) oid: String,
    pub(crate) critical: bool,
    pub(crate) value: Vec<u8>,
}

impl Extension {
    fn new(name: &str, critical: bool, value: Vec<u8>) -> Self {
        Self {
            oid: identifier(name).unwrap_or_default().to_owned(),
            critical,
            value,
        }
    }

    pub(crate) fn der(&self) -> Vec<u8> {
        let mut parts = vec![oid(&self.oid)];
        if self.critical {
            parts.push(boolean(true));
        }
        parts.push(octets(&self.value));
        sequence(&parts)
    }

    pub(crate) fn from_der(item: &Item<'_>) -> Result<Self, DerError> {
        let mut parts = item.inside();
        let oid = parts.expect(tag::OID)?.oid()?;
        let critical = parts
            .maybe(tag::BOOLEAN)?
            .is_some_and(|item| item.body.first().is_some_and(|byte| *byte != 0));
        let value = parts.expect(tag::OCTETS)?.body.to_vec();
        Ok(Self {
            oid,
            critical,
            value,
        })
    }
}

/// The extensions of a list in DER.
pub(crate) fn from_list(item: &Item<'_>) -> Result<Vec<Extension>, DerError> {
    item.inside()
        .all()?
        .iter()
        .map(Extension::from_der)
        .collect()
}

/// What extensions take over from the certificate of an issuer.
#[derive(Clone, Copy)]
pub(crate) struct Issuer<'a> {
    /// The name of its own issuer, in DER.
    pub(crate) issuer_der: &'a [u8],
    pub(crate) serial: &'a [u8],
    /// In DER.
    pub(crate) public_key: &'a [u8],
    pub(crate) extensions: &'a [Extension],
}

/// What extensions are made of beside their arguments.
#[derive(Clone, Copy, Default)]
pub(crate) struct Parties<'a> {
    /// The public key of the subject, in DER.
    pub(crate) subject: Option<&'a [u8]>,
    /// What the certificate of the issuer says.
    pub(crate) issuer: Option<Issuer<'a>>,
    /// The public key of the issuer where that signs itself, in DER.
    pub(crate) issuer_key: Option<&'a [u8]>,
}

/// The extension `name` that `value` describes.
pub(crate) fn build(
    name: &str,
    value: &Value,
    parties: Parties<'_>,
) -> Result<Extension, CallError> {
    let (critical, der) = match name {
        "basicConstraints" => constraints::basic(value)?,
        "keyUsage" => usage::key(value)?,
        "extendedKeyUsage" => usage::extended(value)?,
        "subjectKeyIdentifier" => identifiers::subject(value, parties)?,
        "authorityKeyIdentifier" => identifiers::authority(value, parties)?,
        "issuerAltName" | "certificateIssuer" => names::issuer(value, parties)?,
        "authorityInfoAccess" => access::authority(value)?,
        "subjectAltName" => names::subject(value)?,
        "crlDistributionPoints" => points::distribution(value)?,
        "freshestCRL" => (false, points::distribution(value)?.1),
        "issuingDistributionPoint" => points::issuing(value)?,
        "certificatePolicies" => policies::certificate(value)?,
        "policyConstraints" => policies::constraints(value)?,
        "inhibitAnyPolicy" => policies::inhibit_any(value)?,
        "nameConstraints" => constraints::names(value)?,
        "noCheck" => usage::no_check(value),
        "tlsfeature" => usage::tls(value)?,
        "nsComment" | "nsCertType" => {
            return Err(CallError::invocation(format!(
                "{name} is currently not implemented."
            )));
        }
        "cRLNumber" => list::number(value)?,
        "deltaCRLIndicator" => list::delta(value)?,
        "CRLReason" => list::reason(value)?,
        "invalidityDate" => list::invalid_since(value)?,
        other => return Err(CallError::command(format!("Unknown extension {other}"))),
    };
    Ok(Extension::new(name, critical, der))
}

/// How the extensions differ: added, changed, removed, as results say it.
/// Nothing if they do not.
pub(crate) fn compare(current: &[Extension], wanted: &[Extension]) -> Option<Map> {
    let find = |list: &[Extension], oid: &str| -> Option<Extension> {
        list.iter().find(|extension| extension.oid == oid).cloned()
    };
    let name = |extension: &Extension| Value::from(common_name(&extension.oid));
    let (mut added, mut changed) = (Vec::new(), Vec::new());
    for extension in wanted {
        match find(current, &extension.oid) {
            None => added.push(name(extension)),
            Some(old) if old != *extension => changed.push(name(extension)),
            Some(_) => {}
        }
    }
    let removed: Vec<Value> = current
        .iter()
        .filter(|extension| find(wanted, &extension.oid).is_none())
        .map(name)
        .collect();
    if added.is_empty() && changed.is_empty() && removed.is_empty() {
        return None;
    }
    Some(Map::from([
        ("added", Value::List(added)),
        ("changed", Value::List(changed)),
        ("removed", Value::List(removed)),
    ]))
}
