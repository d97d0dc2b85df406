//! MySQL and MariaDB.

use std::sync::Arc;
use std::time::Instant;

use mysql_async::prelude::{FromRow, Queryable, StatementLike};
use mysql_async::{Conn, DriverError, Error, Opts, OptsBuilder, Params, Row, SslOpts};

use crate::address::{Address, Tls};
use crate::answer::Counted;
use crate::error::Failure;
use crate::limits::{ANSWER_BYTES_MAX, REST_MAX};
use crate::open::OpenServers;
use crate::server::{Driver, Server};

pub use mysql_async::Value as MysqlValue;

/// Speaks to a MySQL.
#[derive(Debug)]
pub struct MysqlDriver;

/// A MySQL.
pub type MysqlServer = Server<MysqlDriver>;

/// A connection to a MySQL.
pub struct MysqlConnection {
    conn: Conn,
    used: Instant,
    /// Most bytes of one value: to more the server hangs up.
    value_bytes_max: usize,
    /// An answer was not read to its end.
    is_spent: bool,
}

/// The MySQL of an address.
pub fn mysql_server(address: &Address) -> Arc<MysqlServer> {
    static OPEN: OpenServers<MysqlDriver> = OpenServers::new();
    OPEN.open(address, || MysqlDriver)
}

impl Driver for MysqlDriver {
    type Connection = MysqlConnection;

    async fn connect(&self, address: &Address) -> Result<MysqlConnection, Failure> {
        let mut conn = Conn::new(opts(address, None)?).await?;
        let max: Option<Row> = conn.query_first("select @@max_allowed_packet").await?;
        let max = max.map(mysql_async::from_row_opt::<usize>).transpose();
        let max = max.map_err(|_| Failure::Answer("its largest packet is no number".to_owned()))?;
        let mut max = max.unwrap_or(usize::MAX);
        if max > ANSWER_BYTES_MAX {
            // The driver would read a row of that size.
            max = ANSWER_BYTES_MAX;
            conn = Conn::new(opts(address, Some(max))?).await?;
        }
        Ok(MysqlConnection {
            conn,
            used: Instant::now(),
            value_bytes_max: max,
            is_spent: false,
        })
    }

    /// The driver does not say; a server closes those that rest for long.
    fn is_open(&self, connection: &MysqlConnection) -> bool {
        !connection.is_spent && connection.used.elapsed() < REST_MAX
    }
}

impl MysqlConnection {
    /// The rows of a statement.
    ///
    /// # Errors
    /// When the server does not answer, refuses, or has more to say than is read.
    pub async fn rows<T: FromRow + Send + 'static>(
        &mut self,
        statement: impl StatementLike,
        arguments: Vec<MysqlValue>,
    ) -> Result<Vec<T>, Failure> {
        self.used = Instant::now();
        let arguments = self.params(arguments)?;
        let mut found = self.conn.exec_iter(statement, arguments).await?;
        let (mut rows, mut counted) = (Vec::new(), Counted::default());
        while let Some(row) = found.next().await? {
            if let Err(too_much) = counted.add(bytes_of(&row)) {
                self.is_spent = true;
                return Err(too_much);
            }
            rows.push(row);
        }
        found.drop_result().await?;
        let wrong = || Failure::Answer("a row has other columns than were asked for".to_owned());
        rows.into_iter()
            .map(|row| mysql_async::from_row_opt(row).map_err(|_| wrong()))
            .collect()
    }

    /// The first row of a statement, if it has one.
    ///
    /// # Errors
    /// When the server does not answer, or refuses.
    pub async fn row<T: FromRow + Send + 'static>(
        &mut self,
        statement: impl StatementLike,
        arguments: Vec<MysqlValue>,
    ) -> Result<Option<T>, Failure> {
        Ok(self.rows(statement, arguments).await?.into_iter().next())
    }

    /// How many rows a statement has met.
    ///
    /// # Errors
    /// When the server does not answer, or refuses.
    pub async fn execute(
        &mut self,
        statement: impl StatementLike,
        arguments: Vec<MysqlValue>,
    ) -> Result<u64, Failure> {
        self.used = Instant::now();
        let arguments = self.params(arguments)?;
        self.conn.exec_drop(statement, arguments).await?;
        Ok(self.conn.affected_rows())
    }

    /// Runs one statement without arguments, which is not prepared.
    ///
    /// # Errors
    /// When the server does not answer, or refuses.
    pub async fn run(&mut self, statement: &str) -> Result<(), Failure> {
        self.used = Instant::now();
        Ok(self.conn.query_drop(statement).await?)
    }

    /// Does several things as one transaction, or none of them.
    ///
    /// # Errors
    /// When one of them fails.
    pub async fn together<T>(
        &mut self,
        all: impl AsyncFnOnce(&mut Self) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        self.run("start transaction").await?;
        let done = all(self).await;
        match &done {
            Ok(_) => self.run("commit").await?,
            // A broken connection is dropped, and the server undoes it.
            Err(failure) if failure.breaks() => {}
            Err(_) => self.run("rollback").await?,
        }
        done
    }

    /// Refuses what the server would hang up on.
    fn params(&self, arguments: Vec<MysqlValue>) -> Result<Params, Failure> {
        let is_large = |value: &MysqlValue| match value {
            MysqlValue::Bytes(bytes) => bytes.len() > self.value_bytes_max,
            _ => false,
        };
        match (arguments.is_empty(), arguments.iter().any(is_large)) {
            (true, _) => Ok(Params::Empty),
            (false, false) => Ok(Params::Positional(arguments)),
            (false, true) => Err(too_large()),
        }
    }
}

