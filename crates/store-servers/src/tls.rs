//! Sockets to servers, with or without TLS. The only file that knows OpenSSL.

use std::io;
use std::pin::Pin;

use openssl::ssl::{ConnectConfiguration, SslConnector, SslFiletype, SslMethod, SslVerifyMode};
use openssl::x509::store::X509StoreBuilder;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};
use tokio_openssl::SslStream;

use crate::address::{Address, Tls};
use crate::error::Failure;

/// A connected socket.
pub trait Wire: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Wire for T {}

/// Connects to a server, and checks its certificate if it is spoken to by TLS.
///
/// # Errors
/// When there is no connection, or the certificate is not the server's.
pub async fn connect(address: &Address) -> Result<Box<dyn Wire>, Failure> {
    if let Some(socket) = &address.socket {
        let stream = UnixStream::connect(socket).await.map_err(Failure::broken)?;
        return Ok(Box::new(stream));
    }
    let host = (address.host.as_str(), address.port);
    let stream = TcpStream::connect(host).await.map_err(Failure::broken)?;
    stream.set_nodelay(true).map_err(Failure::broken)?;
    match &address.tls {
        None => Ok(Box::new(stream)),
        Some(tls) => {
            let secured = secure(tls, &address.host, stream).await;
            Ok(Box::new(secured.map_err(Failure::broken)?))
        }
    }
}

async fn secure(tls: &Tls, host: &str, stream: TcpStream) -> io::Result<SslStream<TcpStream>> {
    let settings = configuration(tls)?;
    let mut stream = SslStream::new(settings.into_ssl(host)?, stream)?;
    Pin::new(&mut stream)
        .connect()
        .await
        .map_err(io::Error::other)?;
    Ok(stream)
}

/// What is to be trusted, and what we show.
pub(crate) fn configuration(tls: &Tls) -> io::Result<ConnectConfiguration> {
    let mut connector = SslConnector::builder(SslMethod::tls_client())?;
    if let Some(ca) = &tls.ca {
        // Whoever names authorities means those alone.
        connector.set_cert_store(X509StoreBuilder::new()?.build());
        connector.set_ca_file(ca)?;
    }
    if let Some(certificate) = &tls.certificate {
        connector.set_certificate_chain_file(certificate)?;
    }
    if let Some(key) = &tls.key {
        connector.set_private_key_file(key, SslFiletype::PEM)?;
    }
    let mut settings = connector.build().configure()?;
    if tls.is_unverified {
        settings.set_verify(SslVerifyMode::NONE);
        settings.set_verify_hostname(false);
    }
    Ok(settings)
}
