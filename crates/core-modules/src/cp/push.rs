//! Copies files from here to the master.

use std::fs::{self, File, Metadata};
use std::io::Read;
use std::path::{Component, Path, PathBuf};

use halite_crypto::random_bytes;
use halite_proto::request::PushId;
use halite_proto::{Map, Value};
use halite_target::glob::fnmatch;

use crate::limits::CACHED_FILES_MAX;
use halite_call::{Call, CallError, CallResult, ContextError, os_error, os_text, paths, python};

pub(super) fn push(call: &Call<'_>) -> CallResult {
    let path = call.text("path");
    let upload = call.text_opt("upload_path");
    let sent = send(call, Path::new(&path), upload.as_deref())?;
    if sent && call.flag("remove_source") {
        paths::remove_file(&path).map_err(|error| {
            CallError::command(format!(
                "cp.push could not remove file '{path}': {}",
                os_text(&error, &path)
            ))
        })?;
    }
    Ok(sent.into())
}

/// The parts of a path, if it is one that may be sent: absolute, without `..`.
fn parts(path: &Path) -> Option<Vec<Value>> {
    let mut parts = Vec::new();
    for component in path.components() {
        match component {
            Component::Normal(name) => parts.push(Value::from(name.to_str()?)),
            Component::RootDir | Component::CurDir => {}
            Component::ParentDir | Component::Prefix(_) => return None,
        }
    }
    (!parts.is_empty()).then_some(parts)
}

fn send(call: &Call<'_>, path: &Path, upload: Option<&str>) -> Result<bool, CallError> {
    let shown = path.display();
    if !path.is_absolute() || parts(path).is_none() {
        tracing::debug!("Path must be absolute, without `..`, returning False: {shown}");
        return Ok(false);
    }
    let upload = upload.map_or(path, Path::new);
    let Some(parts) = parts(upload) else {
        tracing::debug!("Path must not hold `..`, returning False");
        return Ok(false);
    };
    let Ok(data) = fs::metadata(path) else {
        tracing::error!("Path either does not exist, or is not a file: {shown}");
        return Ok(false);
    };
    if !data.is_file() {
        tracing::error!("Path either does not exist, or is not a file: {shown}");
        return Ok(false);
    }
    let id = format!("{:032x}", u128::from_le_bytes(random_bytes()));
    let mut is_refused_before = false;
    for attempt in 0..TRIES {
        let is_last = attempt + 1 == TRIES;
        let push = PushId {
            id: id.clone(),
            attempt,
        };
        match send_once(call, path, &parts, &push, is_last)? {
            Sent::Whole => return Ok(true),
            // One that has taken the beginning may be another master by now, or
            // have lost it.
            Sent::Refused { loc } if loc > 0 && !is_refused_before && !is_last => {
                is_refused_before = true;
            }
            Sent::Refused { .. } => {
                tracing::error!(
                    "cp.push Failed transfer failed. Ensure master has 'file_recv' set to True and that the file \
                     is not larger than the 'file_recv_size_max' setting on the master."
                );
                return Ok(false);
            }
            Sent::Changed => {}
            Sent::Lost(error) if is_last => {
                return Err(CallError::command(format!(
                    "cp.push could not send '{shown}': {error}"
                )));
            }
            Sent::Lost(error) => {
                tracing::warn!("the master was lost while {shown} was sent: {error}")
            }
        }
        tracing::info!("{shown} is sent once more, from the beginning");
    }
    Ok(false)
}

/// How often a file is begun with that changes on its way, or whose master is
/// lost.
const TRIES: u64 = 3;

/// What came of sending a file.
enum Sent {
    /// The master has all of it.
    Whole,
    /// The master does not want the piece at `loc`.
    Refused { loc: u64 },
    /// The file has changed meanwhile.
    Changed,
    /// No master has answered.
    Lost(ContextError),
}

