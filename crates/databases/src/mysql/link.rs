//! Runs statements on a MySQL or MariaDB server through its command line client.
//!
//! Invariant: no statement and no password is on a command line: statements go to
//! standard input, the password is in the environment of the client.

use std::fmt;

use halite_call::host::Program;
use halite_call::{Call, CallError, python};
use halite_proto::{Map, Value};

/// Why there is no answer. Salt's words: the number of the error and its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure(pub(crate) String);

impl fmt::Display for Failure {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(&self.0)
    }
}

impl From<CallError> for Failure {
    fn from(error: CallError) -> Self {
        Self(error.to_string())
    }
}

/// What comes of a question.
pub(crate) type Asked<T> = Result<T, Failure>;

/// A server and how it is reached.
pub(crate) struct Server<'c, 'a> {
    call: &'c Call<'a>,
    words: Vec<String>,
    password: Option<String>,
}

/// What a statement returned: names of columns, and rows of texts.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Table {
    pub(crate) columns: Vec<String>,
    pub(crate) rows: Vec<Vec<Option<String>>>,
}

impl Table {
    /// Each row by its columns.
    pub(crate) fn maps(self) -> Vec<Map> {
        let columns = self.columns;
        let rows = self.rows.into_iter().map(|row| {
            let row = row
                .into_iter()
                .map(|field| field.map_or(Value::Nil, Value::from));
            columns.iter().cloned().zip(row).collect()
        });
        rows.collect()
    }

    /// The texts of the first column.
    pub(crate) fn first(self) -> Vec<String> {
        let rows = self.rows.into_iter();
        rows.filter_map(|row| row.into_iter().next().flatten())
            .collect()
    }
}

/// The client, by either name.
pub(crate) fn client(call: &Call<'_>) -> Option<String> {
    let host = call.host();
    let mut names = ["mariadb", "mysql"].into_iter();
    let found = names.find_map(|name| host.which(name))?;
    Some(found.to_string_lossy().into_owned())
}

impl<'c, 'a> Server<'c, 'a> {
    /// As the arguments `connection_*` and the options `mysql.*` say.
    pub(crate) fn from_call(call: &'c Call<'a>) -> Asked<Self> {
        let missing = || Failure("neither mariadb nor mysql was found".to_owned());
        let mut words = vec![client(call).ok_or_else(missing)?];
        let setting = |name: &str| -> Asked<Option<String>> {
            let given = call
                .get(&format!("connection_{name}"))
                .filter(|value| value.is_true());
            if let Some(value) = given {
                return Ok(Some(python::str(value)));
            }
            let option = Value::from(format!("mysql.{name}"));
            let value = call.salt("config.option", &[option], Map::new())?;
            Ok(value.is_true().then(|| python::str(&value)))
        };
        words.push(match setting("default_file")? {
            Some(file) => format!("--defaults-file={file}"),
            None => "--no-defaults".to_owned(),
        });
        for (name, option) in [
            ("user", "user"),
            ("host", "host"),
            ("port", "port"),
            ("unix_socket", "socket"),
            ("charset", "default-character-set"),
            ("ssl_ca", "ssl-ca"),
            ("db", "database"),
        ] {
            if let Some(value) = setting(name)? {
                words.push(format!("--{option}={value}"));
            }
        }
        words.push("--batch".to_owned());
        let password = match setting("pass")? {
            None => setting("passwd")?,
            some => some,
        };
        Ok(Self {
            call,
            words,
            password,
        })
    }

    /// The same, as somebody else.
    pub(crate) fn for_user(mut self, user: &str, password: Option<&str>) -> Self {
        self.words.retain(|word| !word.starts_with("--user="));
        self.words.insert(2, format!("--user={user}"));
        self.password = password.map(str::to_owned);
        self
    }

    /// Carries out a statement in a database, or in none.
    pub(crate) fn ask_in(&self, database: Option<&str>, sql: &str) -> Asked<Table> {
        let mut words = self.words.clone();
        if let Some(database) = database {
            words.push(format!("--database={database}"));
        }
        let sql = sql.trim_end().trim_end_matches(';');
        let mut program = Program::new(self.call, &words)
            .stdin(format!("{sql};\n"))
            .may_fail();
        if let Some(password) = &self.password {
            program = program.env("MYSQL_PWD", password.as_str());
        }
        let ran = program.run()?;
        match ran.ok() {
            true => Ok(table(&ran.stdout)),
            false => {
                let failure = failure(ran.complaint());
                tracing::error!("{failure}");
                Err(failure)
            }
        }
    }

