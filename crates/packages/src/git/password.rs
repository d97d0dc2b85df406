//! Passwords in the places of repositories, kept off the command lines of git and
//! of the programs that it starts: every user of a machine sees those.
//!
//! The repository's configuration has them as Salt writes them there
//! (`configured`); git is given the place without, and asks for the password.

/// What git runs to ask for the password of a number.
fn helper(number: usize) -> String {
    let variable = variable(number);
    format!("!f() {{ test \"$1\" != get || printf 'password=%s\\n' \"${variable}\"; }}; f")
}

/// The variable with the password of a number.
fn variable(number: usize) -> String {
    format!("HALITE_GIT_PASSWORD_{number}")
}

/// What a run of git is given besides, so that no command line has a password.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Hidden {
    /// The words of the run.
    pub(super) words: Vec<String>,
    /// Variables of its environment.
    pub(super) env: Vec<(String, String)>,
}

/// Whether a run goes to a repository that is elsewhere, maybe by the name that
/// it has in the configuration.
pub(super) fn goes_elsewhere(words: &[String]) -> bool {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["fetch" | "pull" | "push" | "submodule" | "ls-remote", ..] => true,
        ["remote", verb, ..] => ["update", "prune", "show", "set-head"].contains(verb),
        _ => false,
    }
}

/// The same run without passwords, in its words and in the places that the
/// repository's configuration has, if there are any.
pub(super) fn hidden(words: &[String], configured: &[String]) -> Option<Hidden> {
    let mut logins = Vec::new();
    let mut settings = vec![
        // No other helper is asked, or told.
        ("credential.helper".to_owned(), String::new()),
    ];
    let mut hidden = words.to_vec();
    if may_name_a_place(words) {
        for word in &mut hidden {
            if let Some(login) = Login::of(word) {
                login.place.clone_into(word);
                logins.push(login);
            }
        }
    }
    for place in configured {
        if let Some(login) = Login::of(place) {
            settings.push((format!("url.{}.insteadOf", login.place), place.clone()));
            logins.push(login);
        }
    }
    if logins.is_empty() {
        return None;
    }
    let mut env = Vec::new();
    for (number, login) in logins.into_iter().enumerate() {
        // Another host, which the first one names, gets nothing.
        let Login { user, host, .. } = &login;
        let key = format!("credential.https://{user}@{host}.helper");
        settings.push((key, helper(number)));
        env.push((variable(number), login.password));
    }
    env.push(("GIT_CONFIG_COUNT".to_owned(), settings.len().to_string()));
    for (number, (key, value)) in settings.into_iter().enumerate() {
        env.push((format!("GIT_CONFIG_KEY_{number}"), key));
        env.push((format!("GIT_CONFIG_VALUE_{number}"), value));
    }
    Some(Hidden { words: hidden, env })
}

/// The places with a password that a run writes into the configuration of a
/// repository: without it, and with it.
pub(super) fn written(words: &[String]) -> Vec<(String, String)> {
    let writes = match words.first().map(String::as_str) {
        Some("clone") => true,
        Some("remote") => !goes_elsewhere(words),
        _ => false,
    };
    let places = words.iter().filter(|_| writes);
    let both = |word: &String| Some((Login::of(word)?.place, word.clone()));
    places.filter_map(both).collect()
}

fn may_name_a_place(words: &[String]) -> bool {
    let first = words.first().map(String::as_str);
    goes_elsewhere(words) || matches!(first, Some("clone" | "remote"))
}

/// A place taken apart.
#[derive(Debug, PartialEq, Eq)]
struct Login {
    /// Without the password.
    place: String,
    user: String,
    host: String,
    /// As git reads it.
    password: String,
}

impl Login {
    /// That of a place with a password that can be hidden.
    fn of(place: &str) -> Option<Self> {
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
        Some(Self {
            place: format!("https://{user}@{host}{path}"),
            user: user.to_owned(),
            host: host.to_owned(),
            password,
        })
    }
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

    fn value<'a>(hidden: &'a Hidden, name: &str) -> &'a str {
        let found = hidden.env.iter().find(|(known, _)| known == name);
        &found.unwrap().1
    }

    #[test]
    fn a_password_is_in_the_environment_and_not_among_the_words() {
        for verb in ["ls-remote", "clone", "fetch", "pull", "push"] {
            let run = words(&[verb, "https://u:p%40:%41%z@h:8443/a/b.git", "HEAD"]);
            let hidden = hidden(&run, &[]).unwrap();
            let wanted = words(&[verb, "https://u@h:8443/a/b.git", "HEAD"]);
            assert_eq!(hidden.words, wanted);
            assert_eq!(value(&hidden, "HALITE_GIT_PASSWORD_0"), "p%40:A%z");
            assert_eq!(value(&hidden, "GIT_CONFIG_COUNT"), "2");
            let key = value(&hidden, "GIT_CONFIG_KEY_1");
            assert_eq!(key, "credential.https://u@h:8443.helper");
        }
    }

    #[test]
    fn a_place_of_the_configuration_is_gone_to_without_its_password() {
        let configured = words(&["https://u:p@h/a", "https://h/b"]);
        let hidden = hidden(&words(&["fetch", "origin"]), &configured).unwrap();
        assert_eq!(hidden.words, words(&["fetch", "origin"]));
        let key = value(&hidden, "GIT_CONFIG_KEY_1");
        assert_eq!(key, "url.https://u@h/a.insteadOf");
        assert_eq!(value(&hidden, "GIT_CONFIG_VALUE_1"), "https://u:p@h/a");
        assert_eq!(value(&hidden, "HALITE_GIT_PASSWORD_0"), "p");
    }

    #[test]
    fn what_has_no_password_stays_as_it_is() {
        for run in [
            ["ls-remote", "https://u@h/a"],
            ["ls-remote", "https://h/a:b@c"],
            ["ls-remote", "ssh://u:p@h/a"],
            ["commit", "https://u:p@h/a"],
        ] {
            assert_eq!(hidden(&words(&run), &[]), None, "{run:?}");
        }
    }

    #[test]
    fn what_is_written_is_written_with_its_password() {
        let both = vec![("https://u@h/a".to_owned(), "https://u:p@h/a".to_owned())];
        for (run, wanted) in [
            (&["clone", "--", "https://u:p@h/a", "/x"][..], both.clone()),
            (&["remote", "add", "origin", "https://u:p@h/a"], both),
            (&["fetch", "https://u:p@h/a"], Vec::new()),
            (&["clone", "--", "https://h/a", "/x"], Vec::new()),
        ] {
            assert_eq!(written(&words(run)), wanted, "{run:?}");
        }
    }
}
