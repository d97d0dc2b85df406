//! Logging in by name and password instead of by a key file, and the token of an
//! earlier login.
//!
//! Invariant: a password comes from the terminal or from its option, and goes only
//! to the master; a token file is readable by its user only.

use std::io::{self, BufRead, IsTerminal};
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use halite_crypto::files::{MODE_SECRET, WriteOptions, read_limited, write_atomic};
use halite_proto::clear::{Credentials, TokenRequest};
use halite_proto::{Map, Value};
use nix::sys::termios::{LocalFlags, SetArg, tcgetattr, tcsetattr};

use crate::environment::Environment;
use crate::options::EauthOptions;
use crate::{Exit, Screen};
use halite_client::{ClientError, LocalClient};

/// The ways to log in that a Salt master may know.
const KNOWN: [&str; 6] = ["auto", "file", "ldap", "pam", "rest", "sharedsecret"];

/// How long a token is good for where the configuration does not say.
const TOKEN_EXPIRE_S: u64 = 43_200;

/// A token file larger than this is none.
const TOKEN_BYTES_MAX: u64 = 4096;

/// Why nobody is logged in.
#[derive(Debug)]
pub enum LoginError {
    /// It was said already why.
    Failed,
    /// The master could not be asked.
    Client(ClientError),
}

/// What there is to log in with.
pub struct Login<'a> {
    /// The way (`--auth`).
    pub eauth: Option<&'a str>,
    /// The other options.
    pub options: &'a EauthOptions,
    /// The configuration.
    pub opts: &'a Map,
    /// The environment.
    pub environment: &'a Environment,
}

impl Login<'_> {
    /// The proofs to show instead of the key; `None` where the key is to be
    /// shown.
    ///
    /// # Errors
    /// When there is no such way to log in, or no name or password can be had.
    pub async fn credentials(
        &self,
        client: &LocalClient,
        screen: &mut Screen<'_>,
    ) -> Result<Option<Credentials>, LoginError> {
        let with_token = |token| Credentials {
            token: Some(token),
            ..Credentials::default()
        };
        let Some(eauth) = self.eauth else {
            // Who can read the key needs no token.
            let token = (!client.has_key()).then(|| self.saved_token()).flatten();
            return Ok(token.map(with_token));
        };
        let is_named = self.options.username.is_some() || self.options.password.is_some();
        if !is_named && let Some(token) = self.saved_token() {
            return Ok(Some(with_token(token)));
        }
        // Those in Python are known by what the master lets in.
        let configured = self.opts.get("external_auth").and_then(Value::as_map);
        let configured = configured.into_iter().flat_map(Map::keys);
        let mut known: Vec<&str> = configured.filter_map(Value::as_str).chain(KNOWN).collect();
        if !known.contains(&eauth) {
            known.sort_unstable();
            known.dedup();
            screen.line(&format!(
                "The specified external authentication system \"{eauth}\" is not available\n\
                 Available eauth types: {}",
                known.join(", ")
            ));
            return Err(LoginError::Failed);
        }
        let credentials = self.asked(eauth, client, screen).map_err(|error| {
            screen.error_line(&format!("no name or password: {error}"));
            LoginError::Failed
        })?;
        if !self.options.make_token {
            return Ok(Some(credentials));
        }
        let token = self.make_token(credentials.clone(), client).await?;
        Ok(Some(token.map_or(credentials, with_token)))
    }

    fn asked(
        &self,
        eauth: &str,
        client: &LocalClient,
        screen: &mut Screen<'_>,
    ) -> io::Result<Credentials> {
        let username = match &self.options.username {
            Some(username) => username.clone(),
            None => prompt(screen, "username: ", true)?,
        };
        let password = match &self.options.password {
            Some(password) => password.clone(),
            None => prompt(screen, "password: ", false)?,
        };
        let username = if username.is_empty() {
            client.caller_name().to_owned()
        } else {
            username
        };
        Ok(Credentials {
            eauth: Some(eauth.to_owned()),
            username: Some(username),
            password: Some(password),
            ..Credentials::default()
        })
    }

    async fn make_token(
        &self,
        credentials: Credentials,
        client: &LocalClient,
    ) -> Result<Option<String>, LoginError> {
        let request = TokenRequest {
            credentials,
            token_expire: None,
            fields: Map::new(),
        };
        let answer = client
            .ask_token(&request)
            .await
            .map_err(LoginError::Client)?;
        let token = answer.get("token").and_then(Value::as_str);
        let Some(token) = token.filter(|token| !token.is_empty()) else {
            return Ok(None);
        };
        if let Some(path) = self.token_file() {
            let written = write_atomic(&path, WriteOptions::new(MODE_SECRET), token.as_bytes());
            if let Err(error) = written {
                tracing::warn!("the token was not saved: {}", crate::chain(&error));
            }
        }
        Ok(Some(token.to_owned()))
    }

    /// The token of an earlier login, unless it is too old.
    fn saved_token(&self) -> Option<String> {
        let path = self.token_file()?;
        let made = std::fs::metadata(&path)
            .and_then(|meta| meta.modified())
            .ok()?;
        let expire = self.opts.get("token_expire").and_then(Value::as_i64);
        let expire = expire.and_then(|seconds| u64::try_from(seconds).ok());
        let age = SystemTime::now().duration_since(made).unwrap_or_default();
        if age >= Duration::from_secs(expire.unwrap_or(TOKEN_EXPIRE_S)) {
            return None;
        }
        let bytes = read_limited(&path, TOKEN_BYTES_MAX).ok()?;
        let token = String::from_utf8(bytes).ok()?.trim().to_owned();
        (!token.is_empty()).then_some(token)
    }

    fn token_file(&self) -> Option<PathBuf> {
        let home = self.environment.home.as_ref()?;
        let option = self.opts.get("token_file").and_then(Value::as_str);
        if let Some(path) = option.filter(|path| !path.is_empty()) {
            return Some(match path.strip_prefix("~/") {
                Some(rest) => home.join(rest),
                None => PathBuf::from(path),
            });
        }
        let config = home.join(".config/salt");
        let dir = if config.is_dir() {
            config
        } else {
            home.clone()
        };
        Some(dir.join("salt_token"))
    }
}

