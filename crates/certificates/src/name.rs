//! Distinguished names of subjects and issuers.

use halite_call::{CallError, python};
use halite_proto::{Map, Value};

use crate::asn1::{DerError, Item, Reader, oid, oid_to_der, sequence, set, tag, tlv};

/// Attributes that have a short name, in the order in which a name has them.
const ATTRIBUTES: &[(&str, &str)] = &[
    ("C", "2.5.4.6"),
    ("ST", "2.5.4.8"),
    ("L", "2.5.4.7"),
    ("STREET", "2.5.4.9"),
    ("O", "2.5.4.10"),
    ("OU", "2.5.4.11"),
    ("CN", "2.5.4.3"),
    ("MAIL", "1.2.840.113549.1.9.1"),
    ("SN", "2.5.4.4"),
    ("GN", "2.5.4.42"),
    ("UID", "0.9.2342.19200300.100.1.1"),
    ("SERIALNUMBER", "2.5.4.5"),
];

/// What arguments may also call them.
pub(crate) const LONG_NAMES: &[(&str, &str)] = &[
    ("commonName", "CN"),
    ("localityName", "L"),
    ("stateOrProvinceName", "ST"),
    ("organizationName", "O"),
    ("organizationUnitName", "OU"),
    ("givenName", "GN"),
    ("surname", "SN"),
    ("Email", "MAIL"),
    ("emailAddress", "MAIL"),
    ("serialNumber", "SERIALNUMBER"),
];

/// The names of RFC 4514.
const WRITTEN: &[(&str, &str)] = &[
    ("CN", "2.5.4.3"),
    ("L", "2.5.4.7"),
    ("ST", "2.5.4.8"),
    ("O", "2.5.4.10"),
    ("OU", "2.5.4.11"),
    ("C", "2.5.4.6"),
    ("STREET", "2.5.4.9"),
    ("DC", "0.9.2342.19200300.100.1.25"),
    ("UID", "0.9.2342.19200300.100.1.1"),
];

/// Attributes that are not UTF-8 text.
const KINDS: &[(&str, u8)] = &[
    ("2.5.4.6", tag::PRINTABLE),
    ("2.5.4.5", tag::PRINTABLE),
    ("2.5.4.46", tag::PRINTABLE),
    ("1.3.6.1.4.1.311.60.2.1.3", tag::PRINTABLE),
    ("1.2.840.113549.1.9.1", tag::IA5),
    ("0.9.2342.19200300.100.1.25", tag::IA5),
];

/// How long values may be: attribute, least and most characters.
const LENGTHS: &[(&str, usize, usize)] = &[
    ("2.5.4.6", 2, 2),
    ("2.5.4.3", 1, 64),
    ("2.5.4.7", 1, 128),
    ("2.5.4.8", 1, 128),
    ("2.5.4.10", 1, 64),
    ("2.5.4.11", 1, 64),
];

/// Whether `name` is a short name of an attribute.
pub(crate) fn is_attribute(name: &str) -> bool {
    ATTRIBUTES.iter().any(|(short, _)| *short == name)
}

#[derive(Debug, Clone)]
struct Attribute {
    oid: String,
    value: String,
    tag: u8,
}

impl PartialEq for Attribute {
    /// How the text is written makes no difference.
    fn eq(&self, other: &Self) -> bool {
        self.oid == other.oid && self.value == other.value
    }
}

impl Attribute {
    fn new(oid: &str, value: String) -> Result<Self, CallError> {
        let bad = |text: String| CallError::exception("ValueError", text);
        let count = value.chars().count();
        let limits = LENGTHS.iter().find(|(known, ..)| *known == oid);
        if let Some((_, shortest, longest)) = limits
            && !(*shortest..=*longest).contains(&count)
        {
            return Err(bad(format!(
                "Attribute's length must be >= {shortest} and <= {longest}, but it was {count}"
            )));
        }
        if count == 0 {
            return Err(bad("Value cannot be an empty string".to_owned()));
        }
        let kind = KINDS.iter().find(|(known, _)| *known == oid);
        Ok(Self {
            oid: oid.to_owned(),
            value,
            tag: kind.map_or(tag::UTF8, |(_, tag)| *tag),
        })
    }

