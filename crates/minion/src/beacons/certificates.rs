//! The beacon `cert_info`: certificates that expire soon.

use halite_call::{Call, python};
use halite_proto::{Map, Value};
use jiff::civil::DateTime;
use tracing::error;

use super::{Beacon, BeaconError};
use crate::core::beacons::Settings;

/// The number of days before its end from which a certificate is reported.
const NOTIFY_DAYS: i64 = 45;
const SECONDS_OF_A_DAY: i64 = 86_400;

pub(super) struct Certificates;

impl Beacon for Certificates {
    fn look(&mut self, settings: &Settings, call: &Call<'_>) -> Result<Vec<Map>, BeaconError> {
        let now = jiff::Timestamp::now().as_second();
        let merged = settings.merged();
        let days = |about: &Value| {
            about
                .get("notify_days")
                .and_then(|days| python::int(days).ok())
        };
        let general = days(&merged.clone().into()).unwrap_or(NOTIFY_DAYS);
        let mut told = Vec::new();
        let files = merged.get("files").and_then(Value::as_list);
        for entry in files.unwrap_or_default() {
            let (path, notify) = match entry {
                Value::Map(entry) => match entry.iter().next() {
                    Some((path, about)) => (path.clone(), days(about).unwrap_or(general)),
                    None => continue,
                },
                path => (path.clone(), general),
            };
            let path = python::str(&path);
            match call.salt("x509.read_certificate", &[path.as_str().into()], Map::new()) {
                Ok(read) => told.extend(about(&path, &read, notify, now)),
                Err(cause) => error!("Unable to load certificate {path} ({cause})"),
            }
        }
        Ok(match told.is_empty() {
            true => Vec::new(),
            false => vec![Map::from([("certificates", told)])],
        })
    }
}

/// The report about a certificate, if its end is near or `notify` negative.
fn about(path: &str, read: &Value, notify: i64, now: i64) -> Option<Value> {
    let moment = |name: &str| -> Option<DateTime> {
        let text = read.get(name)?.as_str()?;
        text.replacen(' ', "T", 1).parse().ok()
    };
    let (from, until) = (moment("not_before")?, moment("not_after")?);
    let end = until.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp();
    let left = end.as_second() - now;
    if notify >= 0 && left.div_euclid(SECONDS_OF_A_DAY) > notify {
        return None;
    }
    let name = |of: &str| read.get(of).cloned().unwrap_or_default();
    let version = name("version").as_i64().unwrap_or(1) - 1;
    let serial = name("serial_number");
    let raw = |at: DateTime| at.strftime("%Y%m%d%H%M%SZ").to_string();
    let shown = |at: DateTime| at.strftime("%Y-%m-%d %H:%M:%SZ").to_string();
    Some(
        Map::from([
            ("cert_path", Value::from(path)),
            ("issuer", components(&name("issuer")).into()),
            ("issuer_dict", name("issuer")),
            ("notAfter_raw", raw(until).into()),
            ("notAfter", shown(until).into()),
            ("notBefore_raw", raw(from).into()),
            ("notBefore", shown(from).into()),
            ("serial_number", number(&python::str(&serial))),
            ("signature_algorithm", name("signature_algorithm")),
            ("subject", components(&name("subject")).into()),
            ("subject_dict", name("subject")),
            ("version", version.into()),
            ("extensions", extensions(&name("extensions")).into()),
            ("has_expired", (left < 0).into()),
        ])
        .into(),
    )
}

/// `C="DE",O="Acme"`.
fn components(name: &Value) -> String {
    let parts = name.as_map().into_iter().flatten();
    let parts = parts.flat_map(|(kind, values)| {
        let values = match values {
            Value::List(values) => values.as_slice(),
            one => std::slice::from_ref(one),
        };
        let kind = python::str(kind);
        values
            .iter()
            .map(move |value| format!("{kind}=\"{}\"", python::str(value)))
    });
    parts.collect::<Vec<_>>().join(",")
}

/// A number in hexadecimal digits, between them colons. One of more than 64
/// bits is a text, as wherever Salt sends such a number.
fn number(hex: &str) -> Value {
    let mut digits = vec![0_u8];
    for nibble in hex.chars().filter_map(|digit| digit.to_digit(16)) {
        let mut carry = nibble;
        for digit in &mut digits {
            let value = u32::from(*digit) * 16 + carry;
            *digit = u8::try_from(value % 10).unwrap_or_default();
            carry = value / 10;
        }
        while carry > 0 {
            digits.push(u8::try_from(carry % 10).unwrap_or_default());
            carry /= 10;
        }
    }
    let text: String = digits
        .iter()
        .rev()
        .map(|digit| char::from(b'0' + digit))
        .collect();
    match text.parse::<u64>() {
        Ok(number) => number.into(),
        Err(_) => text.into(),
    }
}

