//! Names of users and entries, and how user input is escaped in them.

use crate::limits::{NAME_BYTES_MAX, PASSWORD_BYTES_MAX};

/// Whether a name and a password may be shown to the directory. An empty
/// password would be a bind as nobody, which always succeeds; blanks around a
/// name are dropped by directories, so that it would be somebody else's.
pub(crate) fn are_presentable(name: &str, password: &str) -> bool {
    !name.is_empty()
        && name.len() <= NAME_BYTES_MAX
        && name.trim() == name
        && !name.chars().any(char::is_control)
        && !password.is_empty()
        && password.len() <= PASSWORD_BYTES_MAX
        && !password.contains('\0')
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
    fn computers_are_minions() {
        let domains = [".corp.example".to_owned(), String::new()];
        assert_eq!(minion_id("WEB1.corp.example", &domains), "web1");
        assert_eq!(
            minion_id("WEB1.other.example", &domains),
            "web1.other.example"
        );
    }
}