/// Sends a file as it is read, from its beginning to its end; the last piece
/// says how large it was. With `as_it_is` also if it changes meanwhile.
fn send_once(
    call: &Call<'_>,
    path: &Path,
    parts: &[Value],
    push: &PushId,
    as_it_is: bool,
) -> Result<Sent, CallError> {
    let failed = |error: std::io::Error| os_error(&error, path);
    let mut file = paths::open_to_read(path).map_err(failed)?;
    let at_first = file.metadata().map_err(failed)?;
    let most = piece_bytes(call);
    let mut piece = read_full(&mut file, most).map_err(failed)?;
    let mut loc = 0;
    loop {
        let next = match piece.len() < most {
            true => Vec::new(),
            false => read_full(&mut file, most).map_err(failed)?,
        };
        let is_last = next.is_empty();
        let end = loc + piece.len() as u64;
        // A master takes a file for whole that has its size.
        let size = match is_last {
            true => end,
            false => at_first.len().max(end + 1),
        };
        if is_last && has_changed(&at_first, &file.metadata().map_err(failed)?) {
            if !as_it_is {
                return Ok(Sent::Changed);
            }
            tracing::warn!(
                "{} keeps changing: it is sent as it was read",
                path.display()
            );
        }
        let load = Map::from([
            ("cmd", Value::from("_file_recv")),
            ("id", call.ctx.id().into()),
            ("path", parts.to_vec().into()),
            ("size", size.into()),
            ("loc", loc.into()),
            ("data", Value::Bytes(piece)),
        ]);
        let mut beyond = load.clone();
        push.put(&mut beyond);
        match call
            .ctx
            .upstream()
            .and_then(|master| master.request_beyond(load, beyond))
        {
            Ok(answer) if answer.is_true() => {}
            Ok(_) => return Ok(Sent::Refused { loc }),
            Err(error @ (ContextError::NoMaster | ContextError::TimedOut { .. })) => {
                return Ok(Sent::Lost(error));
            }
            Err(error) => return Err(error.into()),
        }
        if is_last {
            return Ok(Sent::Whole);
        }
        (loc, piece) = (end, next);
    }
}

/// Whether something else than growing has happened to a file: what has been
/// read of it may not belong together.
fn has_changed(at_first: &Metadata, now: &Metadata) -> bool {
    let modified = |data: &Metadata| data.modified().ok();
    let is_written = modified(at_first) != modified(now);
    now.len() < at_first.len() || (is_written && now.len() == at_first.len())
}

fn piece_bytes(call: &Call<'_>) -> usize {
    const DEFAULT: usize = 262_144;
    const MOST: usize = 8 << 20;
    let asked = call.opt("file_buffer_size").as_i64();
    asked
        .and_then(|bytes| usize::try_from(bytes).ok())
        .filter(|bytes| (1..=MOST).contains(bytes))
        .unwrap_or(DEFAULT)
}

/// As much as there is, up to `most`.
fn read_full(file: &mut File, most: usize) -> std::io::Result<Vec<u8>> {
    let mut piece = Vec::new();
    file.take(most as u64).read_to_end(&mut piece)?;
    Ok(piece)
}

pub(super) fn push_dir(call: &Call<'_>) -> CallResult {
    let path = PathBuf::from(call.text("path"));
    let upload = call.text_opt("upload_path");
    if !path.is_absolute() || parts(&path).is_none() {
        return Ok(false.into());
    }
    if !path.is_dir() {
        return Ok(send(call, &path, upload.as_deref())?.into());
    }
    let pattern = call.arg("glob");
    let mut files = Vec::new();
    walk(&path, &mut files);
    files.sort();
    let mut pushed = false;
    for file in files {
        let name = file
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        if pattern.is_true() && !fnmatch(&python::str(pattern), &name) {
            continue;
        }
        let target = upload.as_ref().map(|upload| {
            let relative = file.strip_prefix(&path).unwrap_or(&file);
            Path::new(upload).join(relative).display().to_string()
        });
        if !send(call, &file, target.as_deref())? {
            return Ok(false.into());
        }
        pushed = true;
    }
    Ok(pushed.into())
}

fn walk(directory: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        if files.len() >= CACHED_FILES_MAX {
            return;
        }
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => walk(&entry.path(), files),
            Ok(kind) if kind.is_file() => files.push(entry.path()),
            _ => {}
        }
    }
}
