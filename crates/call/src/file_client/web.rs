//! Files of web servers, kept below `extrn_files` of the cache.
//!
//! The download is the system's `curl`, so that proxies, certificates and `.netrc`
//! are those of the machine. Invariant: a file appears under its name only when it
//! is complete, and no password is part of a name.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use halite_process::child;

use super::{FileClient, FileError, private_dirs};
use crate::addresses::redacted;
use crate::curl::{self, CurlConfig};
use crate::job::Cancel;
use crate::paths;

/// Seconds without a byte after which a server is given up.
const STALL_SECONDS_MAX: &str = "60";

/// Seconds to connect.
const CONNECT_SECONDS_MAX: &str = "20";

/// Redirections that are followed.
const REDIRECTS_MAX: &str = "10";

/// A file of a web server.
#[derive(Clone, Copy, Debug)]
pub struct WebFile<'a> {
    /// Its address.
    pub url: &'a str,
    /// The environment whose part of the cache it goes to.
    pub saltenv: &'a str,
    /// Ask the server whether the cached file is still the one it has.
    pub use_etag: bool,
    /// Check certificates.
    pub verify_ssl: bool,
}

impl<'a> WebFile<'a> {
    /// The file of now, from a server that must prove who it is.
    pub fn new(url: &'a str, saltenv: &'a str) -> Self {
        Self {
            url,
            saltenv,
            use_etag: false,
            verify_ssl: true,
        }
    }

    /// Whether an address is one of the web.
    pub fn is_web(url: &str) -> bool {
        ["http://", "https://", "ftp://"]
            .iter()
            .any(|scheme| url.starts_with(scheme))
    }

    /// Whether the server has the file.
    pub fn exists(url: &str) -> bool {
        let mut curl = command(url);
        curl.args(["--head", "--output", "/dev/null"]);
        let out = curl::run(&mut curl, &config_of(url), &Cancel::default());
        out.is_ok_and(|out| out.status.success())
    }
}

impl FileClient<'_> {
    /// Where a file of the web lies in the cache.
    pub fn web_path(&self, url: &str, saltenv: &str) -> PathBuf {
        let env = if saltenv.is_empty() {
            self.default_env()
        } else {
            saltenv.to_owned()
        };
        let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
        let rest = rest.split('#').next().unwrap_or(rest);
        let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
        // Who signs in is nobody's business, and no part leads out.
        let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
        let mut to = self.ctx.cachedir().join("extrn_files").join(clean(&env));
        // The query is behind a dash, the port has no colon: Salt's names.
        let path = path.replacen('?', "-", 1);
        to.push(clean(&host.replace(':', "")));
        for part in path.split('/').filter(|part| !part.is_empty()) {
            to.push(clean(part));
        }
        to
    }

    /// Has a file of the web in the cache.
    ///
    /// # Errors
    /// When the server does not give it, or there is no `curl`.
    pub fn cache_web(&self, file: &WebFile<'_>, cancel: &Cancel) -> Result<PathBuf, FileError> {
        let to = self.web_path(file.url, file.saltenv);
        let failed = |error: io::Error| web_error(file.url, &error.to_string());
        let directory = to.parent().unwrap_or_else(|| Path::new("/"));
        private_dirs(directory).map_err(failed)?;
        let part = directory.join(format!(
            ".{}.part{}",
            to.file_name().unwrap_or_default().to_string_lossy(),
            std::process::id()
        ));
        let mut curl = command(file.url);
        curl.arg("--output").arg(&part);
        if !file.verify_ssl {
            curl.arg("--insecure");
        }
        if file.use_etag {
            let etag = etag_file(&to);
            curl.arg("--etag-save").arg(&etag);
            if etag.is_file() && to.is_file() {
                curl.arg("--etag-compare").arg(&etag);
            }
        }
        let done = run(curl, file.url, cancel).and_then(|()| {
            // A server that has nothing newer sends nothing.
            if file.use_etag && !part.exists() && to.is_file() {
                return Ok(());
            }
            if !part.exists() {
                // An empty file is not written by curl.
                paths::write(&part, b"").map_err(failed)?;
            }
            paths::rename(&part, &to).map_err(failed)
        });
        if done.is_err() {
            let _ = paths::remove_file(&part);
        }
        done.map(|()| to)
    }
}

fn clean(part: &str) -> String {
    match part {
        "." | ".." | "" => "_".to_owned(),
        part => part.replace(['/', '\0'], "_"),
    }
}

fn etag_file(to: &Path) -> PathBuf {
    let mut name = to.file_name().unwrap_or_default().to_os_string();
    name.push(".etag");
    to.with_file_name(name)
}

/// The protocols to which curl may be redirected from an address
/// (`--proto-redir`): what was asked for over TLS is not taken from anybody
/// without it.
pub fn redirect_protocols(url: &str) -> &'static str {
    let scheme = url.split_once("://").map_or("", |(scheme, _)| scheme);
    if scheme.eq_ignore_ascii_case("https") {
        "=https"
    } else {
        "=http,https"
    }
}

fn command(url: &str) -> Command {
    let mut curl = child::command("curl");
    curl.args([
        "--silent",
        "--show-error",
        "--fail",
        "--location",
        "--globoff",
    ])
    .args(["--max-redirs", REDIRECTS_MAX])
    .args(["--connect-timeout", CONNECT_SECONDS_MAX])
    .args(["--speed-limit", "1", "--speed-time", STALL_SECONDS_MAX])
    .args(["--proto", "=http,https,ftp"])
    .args(["--proto-redir", redirect_protocols(url)]);
    curl
}

fn run(mut curl: Command, url: &str, cancel: &Cancel) -> Result<(), FileError> {
    let out = curl::run(&mut curl, &config_of(url), cancel);
    let out = out.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => web_error(url, "there is no curl on this machine"),
        _ => web_error(url, &error.to_string()),
    })?;
    if out.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&out.stderr).trim().to_owned();
    Err(web_error(url, said.trim_start_matches("curl: ")))
}

/// The address, which may hold a password.
fn config_of(url: &str) -> CurlConfig {
    let mut config = CurlConfig::default();
    config.option("url", url);
    config
}

fn web_error(url: &str, why: &str) -> FileError {
    FileError::Web {
        url: redacted(url),
        why: why.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tls_is_not_left_behind_by_a_redirection() {
        let allowed = |url: &str| {
            let curl = command(url);
            let args: Vec<_> = curl.get_args().collect();
            let at = args.iter().position(|arg| *arg == "--proto-redir").unwrap();
            args[at + 1].to_owned()
        };
        assert_eq!(allowed("HTTPS://h/x"), "=https");
        assert_eq!(allowed("http://h/x"), "=http,https");
        assert_eq!(allowed("ftp://h/x"), "=http,https");
    }

    #[test]
    fn parts_of_addresses_lead_nowhere() {
        assert_eq!(clean(".."), "_");
        assert_eq!(clean("a\0b"), "a_b");
        assert!(WebFile::is_web("https://h/x"));
        assert!(!WebFile::is_web("salt://x"));
    }
}
