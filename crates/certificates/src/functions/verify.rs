//! Whether signatures and dates are good.

use halite_call::{Call, CallError, CallResult};
use halite_proto::{Map, Value};

use super::{any_public_key, passphrase};
use crate::certificate::{Certificate, List};
use crate::containers::{Signed, is_signed_by};
use crate::keys::PrivateKey;
use crate::{text, time};

fn ends_within(certificate: &Certificate, days: i64) -> bool {
    certificate.not_after <= time::later(time::now(), days)
}

pub(super) fn expires(call: &Call<'_>) -> CallResult {
    let certificate = Certificate::load(call.arg("certificate"))?;
    Ok(ends_within(&certificate, call.int("days")?).into())
}

/// The file and the name of a certificate, where there are such.
fn about(call: &Call<'_>) -> Result<(Map, Certificate), CallError> {
    let value = call.arg("certificate");
    let mut about = Map::new();
    if text::file_of(value).is_some() {
        about.insert("path", value.clone());
    }
    let certificate = Certificate::load(value)?;
    if let Some(name) = certificate.subject.common_name() {
        about.insert("cn", name);
    }
    Ok((about, certificate))
}

pub(super) fn expired(call: &Call<'_>) -> CallResult {
    let (mut about, certificate) = about(call)?;
    about.insert("expired", ends_within(&certificate, 0));
    Ok(about.into())
}

pub(super) fn will_expire(call: &Call<'_>) -> CallResult {
    let days = call.int("days")?;
    let (rest, certificate) = about(call)?;
    let mut about = Map::from([("check_days", Value::from(days))]);
    about.extend(rest);
    about.insert("will_expire", ends_within(&certificate, days));
    Ok(about.into())
}

pub(super) fn crl(call: &Call<'_>) -> CallResult {
    let (list, _) = List::load(call.arg("crl"))?;
    let key = any_public_key(call.arg("cert"), None)?;
    Ok(is_signed_by(Signed::List, &list.der, &key)?.into())
}

pub(super) fn private_key(call: &Call<'_>) -> CallResult {
    let secret = passphrase(call, "passphrase");
    let (key, _) = PrivateKey::load(call.arg("private_key"), secret.as_deref())?;
    let public = any_public_key(call.arg("public_key"), None)?;
    Ok(public.is_pair_of(&key).into())
}

pub(super) fn signature(call: &Call<'_>) -> CallResult {
    let certificate = Certificate::load(call.arg("certificate"))?;
    let secret = passphrase(call, "signing_pub_key_passphrase");
    let signer = if call.flag("signing_pub_key") {
        call.arg("signing_pub_key")
    } else {
        call.arg("certificate")
    };
    let key = any_public_key(signer, secret.as_deref())?;
    Ok(is_signed_by(Signed::Certificate, &certificate.der, &key)?.into())
}