    fn der(&self) -> Vec<u8> {
        let value = if self.tag == tag::BMP {
            self.value
                .encode_utf16()
                .flat_map(u16::to_be_bytes)
                .collect()
        } else {
            self.value.as_bytes().to_vec()
        };
        sequence(&[oid(&self.oid), tlv(self.tag, &value)])
    }

    fn written(&self) -> String {
        let known = WRITTEN.iter().find(|(_, oid)| *oid == self.oid);
        let key = known.map_or(self.oid.as_str(), |(name, _)| name);
        format!("{key}={}", escaped(&self.value))
    }
}

/// A name: relative names, each of one attribute or several.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Name(Vec<Vec<Attribute>>);

impl Name {
    /// From text of RFC 4514, a list of relative names, or a map of attributes
    /// (other keys of which are not looked at).
    pub(crate) fn from_value(value: &Value) -> Result<Self, CallError> {
        match value {
            Value::Str(text) => Self::parse(text)
                .ok_or_else(|| CallError::command("Failed parsing rfc4514 dirName string")),
            Value::List(items) => {
                let parts = items.iter().map(|item| relative(&python::str(item)));
                Ok(Self(parts.collect::<Result<_, _>>()?))
            }
            Value::Map(map) => Self::from_map(map),
            _ => Err(CallError::invocation(
                "Need string, list or dict to parse distinguished names",
            )),
        }
    }

    pub(crate) fn from_map(map: &Map) -> Result<Self, CallError> {
        let mut parts = Vec::new();
        for (short, oid) in ATTRIBUTES {
            if let Some(value) = map.get(short) {
                parts.push(vec![Attribute::new(oid, python::str(value))?]);
            }
        }
        Ok(Self(parts))
    }

    /// `CN=a,O=b`: the last relative name comes first.
    fn parse(text: &str) -> Option<Self> {
        if text.is_empty() {
            return Some(Self::default());
        }
        let mut parts = Vec::new();
        for part in split(text, ',') {
            let mut attributes = Vec::new();
            for pair in split(part, '+') {
                let (key, value) = pair.split_once('=')?;
                let (key, value) = (key.trim(), value.trim_start());
                let known = WRITTEN
                    .iter()
                    .find(|(name, _)| name.eq_ignore_ascii_case(key));
                let oid = match known {
                    Some((_, oid)) => (*oid).to_owned(),
                    None => {
                        oid_to_der(key)?;
                        key.to_owned()
                    }
                };
                attributes.push(Attribute::new(&oid, unescaped(value)?).ok()?);
            }
            parts.push(attributes);
        }
        parts.reverse();
        Some(Self(parts))
    }

    pub(crate) fn from_der(item: &Item<'_>) -> Result<Self, DerError> {
        let mut parts = Vec::new();
        for part in item.inside().all()? {
            let mut attributes = Vec::new();
            for pair in part.inside().all()? {
                let mut pair = pair.inside();
                let oid = pair.expect(tag::OID)?.oid()?;
                let value = pair.next()?;
                attributes.push(Attribute {
                    oid,
                    value: value.text(),
                    tag: value.tag,
                });
            }
            parts.push(attributes);
        }
        Ok(Self(parts))
    }

    pub(crate) fn der(&self) -> Vec<u8> {
        let parts: Vec<Vec<u8>> = self.0.iter().map(|part| relative_der(part)).collect();
        sequence(&parts)
    }

    /// Written as RFC 4514 does.
    pub(crate) fn written(&self) -> String {
        let parts: Vec<String> = self.0.iter().rev().map(|part| written(part)).collect();
        parts.join(",")
    }

