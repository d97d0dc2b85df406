//! Writing DER.

use super::{oid_to_der, tag};

/// A value with its tag.
pub(crate) fn tlv(tag: u8, content: &[u8]) -> Vec<u8> {
    let mut out = vec![tag];
    let length = content.len();
    if length < 0x80 {
        out.extend(u8::try_from(length));
    } else {
        let bytes = length.to_be_bytes();
        let bytes: Vec<u8> = bytes.into_iter().skip_while(|byte| *byte == 0).collect();
        out.extend(u8::try_from(bytes.len()).map(|count| 0x80 | count));
        out.extend(bytes);
    }
    out.extend_from_slice(content);
    out
}

/// A value around values.
pub(crate) fn around(tag: u8, parts: &[Vec<u8>]) -> Vec<u8> {
    tlv(tag, &parts.concat())
}

pub(crate) fn sequence(parts: &[Vec<u8>]) -> Vec<u8> {
    around(tag::SEQUENCE, parts)
}

/// A set in the order that DER asks for.
pub(crate) fn set(mut parts: Vec<Vec<u8>>) -> Vec<u8> {
    parts.sort();
    around(tag::SET, &parts)
}

/// A number that is not negative, from its bytes.
pub(crate) fn integer(bytes: &[u8]) -> Vec<u8> {
    tlv(tag::INTEGER, &unsigned(bytes))
}

/// The content of a number that is not negative.
pub(crate) fn unsigned(bytes: &[u8]) -> Vec<u8> {
    let mut content: Vec<u8> = bytes
        .iter()
        .copied()
        .skip_while(|byte| *byte == 0)
        .collect();
    if content.first().is_none_or(|first| first & 0x80 != 0) {
        content.insert(0, 0);
    }
    content
}

pub(crate) fn small(number: u64) -> Vec<u8> {
    integer(&number.to_be_bytes())
}

pub(crate) fn boolean(value: bool) -> Vec<u8> {
    tlv(tag::BOOLEAN, &[if value { 0xff } else { 0 }])
}

pub(crate) fn octets(bytes: &[u8]) -> Vec<u8> {
    tlv(tag::OCTETS, bytes)
}

/// A bit string of whole bytes.
pub(crate) fn bits(bytes: &[u8]) -> Vec<u8> {
    let mut content = vec![0];
    content.extend_from_slice(bytes);
    tlv(tag::BITS, &content)
}

/// The content of a bit string of flags, the first one is bit 0.
pub(crate) fn flags(flags: &[bool]) -> Vec<u8> {
    let count = flags
        .iter()
        .rposition(|flag| *flag)
        .map_or(0, |last| last + 1);
    let mut bytes = vec![0u8; count.div_ceil(8)];
    for (at, _) in flags.iter().enumerate().filter(|(_, flag)| **flag) {
        bytes[at / 8] |= 0x80 >> (at % 8);
    }
    let unused = u8::try_from(bytes.len() * 8 - count).unwrap_or_default();
    let mut content = vec![unused];
    content.extend(bytes);
    content
}

/// An identifier that is known to be one.
pub(crate) fn oid(dotted: &str) -> Vec<u8> {
    tlv(tag::OID, &oid_to_der(dotted).unwrap_or_default())
}

pub(crate) fn utf8(text: &str) -> Vec<u8> {
    tlv(tag::UTF8, text.as_bytes())
}

pub(crate) fn null() -> Vec<u8> {
    vec![5, 0]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_as_short_as_they_can_be() {
        assert_eq!(small(0), [2, 1, 0]);
        assert_eq!(small(128), [2, 2, 0, 128]);
        assert_eq!(tlv(4, &[0; 200])[..3], [4, 0x81, 200]);
        assert_eq!(tlv(4, &[0; 300])[..4], [4, 0x82, 1, 44]);
        assert_eq!(
            flags(&[false, true, false, false, false, true, true]),
            [1, 0x46]
        );
        assert_eq!(flags(&[false; 9]), [0]);
        assert_eq!(
            set(vec![vec![5, 0], vec![2, 1, 1]]),
            [0x31, 5, 2, 1, 1, 5, 0]
        );
    }
}
