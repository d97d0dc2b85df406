//! Other names of the subject and of the issuer.

use halite_call::CallError;
use halite_proto::Value;

use super::{Parties, conf, identifier};
use crate::asn1::{Reader, tag, tlv};
use crate::general;

type Made = Result<(bool, Vec<u8>), CallError>;

pub(super) fn subject(value: &Value) -> Made {
    let (critical, pairs) = conf::names(value)?;
    Ok((critical, tlv(tag::SEQUENCE, &general::encode_all(&pairs)?)))
}

/// `issuer:copy` takes the other names of the issuer's certificate.
pub(super) fn issuer(value: &Value, parties: Parties<'_>) -> Made {
    let (critical, mut pairs) = conf::names(value)?;
    let mut names = Vec::new();
    let is_copy = |(key, value): &general::Pair| key == "issuer" && value.as_str() == Some("copy");
    if pairs.iter().any(is_copy) {
        let issuer = parties.issuer.ok_or_else(|| {
            CallError::exception(
                "RuntimeError",
                "Need CA certificate to copy to issuerAltName",
            )
        })?;
        let mut own = issuer.extensions.iter();
        let own = own
            .find(|own| Some(own.oid.as_str()) == identifier("subjectAltName"))
            .ok_or_else(|| {
                CallError::command("the certificate of the issuer has no subjectAltName")
            })?;
        let item = Reader::one(&own.value, tag::SEQUENCE)
            .map_err(|error| CallError::command(error.to_string()))?;
        names.extend_from_slice(item.body);
        pairs.retain(|(key, _)| key != "issuer");
    }
    names.extend(general::encode_all(&pairs)?);
    Ok((critical, tlv(tag::SEQUENCE, &names)))
}
