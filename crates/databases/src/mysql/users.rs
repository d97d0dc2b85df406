//! Users of MySQL and MariaDB.

use halite_call::{Call, CallResult, python};
use halite_crypto::{HashType, hash_hex};
use halite_proto::{Map, Value};

use super::link::{Asked, Failure, Server, account, literal};

const NATIVE: &str = "mysql_native_password";

/// What a user is to log in with.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Login {
    pub(crate) password: Option<String>,
    pub(crate) hash: Option<String>,
    /// Nothing at all.
    pub(crate) passwordless: bool,
    /// The user of the system.
    pub(crate) socket: bool,
    /// How the server checks.
    pub(crate) plugin: Option<String>,
    /// Where the hash is, if not in the usual place.
    pub(crate) column: Option<String>,
}

impl Login {
    pub(crate) fn from_call(call: &Call<'_>, passwordless: &str) -> Self {
        let text = |name: &str| {
            let value = call.get(name).filter(|value| value.is_true());
            value.map(python::str)
        };
        let flag = |name: &str| call.get(name).is_some_and(halite_call::host::is_true);
        Self {
            password: text("password"),
            hash: text("password_hash"),
            passwordless: flag(passwordless),
            socket: flag("unix_socket"),
            plugin: text("auth_plugin"),
            column: text("password_column"),
        }
    }

    pub(crate) fn has_password(&self) -> bool {
        self.password.is_some() || self.hash.is_some()
    }

    /// The clause of `CREATE USER` and `ALTER USER`.
    fn clause(&self, is_mariadb: bool) -> String {
        let plugin = self.plugin.as_deref().unwrap_or(NATIVE);
        match (&self.password, &self.hash, is_mariadb) {
            (Some(password), _, true) if plugin == NATIVE => {
                format!(" IDENTIFIED BY {}", literal(password))
            }
            (Some(password), _, true) => {
                format!(
                    " IDENTIFIED VIA {} USING PASSWORD({})",
                    word(plugin),
                    literal(password)
                )
            }
            (Some(password), _, false) => {
                format!(
                    " IDENTIFIED WITH {} BY {}",
                    literal(plugin),
                    literal(password)
                )
            }
            (None, Some(hash), true) => format!(" IDENTIFIED BY PASSWORD {}", literal(hash)),
            (None, Some(hash), false) => {
                format!(" IDENTIFIED WITH {} AS {}", literal(plugin), literal(hash))
            }
            (None, None, true) if self.socket => " IDENTIFIED VIA unix_socket".to_owned(),
            (None, None, false) if self.socket => " IDENTIFIED WITH auth_socket".to_owned(),
            (None, None, _) => " IDENTIFIED BY ''".to_owned(),
        }
    }
}

/// Only what a word may have.
fn word(text: &str) -> String {
    text.chars()
        .filter(|letter| letter.is_alphanumeric() || *letter == '_')
        .collect()
}

/// What `PASSWORD()` gives.
fn native(password: &str) -> String {
    let inner = hash_hex(HashType::Sha1, password.as_bytes());
    let digits: Vec<char> = inner.chars().collect();
    let bytes: Vec<u8> = digits
        .chunks(2)
        .filter_map(|pair| u8::from_str_radix(&pair.iter().collect::<String>(), 16).ok())
        .collect();
    format!("*{}", hash_hex(HashType::Sha1, &bytes).to_uppercase())
}

/// What is known of a user.
pub(crate) fn find(server: &Server<'_, '_>, user: &str, host: &str) -> Asked<Option<Map>> {
    let sql = format!(
        "SELECT * FROM mysql.user WHERE User = {} AND Host = {}",
        literal(user),
        literal(host)
    );
    Ok(server.ask(&sql)?.maps().pop())
}

/// Whether there is such a user, who logs in so if anything is said of that.
pub(crate) fn exists(
    server: &Server<'_, '_>,
    user: &str,
    host: &str,
    login: &Login,
) -> Asked<bool> {
    let Some(row) = find(server, user, host)? else {
        return Ok(false);
    };
    Ok(fits(&row, login))
}

fn fits(row: &Map, login: &Login) -> bool {
    let text = |name: &str| {
        row.get(name)
            .filter(|value| value.is_true())
            .map(python::str)
    };
    let plugin = text("plugin").unwrap_or_default();
    let kept = match &login.column {
        Some(column) => text(column),
        None => text("authentication_string").or_else(|| text("Password")),
    };
    let kept = kept.unwrap_or_default();
    let is_native = plugin.is_empty() || plugin == NATIVE;
    match (&login.password, &login.hash) {
        (Some(password), _) => !is_native || kept == native(password),
        (None, Some(hash)) => kept.eq_ignore_ascii_case(hash),
        (None, None) if login.passwordless && login.socket => {
            plugin == "unix_socket" || plugin == "auth_socket"
        }
        (None, None) if login.passwordless => kept.is_empty() && is_native,
        (None, None) => true,
    }
}

const NO_PASSWORD: &str =
    "password or password_hash must be specified, unless allow_passwordless=True";