/// Names and texts of the extensions, the usual ones as OpenSSL writes them.
fn extensions(all: &Value) -> Vec<Value> {
    let all = all.as_map().into_iter().flatten();
    all.map(|(name, about)| {
        let name = python::str(name);
        let part = |key: &str| about.get(key).map(python::str).unwrap_or_default();
        let flag = |key: &str| about.get(key).is_some_and(Value::is_true);
        let data = match name.as_str() {
            "basicConstraints" => {
                let ca = if flag("ca") { "CA:TRUE" } else { "CA:FALSE" };
                match about.get("pathlen").filter(|length| !length.is_nil()) {
                    Some(length) => format!("{ca}, pathlen:{}", python::str(length)),
                    None => ca.to_owned(),
                }
            }
            "subjectKeyIdentifier" => part("value"),
            "authorityKeyIdentifier" => part("keyid"),
            "subjectAltName" | "issuerAltName" => {
                python::texts(about.get("value").unwrap_or(about))
                    .iter()
                    .map(|name| match name.strip_prefix("IP:") {
                        Some(address) => format!("IP Address:{address}"),
                        None => name.clone(),
                    })
                    .collect::<Vec<_>>()
                    .join(", ")
            }
            "keyUsage" => about
                .as_map()
                .into_iter()
                .flatten()
                .filter(|(usage, on)| on.is_true() && usage.as_str() != Some("critical"))
                .map(|(usage, _)| python::str(usage))
                .collect::<Vec<_>>()
                .join(", "),
            _ => match about.get("value") {
                Some(value) => python::texts(value).join(", "),
                None => python::str(about),
            },
        };
        Map::from([("ext_name", Value::from(name)), ("ext_data", data.into())]).into()
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const READ: &str = "
version: 3
serial_number: '3F:95:54:A5:D4:A9:EC:1C:73:13:F7:DA:13:1C:21:A9:A2:F8:70:01'
subject: {C: DE, O: 'Acme, Inc', CN: web1}
issuer: {C: DE, O: 'Acme, Inc', CN: web1}
not_before: '2026-11-21 01:05:30'
not_after: '2026-12-21 01:05:30'
signature_algorithm: sha256WithRSAEncryption
extensions:
  basicConstraints: {critical: true, ca: true, pathlen: null}
  subjectAltName: {critical: false, value: ['DNS:web1', 'IP:10.0.0.1']}
";

    #[test]
    fn certificates_are_told_of_as_by_salt() {
        let read = halite_yaml::load(READ, "test").unwrap().into_value();
        let day = SECONDS_OF_A_DAY;
        // 2026-11-21 01:05:30.
        let start = 1_795_223_130;
        assert!(about("/c.pem", &read, 29, start).is_none());
        let told = about("/c.pem", &read, 30, start).unwrap();
        for (key, value) in [
            ("issuer", "C=\"DE\",O=\"Acme, Inc\",CN=\"web1\""),
            ("notAfter_raw", "20261221010530Z"),
            ("notBefore", "2026-11-21 01:05:30Z"),
            (
                "serial_number",
                "362996603457770384868506153474031924375077810177",
            ),
        ] {
            assert_eq!(told.get(key), Some(&value.into()), "{key}");
        }
        assert_eq!(told.get("version"), Some(&2.into()));
        assert_eq!(told.get("has_expired"), Some(&false.into()));
        assert_eq!(
            python::repr(told.get("extensions").unwrap()),
            "[{'ext_name': 'basicConstraints', 'ext_data': 'CA:TRUE'}, \
             {'ext_name': 'subjectAltName', 'ext_data': 'DNS:web1, IP Address:10.0.0.1'}]"
        );
        assert!(about("/c.pem", &read, -1, start - 900 * day).is_some());
        let told = about("/c.pem", &read, 5, start + 31 * day).unwrap();
        assert_eq!(told.get("has_expired"), Some(&true.into()));
    }

    #[test]
    fn numbers_of_any_length() {
        assert_eq!(number("0A:00"), Value::from(2560));
        assert_eq!(number("00"), Value::from(0));
        assert_eq!(
            number("01:00:00:00:00:00:00:00:00"),
            "18446744073709551616".into()
        );
    }
}