/// Says that nobody is logged in, as `salt` does.
pub fn show_failed(screen: &mut Screen<'_>) -> Exit {
    screen.error_line("ERROR: Authentication failed");
    Exit::NoReturn
}

/// Asks for a line; what is typed is shown only with `echo`.
pub(crate) fn prompt(screen: &mut Screen<'_>, text: &str, echo: bool) -> io::Result<String> {
    screen.error_text(text);
    let stdin = io::stdin();
    let hidden = (!echo && stdin.is_terminal()).then(Hidden::begin).flatten();
    let mut line = String::new();
    let read = stdin.lock().read_line(&mut line);
    if hidden.is_some() {
        drop(hidden);
        screen.error_text("\n");
    }
    if read? == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(line.trim_end_matches(['\r', '\n']).to_owned())
}

/// The terminal does not show what is typed while this lives.
struct Hidden(nix::sys::termios::Termios);

impl Hidden {
    fn begin() -> Option<Self> {
        let stdin = io::stdin();
        let before = tcgetattr(&stdin).ok()?;
        let mut silent = before.clone();
        silent.local_flags.remove(LocalFlags::ECHO);
        tcsetattr(&stdin, SetArg::TCSAFLUSH, &silent).ok()?;
        Some(Self(before))
    }
}

impl Drop for Hidden {
    fn drop(&mut self) {
        let _ = tcsetattr(io::stdin(), SetArg::TCSAFLUSH, &self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_saved_token_is_used_until_it_is_too_old() {
        let home = tempfile::tempdir().unwrap();
        let environment = Environment {
            home: Some(home.path().to_owned()),
            ..Environment::default()
        };
        let options = EauthOptions::default();
        let token = |opts: &Map| {
            let login = Login {
                eauth: None,
                options: &options,
                opts,
                environment: &environment,
            };
            login.saved_token()
        };
        assert_eq!(token(&Map::new()), None);
        std::fs::write(home.path().join("salt_token"), "abc\n").unwrap();
        assert_eq!(token(&Map::new()).as_deref(), Some("abc"));
        assert_eq!(token(&Map::from([("token_expire", 0)])), None);
        let named = home.path().join("other");
        std::fs::write(&named, "def").unwrap();
        let opts = Map::from([("token_file", "~/other")]);
        assert_eq!(token(&opts).as_deref(), Some("def"));
    }
}