pub(crate) fn create(
    server: &Server<'_, '_>,
    user: &str,
    host: &str,
    login: &Login,
) -> Asked<bool> {
    if find(server, user, host)?.is_some() {
        tracing::info!("User '{user}'@'{host}' already exists");
        return Ok(false);
    }
    if !login.has_password() && !login.passwordless && !login.socket {
        return Err(Failure(NO_PASSWORD.to_owned()));
    }
    let clause = login.clause(server.version()?.is_mariadb());
    server.ask(&format!("CREATE USER {}{clause}", account(user, host)))?;
    Ok(find(server, user, host)?.is_some())
}

pub(crate) fn change_password(
    server: &Server<'_, '_>,
    user: &str,
    host: &str,
    login: &Login,
) -> Asked<bool> {
    if !login.has_password() && !login.passwordless && !login.socket {
        return Err(Failure(NO_PASSWORD.to_owned()));
    }
    if find(server, user, host)?.is_none() {
        return Ok(false);
    }
    let version = server.version()?;
    let is_mariadb = version.is_mariadb();
    let knows = if is_mariadb { [10, 2] } else { [5, 7] };
    let account = account(user, host);
    let sql = match (version.at_least(&knows), &login.password, &login.hash) {
        (true, _, _) => format!("ALTER USER {account}{}", login.clause(is_mariadb)),
        (false, Some(password), _) => {
            format!(
                "SET PASSWORD FOR {account} = PASSWORD({})",
                literal(password)
            )
        }
        (false, None, hash) => {
            let hash = hash.as_deref().unwrap_or_default();
            format!("SET PASSWORD FOR {account} = {}", literal(hash))
        }
    };
    server.ask(&sql)?;
    Ok(true)
}

pub(crate) fn remove(server: &Server<'_, '_>, user: &str, host: &str) -> Asked<bool> {
    server.ask(&format!("DROP USER {}", account(user, host)))?;
    Ok(find(server, user, host)?.is_none())
}

// --- the functions -----------------------------------------------------------

/// What cannot be found out is said in the log, and false.
fn shown(asked: Asked<Value>) -> CallResult {
    Ok(asked.unwrap_or_else(|failure| {
        tracing::error!("{failure}");
        false.into()
    }))
}

fn who(call: &Call<'_>) -> (String, String) {
    (call.text("user"), call.text("host"))
}

pub(super) fn user_list(call: &Call<'_>) -> CallResult {
    let listed = Server::from_call(call).and_then(|server| {
        let users = server.ask("SELECT User, Host FROM mysql.user")?.maps();
        Ok(users
            .into_iter()
            .map(Value::from)
            .collect::<Vec<_>>()
            .into())
    });
    Ok(listed.unwrap_or_else(|_| Value::List(Vec::new())))
}

pub(super) fn user_info(call: &Call<'_>) -> CallResult {
    let (user, host) = who(call);
    shown(Server::from_call(call).and_then(|server| {
        let found = find(&server, &user, &host)?;
        Ok(found.map_or(Value::Nil, Value::from))
    }))
}

pub(super) fn user_exists(call: &Call<'_>) -> CallResult {
    let ((user, host), login) = (who(call), Login::from_call(call, "passwordless"));
    shown(
        Server::from_call(call)
            .and_then(|server| Ok(exists(&server, &user, &host, &login)?.into())),
    )
}

pub(super) fn user_create(call: &Call<'_>) -> CallResult {
    let ((user, host), login) = (who(call), Login::from_call(call, "allow_passwordless"));
    shown(
        Server::from_call(call)
            .and_then(|server| Ok(create(&server, &user, &host, &login)?.into())),
    )
}

pub(super) fn user_chpass(call: &Call<'_>) -> CallResult {
    let ((user, host), login) = (who(call), Login::from_call(call, "allow_passwordless"));
    let change = |server: Server<'_, '_>| change_password(&server, &user, &host, &login);
    shown(Server::from_call(call).and_then(change).map(Value::from))
}

pub(super) fn user_remove(call: &Call<'_>) -> CallResult {
    let (user, host) = who(call);
    shown(Server::from_call(call).and_then(|server| Ok(remove(&server, &user, &host)?.into())))
}

pub(super) fn verify_login(call: &Call<'_>) -> CallResult {
    let password = call.text_opt("password");
    shown(Server::from_call(call).map(|server| {
        let server = server.for_user(&call.text("user"), password.as_deref());
        server.ask("SELECT 1").is_ok().into()
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_logs_in_how() {
        // What the server gives for PASSWORD('secret').
        let hash = "*14E65567ABDB5135D0CFD9A70B3032C179A49EE7";
        assert_eq!(native("secret"), hash);
        let row = |plugin: &str, kept: &str| {
            Map::from([
                ("plugin", plugin),
                ("authentication_string", kept),
                ("Password", ""),
            ])
        };
        let login = |password: &str| Login {
            password: Some(password.to_owned()),
            ..Login::default()
        };
        assert!(fits(&row(NATIVE, hash), &login("secret")));
        assert!(!fits(&row("", hash), &login("other")));
        assert!(fits(&row("caching_sha2_password", "x"), &login("other")));
        let none = Login {
            passwordless: true,
            ..Login::default()
        };
        assert!(fits(&row(NATIVE, ""), &none) && !fits(&row(NATIVE, hash), &none));
        let socket = Login {
            socket: true,
            ..none
        };
        assert!(fits(&row("unix_socket", ""), &socket) && !fits(&row(NATIVE, ""), &socket));
        assert_eq!(login("o'x").clause(true), " IDENTIFIED BY 'o''x'");
    }
}
