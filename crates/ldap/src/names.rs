//! Names of users and entries, and how user input is escaped in them.

use crate::limits::{NAME_BYTES_MAX, PASSWORD_BYTES_MAX};

/// Whether a name and a password may be shown to the directory. An empty
/// password would be a bind as nobody, which always succeeds; blanks around a
/// name are dropped by directories, so that it would be somebody else's.
pub(crate) fn are_presentable(name: &str, password: &str) -> bool {
    !name.is_empty()
        && name.len() <= NAME_BYTES_MAX
        && name.trim() == name
        && !name
            .chars()
            .any(|c| char::is_control(c) || is_passed_over(c))
        && !password.is_empty()
        && password.len() <= PASSWORD_BYTES_MAX
        && !password.contains('\0')
}

/// Whether directories pass over a character when they compare names (RFC 4518,
/// 2.2: what is mapped to nothing), so that a name with it is somebody else's.
fn is_passed_over(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{6dd}' | '\u{70f}' | '\u{8e2}'
        | '\u{600}'..='\u{605}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
        | '\u{ffa0}' | '\u{fff0}'..='\u{fffc}' | '\u{110bd}' | '\u{110cd}'
        | '\u{13430}'..='\u{1345f}' | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// Whether no directory takes this name for that of somebody else, whatever it
/// folds: case, accents, blanks.
pub(crate) fn is_folded(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii() && !c.is_ascii_uppercase();
    name.chars().all(is_plain) && !name.contains("  ")
}

/// The comparisons of a filter with a value that the user's name is a part of:
/// attribute and value. `escaped` is the name as it stands in the filter.
pub(crate) fn compared(filter: &str, escaped: &str) -> Vec<(String, String)> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | ';');
    filter
        .split(['(', ')'])
        .filter_map(|part| part.split_once('='))
        .map(|(attribute, value)| (attribute.trim(), value))
        .filter(|(attribute, value)| {
            !attribute.is_empty() && attribute.chars().all(is_name) && value.contains(escaped)
        })
        .map(|(attribute, value)| (attribute.to_owned(), unescaped(value)))
        .collect()
}

/// A value of a filter without its escapes.
fn unescaped(value: &str) -> String {
    let mut plain = Vec::new();
    let mut bytes = value.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'\\' => {
                let (high, low) = (bytes.next().unwrap_or(b'0'), bytes.next().unwrap_or(b'0'));
                plain.push(hex(high) * 16 + hex(low));
            }
            byte => plain.push(byte),
        }
    }
    String::from_utf8_lossy(&plain).into_owned()
}

/// A part of a DN.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct DnPart {
    /// Whether it stands beside the part before it (`+`), not below.
    is_beside: bool,
    /// In lower case.
    pub(crate) attribute: String,
    pub(crate) value: String,
}

/// The parts of a DN, without escapes.
pub(crate) fn dn_parts(dn: &str) -> Vec<DnPart> {
    let (mut parts, mut is_beside) = (Vec::new(), false);
    let (mut attribute, mut text) = (None, Vec::new());
    let mut bytes = dn.bytes();
    loop {
        let byte = bytes.next();
        match byte {
            Some(b'=') if attribute.is_none() => {
                let name = String::from_utf8_lossy(&std::mem::take(&mut text)).into_owned();
                attribute = Some(name.trim().to_ascii_lowercase());
            }
            Some(b'\\') => match bytes.next() {
                Some(high) if high.is_ascii_hexdigit() => {
                    let low = bytes.next().unwrap_or(b'0');
                    text.push(hex(high) * 16 + hex(low));
                }
                plain => text.extend(plain),
            },
            Some(b',' | b'+') | None => {
                let value = String::from_utf8_lossy(&std::mem::take(&mut text)).into_owned();
                parts.push(DnPart {
                    is_beside,
                    attribute: attribute.take().unwrap_or_default(),
                    value: value.trim().to_owned(),
                });
                is_beside = byte == Some(b'+');
            }
            Some(plain) => text.push(plain),
        }
        if byte.is_none() {
            return parts;
        }
    }
}

/// Whether two DNs name one entry.
pub(crate) fn is_same_dn(one: &str, other: &str) -> bool {
    let folded = |dn: &str| {
        let mut parts = dn_parts(dn);
        for part in &mut parts {
            part.value = part.value.to_lowercase();
        }
        parts
    };
    folded(one) == folded(other)
}

