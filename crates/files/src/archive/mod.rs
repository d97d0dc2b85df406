//! Archives: `archive.*` as functions and as a state.
//!
//! Tar and zip are read here; other compressions of a tar than gzip are left to the
//! system's tools. Invariant: nothing in an archive is written outside the
//! directory it is extracted to.

mod exec;
mod extracted;
mod extraction;
mod fence;
mod format;
pub mod fuzzing;
mod last_sum;
mod pack;
mod package;
mod places;
mod raw;
mod read;
mod source;
mod staged;
mod unpack;

use halite_call::{Function, Module};
pub use package::unpack_package;

/// The execution module.
pub(crate) const MODULE: Module = Module {
    name: "archive",
    functions: &[
        Function::new(
            "archive.cmd_unzip",
            "(zip_file, dest, excludes=None, options=None, template=None, runas=None, trim_output=False, password=None)",
            exec::cmd_unzip,
            "Extracts a zip archive with the unzip program.",
        ),
        Function::new(
            "archive.cmd_zip",
            "(zip_file, sources, template=None, cwd=None, runas=None)",
            raw::cmd_zip,
            "Makes a zip archive with the zip program.",
        ),
        Function::new(
            "archive.gunzip",
            "(gzipfile, template=None, runas=None, options=None)",
            raw::gunzip,
            "Decompresses a file with gunzip.",
        ),
        Function::new(
            "archive.gzip",
            "(sourcefile, template=None, runas=None, options=None)",
            raw::gzip,
            "Compresses a file with gzip.",
        ),
        Function::new(
            "archive.is_encrypted",
            "(name, clean=False, saltenv='base', source_hash=None, use_etag=False)",
            exec::is_encrypted,
            "Whether a zip archive needs a password.",
        ),
        Function::new(
            "archive.list",
            "(name, archive_format=None, options=None, strip_components=None, clean=False, verbose=False, saltenv='base', source_hash=None, use_etag=False)",
            exec::list,
            "What is in an archive; with verbose by kind.",
        ),
        Function::new(
            "archive.rar",
            "(rarfile, sources, template=None, cwd=None, runas=None)",
            raw::rar,
            "Makes a rar archive with the rar program.",
        ),
        Function::new(
            "archive.tar",
            "(options, tarfile, sources=None, dest=None, cwd=None, template=None, runas=None)",
            raw::tar,
            "Calls the tar program.",
        ),
        Function::new(
            "archive.unrar",
            "(rarfile, dest, excludes=None, template=None, runas=None, trim_output=False)",
            exec::unrar,
            "Extracts a rar archive with the unrar program.",
        ),
        Function::new(
            "archive.unzip",
            "(zip_file, dest, excludes=None, options=None, template=None, runas=None, trim_output=False, password=None, extract_perms=True)",
            exec::unzip,
            "Extracts a zip archive.",
        ),
        Function::new(
            "archive.zip",
            "(zip_file, sources, template=None, cwd=None, runas=None, zip64=False)",
            exec::zip,
            "Makes a zip archive.",
        ),
    ],
};

/// The state module.
pub(crate) const STATE: Module = Module {
    name: "archive",
    functions: &[Function::new(
        "archive.extracted",
        "(name, source, source_hash=None, source_hash_name=None, source_hash_update=False, skip_files_list_verify=False, skip_verify=False, password=None, options=None, list_options=None, force=False, overwrite=False, clean=False, clean_parent=False, user=None, group=None, if_missing=None, trim_output=False, use_cmd_unzip=None, extract_perms=True, enforce_toplevel=True, enforce_ownership_on=None, archive_format=None, use_etag=False, signature=None, source_hash_sig=None, signed_by_any=None, signed_by_all=None, keyring=None, gnupghome=None, sig_backend='gpg', **kwargs)",
        extracted::extracted,
        "The archive is extracted to the directory: everything in it is there.",
    )],
};
