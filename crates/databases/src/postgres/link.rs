//! Runs statements on a PostgreSQL server through `psql`.
//!
//! Invariant: a password is never on a command line: that of the connection is in
//! the environment of `psql`, that of a role in the statements on standard input.

use std::path::PathBuf;

use halite_call::host::{Program, Ran};
use halite_call::{Call, CallError, python};
use halite_proto::{Map, Value};

use super::csv;

/// Who asks which server, and as which user of the system.
pub(super) struct Link<'c, 'a> {
    call: &'c Call<'a>,
    user: Option<String>,
    host: Option<String>,
    port: Option<String>,
    database: String,
    password: Option<String>,
    runas: Option<String>,
}

/// Which arguments say it.
struct Names {
    user: &'static str,
    host: &'static str,
    port: &'static str,
    password: &'static str,
    runas: &'static str,
}

const USUAL: Names = Names {
    user: "user",
    host: "host",
    port: "port",
    password: "password",
    runas: "runas",
};

/// Those of the functions about schemas.
const OF_SCHEMAS: Names = Names {
    user: "db_user",
    host: "db_host",
    port: "db_port",
    password: "db_password",
    runas: "user",
};

/// A program of PostgreSQL's, from `postgres.bins_dir` if it is there.
pub(crate) fn program(call: &Call<'_>, name: &str) -> Result<Option<PathBuf>, CallError> {
    if let Some(directory) = option(call, "bins_dir")? {
        let found = call.host().which(&format!("{directory}/{name}"));
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(call.host().which(name))
}

fn option(call: &Call<'_>, name: &str) -> Result<Option<String>, CallError> {
    let name = Value::from(format!("postgres.{name}"));
    let value = call.salt("config.option", &[name], Map::new())?;
    Ok(value.is_true().then(|| python::str(&value)))
}

impl<'c, 'a> Link<'c, 'a> {
    /// As the arguments of most functions say.
    pub(super) fn from_call(call: &'c Call<'a>) -> Result<Self, CallError> {
        Self::named(call, &USUAL, "maintenance_db")
    }

    /// As the arguments of the functions about schemas say.
    pub(super) fn to_database_of_schema(call: &'c Call<'a>) -> Result<Self, CallError> {
        Self::named(call, &OF_SCHEMAS, "dbname")
    }

    fn named(call: &'c Call<'a>, names: &Names, database: &str) -> Result<Self, CallError> {
        let given = |name: &str| {
            let value = call.get(name).filter(|value| value.is_true());
            value.map(python::str)
        };
        let either = |name: &str, usual: &str| match given(name) {
            Some(value) => Ok(Some(value)),
            None => option(call, usual),
        };
        let host = either(names.host, "host")?;
        let is_local = host.as_ref().is_none_or(|host| host.starts_with('/'));
        let runas = given(names.runas).or_else(|| is_local.then(|| "postgres".to_owned()));
        let database = either(database, "maintenance_db")?;
        Ok(Self {
            call,
            user: either(names.user, "user")?,
            port: either(names.port, "port")?,
            database: database.unwrap_or_else(|| "postgres".to_owned()),
            password: either(names.password, "pass")?,
            host,
            runas,
        })
    }

    /// The same, to another database.
    pub(super) fn to(mut self, database: &str) -> Self {
        database.clone_into(&mut self.database);
        self
    }

    fn program(&self, more: &[&str]) -> Result<Program<'c, 'a>, CallError> {
        let psql = program(self.call, "psql")?;
        let psql = psql.ok_or_else(|| CallError::NotFound("psql was not found".to_owned()))?;
        let mut words = vec![psql.to_string_lossy().into_owned()];
        let fixed = [
            "--no-align",
            "--no-readline",
            "--no-psqlrc",
            "--no-password",
        ];
        words.extend(fixed.map(str::to_owned));
        for (option, value) in [
            ("--username", self.user.as_ref()),
            ("--host", self.host.as_ref()),
            ("--port", self.port.as_ref()),
            ("--dbname", Some(&self.database)),
        ] {
            if let Some(value) = value {
                words.extend([option.to_owned(), value.clone()]);
            }
        }
        words.extend(more.iter().map(|word| (*word).to_owned()));
        let mut program = Program::new(self.call, &words)
            .user(self.runas.as_deref())
            .option("reset_system_locale", false)
            .option("clean_env", true);
        if let Some(seconds) = option(self.call, "timeout")? {
            program = program.option("timeout", python::int(&seconds.into())?);
        }
        if let Some(password) = &self.password {
            program = program.env("PGPASSWORD", password.as_str());
        }
        Ok(program)
    }

    fn done(ran: Ran) -> Ran {
        if !ran.ok() {
            tracing::error!("Error connecting to Postgresql server: {}", ran.complaint());
        }
        ran
    }

    /// Carries out a command.
    pub(super) fn command(&self, sql: &str) -> Result<Ran, CallError> {
        Ok(Self::done(self.program(&["-c", sql])?.run()?))
    }

    /// Carries out commands that have secrets in them, all or none.
    pub(super) fn secret_commands(&self, sql: &str) -> Result<Ran, CallError> {
        let words = [
            "--quiet",
            "--single-transaction",
            "--set",
            "ON_ERROR_STOP=1",
        ];
        let program = self.program(&words)?.stdin(format!("{sql};\n"));
        Ok(Self::done(program.run()?))
    }

    /// What a command that begins with `-t` or the like writes.
    pub(super) fn plain(&self, sql: &str) -> Result<Ran, CallError> {
        Ok(Self::done(self.program(&["-c", sql, "-t"])?.run()?))
    }

    /// The rows of a query, none if it fails.
    pub(super) fn query(&self, sql: &str) -> Result<Vec<Map>, CallError> {
        let sql = sql.trim().trim_end_matches(';');
        self.copied(&format!("COPY ({sql}) TO STDOUT WITH CSV HEADER"))
    }

    /// The rows of a query that also changes something.
    pub(super) fn writing_query(&self, sql: &str) -> Result<Vec<Map>, CallError> {
        let sql = sql.trim().trim_end_matches(';');
        let mut rows = self.copied(&format!(
            "START TRANSACTION READ WRITE; COPY ({sql}) TO STDOUT WITH CSV HEADER; \
             COMMIT TRANSACTION;"
        ))?;
        // The last line tells of the transaction.
        rows.pop();
        Ok(rows)
    }

    fn copied(&self, sql: &str) -> Result<Vec<Map>, CallError> {
        let words = ["-v", "datestyle=ISO,MDY", "-c", sql];
        let ran = Self::done(self.program(&words)?.run()?);
        if !ran.ok() {
            return Ok(Vec::new());
        }
        let mut rows = csv::rows(&ran.stdout).into_iter();
        if sql.starts_with("START") && ran.stdout.starts_with("START TRANSACTION") {
            rows.next();
        }
        let Some(names) = rows.next() else {
            return Ok(Vec::new());
        };
        let rows = rows.map(|row| names.iter().cloned().zip(row).collect());
        Ok(rows.collect())
    }

    /// The version of the server as numbers; none if it does not answer.
    pub(super) fn version(&self) -> Result<Option<Vec<u32>>, CallError> {
        let said = self.plain(VERSION)?.stdout;
        let text = said.split_whitespace().next().unwrap_or_default();
        let parts: Vec<u32> = text
            .split('.')
            .map_while(|part| part.parse().ok())
            .collect();
        Ok((!parts.is_empty()).then_some(parts))
    }
}

/// The version of the server.
pub(super) const VERSION: &str =
    "SELECT setting FROM pg_catalog.pg_settings WHERE name = 'server_version'";

/// A name in SQL.
pub(super) fn name(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\"\""))
}

/// A text in SQL.
pub(super) fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// A field of a row as text.
pub(super) fn field(row: &Map, key: &str) -> String {
    row.get(key).map(python::str).unwrap_or_default()
}
