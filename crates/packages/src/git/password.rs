//! Passwords in the places of repositories, kept off the command line of git: every
//! user of a machine sees that.
//!
//! Only `ls-remote` is spared: whatever keeps the place in the repository's
//! configuration gets it as Salt writes it, password and all.

/// The variable with the password.
const PASSWORD: &str = "HALITE_GIT_PASSWORD";

/// What git runs to ask for it.
const HELPER: &str =
    "!f() { test \"$1\" != get || printf 'password=%s\\n' \"$HALITE_GIT_PASSWORD\"; }; f";

/// The words of a run, and what its environment has besides.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Hidden {
    pub(super) words: Vec<String>,
    pub(super) env: Vec<(&'static str, String)>,
}

/// The same run without a password in its words, if it has one that can be hidden.
pub(super) fn hidden(words: &[String]) -> Option<Hidden> {
    if words.first().is_none_or(|verb| verb != "ls-remote") {
        return None;
    }
    let index = words.iter().position(|word| split(word).is_some())?;
    let (place, host, password) = split(words.get(index)?)?;
    let mut words = words.to_vec();
    *words.get_mut(index)? = place;
    // Another host, which the first one names, gets nothing, and a proxy keeps its own.
    let key = format!("credential.https://{host}.helper");
    let env = vec![
        ("GIT_CONFIG_COUNT", "2".to_owned()),
        // No other helper of the host is asked, or told.
        ("GIT_CONFIG_KEY_0", key.clone()),
        ("GIT_CONFIG_VALUE_0", String::new()),
        ("GIT_CONFIG_KEY_1", key),
        ("GIT_CONFIG_VALUE_1", HELPER.to_owned()),
        (PASSWORD, password),
    ];
    Some(Hidden { words, env })
}

/// Whether a git reads settings from its environment, by what `git --version` writes.
pub(super) fn can_be_hidden(version: &str) -> bool {
    let number = version.split_whitespace().nth(2).unwrap_or_default();
    let mut parts = number.split('.').map_while(|part| part.parse::<u32>().ok());
    (parts.next(), parts.next()) >= (Some(2), Some(31))
}

/// A place without its password, its host, and the password, as git reads them.
fn split(place: &str) -> Option<(String, &str, String)> {
    let rest = place.strip_prefix("https://")?;
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at_checked(end)?;
    let (who, host) = authority.split_once('@')?;
    let (user, password) = who.split_once(':')?;
    // Git decodes nothing before a colon: it takes that for a protocol.
    let password = match password.split_once(':') {
        Some((first, rest)) if !first.is_empty() => format!("{first}:{}", decoded(rest)?),
        _ => decoded(password)?,
    };
    if user.is_empty() || password.contains(['\n', '\r', '\0']) {
        return None;
    }
    Some((format!("https://{user}@{host}{path}"), host, password))
}

/// A text with `%41` for `A`.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('%') {
        bytes.extend(before.as_bytes());
        let byte = after
            .get(..2)
            .and_then(|hex| u8::from_str_radix(hex, 16).ok());
        match byte {
            Some(byte) => {
                bytes.push(byte);
                rest = after.get(2..)?;
            }
            None => {
                bytes.push(b'%');
                rest = after;
            }
        }
    }
    bytes.extend(rest.as_bytes());
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn a_password_is_in_the_environment_and_not_among_the_words() {
        let run = words(&["ls-remote", "https://u:p%40:%41%z@h:8443/a/b.git", "HEAD"]);
        let hidden = hidden(&run).unwrap();
        let wanted = words(&["ls-remote", "https://u@h:8443/a/b.git", "HEAD"]);
        assert_eq!(hidden.words, wanted);
        let value = |name: &str| hidden.env.iter().find(|(known, _)| *known == name);
        assert_eq!(value(PASSWORD).unwrap().1, "p%40:A%z");
        // Helpers for other hosts stay, and so do those for a proxy.
        for key in ["GIT_CONFIG_KEY_0", "GIT_CONFIG_KEY_1"] {
            let key = &value(key).unwrap().1;
            assert_eq!(key, "credential.https://h:8443.helper");
        }
        assert_eq!(value("GIT_CONFIG_VALUE_0").unwrap().1, "");
    }

    #[test]
    fn a_git_before_2_31_knows_no_settings_of_the_environment() {
        for version in [
            "2.31.0",
            "2.47.3",
            "2.39.2 (Apple Git-143)",
            "3.0.rc1",
            "2.31.rc0",
        ] {
            assert!(
                can_be_hidden(&format!("git version {version}\n")),
                "{version}"
            );
        }
        for version in ["2.30.2", "1.8.3.1", "2", ""] {
            assert!(
                !can_be_hidden(&format!("git version {version}\n")),
                "{version}"
            );
        }
    }

    #[test]
    fn what_has_no_password_or_keeps_its_place_stays_as_it_is() {
        for run in [
            ["ls-remote", "https://u@h/a"],
            ["ls-remote", "https://h/a:b@c"],
            ["ls-remote", "ssh://u:p@h/a"],
            ["clone", "https://u:p@h/a"],
        ] {
            assert_eq!(hidden(&words(&run)), None, "{run:?}");
        }
    }
}
