//! The index of an authority (`index.txt`, as `openssl ca` keeps it), what it
//! has revoked, and whether a certificate is good.

use std::path::{Path, PathBuf};
use std::{fs, io};

use halite_call::{Call, CallError, CallResult, os_error, paths, python};
use halite_proto::{Map, Value};

use super::authority::digest;
use super::place::{Authority, write_public};
use super::read;
use crate::build::{UnsignedList, same_number};
use crate::certificate::{Certificate, List, Revoked};
use crate::containers::{Signed, is_signed_by};
use crate::text::{from_hex, to_pem};
use crate::time;

/// How long a revocation list is good.
const DAYS_VALID: i64 = 100 * 365;

/// The bytes of a serial number as indexes write them.
fn serial(certificate: &Certificate) -> String {
    let digits: String = certificate
        .serial
        .iter()
        .map(|byte| format!("{byte:02X}"))
        .collect();
    let bare = digits.trim_start_matches("00");
    if bare.is_empty() {
        "00".to_owned()
    } else {
        bare.to_owned()
    }
}

/// What a line says before it says anything of revocation, and after it.
fn line(certificate: &Certificate, state: &str, revoked: &str) -> String {
    let subject: String = read::subject(&certificate.subject)
        .iter()
        .map(|(key, value)| format!("/{}={}", python::str(key), python::str(value)))
        .collect();
    format!(
        "{state}\t{}Z\t{revoked}\t{}\tunknown\t{subject}",
        time::short(certificate.not_after),
        serial(certificate)
    )
}

fn index(directory: &Path) -> PathBuf {
    directory.join("index.txt")
}

/// What an index holds; nothing where there is none. One that cannot be read is
/// no empty one, which the next entry would put in its place.
fn entries(index: &Path) -> Result<String, CallError> {
    match paths::read_to_string(index) {
        Ok(text) => Ok(text),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        Err(error) => Err(os_error(&error, index)),
    }
}

/// Enters a new certificate into the index of its authority.
pub(super) fn enter(directory: &Path, certificate: &Certificate) -> Result<(), CallError> {
    let path = index(directory);
    let mut text = entries(&path)?;
    text += &line(certificate, "V", "");
    text.push('\n');
    write_public(&path, text.as_bytes())
}

fn list_path(call: &Call<'_>, authority: &Authority) -> PathBuf {
    let given = call.get("crl_file").filter(|path| path.is_true());
    given.map_or_else(
        || authority.directory().join("crl.pem"),
        |path| PathBuf::from(python::str(path)),
    )
}

/// Writes the list of what the index calls revoked.
fn write_list(
    call: &Call<'_>,
    authority: &Authority,
    revoked: Vec<Revoked>,
) -> Result<PathBuf, CallError> {
    let path_of = |path: &Path| Value::from(path.to_string_lossy().as_ref());
    let kwargs = Map::from([
        ("signing_cert", path_of(&authority.certificate)),
        ("signing_private_key", path_of(&authority.key)),
        ("days_valid", DAYS_VALID.into()),
    ]);
    let mut list = UnsignedList::new(&kwargs)?;
    // Whatever their serial numbers are: those of Salt are longer than is allowed.
    list.revoked = revoked;
    let der = list.sign(&digest(call)?)?;
    let path = list_path(call, authority);
    write_public(&path, to_pem("X509 CRL", &der).as_bytes())?;
    Ok(path)
}

pub(super) fn empty_list(call: &Call<'_>) -> CallResult {
    let authority = Authority::from_call(call);
    let path = list_path(call, &authority);
    if path.exists() {
        return Ok(format!("CRL \"{}\" already exists", path.display()).into());
    }
    if !authority.exists() {
        return Ok(authority.missing().into());
    }
    let path = write_list(call, &authority, Vec::new())?;
    Ok(format!("Created an empty CRL: \"{}\"", path.display()).into())
}