    /// Carries out a statement.
    pub(crate) fn ask(&self, sql: &str) -> Asked<Table> {
        self.ask_in(None, sql)
    }

    /// The version, as the server says it.
    pub(crate) fn version(&self) -> Asked<Version> {
        let text = self
            .ask("SELECT VERSION()")?
            .first()
            .pop()
            .unwrap_or_default();
        Ok(Version(text))
    }
}

/// The version of a server.
pub(crate) struct Version(pub(crate) String);

impl Version {
    pub(crate) fn is_mariadb(&self) -> bool {
        self.0.contains("MariaDB")
    }

    pub(crate) fn at_least(&self, least: &[u32]) -> bool {
        let text = self.0.strip_prefix("5.5.5-").unwrap_or(&self.0);
        let numbers = text.split(|letter: char| !letter.is_ascii_digit());
        let numbers: Vec<u32> = numbers.map_while(|part| part.parse().ok()).collect();
        numbers.as_slice() >= least
    }
}

/// `ERROR 1045 (28000) at line 1: text` in Salt's words.
fn failure(complaint: &str) -> Failure {
    let line = complaint
        .lines()
        .rev()
        .find(|line| line.starts_with("ERROR "));
    let parts = line.and_then(|line| line.strip_prefix("ERROR ")?.split_once(": "));
    let Some((head, text)) = parts else {
        return Failure(format!("MySQL Error: {complaint}"));
    };
    let code = head.split_whitespace().next().unwrap_or_default();
    Failure(format!("MySQL Error {code}: {text}"))
}

/// What the client writes with `--batch`.
fn table(text: &str) -> Table {
    let mut lines = text.lines().map(|line| line.split('\t'));
    let columns = lines.next().map(|names| names.map(unescaped).collect());
    let rows = lines.map(|fields| {
        let fields = fields.map(|field| (field != "NULL").then(|| unescaped(field)));
        fields.collect()
    });
    Table {
        columns: columns.unwrap_or_default(),
        rows: rows.collect(),
    }
}

fn unescaped(field: &str) -> String {
    let mut text = String::with_capacity(field.len());
    let mut letters = field.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => match letters.next() {
                Some('n') => text.push('\n'),
                Some('t') => text.push('\t'),
                Some('0') => text.push('\0'),
                other => text.extend(other),
            },
            letter => text.push(letter),
        }
    }
    text
}

/// A text in SQL.
pub(crate) fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "''"))
}

/// A name in SQL.
pub(crate) fn name(text: &str) -> String {
    format!("`{}`", text.replace('`', "``"))
}

/// A user of a host.
pub(crate) fn account(user: &str, host: &str) -> String {
    format!("{}@{}", literal(user), literal(host))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_and_complaints() {
        let read = table("a\tb c\n1\tNULL\nx\\ty\\\\\t\n");
        assert_eq!(read.columns, ["a", "b c"]);
        assert_eq!(read.rows[0], [Some("1".to_owned()), None]);
        assert_eq!(
            read.rows[1],
            [Some("x\ty\\".to_owned()), Some(String::new())]
        );
        assert_eq!(table(""), Table::default());
        for (complaint, text) in [
            (
                "ERROR 1045 (28000): Access denied for user 'a'@'localhost'",
                "MySQL Error 1045: Access denied for user 'a'@'localhost'",
            ),
            (
                "ERROR 1064 (42000) at line 1: You have an error",
                "MySQL Error 1064: You have an error",
            ),
            ("no such file", "MySQL Error: no such file"),
        ] {
            assert_eq!(failure(complaint).0, text);
        }
        assert_eq!(literal("o'\\"), "'o''\\\\'");
        let version = Version("5.5.5-10.11.14-MariaDB-0".to_owned());
        assert!(version.is_mariadb() && version.at_least(&[10, 4]) && !version.at_least(&[10, 12]));
    }
}
