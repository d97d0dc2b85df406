//! Gives the fuzz targets access to the private decoders of this crate; no
//! interface.

use crate::record::{self, Read, Record};

/// A file of records, whole or damaged.
///
/// # Panics
/// When a record that was read is not the one that its bytes make again.
pub fn records(bytes: &[u8]) {
    let mut rest = bytes;
    loop {
        match record::read(rest) {
            Read::Record(Record::Message { sequence, payload }, length) => {
                let mut again = Vec::new();
                record::write_message(&mut again, sequence, payload);
                assert_eq!(again, rest[..length]);
                rest = &rest[length..];
            }
            Read::Record(Record::Acknowledged(_), length) => rest = &rest[length..],
            Read::End => return,
            Read::Damaged => match record::find(rest) {
                Some(0) | None => return,
                Some(at) => rest = &rest[at..],
            },
        }
    }
}
