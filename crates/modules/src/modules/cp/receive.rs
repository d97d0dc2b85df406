//! Files that come with the call itself: the other end of `salt-cp`.

use std::fs::{self, OpenOptions, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::read::MultiGzDecoder;
use halite_proto::{Map, Value};

use crate::call::Call;
use crate::error::{CallError, CallResult};
use crate::limits::FILE_PIECE_BYTES_MAX;
use crate::modules::grains::map_argument;
use crate::python;
use crate::replace::{Dress, replace_with, umask};

pub(super) fn recv(call: &Call<'_>) -> CallResult {
    let dest = call.text("dest");
    let files = map_argument(call, "files")?;
    let mut received = Map::new();
    for (path, data) in files {
        let path = python::str(path);
        let base = path.rsplit('/').next().unwrap_or_default();
        let into = Path::new(&dest);
        let parent = into.parent().unwrap_or_else(|| Path::new(""));
        let (shown, target): (String, PathBuf) = if into.is_dir() {
            let target = into.join(base);
            (target.display().to_string(), target)
        } else if parent.is_dir() && !dest.ends_with('/') {
            (dest.clone(), into.to_owned())
        } else {
            return Ok("Destination unavailable".into());
        };
        let bytes = data
            .as_bytes()
            .map_or_else(|| python::str(data).into_bytes(), <[u8]>::to_vec);
        // A link is followed, as by every other program that writes a file.
        let place = fs::canonicalize(&target).unwrap_or(target);
        let written = replace_with(&place, Dress::kept(0o666 & !umask()), |file| {
            file.write_all(&bytes)
        });
        if let Err(error) = &written {
            tracing::error!("could not write {shown}: {error}");
        }
        received.insert(shown, written.is_ok());
    }
    Ok(received.into())
}

pub(super) fn recv_chunked(call: &Call<'_>) -> CallResult {
    let dest = call.text("dest");
    if !Path::new(&dest).is_absolute() {
        return Err(CallError::invocation(format!(
            "the destination is no absolute path: {dest}"
        )));
    }
    if call.arg("chunk").is_nil() {
        // An empty directory is sent without content.
        return match fs::create_dir_all(&dest) {
            Ok(()) => Ok(true.into()),
            Err(_) if Path::new(&dest).is_file() => Ok("Path exists and is a file".into()),
            Err(error) => Ok(error.to_string().into()),
        };
    }
    match write_chunk(call, Path::new(&dest)) {
        Ok(()) => Ok(true.into()),
        // The other end shows the text.
        Err(error) => {
            call.set_retcode(1);
            Ok(format!("could not write {dest}: {error}").into())
        }
    }
}

fn write_chunk(call: &Call<'_>, dest: &Path) -> io::Result<()> {
    let chunk = call.arg("chunk");
    if let Some(parent) = dest.parent() {
        fs::create_dir_all(parent)?;
    }
    let append = call.flag("append");
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .append(append)
        .truncate(!append)
        .open(dest)?;
    if !chunk.is_nil() {
        let text = chunk.as_bytes().unwrap_or_default();
        let text: Vec<u8> = text
            .iter()
            .copied()
            .filter(|byte| !byte.is_ascii_whitespace())
            .collect();
        let bytes = STANDARD.decode(text).map_err(io::Error::other)?;
        let bytes = if call.flag("compressed") {
            let mut plain = Vec::new();
            MultiGzDecoder::new(&*bytes)
                .take(FILE_PIECE_BYTES_MAX)
                .read_to_end(&mut plain)?;
            plain
        } else {
            bytes
        };
        file.write_all(&bytes)?;
    }
    if let Value::Int(mode) = call.arg("mode")
        && let Ok(mode) = u32::try_from(*mode)
    {
        fs::set_permissions(dest, Permissions::from_mode(mode & 0o7777))?;
    }
    Ok(())
}
