//! Entries in the results of a search.
//!
//! Invariant: a malformed result yields no entry and never a panic.

use ldap3::ResultEntry;

/// The number of an entry among the answers.
const ENTRY: u64 = 4;

/// An entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Its name.
    pub(crate) dn: String,
    /// Attributes with those of their values that are text.
    attributes: Vec<(String, Vec<String>)>,
}

impl Entry {
    /// Reads an answer; `None` for referrals to other servers, and for what is
    /// no entry.
    pub(crate) fn read(answer: ResultEntry) -> Option<Self> {
        if answer.is_ref() || answer.is_intermediate() {
            return None;
        }
        let mut parts = answer.0.match_id(ENTRY)?.expect_constructed()?.into_iter();
        let dn = String::from_utf8(parts.next()?.expect_primitive()?).ok()?;
        let mut attributes = Vec::new();
        for attribute in parts.next()?.expect_constructed()? {
            let mut parts = attribute.expect_constructed()?.into_iter();
            let name = String::from_utf8(parts.next()?.expect_primitive()?).ok()?;
            let values = parts.next()?.expect_constructed()?.into_iter();
            let values = values
                .filter_map(|value| String::from_utf8(value.expect_primitive()?).ok())
                .collect();
            attributes.push((name, values));
        }
        Some(Self { dn, attributes })
    }

    /// The values of an attribute.
    pub(crate) fn values(&self, name: &str) -> &[String] {
        self.attributes
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(name))
            .map_or(&[], |(_, values)| values)
    }
}
