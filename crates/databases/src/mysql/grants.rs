//! Privileges of users of MySQL and MariaDB.

use std::collections::BTreeSet;

use halite_call::{Call, CallResult, host, python};
use halite_proto::{Map, Value};

use super::link::{Asked, Failure, Server, Version, account, name};

/// One line of `SHOW GRANTS`, taken apart.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Grant {
    /// The privileges, those on columns as `SELECT.column`.
    privileges: Vec<String>,
    /// The same as they are written.
    written: String,
    database: String,
    user: String,
    host: String,
    may_grant: bool,
}

const ALL: &str = "ALL PRIVILEGES";

impl Grant {
    pub(crate) fn parse(line: &str) -> Option<Self> {
        let rest = line.trim().strip_prefix("GRANT ")?;
        let (privileges, rest) = rest.split_once(" ON ")?;
        let (database, rest) = rest.split_once(" TO ")?;
        let mut account = rest.split_whitespace().next()?.splitn(2, '@');
        let bare = |text: &str| text.trim_matches(['`', '\'', '"']).to_owned();
        Some(Self {
            privileges: privileges_of(privileges),
            written: privileges.to_owned(),
            database: database.to_owned(),
            user: bare(account.next()?),
            host: account.next().map(bare).unwrap_or_default(),
            may_grant: line.contains("WITH GRANT OPTION"),
        })
    }
}

/// A list of privileges, each column on its own.
fn privileges_of(text: &str) -> Vec<String> {
    let mut all = Vec::new();
    let mut depth = 0_u32;
    let mut part = String::new();
    let mut take = |part: &mut String| {
        let one = std::mem::take(part);
        let (privilege, columns) = match one.split_once('(') {
            Some((privilege, columns)) => (privilege, columns.trim_end().strip_suffix(')')),
            None => (one.as_str(), None),
        };
        let privilege = privilege.trim().to_uppercase();
        match columns {
            Some(columns) => all.extend(
                columns
                    .split(',')
                    .map(|column| format!("{privilege}.{}", column.trim().trim_matches('`'))),
            ),
            None if privilege.is_empty() => {}
            None if privilege == "ALL" => all.push(ALL.to_owned()),
            None => all.push(privilege),
        }
    };
    for letter in text.chars() {
        match letter {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                take(&mut part);
                continue;
            }
            _ => {}
        }
        part.push(letter);
    }
    take(&mut part);
    all
}

/// A grant as the arguments describe it.
pub(crate) struct RequestedGrant {
    pub(crate) grant: String,
    pub(crate) database: String,
    pub(crate) user: String,
    pub(crate) host: String,
    pub(crate) may_grant: bool,
    pub(crate) escape: bool,
    pub(crate) ssl: Value,
}

impl RequestedGrant {
    pub(crate) fn from_call(call: &Call<'_>) -> Self {
        let flag = |name: &str| call.get(name).is_some_and(host::is_true);
        Self {
            grant: call.text("grant"),
            database: call.text("database"),
            user: call.text("user"),
            host: call.text("host"),
            may_grant: flag("grant_option"),
            escape: flag("escape"),
            ssl: call.get("ssl_option").cloned().unwrap_or_default(),
        }
    }

    /// The privileges in SQL: words, and lists of columns.
    fn privileges(&self) -> Asked<String> {
        let sound = self.grant.chars().all(|letter| {
            letter.is_alphanumeric()
                || matches!(letter, ' ' | ',' | '_' | '(' | ')' | '`' | '-' | '$')
        });
        match sound && !self.grant.trim().is_empty() {
            true => Ok(self.grant.trim().to_owned()),
            false => Err(Failure(format!("Invalid grant : '{}'", self.grant))),
        }
    }

    /// The database and table in SQL. For a whole database its name
    /// is a pattern.
    fn place(&self) -> Asked<String> {
        let Some((database, table)) = self.database.rsplit_once('.') else {
            let text = format!("not a database and a table: '{}'", self.database);
            return Err(Failure(text));
        };
        if !self.escape {
            return Ok(self.database.clone());
        }
        let database = match (database, table) {
            ("*", _) => "*".to_owned(),
            (database, "*") => name(&database.replace('_', "\\_")),
            (database, _) => name(database),
        };
        let table = if table == "*" {
            "*".to_owned()
        } else {
            name(table)
        };
        Ok(format!("{database}.{table}"))
    }

