//! A certificate authority of one server, with a certificate for its address.

use std::net::IpAddr;
use std::path::{Path, PathBuf};

use anyhow::Result;
use openssl::asn1::Asn1Time;
use openssl::bn::{BigNum, MsbOption};
use openssl::ec::{EcGroup, EcKey};
use openssl::hash::MessageDigest;
use openssl::nid::Nid;
use openssl::pkey::{PKey, Private};
use openssl::x509::extension::{
    BasicConstraints, ExtendedKeyUsage, KeyUsage, SubjectAlternativeName,
};
use openssl::x509::{X509, X509Builder, X509NameBuilder};

use crate::server::write_file;

/// Days that the certificates are valid.
const DAYS: u32 = 30;

/// Where the files of a server's TLS are.
#[derive(Clone, Debug)]
pub struct Certificates {
    /// The certificate of the authority, for who connects.
    pub ca: PathBuf,
    /// The server's certificate, valid for its address and `localhost`; also
    /// good for a client.
    pub cert: PathBuf,
    /// Its key.
    pub key: PathBuf,
}

impl Certificates {
    /// What a Redis, or a Sentinel, has in its configuration to speak TLS alone.
    pub(crate) fn for_redis(&self, port: u16) -> String {
        format!(
            "port 0\ntls-port {port}\ntls-cert-file {}\ntls-key-file {}\n\
             tls-ca-cert-file {}\ntls-auth-clients no\n",
            self.cert.display(),
            self.key.display(),
            self.ca.display()
        )
    }

    /// Makes an authority and a certificate for an address, in a directory.
    ///
    /// # Errors
    /// When they cannot be made or written.
    pub fn make(dir: &Path, address: IpAddr) -> Result<Self> {
        let files = Self {
            ca: dir.join("ca.pem"),
            cert: dir.join("server.pem"),
            key: dir.join("server.key"),
        };
        let (ca_key, key) = (new_key()?, new_key()?);
        let mut ca = begin("Halite tests", &ca_key)?;
        ca.set_issuer_name(name("Halite tests")?.as_ref())?;
        ca.append_extension(BasicConstraints::new().critical().ca().build()?)?;
        ca.append_extension(KeyUsage::new().critical().key_cert_sign().build()?)?;
        ca.sign(&ca_key, MessageDigest::sha256())?;
        let ca = ca.build();

        let mut cert = begin("localhost", &key)?;
        cert.set_issuer_name(ca.subject_name())?;
        let names = SubjectAlternativeName::new()
            .dns("localhost")
            .ip(&address.to_string())
            .build(&cert.x509v3_context(Some(&ca), None))?;
        cert.append_extension(names)?;
        let usage = ExtendedKeyUsage::new()
            .server_auth()
            .client_auth()
            .build()?;
        cert.append_extension(usage)?;
        cert.sign(&ca_key, MessageDigest::sha256())?;

        write_file(&files.ca, &text(&ca.to_pem()?))?;
        write_file(&files.cert, &text(&cert.build().to_pem()?))?;
        write_file(&files.key, &text(&key.private_key_to_pem_pkcs8()?))?;
        Ok(files)
    }
}

fn new_key() -> Result<PKey<Private>> {
    let group = EcGroup::from_curve_name(Nid::X9_62_PRIME256V1)?;
    Ok(PKey::from_ec_key(EcKey::generate(&group)?)?)
}

fn begin(subject: &str, key: &PKey<Private>) -> Result<X509Builder> {
    let mut builder = X509::builder()?;
    builder.set_version(2)?;
    let mut serial = BigNum::new()?;
    serial.rand(120, MsbOption::ONE, false)?;
    let serial = serial.to_asn1_integer()?;
    builder.set_serial_number(&serial)?;
    let (from, until) = (Asn1Time::days_from_now(0)?, Asn1Time::days_from_now(DAYS)?);
    builder.set_not_before(&from)?;
    builder.set_not_after(&until)?;
    builder.set_subject_name(name(subject)?.as_ref())?;
    builder.set_pubkey(key)?;
    Ok(builder)
}

fn name(common: &str) -> Result<openssl::x509::X509Name> {
    let mut name = X509NameBuilder::new()?;
    name.append_entry_by_text("CN", common)?;
    Ok(name.build())
}

fn text(pem: &[u8]) -> String {
    String::from_utf8_lossy(pem).into_owned()
}