    /// The attributes that have a short name.
    pub(crate) fn attributes(&self) -> Map {
        let all = || self.0.iter().flatten();
        ATTRIBUTES
            .iter()
            .filter_map(|(short, oid)| {
                let found = all().find(|attribute| attribute.oid == *oid)?;
                Some((*short, found.value.as_str()))
            })
            .collect()
    }

    pub(crate) fn common_name(&self) -> Option<String> {
        self.attributes().get("CN").map(python::str)
    }
}

/// A relative name as a point of distribution has it: the content of the set.
pub(crate) fn relative_content(text: &str) -> Result<Vec<u8>, CallError> {
    let mut parts: Vec<Vec<u8>> = relative(text)?.iter().map(Attribute::der).collect();
    parts.sort();
    Ok(parts.concat())
}

/// The text of a relative name from the content of its set.
pub(crate) fn relative_written(content: &[u8]) -> Result<String, DerError> {
    let whole = sequence(&[tlv(tag::SET, content)]);
    let item = Reader::one(&whole, tag::SEQUENCE)?;
    Ok(Name::from_der(&item)?.written())
}

fn relative(text: &str) -> Result<Vec<Attribute>, CallError> {
    let name = Name::parse(text)
        .ok_or_else(|| CallError::command(format!("Failed parsing rdn string: {text}")))?;
    let mut parts = name.0.into_iter();
    match (parts.next(), parts.next()) {
        (Some(part), None) => Ok(part),
        _ => Err(CallError::invocation(
            "Specified string is not a Relative Distinguished Name, but a Distinguished Name.",
        )),
    }
}

fn relative_der(part: &[Attribute]) -> Vec<u8> {
    set(part.iter().map(Attribute::der).collect())
}

fn written(part: &[Attribute]) -> String {
    let pairs: Vec<String> = part.iter().map(Attribute::written).collect();
    pairs.join("+")
}

/// Parts between separators that are not escaped.
fn split(text: &str, separator: char) -> Vec<&str> {
    let (mut parts, mut start, mut skip) = (Vec::new(), 0, false);
    for (at, char) in text.char_indices() {
        if skip {
            skip = false;
        } else if char == '\\' {
            skip = true;
        } else if char == separator {
            parts.push(&text[start..at]);
            start = at + char.len_utf8();
        }
    }
    parts.push(&text[start..]);
    parts
}

fn escaped(value: &str) -> String {
    let last = value.chars().count().saturating_sub(1);
    let mut out = String::new();
    for (at, char) in value.chars().enumerate() {
        match char {
            '\0' => out.push_str("\\00"),
            '\\' | '"' | '+' | ',' | ';' | '<' | '>' => out.extend(['\\', char]),
            '#' | ' ' if at == 0 => out.extend(['\\', char]),
            ' ' if at == last => out.extend(['\\', char]),
            other => out.push(other),
        }
    }
    out
}

fn unescaped(value: &str) -> Option<String> {
    let mut out: Vec<u8> = Vec::new();
    let mut bytes = value.bytes();
    while let Some(byte) = bytes.next() {
        if byte != b'\\' {
            out.push(byte);
            continue;
        }
        let next = bytes.next()?;
        let digit = |byte: u8| char::from(byte).to_digit(16);
        match digit(next) {
            Some(high) => {
                let low = digit(bytes.next()?)?;
                out.push(u8::try_from(high * 16 + low).ok()?);
            }
            None => out.push(next),
        }
    }
    String::from_utf8(out).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_written_with_the_last_part_first() {
        let name = Name::parse("CN=a\\,b+OU=x,O=Örg,C=US").unwrap();
        assert_eq!(name.written(), "CN=a\\,b+OU=x,O=Örg,C=US");
        let der = name.der();
        let again = Name::from_der(&Reader::one(&der, tag::SEQUENCE).unwrap()).unwrap();
        assert_eq!(again.attributes(), name.attributes());
        assert_eq!(name.common_name().as_deref(), Some("a,b"));
        for bad in ["CN", "XX=1", "CN=a\\", "C=USA", "CN="] {
            assert!(Name::parse(bad).is_none(), "{bad}");
        }
    }
}
