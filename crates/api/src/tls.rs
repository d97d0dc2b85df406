//! TLS by the installed OpenSSL. No type of it leaves this file except inside
//! [`Tls`].

use std::path::{Path, PathBuf};
use std::pin::Pin;

use openssl::error::ErrorStack;
use openssl::ssl::{Ssl, SslAcceptor, SslConnector, SslFiletype, SslMethod};
use openssl::x509::X509;
use openssl::x509::store::X509StoreBuilder;
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
    /// The other side does not agree.
    #[error("a TLS handshake failed")]
    Handshake(#[from] openssl::ssl::Error),
}

/// The certificate and key that a server presents.
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

/// What believes the servers of other masters.
#[derive(Clone)]
pub(crate) struct Dialer(SslConnector);

impl Dialer {
    /// Believes the authorities of this machine, or of a file in their place.
    ///
    /// # Errors
    /// When the file has no certificate.
    pub(crate) fn new(authorities: Option<&Path>) -> Result<Self, TlsError> {
        let mut connector = SslConnector::builder(SslMethod::tls_client())?;
        if let Some(path) = authorities {
            // Whoever names authorities means those alone.
            connector.set_cert_store(X509StoreBuilder::new()?.build());
            connector
                .set_ca_file(path)
                .map_err(|source| TlsError::Refused {
                    option: "other_masters_ca",
                    path: path.to_owned(),
                    source,
                })?;
        }
        Ok(Self(connector.build()))
    }

    /// Encrypts a connection to a server of this name.
    ///
    /// # Errors
    /// When the server is not the one of this name.
    pub(crate) async fn connect(
        &self,
        host: &str,
        stream: TcpStream,
    ) -> Result<SslStream<TcpStream>, TlsError> {
        let ssl = self.0.configure()?.into_ssl(host)?;
        let mut stream = SslStream::new(ssl, stream)?;
        Pin::new(&mut stream).connect().await?;
        Ok(stream)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use openssl::asn1::Asn1Time;
    use openssl::bn::BigNum;
    use openssl::ec::{EcGroup, EcKey};
    use openssl::hash::MessageDigest;
    use openssl::nid::Nid;
    use openssl::pkey::{PKey, Private};
    use openssl::x509::extension::{BasicConstraints, SubjectAlternativeName};
    use openssl::x509::{X509, X509NameBuilder};
    use tokio::net::TcpListener;

    struct Signed {
        certificate: X509,
        key: PKey<Private>,
    }

    fn made(name: &str, is_authority: bool, by: Option<&Signed>) -> Signed {
        let group = EcGroup::from_curve_name(Nid::X9_62_PRIME256V1).unwrap();
        let key = PKey::from_ec_key(EcKey::generate(&group).unwrap()).unwrap();
        let mut subject = X509NameBuilder::new().unwrap();
        subject.append_entry_by_text("CN", name).unwrap();
        let subject = subject.build();
        let mut builder = X509::builder().unwrap();
        builder.set_version(2).unwrap();
        let serial = BigNum::from_u32(1).unwrap().to_asn1_integer().unwrap();
        builder.set_serial_number(&serial).unwrap();
        builder.set_subject_name(&subject).unwrap();
        let issuer = by.map_or(&*subject, |by| by.certificate.subject_name());
        builder.set_issuer_name(issuer).unwrap();
        builder.set_pubkey(&key).unwrap();
        let (from, to) = (Asn1Time::days_from_now(0), Asn1Time::days_from_now(2));
        builder.set_not_before(&from.unwrap()).unwrap();
        builder.set_not_after(&to.unwrap()).unwrap();
        if is_authority {
            let constraints = BasicConstraints::new().critical().ca().build();
            builder.append_extension(constraints.unwrap()).unwrap();
        } else {
            let context = builder.x509v3_context(None, None);
            let names = SubjectAlternativeName::new().dns(name).build(&context);
            builder.append_extension(names.unwrap()).unwrap();
        }
        let signer = by.map_or(&key, |by| &by.key);
        builder.sign(signer, MessageDigest::sha256()).unwrap();
        let certificate = builder.build();
        Signed { certificate, key }
    }

    /// The result of a client that trusts one authority and expects a name.
    async fn dialed(files: &TlsFiles, authority: &Path, name: &str) -> Result<(), TlsError> {
        let tls = Tls::read(files).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let accepting = async {
            let (stream, _) = listener.accept().await.unwrap();
            tls.accept(stream).await.map(drop)
        };
        let dialer = Dialer::new(Some(authority)).unwrap();
        let dialing = async {
            let stream = TcpStream::connect(address).await.unwrap();
            dialer.connect(name, stream).await.map(drop)
        };
        let (_, dialed) = tokio::join!(accepting, dialing);
        dialed
    }

    #[tokio::test]
    async fn ssl_chain_is_shown_to_who_knows_the_root_alone() {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str, pem: Vec<u8>| {
            let path = dir.path().join(name);
            std::fs::write(&path, pem).unwrap();
            path
        };
        let root = made("root", true, None);
        let between = made("between", true, Some(&root));
        let server = made("api.example", false, Some(&between));
        let other = made("other", true, None);
        let root = write("root.pem", root.certificate.to_pem().unwrap());
        let other = write("other.pem", other.certificate.to_pem().unwrap());
        let chain = write("chain.pem", between.certificate.to_pem().unwrap());
        let mut files = TlsFiles {
            certificate: write("api.crt", server.certificate.to_pem().unwrap()),
            key: write("api.key", server.key.private_key_to_pem_pkcs8().unwrap()),
            chain: Some(chain),
        };
        dialed(&files, &root, "api.example").await.unwrap();
        // Another name, another authority, and no chain are all refused.
        assert!(dialed(&files, &root, "other.example").await.is_err());
        assert!(dialed(&files, &other, "api.example").await.is_err());
        files.chain = None;
        assert!(dialed(&files, &root, "api.example").await.is_err());
        // The error names a chain that is not there.
        files.chain = Some(dir.path().join("nowhere.pem"));
        let error = Tls::read(&files).err().unwrap().to_string();
        assert!(error.starts_with("ssl_chain ("), "{error}");
    }
}
