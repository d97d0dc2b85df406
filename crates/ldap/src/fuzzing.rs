//! Access for fuzz targets to the parser of a directory's answers; no interface.

use ldap3::asn1::parse_tag;
use ldap3::{ResultEntry, dn_escape, ldap_escape};

use crate::entry::Entry;
use crate::names;

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

/// What a user types: in a filter and in a name it stays one value, the one
/// that was typed.
///
/// # Panics
/// When it becomes something else.
pub fn names(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    if !names::are_presentable(&text, "sesame") {
        return;
    }
    let escaped = ldap_escape(text.as_ref());
    let filter = names::as_filter(&format!("(&(objectClass=person)(uid={escaped}))"));
    let pair = ("uid".to_owned(), text.clone().into_owned());
    let compared = names::compared(&filter, &escaped);
    assert!(compared.contains(&pair), "{compared:?} of {filter}");
    let dn = format!("uid={},ou=Users,dc=x", dn_escape(text.as_ref()));
    let parts = names::dn_parts(&dn);
    assert_eq!(parts.len(), 3, "{parts:?} of {dn}");
    let value = parts.first().map(|part| part.value.as_str());
    assert_eq!(value, Some(text.as_ref()), "{dn}");
    assert!(names::is_same_dn(&dn, &dn));
    assert_eq!(names::first_value(&dn), text, "{dn}");
}
