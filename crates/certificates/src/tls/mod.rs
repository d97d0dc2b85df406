//! The execution module `tls`: a small certificate authority in a directory, with its
//! certificates, requests and revocation list.
//!
//! Invariant: nobody but its owner can read a private key, from its first byte.

mod authority;
mod create;
mod pkcs12;
mod place;
mod read;
mod revoke;

pub(crate) use read::load as load_certificate;

use halite_call::{Function, Module};

pub(crate) const MODULE: Module = Module {
    name: "tls",
    functions: &[
        Function::new(
            "tls.ca_exists",
            "(ca_name, cacert_path=None, ca_filename=None)",
            authority::exists,
            "Whether there is an authority of this name.",
        ),
        Function::new(
            "tls.cert_base_path",
            "(cacert_path=None)",
            place::base_path,
            "The directory below which authorities are: the argument, what set_ca_path has\nsaid, or the option ca.cert_base_path.",
        ),
        Function::new(
            "tls.cert_info",
            "(cert, digest='sha256')",
            read::info,
            "What a certificate says, and its fingerprint.",
        ),
        Function::new(
            "tls.create_ca",
            "(ca_name, bits=2048, days=365, CN='localhost', C='US', ST='Utah', L='Salt Lake City', O='SaltStack', OU=None, emailAddress=None, fixmode=False, cacert_path=None, ca_filename=None, digest='sha256', onlyif=None, unless=None, replace=False)",
            authority::create,
            "Makes an authority: a key and a certificate that signs itself. A key that is\nthere already is used again. Nothing is done where there is one, unless replace\nis set.",
        ),
        Function::new(
            "tls.create_ca_signed_cert",
            "(ca_name, CN, days=365, cacert_path=None, ca_filename=None, cert_path=None, cert_filename=None, digest='sha256', cert_type=None, type_ext=False, replace=False)",
            create::signed,
            "Makes the certificate that a request of create_csr asks for, signed by an\nauthority.",
        ),
        Function::new(
            "tls.create_csr",
            "(ca_name, bits=2048, CN='localhost', C='US', ST='Utah', L='Salt Lake City', O='SaltStack', OU=None, emailAddress=None, subjectAltName=None, cacert_path=None, ca_filename=None, csr_path=None, csr_filename=None, digest='sha256', type_ext=False, cert_type='server', replace=False)",
            create::request,
            "Makes a key and a request for a certificate of an authority. The cert_type\n(server or client) says for what it is meant; with type_ext it is a part of the\nnames of the files.",
        ),
        Function::new(
            "tls.create_empty_crl",
            "(ca_name, cacert_path=None, ca_filename=None, crl_file=None, digest='sha256')",
            revoke::empty_list,
            "Makes the revocation list of an authority, with nothing in it.",
        ),
        Function::new(
            "tls.create_pkcs12",
            "(ca_name, CN, passphrase='', cacert_path=None, replace=False)",
            pkcs12::create,
            "Packs a certificate with its key and that of its authority as PKCS#12.",
        ),
        Function::new(
            "tls.create_self_signed_cert",
            "(tls_dir='tls', bits=2048, days=365, CN='localhost', C='US', ST='Utah', L='Salt Lake City', O='SaltStack', OU=None, emailAddress=None, cacert_path=None, cert_filename=None, digest='sha256', replace=False)",
            create::self_signed,
            "Makes a key and a certificate that signs itself.",
        ),
        Function::new(
            "tls.get_ca",
            "(ca_name, as_text=False, cacert_path=None)",
            read::authority,
            "Where the certificate of an authority is, or what is in the file.",
        ),
        Function::new(
            "tls.get_ca_signed_cert",
            "(ca_name, CN='localhost', as_text=False, cacert_path=None, cert_filename=None)",
            read::signed_certificate,
            "Where a certificate of an authority is, or what is in the file.",
        ),
        Function::new(
            "tls.get_ca_signed_key",
            "(ca_name, CN='localhost', as_text=False, cacert_path=None, key_filename=None)",
            read::signed_key,
            "Where the key of such a certificate is, or what is in the file.",
        ),
        Function::new(
            "tls.get_expiration_date",
            "(cert, date_format='%Y-%m-%d')",
            read::expiration_date,
            "When a certificate ends, in UTC, written as date_format says.",
        ),
        Function::new(
            "tls.get_extensions",
            "(cert_type)",
            create::extensions,
            "The extensions of certificates for servers or clients: those of the pillar\n(tls.extensions:common, :server, :client), or the usual ones.",
        ),
        Function::new(
            "tls.maybe_fix_ssl_version",
            "(ca_name, cacert_path=None, ca_filename=None)",
            authority::fix_version,
            "Makes the certificate of an authority anew if its version is a wrong one, as\nvery old Salt wrote it.",
        ),
        Function::new(
            "tls.revoke_cert",
            "(ca_name, CN, cacert_path=None, ca_filename=None, cert_path=None, cert_filename=None, crl_file=None, digest='sha256')",
            revoke::revoke,
            "Revokes a certificate: in the authority's index, and in its revocation list.",
        ),
        Function::new(
            "tls.set_ca_path",
            "(cacert_path)",
            place::set_path,
            "Names the directory below which authorities are, for the rest of a state run.",
        ),
        Function::new(
            "tls.validate",
            "(cert, ca_name, crl_file)",
            revoke::validate,
            "Whether a certificate is one of an authority, is valid now, and is not on the\nrevocation list.",
        ),
    ],
};
