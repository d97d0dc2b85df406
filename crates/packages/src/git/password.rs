//! Keeps passwords of repositories off the command lines of git and of its helpers,
//! because every user of a machine can read those.
//!
//! Git gets the address without the login, and asks a helper for it, which reads it
//! from the environment: only the user whom git runs as can see that. The options
//! of that helper are on the command line, which git reads in every version. A name
//! without its password would be tried by git first, and count as a wrong login.
//!
//! Invariant: a password goes only to its host.

use std::fmt;

use halite_call::CallError;

/// The variables with the user and the password.
const USER: &str = "HALITE_GIT_USER";
const PASSWORD: &str = "HALITE_GIT_PASSWORD";

/// What git runs to ask for them. No program has them among its words.
const HELPER: &str = "!f() { test \"$1\" = get || return 0; cat <<END\n\
                      username=$HALITE_GIT_USER\npassword=$HALITE_GIT_PASSWORD\nEND\n}; f";

/// The verbs that may go to another machine; checking out does for files that git
/// keeps elsewhere, and what is merged may be there.
const GOING: [&str; 10] = [
    "checkout",
    "clone",
    "fetch",
    "ls-remote",
    "merge",
    "pull",
    "push",
    "rebase",
    "reset",
    "submodule",
];

/// Those whose words may be places.
const PLACED: [&str; 6] = ["clone", "fetch", "ls-remote", "pull", "push", "submodule"];

/// Where a repository is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    /// As git may be told, without the login.
    pub(crate) url: String,
    /// What git gets when it asks.
    pub(crate) login: Option<Login>,
}

/// A password and whose it is.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Login {
    /// The protocol and the host.
    host: String,
    /// As the host gets both.
    user: String,
    password: String,
    /// The place with it, as Salt writes it.
    pub(super) full: String,
}

/// It is shown by nobody.
impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Login").finish_non_exhaustive()
    }
}

impl Place {
    /// A place with a user and a password, which may stand in it; given apart, they
    /// are for `https` alone.
    ///
    /// # Errors
    /// When the place is of another kind, or git cannot be told the password.
    pub(crate) fn new(
        url: &str,
        user: Option<&str>,
        password: Option<&str>,
    ) -> Result<Self, CallError> {
        if url.starts_with('-') {
            // Git would take it for an option, and some options run programs.
            return Err(CallError::invocation(format!("{url:?} is no repository")));
        }
        let Some(user) = user else {
            return Self::parse(url);
        };
        let Some(rest) = url.strip_prefix("https://") else {
            return Err(CallError::invocation("Basic Auth only supported for HTTPS"));
        };
        let (authority, path) = at_path(rest);
        let host = authority.rsplit_once('@').map_or(authority, |(_, it)| it);
        let Some(password) = password else {
            let url = format!("https://{user}@{host}{path}");
            return Ok(Self { url, login: None });
        };
        let full = format!("https://{user}:{password}@{host}{path}");
        let login = Login::new(&format!("https://{host}"), user, password, full)?;
        let url = format!("https://{host}{path}");
        let login = Some(login);
        Ok(Self { url, login })
    }

    /// A place that may have a password in it.
    fn parse(url: &str) -> Result<Self, CallError> {
        let none = || Self {
            url: url.to_owned(),
            login: None,
        };
        let mut protocols = ["https://", "http://"].into_iter();
        let known = protocols.find_map(|it| Some((it, url.strip_prefix(it)?)));
        let Some((protocol, rest)) = known else {
            return Ok(none());
        };
        let (authority, path) = at_path(rest);
        // As git reads it: the first of each.
        let Some((who, host)) = authority.split_once('@') else {
            return Ok(none());
        };
        let Some((user, password)) = who.split_once(':') else {
            return Ok(none());
        };
        let host = format!("{protocol}{host}");
        let login = Login::new(&host, user, password, url.to_owned())?;
        Ok(Self {
            url: format!("{host}{path}"),
            login: Some(login),
        })
    }
}

impl Login {
    fn new(host: &str, user: &str, password: &str, full: String) -> Result<Self, CallError> {
        // Git decodes nothing before a colon: it takes that for a protocol.
        let password = match password.split_once(':') {
            Some((first, rest)) if !first.is_empty() => {
                decoded(rest).map(|rest| format!("{first}:{rest}"))
            }
            _ => decoded(password),
        };
        let told = |text: Option<String>| {
            let line = text.filter(|it| !it.contains(['\n', '\r', '\0']));
            line.ok_or_else(|| CallError::invocation("git cannot be told a login like this one"))
        };
        let (_, name) = host.split_once("://").unwrap_or(("", host));
        let is_host = |c: char| c.is_alphanumeric() || "-._:[]%".contains(c);
        if name.is_empty() || !name.chars().all(is_host) {
            return Err(CallError::invocation(format!("{name:?} is no host")));
        }
        Ok(Self {
            host: host.to_owned(),
            user: told(decoded(user))?,
            password: told(password)?,
            full,
        })
    }

