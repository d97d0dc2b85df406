//! Where the content of files comes from: the master, this machine, the web,
//! templates.

pub(crate) mod fetch;
pub(crate) mod http;
pub(crate) mod list;
pub(crate) mod managed;
pub(crate) mod sums;
pub(crate) mod template;

/// What kind of place an address names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scheme {
    /// `salt://`, a file of the master.
    Salt,
    /// A path of this machine, or `file://`.
    Local,
    /// `http://` and the like.
    Remote,
    /// Nothing that files come from.
    Other,
}

/// The kind of an address.
pub(crate) fn scheme(url: &str) -> Scheme {
    match url.split_once("://") {
        Some(("salt", _)) => Scheme::Salt,
        Some(("file", _)) => Scheme::Local,
        Some(("http" | "https" | "ftp" | "s3" | "swift", _)) => Scheme::Remote,
        Some(_) => Scheme::Other,
        None if url.starts_with('/') => Scheme::Local,
        None => Scheme::Other,
    }
}

/// The path of a local address.
pub(crate) fn local_path(url: &str) -> &str {
    url.strip_prefix("file://").unwrap_or(url)
}

/// The last part of the path of an address.
pub(crate) fn url_name(url: &str) -> &str {
    let path = url.split(['?', '#']).next().unwrap_or(url);
    path.rsplit('/').next().unwrap_or(path)
}
