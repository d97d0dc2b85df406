//! Files that come with the call itself: the other end of `salt-cp`.

use std::fs::{self, File, Permissions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::read::MultiGzDecoder;
use halite_crypto::{HashType, hash_hex};
use halite_proto::pieces::{Behind, PiecePosition};
use halite_proto::{Map, Value};

use crate::grains::map_argument;
use crate::limits::UNFINISHED_KEPT;
use halite_call::limits::FILE_PIECE_BYTES_MAX;
use halite_call::{
    Call, CallError, CallResult, paths, python,
    replace::{Dress, place_followed, umask},
};

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
        let dress = Dress::kept(0o666 & !umask());
        let written = place_followed(&target, dress, |file| file.write_all(&bytes));
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
        return match paths::create_dir_all(&dest) {
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

/// Writes a piece where it belongs. Salt's `salt-cp` does not say which piece
/// is the last, so its files grow under their names; ours does (see
/// [`PiecePosition`]), and its files get their names when they are whole.
fn write_chunk(call: &Call<'_>, dest: &Path) -> io::Result<()> {
    if let Some(parent) = dest.parent() {
        paths::create_dir_all(parent)?;
    }
    let bytes = piece(call)?;
    let mode = match call.arg("mode") {
        Value::Int(mode) => u32::try_from(*mode).ok().map(|mode| mode & 0o7777),
        _ => None,
    };
    let dress = match mode {
        Some(mode) => Dress::with_mode(mode),
        None => Dress::kept(0o666 & !umask()),
    };
    match call.arg("append").as_str().and_then(PiecePosition::parse) {
        Some(PiecePosition::First) => {
            let first = call.job.jid().unwrap_or_default();
            Unfinished::of(call, dest, first).begin(&bytes)
        }
        Some(PiecePosition::More(Behind { first, loc })) => Unfinished::of(call, dest, first)
            .append(&bytes, loc)
            .map(drop),
        Some(PiecePosition::Last(Behind { first, loc })) => {
            let unfinished = Unfinished::of(call, dest, first);
            let mut whole = unfinished.append(&bytes, loc)?;
            whole.seek(SeekFrom::Start(0))?;
            place_followed(dest, dress, |file| io::copy(&mut whole, file).map(drop))?;
            unfinished.remove()
        }
        _ if call.flag("append") => {
            let mut file = paths::append_or_create(dest)?;
            file.write_all(&bytes)?;
            match mode {
                Some(mode) => file.set_permissions(Permissions::from_mode(mode)),
                None => Ok(()),
            }
        }
        _ => place_followed(dest, dress, |file| file.write_all(&bytes)).map(drop),
    }
}

/// The piece of a call.
fn piece(call: &Call<'_>) -> io::Result<Vec<u8>> {
    let text = call.arg("chunk").as_bytes().unwrap_or_default();
    let text: Vec<u8> = text
        .iter()
        .copied()
        .filter(|byte| !byte.is_ascii_whitespace())
        .collect();
    let bytes = STANDARD.decode(text).map_err(io::Error::other)?;
    if !call.flag("compressed") {
        return Ok(bytes);
    }
    let mut plain = Vec::new();
    MultiGzDecoder::new(&*bytes)
        .take(FILE_PIECE_BYTES_MAX + 1)
        .read_to_end(&mut plain)?;
    match plain.len() as u64 > FILE_PIECE_BYTES_MAX {
        // The file would have a hole.
        true => Err(io::Error::other("the piece is too large")),
        false => Ok(plain),
    }
}

/// A file that is not whole yet: in a directory of the minion's own, where
/// nobody else takes it for whole or puts a link in its place.
struct Unfinished {
    path: PathBuf,
}

impl Unfinished {
    /// That of the copy which began with the job `first`.
    fn of(call: &Call<'_>, dest: &Path, first: &str) -> Self {
        let cachedir = call.opt_text("cachedir").unwrap_or_default();
        let place = hash_hex(HashType::Sha256, dest.as_os_str().as_encoded_bytes());
        Self {
            path: Path::new(&cachedir)
                .join("salt-cp")
                .join(format!("{place}-{first}")),
        }
    }

    /// Removes it, and what was begun before it for the same place: job ids
    /// are in the order of time.
    fn remove(self) -> io::Result<()> {
        let name = |path: &Path| Some(path.file_name()?.to_str()?.to_owned());
        let place = |name: &str| Some(name.split_once('-')?.0.to_owned());
        let own = name(&self.path).unwrap_or_default();
        let dir = self.path.parent().unwrap_or(&self.path);
        for entry in fs::read_dir(dir)?.flatten() {
            let other = name(&entry.path()).unwrap_or_default();
            if place(&other) == place(&own) && other < own {
                let removed = paths::remove_file(entry.path());
                tracing::debug!(path = ?entry.path(), ?removed, "an older copy");
            }
        }
        paths::remove_file(&self.path)
    }

    /// Makes it anew with its first piece.
    fn begin(&self, bytes: &[u8]) -> io::Result<()> {
        let dir = self.path.parent().unwrap_or(&self.path);
        paths::create_dirs(dir, 0o700, |_| Ok(()))?;
        remove_abandoned(dir);
        paths::create(&self.path, 0o600)?.write_all(bytes)
    }

    /// Puts the piece that belongs at `loc` behind those that are there.
    fn append(&self, bytes: &[u8], loc: u64) -> io::Result<File> {
        let mut file = paths::open_to_append(&self.path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => io::Error::other("its first piece is missing"),
            _ => error,
        })?;
        let len = file.metadata()?.len();
        if len != loc {
            return Err(io::Error::other(format!(
                "there are {len} bytes in front of its piece at {loc}"
            )));
        }
        file.write_all(bytes)?;
        Ok(file)
    }
}

/// Removes what nobody has sent the rest of.
fn remove_abandoned(dir: &Path) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let modified = entry.metadata().and_then(|data| data.modified());
        let age = modified.ok().and_then(|modified| modified.elapsed().ok());
        if age.is_some_and(|age| age > UNFINISHED_KEPT) {
            let removed = paths::remove_file(entry.path());
            tracing::debug!(path = ?entry.path(), ?removed, "a copy that was broken off");
        }
    }
}
