//! A key that may sign in, as a line of a file.

use base64::Engine as _;
use halite_call::python;
use halite_crypto::{HashType, hash_hex};
use halite_proto::Value;

/// A key with what stands around it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Key {
    pub(crate) key: String,
    pub(crate) enc: String,
    pub(crate) comment: String,
    pub(crate) options: Vec<String>,
}

impl Key {
    /// The line of the file.
    pub(crate) fn line(&self) -> String {
        let options = if self.options.is_empty() {
            String::new()
        } else {
            format!("{} ", self.options.join(","))
        };
        let line = format!("{options}{} {} {}", self.enc, self.key, self.comment);
        format!("{}\n", line.trim_end())
    }
}

/// Parts a line at its kind of key: what is before it, and the rest.
pub(crate) fn split_line(text: &str) -> Option<(&str, &str)> {
    for (at, _) in text.char_indices() {
        let rest = &text[at..];
        let kind = rest.strip_prefix("sk-").unwrap_or(rest);
        if !kind.starts_with("ssh-") && !kind.starts_with("ecds") {
            continue;
        }
        let end = rest.find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '@' | '.' | '-')));
        let Some(end) = end else {
            continue;
        };
        if rest[end..].starts_with(char::is_whitespace) && rest[end..].chars().nth(1).is_some() {
            let before = &text[..at];
            match before.strip_suffix(char::is_whitespace) {
                Some(before) => return Some((before, rest)),
                None if at == 0 => return Some((before, rest)),
                // Within an option, which would be a line of another key alone.
                None => {}
            }
        }
    }
    None
}

/// Options, parted at commas that no quotes enclose.
fn split_options(text: &str) -> Vec<String> {
    let (mut options, mut current, mut quoted) = (Vec::new(), String::new(), false);
    for c in text.chars() {
        match c {
            '"' => {
                quoted = !quoted;
                current.push(c);
            }
            ',' if !quoted => options.push(std::mem::take(&mut current)),
            c => current.push(c),
        }
    }
    // Nothing behind the last comma is an option, too: the line stays as it is.
    if !current.is_empty() || text.ends_with(',') {
        options.push(current);
    }
    options
}

/// Reads a line of the file.
pub(crate) fn parse(line: &str) -> Option<Key> {
    let line = line.trim();
    if line.is_empty() || line.starts_with('#') {
        return None;
    }
    let (before, rest) = split_line(line)?;
    let mut words = rest.split_whitespace();
    let enc = words.next()?.to_owned();
    let key = words.next()?.to_owned();
    if !is_base64(&key) {
        return None;
    }
    Some(Key {
        key,
        enc,
        comment: words.collect::<Vec<_>>().join(" "),
        options: split_options(before),
    })
}

/// Whether a text is whole: what does not decode is no key.
fn is_base64(text: &str) -> bool {
    let bare = text.trim_end_matches('=');
    let padding = text.len() - bare.len();
    let known = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
    bare.bytes().all(known) && bare.len() % 4 != 1 && (bare.len() + padding).is_multiple_of(4)
}

/// Whether a text may be written as a key.
pub(super) fn is_key(text: &str) -> bool {
    !text.is_empty()
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '='))
        && text.len().is_multiple_of(4)
}

/// The words of a list or of comma separated text.
pub(crate) fn options_of(value: &Value) -> Vec<String> {
    match value {
        Value::List(items) => items.iter().map(python::str).collect(),
        Value::Str(text) if !text.is_empty() => split_options(text),
        _ => Vec::new(),
    }
}

/// `rsa` is `ssh-rsa`, and so on.
pub(crate) fn kind(enc: &str) -> String {
    match enc {
        "r" | "rsa" => "ssh-rsa".to_owned(),
        "d" | "dsa" | "dss" => "ssh-dss".to_owned(),
        "e" | "ed25519" => "ssh-ed25519".to_owned(),
        "ecdsa" => "ecdsa-sha2-nistp256".to_owned(),
        other => other.to_owned(),
    }
}

/// The hash of a key, as pairs of digits; nothing if it is none.
pub(super) fn fingerprint(kind: HashType, key: &str) -> Option<String> {
    let bytes = base64::engine::general_purpose::STANDARD.decode(key).ok()?;
    let hex = hash_hex(kind, &bytes);
    let pairs: Vec<&str> = (0..hex.len() / 2)
        .filter_map(|at| hex.get(2 * at..2 * at + 2))
        .collect();
    Some(pairs.join(":"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_taken_apart() {
        let key = parse("from=\"a,b\",no-pty ssh-rsa AAAA me at home").unwrap();
        assert_eq!(key.options, ["from=\"a,b\"", "no-pty"]);
        assert_eq!((key.enc.as_str(), key.key.as_str()), ("ssh-rsa", "AAAA"));
        assert_eq!(key.comment, "me at home");
        assert_eq!(
            parse("sk-ssh-ed25519@openssh.com AAAA").unwrap().enc,
            "sk-ssh-ed25519@openssh.com"
        );
        assert_eq!(parse("# x"), None);
        // What does not decode is no key, as with Salt.
        assert_eq!(parse("ssh-rsa AAAAB"), None);
        assert_eq!(parse("ssh-rsa AAAAB3N"), None);
        assert!(parse("ssh-rsa AAAAB3N= x").is_some());
        assert_eq!(split_line("AAAA"), None);
        // For sshd this has no key; rewritten it would have another one.
        assert_eq!(parse("ssh-a,ecdsabcd AAAA"), None);
        let line = "no-pty ssh-a, ssh-rsa AAAA\n";
        assert_eq!(parse(line).unwrap().line(), line);
        assert_eq!(parse("ssh-a,ecdsabcd ssh-rsa AAAA").unwrap().enc, "ssh-rsa");
    }
}