    /// The options of git that have it ask for the password.
    pub(super) fn options(&self) -> [String; 4] {
        let setting = |value: &str| format!("credential.{}.helper={value}", self.host);
        // No other helper of the host is asked, or told.
        [
            "-c".to_owned(),
            setting(""),
            "-c".to_owned(),
            setting(HELPER),
        ]
    }

    /// The variables that its helper reads.
    pub(super) fn variables(&self) -> [(&'static str, &str); 2] {
        [(USER, &self.user), (PASSWORD, &self.password)]
    }
}

/// The words of a run without a password, and the login that it needs: that of the
/// place among its words, or `known`.
///
/// # Errors
/// When git cannot be told a password that stands there.
pub(super) fn hidden(
    words: &[String],
    known: Option<&Login>,
) -> Result<(Vec<String>, Option<Login>), CallError> {
    let mut words = words.to_vec();
    let is_of = |verbs: &[&str]| words.first().is_some_and(|it| verbs.contains(&it.as_str()));
    let mut login = known.filter(|_| is_of(&GOING)).cloned();
    if !is_of(&PLACED) {
        return Ok((words, login));
    }
    for word in &mut words {
        let place = Place::parse(word)?;
        if place.login.is_some() {
            login = place.login;
            *word = place.url;
        }
    }
    Ok((words, login))
}

/// The host of a place, and what follows it.
fn at_path(rest: &str) -> (&str, &str) {
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    rest.split_at(end)
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
    fn no_word_has_a_password() {
        for verb in PLACED {
            let run = words(&[
                verb,
                "--",
                "https://u%20v:p%40:%41%z@h:8443/a/b.git",
                "HEAD",
            ]);
            let (hidden, login) = hidden(&run, None).unwrap();
            let wanted = words(&[verb, "--", "https://h:8443/a/b.git", "HEAD"]);
            assert_eq!(hidden, wanted);
            let login = login.unwrap();
            assert_eq!(login.variables().map(|it| it.1), ["u v", "p%40:A%z"]);
            let options = login.options();
            assert_eq!(options[1], "credential.https://h:8443.helper=");
            assert!(options[3].starts_with("credential.https://h:8443.helper=!f()"));
            assert!(!format!("{options:?}{login:?}").contains("p%40"));
        }
    }

    #[test]
    fn a_remote_by_name_is_logged_in_to_and_what_stays_here_is_not() {
        let place = Place::new("https://h/p", Some("u"), Some("p:a%40s")).unwrap();
        assert_eq!(place.url, "https://h/p");
        let known = place.login.as_ref();
        let login = |run: &[&str]| hidden(&words(run), known).unwrap().1;
        assert_eq!(login(&["fetch", "origin"]), place.login);
        assert_eq!(login(&["reset", "--hard", "abc"]), place.login);
        assert_eq!(login(&["rev-parse", "HEAD"]), None);
        let message = words(&["merge", "-m", "http://u:p@h is gone", "x"]);
        assert_eq!(hidden(&message, None).unwrap(), (message, None));
        assert_eq!(known.unwrap().full, "https://u:p:a%40s@h/p");
    }

    #[test]
    fn who_is_given_apart_takes_the_place_of_who_stands_there() {
        let url = |url: &str, user, password| Place::new(url, user, password).unwrap().url;
        assert_eq!(url("https://a:b@h/p@q", Some("u"), None), "https://u@h/p@q");
        assert_eq!(
            url("https://h/p@q", Some("u"), Some("x/@")),
            "https://h/p@q"
        );
        assert_eq!(url("http://u:p@h/a", None, None), "http://h/a");
        assert_eq!(url("https://:p@h", None, None), "https://h");
        for plain in ["https://u@h/a", "https://h/a:b@c", "ssh://u:p@h/a", "u@h:a"] {
            assert_eq!(url(plain, None, None), plain);
            assert_eq!(Place::new(plain, None, None).unwrap().login, None);
        }
    }

    #[test]
    fn what_is_no_place_or_no_password_is_refused() {
        for (url, user, password) in [
            ("--upload-pack=touch /x", None, None),
            ("http://h", Some("u"), None),
            ("https://h", Some("u"), Some("a\nb")),
            ("https://u:a%0ab@h/x", None, None),
            ("https://h=x/a", Some("u"), Some("p")),
            ("https://", Some("u"), Some("p")),
        ] {
            assert!(Place::new(url, user, password).is_err(), "{url}");
        }
    }
}
