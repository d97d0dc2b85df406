//! What fuzzing does with the answers of a directory; no interface.

use ldap3::ResultEntry;
use ldap3::asn1::parse_tag;

use crate::entry::Entry;

/// Answers to a search, one behind the other.
pub fn entries(mut bytes: &[u8]) {
    while let Ok((rest, tag)) = parse_tag(bytes) {
        if rest.len() == bytes.len() {
            return;
        }
        if let Some(entry) = Entry::read(ResultEntry::new(tag)) {
            let _ = entry.values("memberof");
        }
        bytes = rest;
    }
}
