//! States of X.509.

mod certificate;
mod file;
mod key;
mod list;
mod request;
pub(crate) mod tls;

use halite_call::{Function, Module};

pub(crate) const MODULE: Module = Module {
    name: "x509",
    functions: &[
        Function::new(
            "x509.certificate_managed",
            "(name, days_remaining=None, ca_server=None, signing_policy=None, encoding='pem', append_certs=None, digest='sha256', signing_private_key=None, signing_private_key_passphrase=None, signing_cert=None, public_key=None, private_key=None, private_key_passphrase=None, csr=None, subject=None, serial_number=None, not_before=None, not_after=None, days_valid=None, pkcs12_passphrase=None, pkcs12_encryption_compat=False, pkcs12_friendlyname=None, **kwargs)",
            certificate::managed,
            "A file holds a certificate that says what is asked for and does not end soon.",
        ),
        Function::new(
            "x509.certificate_managed_ssh",
            "(name, result, comment, changes, encoding=None, contents=None, **kwargs)",
            certificate::managed_ssh,
            "A file holds a certificate that the master has made.",
        ),
        Function::new(
            "x509.crl_managed",
            "(name, signing_private_key, revoked, days_remaining=None, signing_cert=None, signing_private_key_passphrase=None, include_expired=False, days_valid=None, digest='sha256', encoding='pem', extensions=None, **kwargs)",
            list::managed,
            "A file holds a list of revoked certificates that is not to be renewed soon.",
        ),
        Function::new(
            "x509.csr_managed",
            "(name, private_key, private_key_passphrase=None, digest='sha256', encoding='pem', subject=None, **kwargs)",
            request::managed,
            "A file holds a request for a certificate.",
        ),
        Function::new(
            "x509.pem_managed",
            "(name, text, **kwargs)",
            file::pem_managed,
            "A file holds an entry of PEM.",
        ),
        Function::new(
            "x509.private_key_managed",
            "(name, algo='rsa', keysize=None, passphrase=None, encoding='pem', new=False, overwrite=False, pkcs12_encryption_compat=False, **kwargs)",
            key::managed,
            "A file holds a private key, which is made if there is none.",
        ),
        Function::new(
            "x509.private_key_managed_ssh",
            "(name, result, comment, changes, tempfile=None, **kwargs)",
            key::managed_ssh,
            "A file holds a private key that was made beside it.",
        ),
    ],
};
