//! TLS by the OpenSSL that is there. No type of it leaves this file but inside
//! [`Tls`].

use std::path::{Path, PathBuf};
use std::pin::Pin;

use openssl::error::ErrorStack;
use openssl::ssl::{Ssl, SslAcceptor, SslFiletype, SslMethod};
use openssl::x509::X509;
use thiserror::Error;
use tokio::net::TcpStream;
use tokio_openssl::SslStream;

use crate::settings::TlsFiles;

/// Why connections cannot be encrypted.
#[derive(Debug, Error)]
pub(crate) enum TlsError {
    /// OpenSSL refuses a file.
    #[error("{option} ({}) cannot be used", path.display())]
    Refused {
        /// The option that names it.
        option: &'static str,
        /// The file.
        path: PathBuf,
        /// Why not.
        source: ErrorStack,
    },
    /// A file cannot be read.
    #[error("{option} ({}) cannot be read", path.display())]
    Unreadable {
        /// The option that names it.
        option: &'static str,
        /// The file.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// The library cannot begin.
    #[error("TLS cannot be set up")]
    SetUp(#[from] ErrorStack),
    /// A client does not agree.
    #[error("a TLS handshake failed")]
    Handshake(#[from] openssl::ssl::Error),
}

/// What a server shows to its clients.
#[derive(Clone)]
pub(crate) struct Tls(SslAcceptor);

impl Tls {
    /// Reads the files.
    ///
    /// # Errors
    /// When a file is missing, or is no certificate or key.
    pub(crate) fn read(files: &TlsFiles) -> Result<Self, TlsError> {
        let refused = |option, path: &Path| {
            let path = path.to_owned();
            move |source| TlsError::Refused {
                option,
                path,
                source,
            }
        };
        // TLS 1.2 at least, with ciphers that keep past connections secret.
        let mut acceptor = SslAcceptor::mozilla_intermediate_v5(SslMethod::tls_server())?;
        acceptor
            .set_certificate_chain_file(&files.certificate)
            .map_err(refused("ssl_crt", &files.certificate))?;
        acceptor
            .set_private_key_file(&files.key, SslFiletype::PEM)
            .map_err(refused("ssl_key", &files.key))?;
        acceptor
            .check_private_key()
            .map_err(refused("ssl_key", &files.key))?;
        if let Some(chain) = &files.chain {
            let bytes = std::fs::read(chain).map_err(|source| TlsError::Unreadable {
                option: "ssl_chain",
                path: chain.clone(),
                source,
            })?;
            for certificate in X509::stack_from_pem(&bytes).map_err(refused("ssl_chain", chain))? {
                acceptor.add_extra_chain_cert(certificate)?;
            }
        }
        Ok(Self(acceptor.build()))
    }

    /// Encrypts a connection.
    ///
    /// # Errors
    /// When the client does not agree.
    pub(crate) async fn accept(&self, stream: TcpStream) -> Result<SslStream<TcpStream>, TlsError> {
        let mut stream = SslStream::new(Ssl::new(self.0.context())?, stream)?;
        Pin::new(&mut stream).accept().await?;
        Ok(stream)
    }
}