    fn requirement(&self) -> Asked<String> {
        let Some(options) = self.ssl.as_list().filter(|options| !options.is_empty()) else {
            return Ok(String::new());
        };
        let mut wanted = Vec::new();
        for (key, value) in options.iter().filter_map(Value::as_map).flatten() {
            let key = python::str(key).trim().to_uppercase();
            match key.as_str() {
                "SSL" | "X509" if value.is_true() => wanted.push(key),
                "SSL" | "X509" => {}
                "SUBJECT" | "ISSUER" | "CIPHER" => {
                    let value = python::str(value);
                    wanted.push(format!("{key} {}", super::link::literal(&value)));
                }
                _ => return Err(Failure(format!("Invalid SSL option : '{key}'"))),
            }
        }
        Ok(match wanted.is_empty() {
            true => String::new(),
            false => format!(" REQUIRE {}", wanted.join(" AND ")),
        })
    }
}

/// The same name however it is quoted.
fn bare(place: &str) -> String {
    place
        .chars()
        .filter(|letter| !matches!(letter, '`' | '"' | '\\'))
        .collect()
}

/// Names that a server has for others.
fn resolved(privilege: &str, version: &Version) -> String {
    let newer = match privilege {
        _ if !version.is_mariadb() => None,
        "REPLICATION REPLICA" => Some(([10, 5, 1], "REPLICATION SLAVE")),
        "REPLICATION CLIENT" => Some(([10, 5, 2], "BINLOG MONITOR")),
        "REPLICA MONITOR" => Some(([10, 5, 9], "SLAVE MONITOR")),
        _ => None,
    };
    match newer {
        Some((since, name)) if version.at_least(&since) => name.to_owned(),
        _ => privilege.to_owned(),
    }
}

/// The lines of a user, without passwords; nothing if there is no such user.
pub(crate) fn lines(server: &Server<'_, '_>, user: &str, host: &str) -> Asked<Option<Vec<String>>> {
    if super::users::find(server, user, host)?.is_none() {
        tracing::info!("User '{user}'@'{host}' does not exist");
        return Ok(None);
    }
    let lines = server.ask(&format!("SHOW GRANTS FOR {}", account(user, host)))?;
    let lines = lines.first().into_iter().map(|line| {
        let kept = line.split(" IDENTIFIED BY").next().unwrap_or_default();
        match line.contains("WITH GRANT OPTION") && !kept.contains("WITH GRANT OPTION") {
            true => format!("{kept} WITH GRANT OPTION"),
            false => kept.to_owned(),
        }
    });
    Ok(Some(lines.collect()))
}

pub(crate) fn exists(server: &Server<'_, '_>, wanted: &RequestedGrant) -> Asked<bool> {
    let place = bare(&wanted.place()?);
    let Some(lines) = lines(server, &wanted.user, &wanted.host)? else {
        return Ok(false);
    };
    let version = server.version()?;
    let (mut have, mut may_grant) = (BTreeSet::new(), false);
    for grant in lines.iter().filter_map(|line| Grant::parse(line)) {
        if bare(&grant.database) == place {
            have.extend(grant.privileges.iter().map(|one| resolved(one, &version)));
            may_grant |= grant.may_grant;
        }
    }
    let asked = privileges_of(&wanted.privileges()?);
    let asked: BTreeSet<String> = asked.iter().map(|one| resolved(one, &version)).collect();
    let has_all = have.contains(ALL) || (place == "*.*" && is_all(server, &version, &have)?);
    let fits = match asked.contains(ALL) {
        true => has_all,
        false => has_all || asked.is_subset(&have),
    };
    Ok(fits && (may_grant || !wanted.may_grant))
}

/// Newer servers name all privileges one by one.
fn is_all(server: &Server<'_, '_>, version: &Version, have: &BTreeSet<String>) -> Asked<bool> {
    if version.is_mariadb() || !version.at_least(&[8]) || have.is_empty() {
        return Ok(false);
    }
    let all = server.ask("SHOW PRIVILEGES")?.first();
    let mut all = all.iter().map(|name| name.trim().to_uppercase());
    Ok(all.all(|name| {
        ["USAGE", "GRANT OPTION", "PROXY"].contains(&name.as_str()) || have.contains(&name)
    }))
}

pub(crate) fn add(server: &Server<'_, '_>, wanted: &RequestedGrant) -> Asked<bool> {
    let option = if wanted.may_grant {
        " WITH GRANT OPTION"
    } else {
        ""
    };
    let sql = format!(
        "GRANT {} ON {} TO {}{}{option}",
        wanted.privileges()?,
        wanted.place()?,
        account(&wanted.user, &wanted.host),
        wanted.requirement()?,
    );
    server.ask(&sql)?;
    exists(server, wanted)
}

