//! The address of a remote.
//!
//! Invariant: an address that exists is no option of git or ssh, names no helper
//! program, and holds its password separately, so that it can be shown.

use std::fmt;

use halite_crypto::Secret;

/// How a remote is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// A directory of this machine.
    File,
    /// A shell on another machine.
    Ssh,
    /// A web server, in the clear.
    Http,
    /// A web server.
    Https,
    /// Git's own server, in the clear and without passwords.
    Git,
}

/// Where a remote is.
#[derive(Clone)]
pub struct RemoteUrl {
    scheme: Scheme,
    /// Without user and password where they are for http.
    address: String,
    user: Option<String>,
    password: Option<Secret<String>>,
}

impl RemoteUrl {
    /// Reads an address.
    ///
    /// # Errors
    /// When git must not be asked for it; the text says why.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        let plain = |scheme| Self {
            scheme,
            address: text.to_owned(),
            user: None,
            password: None,
        };
        if text.is_empty() {
            return Err("there is no address");
        }
        if text.starts_with('-') {
            return Err("an address does not begin with `-`");
        }
        if text.contains(|c: char| c.is_control() || c == ' ') {
            return Err("an address has no spaces and no control characters");
        }
        if text.starts_with('/') {
            return Ok(plain(Scheme::File));
        }
        let Some((scheme, rest)) = text.split_once("://") else {
            return Self::scp(text).map(|()| plain(Scheme::Ssh));
        };
        let scheme = match scheme.to_ascii_lowercase().as_str() {
            "file" if rest.starts_with('/') => return Ok(plain(Scheme::File)),
            "file" => return Err("file:// is followed by an absolute path"),
            "ssh" | "git+ssh" | "ssh+git" => Scheme::Ssh,
            "http" => Scheme::Http,
            "https" => Scheme::Https,
            "git" => Scheme::Git,
            _ => {
                return Err("an address begins with file://, ssh://, https://, http:// or git://");
            }
        };
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let (login, host) = match authority.rsplit_once('@') {
            Some((login, host)) => (Some(login), host),
            None => (None, authority),
        };
        if host.is_empty() || host.starts_with('-') || login.is_some_and(|it| it.starts_with('-')) {
            return Err("the name of its host is missing or is an option");
        }
        if !matches!(scheme, Scheme::Http | Scheme::Https) {
            return Ok(plain(scheme));
        }
        let (user, password) = match login.map(|login| login.split_once(':').unwrap_or((login, "")))
        {
            Some((user, password)) => (decoded(user), decoded(password)),
            None => (None, None),
        };
        let name = if scheme == Scheme::Http {
            "http"
        } else {
            "https"
        };
        Ok(Self {
            scheme,
            address: format!("{name}://{host}/{path}"),
            user,
            password: password.map(Secret::new),
        })
    }

    /// Checks `user@host:path`.
    fn scp(text: &str) -> Result<(), &'static str> {
        const NONE: &str = "it is no address: use a path that begins with /, file://, ssh://, \
                            user@host:path, https://, http:// or git://";
        let (authority, path) = text.split_once(':').ok_or(NONE)?;
        let host = authority
            .rsplit_once('@')
            .map_or(authority, |(_, host)| host);
        // `ext::command` and its like run programs.
        let is_address = !path.starts_with(':')
            && !path.is_empty()
            && !host.is_empty()
            && !host.starts_with('-')
            && !authority.contains('/');
        if is_address { Ok(()) } else { Err(NONE) }
    }

    /// How it is reached.
    pub const fn scheme(&self) -> Scheme {
        self.scheme
    }

    /// The address without a password.
    pub fn address(&self) -> &str {
        &self.address
    }

    pub(crate) fn user(&self) -> Option<&str> {
        self.user.as_deref()
    }

    pub(crate) const fn password(&self) -> Option<&Secret<String>> {
        self.password.as_ref()
    }

    /// The directory, if it is one of this machine.
    pub(crate) fn directory(&self) -> Option<&str> {
        let path = self
            .address
            .strip_prefix("file://")
            .unwrap_or(&self.address);
        (self.scheme == Scheme::File).then_some(path)
    }
}

/// A text with `%XX` for some bytes; `None` if it is empty or is none.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let mut digit = || char::from(rest.next()?).to_digit(16);
        let (high, low) = (digit()?, digit()?);
        bytes.push(u8::try_from(high * 16 + low).ok()?);
    }
    let text = String::from_utf8(bytes).ok()?;
    (!text.is_empty() && !text.contains(char::is_control)).then_some(text)
}

impl fmt::Display for RemoteUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.address)
    }
}

impl fmt::Debug for RemoteUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.address, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_all_kinds_are_read() {
        for (text, scheme) in [
            ("/srv/states.git", Scheme::File),
            ("file:///srv/states.git", Scheme::File),
            ("git@host:states.git", Scheme::Ssh),
            ("ssh://git@host:2222/states.git", Scheme::Ssh),
            ("https://host/states.git", Scheme::Https),
            ("http://host:8080/states.git", Scheme::Http),
            ("git://host/states.git", Scheme::Git),
        ] {
            let url = RemoteUrl::parse(text).unwrap();
            assert_eq!(url.scheme(), scheme, "{text}");
            assert_eq!(url.to_string(), text);
        }
    }

    #[test]
    fn what_git_would_take_for_something_else_is_refused() {
        for text in [
            "",
            "--upload-pack=touch x",
            "--upload-pack=x",
            "ext::sh -c id",
            "ext::id",
            "fd::17",
            "-oProxyCommand=id@host:x",
            "ssh://-oProxyCommand=id/x",
            "ssh://-oProxyCommand=id@host/x",
            "user@-oProxyCommand=id:x",
            "file://host/x",
            "ftp://host/x",
            "states",
            "a\nb:c",
            "https:///x",
        ] {
            assert!(RemoteUrl::parse(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_password_in_an_address_is_not_shown() {
        let url = RemoteUrl::parse("https://us%40er:p%2Fw@host/x.git").unwrap();
        assert_eq!(url.to_string(), "https://host/x.git");
        assert_eq!(format!("{url:?}"), "\"https://host/x.git\"");
        assert_eq!(url.user(), Some("us@er"));
        assert_eq!(url.password().unwrap().expose(), "p/w");
    }
}
