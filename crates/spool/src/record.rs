//! The format of a record: `length, crc32, kind, sequence, payload`, numbers little
//! endian; the checksum covers everything after it.

/// Bytes in front of a payload.
pub(crate) const HEADER_BYTES: usize = 4 + 4 + 1 + 8;

const KIND_MESSAGE: u8 = 1;
const KIND_ACKNOWLEDGED: u8 = 2;

/// A record that was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Record<'a> {
    /// A message.
    Message {
        /// Its number.
        sequence: u64,
        /// What it holds.
        payload: &'a [u8],
    },
    /// The message of this number is done with.
    Acknowledged(u64),
}

/// What stands at the start of some bytes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Read<'a> {
    /// A record and the bytes it takes.
    Record(Record<'a>, usize),
    /// The end, or a record that was cut short.
    End,
    /// Something that no record looks like.
    Damaged,
}

/// Bytes whose checksums are tried in one search; the rest of a file is given
/// up then. Nothing that a spool has ever written comes near.
const SEARCHED_BYTES_MAX: usize = 256 << 20;

/// Appends a message to `out`.
pub(crate) fn write_message(out: &mut Vec<u8>, sequence: u64, payload: &[u8]) {
    write(out, KIND_MESSAGE, sequence, payload);
}

/// Appends an acknowledgement to `out`.
pub(crate) fn write_acknowledged(out: &mut Vec<u8>, sequence: u64) {
    write(out, KIND_ACKNOWLEDGED, sequence, &[]);
}

/// Reads the record at the start of `bytes`.
pub(crate) fn read(bytes: &[u8]) -> Read<'_> {
    let Some((header, rest)) = bytes.split_at_checked(HEADER_BYTES) else {
        return Read::End;
    };
    let (Some(length), Some(crc)) = (u32_at(header, 0), u32_at(header, 4)) else {
        return Read::End;
    };
    let Ok(length) = usize::try_from(length) else {
        return Read::Damaged;
    };
    let Some(payload) = rest.get(..length) else {
        return Read::End;
    };
    let Some(covered) = bytes.get(8..HEADER_BYTES + length) else {
        return Read::End;
    };
    if crc32fast::hash(covered) != crc {
        return Read::Damaged;
    }
    let mut sequence = [0; 8];
    sequence.copy_from_slice(&covered[1..9]);
    let sequence = u64::from_le_bytes(sequence);
    let record = match covered[0] {
        KIND_MESSAGE => Record::Message { sequence, payload },
        KIND_ACKNOWLEDGED => Record::Acknowledged(sequence),
        _ => return Read::Damaged,
    };
    Read::Record(record, HEADER_BYTES + length)
}

/// Where the next record begins, if there is one behind some damage.
pub(crate) fn find(bytes: &[u8]) -> Option<usize> {
    let mut budget = SEARCHED_BYTES_MAX;
    (0..bytes.len()).find(|at| {
        let bytes = bytes.get(*at..).unwrap_or_default();
        let Some(covered) = plausible(bytes).filter(|covered| *covered <= budget) else {
            return false;
        };
        budget -= covered;
        matches!(read(bytes), Read::Record(..))
    })
}

/// How many bytes a checksum would have to be made of, where that is worth it.
fn plausible(bytes: &[u8]) -> Option<usize> {
    let kind = *bytes.get(8)?;
    let length = usize::try_from(u32_at(bytes, 0)?).ok()?;
    let is_one = match kind {
        KIND_MESSAGE => length <= bytes.len().saturating_sub(HEADER_BYTES),
        KIND_ACKNOWLEDGED => length == 0,
        _ => false,
    };
    is_one.then_some(HEADER_BYTES + length)
}

fn write(out: &mut Vec<u8>, kind: u8, sequence: u64, payload: &[u8]) {
    let length = u32::try_from(payload.len()).unwrap_or(u32::MAX);
    let start = out.len();
    out.reserve(HEADER_BYTES + payload.len());
    out.extend_from_slice(&length.to_le_bytes());
    out.extend_from_slice(&[0; 4]);
    out.push(kind);
    out.extend_from_slice(&sequence.to_le_bytes());
    out.extend_from_slice(payload);
    let crc = crc32fast::hash(&out[start + 8..]);
    out[start + 4..start + 8].copy_from_slice(&crc.to_le_bytes());
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes: [u8; 4] = bytes.get(at..at + 4)?.try_into().ok()?;
    Some(u32::from_le_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_follow_each_other() {
        let mut bytes = Vec::new();
        write_message(&mut bytes, 7, b"abc");
        write_acknowledged(&mut bytes, 7);
        let Read::Record(first, length) = read(&bytes) else {
            panic!("no record")
        };
        assert_eq!(
            first,
            Record::Message {
                sequence: 7,
                payload: b"abc"
            }
        );
        let Read::Record(second, rest) = read(&bytes[length..]) else {
            panic!("no record")
        };
        assert_eq!(second, Record::Acknowledged(7));
        assert_eq!(read(&bytes[length + rest..]), Read::End);
    }

    #[test]
    fn the_next_record_is_found_behind_anything() {
        let mut good = Vec::new();
        write_message(&mut good, 7, b"abc");
        for damage in [
            &b"\0"[..],
            &[0; 4096],
            b"\x03\0\0\0abcd\x01",
            b"\xff\xff\xff\xff",
        ] {
            let bytes = [damage, &good].concat();
            assert_eq!(find(&bytes), Some(damage.len()), "{damage:?}");
        }
        assert_eq!(find(&good[1..]), None);
        assert_eq!(find(&[]), None);
    }

    #[test]
    fn what_is_made_to_be_searched_for_long_is_given_up() {
        // Each place looks like a message of nearly all that follows.
        let bytes: Vec<u8> = [0, 0, 1].into_iter().cycle().take(1 << 20).collect();
        assert_eq!(find(&bytes), None);
    }

    #[test]
    fn a_cut_record_is_the_end_and_a_changed_one_is_damage() {
        let mut bytes = Vec::new();
        write_message(&mut bytes, 7, b"abc");
        for cut in 0..bytes.len() {
            assert_eq!(read(&bytes[..cut]), Read::End, "cut at {cut}");
        }
        for at in 4..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            assert_eq!(read(&changed), Read::Damaged, "changed at {at}");
        }
    }
}
