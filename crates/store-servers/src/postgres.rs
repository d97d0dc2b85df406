//! PostgreSQL.

mod failure;
mod schema;

use std::collections::HashMap;
use std::pin::pin;
use std::sync::Arc;

use futures_util::TryStreamExt;
use openssl::ssl::ConnectConfiguration;
use postgres_openssl::TlsConnector;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};
use tokio_postgres::tls::{NoTls, TlsConnect};
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Config, Row, Statement};

use crate::address::Address;
use crate::answer::{Allowance, Counted, Metered};
use crate::error::Failure;
use crate::open::OpenServers;
use crate::server::{Driver, Server};
use crate::{io, tls};

/// Speaks to a PostgreSQL.
#[derive(Debug)]
pub struct PostgresDriver;

/// A PostgreSQL.
pub type PostgresServer = Server<PostgresDriver>;

/// A connection to a PostgreSQL, whose statements are prepared once.
pub struct PostgresConnection {
    client: Client,
    prepared: HashMap<&'static str, Statement>,
    allowance: Allowance,
}

/// A row of an answer.
pub type PostgresRow = Row;

/// A value that stands for `$1`, `$2` ... in a statement.
pub(crate) type Argument<'a> = &'a (dyn ToSql + Sync);

/// The PostgreSQL of an address.
pub fn postgres_server(address: &Address) -> Arc<PostgresServer> {
    static OPEN: OpenServers<PostgresDriver> = OpenServers::new();
    OPEN.open(address, || PostgresDriver)
}

impl Driver for PostgresDriver {
    type Connection = PostgresConnection;

    async fn connect(&self, address: &Address) -> Result<PostgresConnection, Failure> {
        let allowance = Allowance::new();
        let client = connect(address, &allowance).await?;
        schema::make(&client).await?;
        Ok(PostgresConnection {
            client,
            prepared: HashMap::new(),
            allowance,
        })
    }

    fn is_open(&self, connection: &PostgresConnection) -> bool {
        !connection.client.is_closed() && !connection.allowance.is_spent()
    }
}

impl PostgresConnection {
    /// The rows of a statement.
    ///
    /// # Errors
    /// When the server does not answer, refuses, or has more to say than is read.
    pub async fn rows(
        &mut self,
        statement: &'static str,
        arguments: &[Argument<'_>],
    ) -> Result<Vec<Row>, Failure> {
        let statement = self.prepare(statement).await?;
        self.allowance.renew();
        let found = self.collect(&statement, arguments).await;
        if matches!(found, Err(Failure::TooMany { .. })) {
            self.allowance.spend();
            return found;
        }
        match self.allowance.is_spent() {
            // The connection has ended because of it, and not by itself.
            true => Err(Failure::answer_too_long()),
            false => found,
        }
    }

    async fn collect(
        &self,
        statement: &Statement,
        arguments: &[Argument<'_>],
    ) -> Result<Vec<Row>, Failure> {
        let arguments = arguments.iter().copied();
        let found = self.client.query_raw(statement, arguments).await?;
        let mut found = pin!(found);
        let (mut rows, mut counted) = (Vec::new(), Counted::default());
        while let Some(row) = found.try_next().await? {
            counted.add(row.raw_size_bytes())?;
            rows.push(row);
        }
        Ok(rows)
    }

    /// The first row of a statement, if it has one.
    ///
    /// # Errors
    /// When the server does not answer, or refuses.
    pub async fn row(
        &mut self,
        statement: &'static str,
        arguments: &[Argument<'_>],
    ) -> Result<Option<Row>, Failure> {
        Ok(self.rows(statement, arguments).await?.into_iter().next())
    }

    /// How many rows a statement has changed.
    ///
    /// # Errors
    /// When the server does not answer, or refuses.
    pub async fn execute(
        &mut self,
        statement: &'static str,
        arguments: &[Argument<'_>],
    ) -> Result<u64, Failure> {
        let statement = self.prepare(statement).await?;
        self.allowance.renew();
        Ok(self.client.execute(&statement, arguments).await?)
    }

    /// Runs several statements without arguments, as one transaction.
    ///
    /// # Errors
    /// When the server does not answer, or refuses.
    pub async fn batch(&mut self, statements: &str) -> Result<(), Failure> {
        self.allowance.renew();
        Ok(self.client.batch_execute(statements).await?)
    }

    async fn prepare(&mut self, text: &'static str) -> Result<Statement, Failure> {
        if let Some(statement) = self.prepared.get(text) {
            return Ok(statement.clone());
        }
        let statement = self.client.prepare(text).await?;
        self.prepared.insert(text, statement.clone());
        Ok(statement)
    }
}

/// Signs in, and drives the connection beside whoever uses it.
async fn connect(address: &Address, allowance: &Allowance) -> Result<Client, Failure> {
    let config = config(address);
    if let Some(socket) = &address.socket {
        let stream = UnixStream::connect(socket).await.map_err(Failure::broken)?;
        return open(&config, Metered::new(stream, allowance), NoTls).await;
    }
    let host = (address.host.as_str(), address.port);
    let stream = TcpStream::connect(host).await.map_err(Failure::broken)?;
    stream.set_nodelay(true).map_err(Failure::broken)?;
    let stream = Metered::new(stream, allowance);
    match &address.tls {
        None => open(&config, stream, NoTls).await,
        Some(settings) => {
            let settings: ConnectConfiguration =
                tls::configuration(settings).map_err(Failure::broken)?;
            let connector = TlsConnector::new(settings, &address.host);
            open(&config, stream, connector).await
        }
    }
}

async fn open<S, T>(config: &Config, stream: S, tls: T) -> Result<Client, Failure>
where
    S: AsyncRead + AsyncWrite + Unpin + 'static,
    T: TlsConnect<S>,
    T::Stream: 'static,
{
    let (client, connection) = config.connect_raw(stream, tls).await?;
    io::spawn(async move {
        if let Err(error) = connection.await {
            tracing::debug!(%error, "a connection to a store has ended");
        }
    });
    Ok(client)
}

fn config(address: &Address) -> Config {
    let mut config = Config::new();
    config
        .application_name("halite")
        .user(address.user.as_deref().unwrap_or("salt"))
        .dbname(address.database.as_deref().unwrap_or("salt"))
        .ssl_mode(match address.tls {
            None => tokio_postgres::config::SslMode::Disable,
            Some(_) => tokio_postgres::config::SslMode::Require,
        });
    if let Some(password) = &address.password {
        config.password(password.expose());
    }
    config
}