/// The texts and bytes of a row.
fn bytes_of(row: &Row) -> usize {
    let length = |column| match row.as_ref(column) {
        Some(MysqlValue::Bytes(bytes)) => bytes.len(),
        _ => 0,
    };
    (0..row.len()).map(length).sum()
}

fn too_large() -> Failure {
    Failure::Refused("what is to be stored is larger than its max_allowed_packet".to_owned())
}

fn opts(address: &Address, packet_bytes_max: Option<usize>) -> Result<Opts, Failure> {
    let mut opts = OptsBuilder::default()
        .ip_or_hostname(address.host.clone())
        .tcp_port(address.port)
        .user(address.user.clone())
        .pass(address.password.as_ref().map(|it| it.expose().clone()))
        .db_name(address.database.clone())
        .prefer_socket(false)
        .max_allowed_packet(packet_bytes_max)
        .client_found_rows(true);
    if let Some(socket) = &address.socket {
        opts = opts.socket(Some(socket.display().to_string()));
    }
    if let Some(tls) = &address.tls {
        opts = opts.ssl_opts(ssl(tls)?);
    }
    Ok(opts.into())
}

fn ssl(tls: &Tls) -> Result<SslOpts, Failure> {
    if tls.certificate.is_some() || tls.key.is_some() {
        return Err(Failure::Refused(
            "cannot be shown a certificate of ours: sign in with a password".to_owned(),
        ));
    }
    let mut ssl = SslOpts::default()
        .with_danger_accept_invalid_certs(tls.is_unverified)
        .with_danger_skip_domain_validation(tls.is_unverified);
    if let Some(ca) = &tls.ca {
        ssl = ssl
            .with_root_certs(vec![ca.clone().into()])
            .with_disable_built_in_roots(true);
    }
    Ok(ssl)
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error {
            // 1049: no such database, 1054: no such column, 1146: no such table, 1406: a
            // column is too narrow.
            Error::Server(said) if matches!(said.code, 1049 | 1054 | 1146 | 1406) => {
                Self::OtherTables(said.to_string())
            }
            // 1040: too many connections, 1053: it is shutting down.
            Error::Server(said) if !matches!(said.code, 1040 | 1053) => {
                Self::Refused(said.to_string())
            }
            // The same would fail again on any connection.
            Error::Driver(DriverError::PacketTooLarge) => too_large(),
            other => Self::broken(other),
        }
    }
}