/// What a line of an index says of a revoked certificate.
fn revoked_of(line: &str) -> Option<Revoked> {
    let mut fields = line.split('\t');
    if fields.next()? != "R" {
        return None;
    }
    fields.next()?;
    let (date, serial) = (fields.next()?, fields.next()?);
    Some(Revoked {
        serial: from_hex(serial)?,
        date: time::parse_short(date.split(',').next()?)?,
        extensions: Vec::new(),
    })
}

pub(super) fn revoke(call: &Call<'_>) -> CallResult {
    let authority = Authority::from_call(call);
    if !authority.exists() || !authority.key.exists() {
        return Ok(authority.missing().into());
    }
    let name = call.text("CN");
    let directory = call.get("cert_path").filter(|path| path.is_true());
    let directory = directory.map_or_else(
        || authority.certificates(),
        |path| PathBuf::from(python::str(path)),
    );
    let stem = call
        .text_given("cert_filename")
        .unwrap_or_else(|| name.clone());
    let path = directory.join(format!("{stem}.crt"));
    let Ok(certificate) = read::load(&path.to_string_lossy()) else {
        return Ok(format!("There is no client certificate named \"{name}\"").into());
    };
    let number = serial(&certificate);
    let index = index(&authority.directory());
    let text = entries(&index)?;
    let is_it = |line: &str| line.split('\t').nth(3) == Some(number.as_str());
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    if lines
        .iter()
        .any(|line| is_it(line) && line.starts_with('R'))
    {
        return Ok(format!(
            "\"{}\" was already revoked, serial number: {number}",
            path.display()
        )
        .into());
    }
    let revoked = line(&certificate, "R", &format!("{}Z", time::short(time::now())));
    match lines.iter_mut().find(|line| is_it(line)) {
        Some(line) => *line = revoked,
        None => lines.push(revoked),
    }
    let entries = lines.iter().filter_map(|line| revoked_of(line)).collect();
    // The list first: one that cannot be written leaves the index as it was.
    write_list(call, &authority, entries)?;
    write_public(&index, (lines.join("\n") + "\n").as_bytes())?;
    Ok(format!(
        "Revoked Certificate: \"{}\", serial number: {number}",
        path.display()
    )
    .into())
}

/// Why a certificate is not good, in OpenSSL's words.
fn fault(
    certificate: &Certificate,
    issuer: &Certificate,
    list: &List,
) -> Result<Option<&'static str>, CallError> {
    let key = issuer.key()?;
    let now = time::now();
    let is_revoked = |entry: &Revoked| same_number(&entry.serial, &certificate.serial);
    Ok(if certificate.issuer_der != issuer.subject_der {
        Some("unable to get local issuer certificate")
    } else if !is_signed_by(Signed::Certificate, &certificate.der, &key)? {
        Some("certificate signature failure")
    } else if now < certificate.not_before {
        Some("certificate is not yet valid")
    } else if now > certificate.not_after || now > issuer.not_after {
        Some("certificate has expired")
    } else if list.issuer != issuer.subject {
        Some("unable to get certificate CRL")
    } else if !is_signed_by(Signed::List, &list.der, &key)? {
        Some("CRL signature failure")
    } else if list.next_update.is_some_and(|end| now > end) {
        Some("CRL has expired")
    } else if list.revoked.iter().any(is_revoked) {
        Some("certificate revoked")
    } else {
        None
    })
}

pub(super) fn validate(call: &Call<'_>) -> CallResult {
    let authority = Authority::from_call(call);
    let crl = call.text("crl_file");
    if let Err(error) = fs::metadata(&crl) {
        return Err(os_error(&error, &crl));
    }
    let certificate = read::load(&call.text("cert"))?;
    let issuer = read::load(&authority.certificate.to_string_lossy())?;
    let (list, _) = List::load(&Value::from(crl))?;
    let mut said = Map::new();
    match fault(&certificate, &issuer, &list)? {
        None => {
            said.insert("valid", true);
        }
        Some(why) => {
            said.insert("error", why);
            said.insert("error_cert", certificate.pem());
            said.insert("valid", false);
        }
    }
    Ok(said.into())
}
