//! From the master to here.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use halite_crypto::HashType;
use halite_proto::Value;
use halite_target::glob::fnmatch;
use halite_target::pcre;

use super::template::rendered;
use super::{place, saltenv};
use halite_call::{
    Call, CallError, CallResult, FileClient, FileError, SaltUrl, WebFile,
    file_client::{below, hash_of, private_dirs},
    paths, python,
    replace::{Dress, place_followed, umask},
};

fn path_value(path: Option<PathBuf>) -> Value {
    path.map_or(Value::Bool(false), |path| path.display().to_string().into())
}

/// What comes over protocols that are not there yet is refused by name.
fn refuse_remote(url: &str) -> Result<(), CallError> {
    match url.split_once("://") {
        Some((scheme, _)) if !matches!(scheme, "salt" | "file") && !WebFile::is_web(url) => {
            Err(CallError::command(format!(
                "{scheme}:// sources are not supported by this minion yet: {url}"
            )))
        }
        _ => Ok(()),
    }
}

/// Caches what an address names; the path of a local file is its own.
pub(super) fn cache_one(call: &Call<'_>, url: &str) -> Result<Option<PathBuf>, CallError> {
    refuse_remote(url)?;
    let client = FileClient::new(call.ctx);
    if WebFile::is_web(url) {
        let env = call.get("saltenv").filter(|env| env.is_true());
        let env = env.map_or_else(|| client.default_env(), python::str);
        return Ok(Some(web(call, &client, url, &env)?));
    }
    match SaltUrl::parse(url) {
        Some(salt) => {
            let (path, env) = place(call, &client, &salt);
            let cached = client.cache(&path, &env)?;
            if cached.is_none() {
                tracing::error!("Unable to cache file '{url}' from saltenv '{env}'.");
            }
            Ok(cached)
        }
        None => Ok(Some(url.strip_prefix("file://").unwrap_or(url).into())),
    }
}

/// A file of the web, in the cache; one that has the `source_hash` already is
/// not fetched again.
fn web(
    call: &Call<'_>,
    client: &FileClient<'_>,
    url: &str,
    env: &str,
) -> Result<PathBuf, CallError> {
    let hash = call.get("source_hash").and_then(Value::as_str);
    let hash = hash.map(|hash| hash.split_once('=').map_or(hash, |(_, hash)| hash));
    let cached = client.web_path(url, env);
    let kinds = [
        (32, "md5"),
        (40, "sha1"),
        (56, "sha224"),
        (64, "sha256"),
        (96, "sha384"),
        (128, "sha512"),
    ];
    let kind = hash.and_then(|hash| kinds.iter().find(|(length, _)| *length == hash.len()));
    let own = kind
        .and_then(|(_, kind)| HashType::parse(kind).ok())
        .and_then(|kind| hash_of(&cached, kind).ok());
    if own.is_some() && own.as_deref() == hash {
        return Ok(cached);
    }
    let flag = |name: &str, default: bool| call.get(name).map_or(default, Value::is_true);
    let file = WebFile {
        url,
        saltenv: env,
        use_etag: flag("use_etag", false),
        verify_ssl: flag("verify_ssl", true),
    };
    Ok(client.cache_web(&file, call.cancel())?)
}

pub(super) fn cache_file(call: &Call<'_>) -> CallResult {
    Ok(path_value(cache_one(call, &call.text("path"))?))
}

pub(super) fn cache_files(call: &Call<'_>) -> CallResult {
    let mut cached = Vec::new();
    for url in call.texts("paths") {
        cached.push(path_value(cache_one(call, &url)?));
    }
    Ok(cached.into())
}

pub(super) fn cache_master(call: &Call<'_>) -> CallResult {
    let client = FileClient::new(call.ctx);
    let env = saltenv(call, &client);
    let mut cached = Vec::new();
    for path in client.files(&env, "")? {
        cached.push(path_value(client.cache(&path, &env)?));
    }
    Ok(cached.into())
}

/// Whether a path is wanted by the patterns that say what to take and leave.
fn wanted(call: &Call<'_>, path: &str) -> bool {
    let matches = |pattern: &str| match pattern.strip_prefix("E@") {
        Some(regex) => pcre::Pcre::searching(regex)
            .and_then(|regex| regex.is_in(path))
            .unwrap_or(false),
        None => fnmatch(pattern, path),
    };
    let include = call
        .text_opt("include_pat")
        .is_none_or(|pattern| matches(&pattern));
    let exclude = call
        .text_opt("exclude_pat")
        .is_some_and(|pattern| matches(&pattern));
    include && !exclude
}