/// The value of the first part of a DN: `ops` of `cn=ops,ou=Groups,dc=x`.
pub(crate) fn first_value(dn: &str) -> String {
    let mut parts = Vec::new();
    let mut bytes = dn.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b',' | b'+' => break,
            b'\\' => match bytes.next() {
                Some(high) if high.is_ascii_hexdigit() => {
                    let low = bytes.next().unwrap_or(b'0');
                    parts.push(hex(high) * 16 + hex(low));
                }
                Some(plain) => parts.push(plain),
                None => break,
            },
            plain => parts.push(plain),
        }
    }
    let part = String::from_utf8_lossy(&parts);
    match part.split_once('=') {
        Some((_, value)) => value.trim().to_owned(),
        None => part.trim().to_owned(),
    }
}

fn hex(digit: u8) -> u8 {
    let value = char::from(digit).to_digit(16).unwrap_or_default();
    u8::try_from(value).unwrap_or_default()
}

/// A filter as it is on the wire: python-ldap adds the outer parentheses.
pub(crate) fn as_filter(text: &str) -> String {
    let text = text.trim();
    match text.starts_with('(') {
        true => text.to_owned(),
        false => format!("({text})"),
    }
}

/// The id of a minion that is called this in the directory.
pub(crate) fn minion_id(computer: &str, domains: &[String]) -> String {
    let id = computer.to_lowercase();
    let stripped = domains
        .iter()
        .filter(|domain| !domain.is_empty())
        .find_map(|domain| id.strip_suffix(domain.as_str()));
    stripped.unwrap_or(&id).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_be_nobody_or_somebody_else_is_not_presentable() {
        assert!(are_presentable("ali", "sesame"));
        assert!(are_presentable("a*)(b", " "));
        for (name, password) in [
            ("", "x"),
            ("ali", ""),
            (" ali", "x"),
            ("ali\t", "x"),
            ("a\0li", "x"),
            ("a\nli", "x"),
            ("a\u{ad}li", "x"),
            ("ali\u{200b}", "x"),
            ("\u{feff}ali", "x"),
            ("ali", "x\0"),
        ] {
            assert!(!are_presentable(name, password), "{name:?} {password:?}");
        }
        let long = "x".repeat(NAME_BYTES_MAX + 1);
        assert!(!are_presentable(&long, "x"));
    }

    #[test]
    fn the_first_part_of_a_name_is_its_value() {
        for (dn, value) in [
            ("cn=ops,ou=Groups,dc=x", "ops"),
            ("CN=Ops Team, OU=x", "Ops Team"),
            ("cn=a\\, b,ou=x", "a, b"),
            ("cn=a\\2cb\\3dc,ou=x", "a,b=c"),
            ("cn=a=b,ou=x", "a=b"),
            ("ali", "ali"),
            ("cn=\\c3\\a9", "é"),
            ("cn=x\\", "x"),
            ("", ""),
        ] {
            assert_eq!(first_value(dn), value, "{dn}");
        }
    }

    #[test]
    fn a_filter_says_what_the_name_is_compared_with() {
        let pairs = |filter: &str, escaped: &str| compared(filter, escaped);
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(pairs("(uid=ali)", "ali"), [pair("uid", "ali")]);
        assert_eq!(
            pairs(
                "(&(|(uid=a\\2a)(mail=a\\2a@x))(objectClass=person))",
                "a\\2a"
            ),
            [pair("uid", "a*"), pair("mail", "a*@x")]
        );
        assert!(pairs("(objectClass=*)", "ali").is_empty());
    }

    #[test]
    fn names_of_one_entry_are_known_however_they_are_written() {
        let dn = "uid=ali,ou=Users,dc=x";
        assert!(is_same_dn(dn, "UID=Ali, OU=users , dc=X"));
        assert!(is_same_dn("cn=a\\, b,dc=x", "cn=a\\2c b,dc=x"));
        for other in [
            "cn=ali,ou=Users,dc=x",
            "uid=ali,ou=Groups,dc=x",
            "uid=ali+ou=Users,dc=x",
            "uid=ali\\,ou\\=Users,dc=x",
            "ali",
            "",
        ] {
            assert!(!is_same_dn(dn, other), "{other}");
        }
        for (name, is_plain) in [("a.b-1@x", true), ("Bob", false), ("b\u{f6}b", false)] {
            assert_eq!(is_folded(name), is_plain, "{name}");
        }
    }

    #[test]
    fn computers_are_minions() {
        let domains = [".corp.example".to_owned(), String::new()];
        assert_eq!(minion_id("WEB1.corp.example", &domains), "web1");
        assert_eq!(
            minion_id("WEB1.other.example", &domains),
            "web1.other.example"
        );
    }
}
