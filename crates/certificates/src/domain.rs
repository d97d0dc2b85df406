//! Names of hosts, checked as certificates need them: letters, digits and
//! hyphens, already in the form of the DNS.

use halite_call::CallError;

/// The longest label, and the longest name.
const LABEL_BYTES_MAX: usize = 63;
const NAME_BYTES_MAX: usize = 253;

/// A name as it is.
pub(crate) fn plain(name: &str) -> Result<String, CallError> {
    if name.starts_with('.') {
        return Err(CallError::command(
            "Leading dots are not allowed in this context",
        ));
    }
    if name.starts_with("*.") {
        return Err(CallError::command(
            "Wildcards are not allowed in this context",
        ));
    }
    checked(name)?;
    Ok(name.to_owned())
}

/// A name that may begin with a dot: all names below it.
pub(crate) fn with_dot(name: &str) -> Result<String, CallError> {
    match name.strip_prefix('.') {
        None => plain(name),
        Some(_) => {
            checked(name.trim_start_matches('.'))?;
            Ok(format!(".{}", name.trim_start_matches('.')))
        }
    }
}

/// A name that may begin with a dot or `*.`.
pub(crate) fn wildcard(name: &str) -> Result<String, CallError> {
    match name.strip_prefix("*.") {
        None => with_dot(name),
        Some(rest) if rest.starts_with('.') => Err(CallError::command("Empty label")),
        Some(rest) => {
            checked(rest)?;
            Ok(name.to_owned())
        }
    }
}

/// The host of a URI that has one.
pub(crate) fn of_uri(uri: &str) -> Option<&str> {
    let (_, rest) = uri.split_once("://")?;
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let authority = &rest[..end];
    let host = authority
        .rsplit_once('@')
        .map_or(authority, |(_, host)| host);
    // An address in brackets is no name.
    if host.is_empty() || host.starts_with('[') {
        return None;
    }
    Some(host.split_once(':').map_or(host, |(host, _)| host))
}

fn checked(name: &str) -> Result<(), CallError> {
    let bad = |text: String| Err(CallError::command(text));
    if name.is_empty() {
        return bad("Empty domain".to_owned());
    }
    if name.len() > NAME_BYTES_MAX {
        return bad("Domain too long".to_owned());
    }
    for label in name.strip_suffix('.').unwrap_or(name).split('.') {
        if label.is_empty() {
            return bad("Empty Label".to_owned());
        }
        if label.len() > LABEL_BYTES_MAX {
            return bad("Label too long".to_owned());
        }
        if label.starts_with('-') || label.ends_with('-') {
            return bad("Label must not start or end with a hyphen".to_owned());
        }
        if label.get(2..4) == Some("--") && !label.to_lowercase().starts_with("xn--") {
            return bad("Label has disallowed hyphens in 3rd and 4th position".to_owned());
        }
        let wrong = label
            .chars()
            .enumerate()
            .find(|(_, char)| !char.is_ascii_alphanumeric() && *char != '-');
        if let Some((at, char)) = wrong {
            return bad(format!(
                "Codepoint U+{:04X} at position {} of '{}' not allowed",
                u32::from(char),
                at + 1,
                label.to_lowercase()
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_of_a_uri_has_no_port() {
        for (uri, host) in [
            ("http://a.b/c", Some("a.b")),
            ("ldap://u@a.b:389?x", Some("a.b")),
            ("http://[::1]/", None),
            ("urn:x", None),
        ] {
            assert_eq!(of_uri(uri), host, "{uri}");
        }
    }
}
