//! TLS 1.3 with the masters' own keys. The only file that knows OpenSSL.
//!
//! Both sides show a self-signed certificate: it carries the key, and the handshake
//! proves that its private half is there. The caller decides to whom the key
//! belongs, so no name or date in a certificate is used.

use std::io;
use std::pin::Pin;

use halite_crypto::{PrivateKey, PublicKey};
use openssl::asn1::Asn1Time;
use openssl::bn::BigNum;
use openssl::error::ErrorStack;
use openssl::hash::MessageDigest;
use openssl::pkey::{PKey, Private};
use openssl::ssl::{
    Ssl, SslContext, SslContextBuilder, SslMethod, SslOptions, SslSessionCacheMode, SslVerifyMode,
    SslVersion,
};
use openssl::x509::{X509, X509NameBuilder};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::timeout;
use tokio_openssl::SslStream;

use crate::error::MeshError;
use crate::limits::TLS_ANSWER_MAX;

/// What TLS runs over: a connection, or a link through the bus.
pub(crate) trait Duplex: AsyncRead + AsyncWrite + Send + Sync + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Sync + Unpin> Duplex for S {}

/// See [`Duplex`].
pub(crate) type Wire = Box<dyn Duplex>;

/// A connection whose other end has proven that it has the key `key`.
pub(crate) struct Secured {
    pub(crate) stream: SslStream<Wire>,
    /// The normalised PEM text of the other end's public key.
    pub(crate) key: String,
}

impl Secured {
    /// Bytes that only the two ends of this connection know (RFC 9266).
    pub(crate) fn binding(&self) -> Vec<u8> {
        let mut binding = vec![0; 32];
        let label = "EXPORTER-Channel-Binding";
        let made = self
            .stream
            .ssl()
            .export_keying_material(&mut binding, label, Some(b""));
        match made {
            Ok(()) => binding,
            // Both ends fail alike, and nothing is proven by an empty one.
            Err(_) => Vec::new(),
        }
    }
}

/// What a master shows to its peers.
#[derive(Clone)]
pub(crate) struct Tls {
    context: SslContext,
    own: String,
}

impl Tls {
    /// Sets up TLS with a master's key.
    pub(crate) fn new(key: &PrivateKey) -> Result<Self, MeshError> {
        let own = key.public()?.clean_pem()?;
        let pem = key.to_pem()?;
        let context = PKey::private_key_from_pem(pem.expose().as_bytes())
            .and_then(|key| context(&key))
            .map_err(|error| MeshError::Tls(error.into()))?;
        Ok(Self { context, own })
    }

    /// The normalised PEM text of our public key.
    pub(crate) fn own(&self) -> &str {
        &self.own
    }

    /// Secures a connection that we have made.
    pub(crate) async fn connect(&self, stream: Wire) -> Result<Secured, MeshError> {
        let mut stream = self.stream(stream)?;
        let done = timeout(TLS_ANSWER_MAX, Pin::new(&mut stream).connect()).await;
        let done = done.map_err(|_| MeshError::NoAnswer)?;
        proven(done.map_err(io::Error::other), stream)
    }

    /// Secures a connection that somebody has made to us.
    pub(crate) async fn accept(&self, stream: Wire) -> Result<Secured, MeshError> {
        let mut stream = self.stream(stream)?;
        let done = Pin::new(&mut stream).accept().await;
        proven(done.map_err(io::Error::other), stream)
    }

    fn stream(&self, stream: Wire) -> Result<SslStream<Wire>, MeshError> {
        Ssl::new(&self.context)
            .and_then(|ssl| SslStream::new(ssl, stream))
            .map_err(|error| MeshError::Tls(error.into()))
    }
}

fn proven(done: io::Result<()>, stream: SslStream<Wire>) -> Result<Secured, MeshError> {
    done?;
    let no_key = || MeshError::Frame {
        what: "no certificate",
    };
    let certificate = stream.ssl().peer_certificate().ok_or_else(no_key)?;
    let pem = certificate
        .public_key()
        .and_then(|key| key.public_key_to_pem())
        .map_err(|_| no_key())?;
    let key = PublicKey::from_pem(&String::from_utf8_lossy(&pem))?.clean_pem()?;
    Ok(Secured { stream, key })
}

fn context(key: &PKey<Private>) -> Result<SslContext, ErrorStack> {
    let mut context = SslContextBuilder::new(SslMethod::tls())?;
    context.set_min_proto_version(Some(SslVersion::TLS1_3))?;
    context.set_certificate(&*certificate(key)?)?;
    context.set_private_key(key)?;
    // A resumed session would show no certificate.
    context.set_session_cache_mode(SslSessionCacheMode::OFF);
    context.set_options(SslOptions::NO_TICKET);
    context.set_num_tickets(0)?;
    // A record takes one read of the connection, not one for its head and one for the rest.
    context.set_read_ahead(true);
    // There is no authority: that the key is one of the pins is checked when
    // the handshake is done, before anything is read.
    let mode = SslVerifyMode::PEER | SslVerifyMode::FAIL_IF_NO_PEER_CERT;
    context.set_verify_callback(mode, |_, _| true);
    Ok(context.build())
}

fn certificate(key: &PKey<Private>) -> Result<X509, ErrorStack> {
    const DAYS: u32 = 36_500;
    let mut name = X509NameBuilder::new()?;
    name.append_entry_by_text("CN", "halite master")?;
    let name = name.build();
    let mut certificate = X509::builder()?;
    certificate.set_version(2)?;
    let serial = BigNum::from_u32(1)?.to_asn1_integer()?;
    certificate.set_serial_number(&serial)?;
    certificate.set_subject_name(&name)?;
    certificate.set_issuer_name(&name)?;
    certificate.set_not_before(&*Asn1Time::from_unix(0)?)?;
    certificate.set_not_after(&*Asn1Time::days_from_now(DAYS)?)?;
    certificate.set_pubkey(key)?;
    certificate.sign(key, MessageDigest::sha256())?;
    Ok(certificate.build())
}
