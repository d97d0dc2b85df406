//! Files of web servers, kept below `extrn_files` of the cache.
//!
//! The download is the system's `curl`, so that proxies, certificates and
//! `.netrc` are those of the machine.

use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use halite_modules::{Call, CallError, FileClient};

use super::fetch::{Wanted, local_sum};

/// Seconds without a byte after which a server is given up.
const STALL_SECONDS_MAX: &str = "60";

/// Seconds to connect.
const CONNECT_SECONDS_MAX: &str = "20";

/// Redirections that are followed.
const REDIRECTS_MAX: &str = "10";

/// Where a file of the web lies in the cache.
pub(crate) fn place(call: &Call<'_>, url: &str, saltenv: &str) -> PathBuf {
    let env = if saltenv.is_empty() {
        FileClient::new(call.ctx).default_env()
    } else {
        saltenv.to_owned()
    };
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let rest = rest.split('#').next().unwrap_or(rest);
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    // Who signs in is nobody's business, and no part leads out.
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    let mut to = call.ctx.cachedir().join("extrn_files").join(clean(&env));
    to.push(clean(host));
    for part in path.split('/').filter(|part| !part.is_empty()) {
        to.push(clean(part));
    }
    to
}

fn clean(part: &str) -> String {
    match part {
        "." | ".." | "" => "_".to_owned(),
        part => part.replace(['/', '\0'], "_"),
    }
}

/// Has a file of the web in the cache.
///
/// # Errors
/// When the server does not give it.
pub(crate) fn cache(call: &Call<'_>, wanted: &Wanted<'_>) -> Result<PathBuf, CallError> {
    let to = place(call, wanted.url, wanted.saltenv);
    if let Some(sum) = wanted.sum
        && to.is_file()
        && local_sum(&to, &sum.hash_type).as_deref() == Some(sum.hsum.as_str())
    {
        return Ok(to);
    }
    let directory = to.parent().unwrap_or_else(|| Path::new("/"));
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(directory)
        .map_err(|error| failed(wanted.url, &error.to_string()))?;
    let part = directory.join(format!(
        ".{}.part{}",
        to.file_name().unwrap_or_default().to_string_lossy(),
        std::process::id()
    ));
    let etag = etag_file(&to);
    let mut curl = command(wanted.url);
    curl.arg("--output").arg(&part);
    if !wanted.verify_ssl {
        curl.arg("--insecure");
    }
    if wanted.use_etag {
        curl.arg("--etag-save").arg(&etag);
        if etag.is_file() && to.is_file() {
            curl.arg("--etag-compare").arg(&etag);
        }
    }
    let done = run(call, curl, wanted.url);
    let done = done.and_then(|()| {
        // A server that has nothing newer sends nothing.
        if wanted.use_etag && !part.exists() && to.is_file() {
            return Ok(());
        }
        if !part.exists() {
            // An empty file is not written by curl.
            fs::write(&part, b"").map_err(|error| failed(wanted.url, &error.to_string()))?;
        }
        fs::rename(&part, &to).map_err(|error| failed(wanted.url, &error.to_string()))
    });
    if done.is_err() {
        let _ = fs::remove_file(&part);
    }
    done.map(|()| to)
}

fn etag_file(to: &Path) -> PathBuf {
    let mut name = to.file_name().unwrap_or_default().to_os_string();
    name.push(".etag");
    to.with_file_name(name)
}

/// Whether a server has the file.
pub(crate) fn exists(url: &str) -> bool {
    let mut curl = command(url);
    curl.args(["--head", "--output", "/dev/null"]);
    curl.output().is_ok_and(|out| out.status.success())
}

fn command(url: &str) -> Command {
    let mut curl = Command::new("curl");
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
    .args(["--proto", "=http,https,ftp", "--proto-redir", "=http,https"])
    .stdin(Stdio::null())
    .args(["--url", url]);
    curl
}

fn run(call: &Call<'_>, mut curl: Command, url: &str) -> Result<(), CallError> {
    use std::os::unix::process::CommandExt;
    curl.process_group(0)
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    let child = curl.spawn().map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => {
            CallError::NotFound("curl, which fetches files of the web".to_owned())
        }
        _ => failed(url, &error.to_string()),
    })?;
    let group = i32::try_from(child.id()).unwrap_or(i32::MAX);
    let guard = call.cancel().watch(group);
    let out = child.wait_with_output();
    drop(guard);
    let out = out.map_err(|error| failed(url, &error.to_string()))?;
    if out.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&out.stderr).trim().to_owned();
    Err(failed(url, said.trim_start_matches("curl: ")))
}

fn failed(url: &str, why: &str) -> CallError {
    CallError::command(format!("Failed to cache {url}: {why}"))
}
