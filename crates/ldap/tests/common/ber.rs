//! The notation of the protocol: tag, length, content.

pub(crate) const INTEGER: u8 = 0x02;
pub(crate) const OCTETS: u8 = 0x04;
pub(crate) const ENUMERATED: u8 = 0x0a;
pub(crate) const SEQUENCE: u8 = 0x30;
pub(crate) const SET: u8 = 0x31;

/// The first element: its tag, its content, and what follows.
pub(crate) fn split(bytes: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (&tag, rest) = bytes.split_first()?;
    let (&short, rest) = rest.split_first()?;
    let (len, rest) = match short {
        0..=0x7f => (usize::from(short), rest),
        long => {
            let count = usize::from(long & 0x7f);
            let len = rest.get(..count)?;
            let len = len
                .iter()
                .fold(0, |len, byte| len << 8 | usize::from(*byte));
            (len, &rest[count..])
        }
    };
    let content = rest.get(..len)?;
    Some((tag, content, &rest[len..]))
}

/// All elements.
pub(crate) fn splits(mut bytes: &[u8]) -> Vec<(u8, &[u8])> {
    let mut all = Vec::new();
    while let Some((tag, content, rest)) = split(bytes) {
        all.push((tag, content));
        bytes = rest;
    }
    all
}

/// An element.
pub(crate) fn put(tag: u8, content: &[u8]) -> Vec<u8> {
    let len = u16::try_from(content.len()).unwrap();
    let mut out = vec![tag];
    match len {
        0..=0x7f => out.push(u8::try_from(len).unwrap()),
        _ => {
            out.push(0x82);
            out.extend(len.to_be_bytes());
        }
    }
    out.extend_from_slice(content);
    out
}
