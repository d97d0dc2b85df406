//! Copies files from the master to a place on this machine.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use halite_proto::Value;

use super::cache::{cache_one, copy_whole, path_value, refuse_remote};
use super::place;
use super::template::rendered;
use halite_call::{
    Call, CallError, CallResult, FileClient, FileError, SaltUrl, WebFile, os_error, paths, python,
};

/// What has come of a copy.
enum Copied {
    To(PathBuf),
    /// The master has no such file.
    NoFile,
    /// The directory is not there, and is not to be made.
    NoDirectory,
}

/// Copies to `dest`; where that is a directory or ends like one, under the
/// file's own name.
fn copy_to(
    call: &Call<'_>,
    url: &str,
    dest: &str,
    makedirs: bool,
    gzip: Option<i64>,
) -> Result<Copied, CallError> {
    let Some(salt) = SaltUrl::parse(url) else {
        return Err(FileError::Unsupported(url.to_owned()).into());
    };
    let client = FileClient::new(call.ctx);
    let (path, env) = place(call, &client, &salt);
    if dest.is_empty() {
        return Ok(client
            .cache(&path, &env)?
            .map_or(Copied::NoFile, Copied::To));
    }
    let mut to = PathBuf::from(dest);
    if to.is_dir() || dest.ends_with('/') {
        let name = Path::new(&path).file_name().unwrap_or_default();
        // As Salt writes it, a doubled slash included.
        to = format!(
            "{}/{}",
            dest.strip_suffix('/').unwrap_or(dest),
            name.to_string_lossy()
        )
        .into();
    }
    let parent = to.parent().unwrap_or_else(|| Path::new("")).to_owned();
    if !parent.is_dir() {
        if !makedirs || !to.is_absolute() {
            return Ok(Copied::NoDirectory);
        }
        paths::create_dir_all(&parent).map_err(|error| os_error(&error, &parent))?;
    }
    if client.fetch(&path, &env, &to, gzip)? {
        Ok(Copied::To(to))
    } else {
        Ok(Copied::NoFile)
    }
}

fn gzip(call: &Call<'_>) -> Result<Option<i64>, CallError> {
    let level = call.arg("gzip");
    if !level.is_true() {
        return Ok(None);
    }
    let level = python::int(level)?;
    if (1..=9).contains(&level) {
        Ok(Some(level))
    } else {
        Err(CallError::invocation("gzip must be a level from 1 to 9"))
    }
}

pub(super) fn get_file(call: &Call<'_>) -> CallResult {
    let makedirs = call.flag("makedirs");
    let (path, dest) = (rendered(call, "path")?, rendered(call, "dest")?);
    let copied = copy_to(call, &path, &dest, makedirs, gzip(call)?)?;
    Ok(match copied {
        Copied::To(path) => path.display().to_string().into(),
        Copied::NoFile => "".into(),
        Copied::NoDirectory => false.into(),
    })
}

pub(super) fn get_file_str(call: &Call<'_>) -> CallResult {
    match cache_one(call, &call.text("path"))? {
        Some(path) => content(&path),
        None => Ok(false.into()),
    }
}

fn content(path: &Path) -> CallResult {
    match paths::read(path) {
        Ok(bytes) => Ok(Value::text_or_bytes(bytes)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false.into()),
        Err(error) => Err(os_error(&error, path)),
    }
}

pub(super) fn get_url(call: &Call<'_>) -> CallResult {
    let url = call.text("path");
    let dest = call.arg("dest");
    refuse_remote(&url)?;
    if WebFile::is_web(&url) {
        return web_url(call, &url);
    }
    if SaltUrl::parse(&url).is_none() {
        // A file of this machine is where it is.
        let path = url.strip_prefix("file://").unwrap_or(&url);
        return Ok(if dest.is_nil() {
            content(Path::new(path))?
        } else {
            path.into()
        });
    }
    if dest.is_nil() {
        return match cache_one(call, &url)? {
            Some(path) => content(&path),
            None => Ok(false.into()),
        };
    }
    let copied = copy_to(call, &url, &python::str(dest), call.flag("makedirs"), None)?;
    Ok(match copied {
        Copied::To(path) => path.display().to_string().into(),
        Copied::NoFile | Copied::NoDirectory => {
            tracing::error!(
                "Unable to fetch file {url} from saltenv {}.",
                call.text("saltenv")
            );
            false.into()
        }
    })
}

/// `cp.get_url` of a file of the web: its place in the cache, its content, or
/// a copy where it is wanted.
fn web_url(call: &Call<'_>, url: &str) -> CallResult {
    let Some(cached) = cache_one(call, url)? else {
        return Ok(false.into());
    };
    let dest = call.arg("dest");
    if dest.is_nil() {
        return content(&cached);
    }
    let mut to = PathBuf::from(python::str(dest));
    if to.as_os_str().is_empty() {
        return Ok(path_value(Some(cached)));
    }
    if to.is_dir()
        && let Some(name) = cached.file_name()
    {
        to.push(name);
    }
    let failed = |error: std::io::Error| os_error(&error, &to);
    let parent = to.parent().unwrap_or_else(|| Path::new("/"));
    if !parent.is_dir() {
        if !call.flag("makedirs") {
            return Ok(false.into());
        }
        paths::create_dir_all(parent).map_err(failed)?;
    }
    copy_whole(&cached, &to).map_err(failed)?;
    Ok(to.display().to_string().into())
}

pub(super) fn get_dir(call: &Call<'_>) -> CallResult {
    let client = FileClient::new(call.ctx);
    let url = rendered(call, "path")?;
    let Some(salt) = SaltUrl::parse(&url) else {
        return Err(FileError::Unsupported(url).into());
    };
    let (path, env) = place(call, &client, &salt);
    let path = path.trim_end_matches('/').to_owned();
    let dest = rendered(call, "dest")?;
    let gzip = gzip(call)?;
    // The directory itself comes along, what lies above it does not.
    let above = path.rsplit_once('/').map_or("", |(above, _)| above);
    let target = |name: &str| {
        let relative = name
            .strip_prefix(above)
            .unwrap_or(name)
            .trim_start_matches('/');
        format!("{dest}/{relative}")
    };
    let inside = |name: &str| {
        path.is_empty()
            || name
                .strip_prefix(&path)
                .is_some_and(|rest| rest.starts_with('/'))
    };
    let mut copied = Vec::new();
    for name in client
        .files(&env, &path)?
        .iter()
        .filter(|name| inside(name))
    {
        let url = format!("salt://{name}?saltenv={env}");
        if let Copied::To(to) = copy_to(call, &url, &target(name), true, gzip)? {
            copied.push(to.display().to_string());
        }
    }
    for name in client
        .empty_dirs(&env, &path)?
        .iter()
        .filter(|name| inside(name))
    {
        let directory = target(name);
        paths::create_dir_all(&directory).map_err(|error| os_error(&error, &directory))?;
        copied.push(directory);
    }
    copied.sort();
    Ok(copied
        .into_iter()
        .map(Value::from)
        .collect::<Vec<_>>()
        .into())
}
