//! From here to the master.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Component, Path, PathBuf};

use halite_proto::{Map, Value};
use halite_target::glob::fnmatch;

use crate::call::Call;
use crate::error::{CallError, CallResult};
use crate::limits::CACHED_FILES_MAX;
use crate::python;

pub(super) fn push(call: &Call<'_>) -> CallResult {
    let path = call.text("path");
    let upload = call.text_opt("upload_path");
    let sent = send(call, Path::new(&path), upload.as_deref())?;
    if sent && call.flag("remove_source") {
        fs::remove_file(&path).map_err(|error| {
            CallError::command(format!("cp.push could not remove file '{path}': {error}"))
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
    let failed =
        |error: std::io::Error| CallError::command(format!("could not read {shown}: {error}"));
    let mut file = File::open(path).map_err(failed)?;
    let mut buffer = vec![0; piece_bytes(call)];
    let mut sent = 0_u64;
    loop {
        let count = read_full(&mut file, &mut buffer).map_err(failed)?;
        // An empty file is sent once, so that it exists there.
        if count == 0 && sent > 0 {
            return Ok(true);
        }
        let load = Map::from([
            ("cmd", Value::from("_file_recv")),
            ("id", call.ctx.id().into()),
            ("path", parts.clone().into()),
            ("size", data.len().into()),
            ("loc", sent.into()),
            ("data", Value::Bytes(buffer[..count].to_vec())),
        ]);
        if !call.ctx.request(load)?.is_true() {
            tracing::error!(
                "cp.push Failed transfer failed. Ensure master has 'file_recv' set to True and that the file \
                 is not larger than the 'file_recv_size_max' setting on the master."
            );
            return Ok(false);
        }
        if count == 0 {
            return Ok(true);
        }
        sent += count as u64;
    }
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

fn read_full(file: &mut File, buffer: &mut [u8]) -> std::io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match file.read(&mut buffer[filled..])? {
            0 => break,
            count => filled += count,
        }
    }
    Ok(filled)
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