pub(crate) fn revoke(server: &Server<'_, '_>, wanted: &RequestedGrant) -> Asked<bool> {
    let option = if wanted.may_grant {
        ", GRANT OPTION"
    } else {
        ""
    };
    let sql = format!(
        "REVOKE {}{option} ON {} FROM {}",
        wanted.privileges()?,
        wanted.place()?,
        account(&wanted.user, &wanted.host),
    );
    server.ask(&sql)?;
    Ok(!exists(server, wanted)?)
}

/// Takes everything on the wanted place from the user.
pub(crate) fn revoke_all(server: &Server<'_, '_>, wanted: &RequestedGrant) -> Asked<()> {
    let place = wanted.place()?;
    let lines = lines(server, &wanted.user, &wanted.host)?.unwrap_or_default();
    for grant in lines.iter().filter_map(|line| Grant::parse(line)) {
        if bare(&grant.database) == bare(&place) {
            let account = account(&wanted.user, &wanted.host);
            let privileges = &grant.written;
            server.ask(&format!("REVOKE {privileges} ON {place} FROM {account}"))?;
        }
    }
    Ok(())
}

// --- the functions -----------------------------------------------------------

fn shown(asked: Asked<bool>) -> CallResult {
    Ok(asked
        .unwrap_or_else(|failure| {
            tracing::error!("{failure}");
            false
        })
        .into())
}

pub(super) fn user_grants(call: &Call<'_>) -> CallResult {
    let (user, host) = (call.text("user"), call.text("host"));
    let found = Server::from_call(call).and_then(|server| lines(&server, &user, &host));
    Ok(match found {
        Ok(Some(lines)) => lines
            .into_iter()
            .map(Value::from)
            .collect::<Vec<_>>()
            .into(),
        Ok(None) | Err(_) => false.into(),
    })
}

pub(super) fn grant_exists(call: &Call<'_>) -> CallResult {
    shown(
        Server::from_call(call)
            .and_then(|server| exists(&server, &RequestedGrant::from_call(call))),
    )
}

pub(super) fn grant_add(call: &Call<'_>) -> CallResult {
    shown(Server::from_call(call).and_then(|server| add(&server, &RequestedGrant::from_call(call))))
}

pub(super) fn grant_revoke(call: &Call<'_>) -> CallResult {
    shown(
        Server::from_call(call)
            .and_then(|server| revoke(&server, &RequestedGrant::from_call(call))),
    )
}

pub(super) fn tokenize_grant(call: &Call<'_>) -> CallResult {
    let grant = Grant::parse(&call.text("grant")).unwrap_or_default();
    let privileges: Vec<Value> = grant.privileges.into_iter().map(Value::from).collect();
    let shown = Map::from([
        ("user", Value::from(grant.user)),
        ("host", grant.host.into()),
        ("grant", privileges.into()),
        ("database", grant.database.into()),
    ]);
    Ok(shown.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(grant: &str, database: &str) -> RequestedGrant {
        RequestedGrant {
            grant: grant.to_owned(),
            database: database.to_owned(),
            user: "ann".to_owned(),
            host: "%".to_owned(),
            may_grant: false,
            escape: true,
            ssl: Value::Nil,
        }
    }

    #[test]
    fn lines_are_taken_apart() {
        let line = "GRANT SELECT (`a`, `b`), INSERT ON `my\\_db`.* TO `ann`@`%` WITH GRANT OPTION";
        let grant = Grant::parse(line).unwrap();
        assert_eq!(grant.privileges, ["SELECT.a", "SELECT.b", "INSERT"]);
        assert_eq!(bare(&grant.database), "my_db.*");
        assert_eq!((grant.user.as_str(), grant.host.as_str()), ("ann", "%"));
        assert!(grant.may_grant);
        assert_eq!(privileges_of("all"), [ALL]);
        assert!(Grant::parse("SELECT 1").is_none());
    }

    #[test]
    fn places_and_privileges_in_sql() {
        for (database, place) in [
            ("*.*", "*.*"),
            ("my_db.*", "`my\\_db`.*"),
            ("my_db.t`x", "`my_db`.`t``x`"),
        ] {
            assert_eq!(wanted("SELECT", database).place().unwrap(), place);
        }
        assert!(wanted("SELECT", "db").place().is_err());
        assert!(wanted("SELECT; DROP", "a.*").privileges().is_err());
        let mut with_ssl = wanted("SELECT", "a.*");
        with_ssl.ssl = Value::List(vec![
            Map::from([("SSL", true)]).into(),
            Map::from([("SUBJECT", "/CN=o'x")]).into(),
        ]);
        assert_eq!(
            with_ssl.requirement().unwrap(),
            " REQUIRE SSL AND SUBJECT '/CN=o''x'"
        );
    }
}