pub(super) fn cache_dir(call: &Call<'_>) -> CallResult {
    let client = FileClient::new(call.ctx);
    let url = call.text("path");
    let Some(salt) = SaltUrl::parse(&url) else {
        return Err(FileError::Unsupported(url).into());
    };
    let (mut prefix, env) = place(call, &client, &salt);
    if !prefix.ends_with('/') {
        prefix.push('/');
    }
    let mut cached = Vec::new();
    for path in client.files(&env, "")? {
        if path.starts_with(&prefix)
            && wanted(call, &path)
            && let Some(file) = client.cache(&path, &env)?
        {
            cached.push(file.display().to_string());
        }
    }
    if call.flag("include_empty") {
        for path in client.empty_dirs(&env, "")? {
            if path.starts_with(&prefix) && wanted(call, &path) {
                let directory = client.cache_path(&path, &env)?;
                make_dirs(&directory)?;
                cached.push(directory.display().to_string());
            }
        }
    }
    cached.sort();
    Ok(cached
        .into_iter()
        .map(Value::from)
        .collect::<Vec<_>>()
        .into())
}

fn make_dirs(path: &Path) -> Result<(), CallError> {
    private_dirs(path)
        .map_err(|error| CallError::command(format!("could not make {}: {error}", path.display())))
}

pub(super) fn cache_local_file(call: &Call<'_>) -> CallResult {
    let path = call.text("path");
    if !Path::new(&path).is_file() {
        return Ok("".into());
    }
    let cached = local_cache_path(call, &path)?;
    if let Some(directory) = cached.parent() {
        make_dirs(directory)?;
    }
    copy_whole(Path::new(&path), &cached)
        .map_err(|error| CallError::command(format!("could not copy {path}: {error}")))?;
    Ok(cached.display().to_string().into())
}

/// A copy that is whole from its first moment; one that was there keeps its
/// owner and mode, but for a new one the mode is that of the original.
fn copy_whole(from: &Path, to: &Path) -> std::io::Result<()> {
    let mut file = fs::File::open(from)?;
    let mode = std::os::unix::fs::PermissionsExt::mode(&file.metadata()?.permissions());
    let write = |new: &mut fs::File| std::io::copy(&mut file, new).map(drop);
    place_followed(to, Dress::kept(mode & !umask()), write).map(drop)
}

/// Where a local file's copy lies in the cache.
pub(super) fn local_cache_path(call: &Call<'_>, path: &str) -> Result<PathBuf, CallError> {
    let root = call.ctx.cachedir().join("localfiles");
    Ok(below(&root, &[path.trim_start_matches('/')])?)
}

pub(super) fn cache_dest(call: &Call<'_>) -> CallResult {
    let client = FileClient::new(call.ctx);
    let url = call.text("url");
    if let Some(salt) = SaltUrl::parse(&url) {
        let (path, env) = place(call, &client, &salt);
        return Ok(client.cache_path(&path, &env)?.display().to_string().into());
    }
    // A file of this machine is used where it is.
    let Some((_, rest)) = url
        .split_once("://")
        .filter(|(scheme, _)| *scheme != "file")
    else {
        let path = url.strip_prefix("file://").unwrap_or(&url);
        return Ok(path.into());
    };
    // Elsewhere: host (without user and colon), path, and the query behind a
    // dash.
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let host = host.rsplit('@').next().unwrap_or_default().replace(':', "");
    let path = path.replacen('?', "-", 1);
    let env = saltenv(call, &client);
    let root = call.ctx.cachedir().join("extrn_files");
    Ok(below(&root, &[&env, &host, &path])?
        .display()
        .to_string()
        .into())
}

/// Copies to `dest`: where it is a directory or ends like one, under the
/// file's own name. Nothing if there is no such file, `Err(false)` shape: see
/// [`Copied`].
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
        paths::create_dir_all(&parent).map_err(|error| {
            CallError::command(format!("could not make {}: {error}", parent.display()))
        })?;
    }
    if client.fetch(&path, &env, &to, gzip)? {
        Ok(Copied::To(to))
    } else {
        Ok(Copied::NoFile)
    }
}

enum Copied {
    To(PathBuf),
    NoFile,
    NoDirectory,
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
    match fs::read(path) {
        Ok(bytes) => Ok(Value::text_or_bytes(bytes)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false.into()),
        Err(error) => Err(CallError::command(format!(
            "could not read {}: {error}",
            path.display()
        ))),
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
    let failed = |error: std::io::Error| {
        CallError::command(format!("could not write {}: {error}", to.display()))
    };
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
        paths::create_dir_all(&directory)
            .map_err(|error| CallError::command(format!("could not make {directory}: {error}")))?;
        copied.push(directory);
    }
    copied.sort();
    Ok(copied
        .into_iter()
        .map(Value::from)
        .collect::<Vec<_>>()
        .into())
}
