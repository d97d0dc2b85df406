//! The files that `salt-cp` sends, and their names on the minions.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::Exit;
use crate::options::Stop;

/// Directories below each other at most: a loop of links ends there.
const DEPTH_MAX: usize = 64;

/// Something to send.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// A file with its mode.
    File {
        local: PathBuf,
        remote: String,
        mode: u32,
    },
    /// A directory without anything in it.
    EmptyDir { remote: String },
    /// Something that is neither: a pipe, a socket, a device. To read it may
    /// never end.
    Neither { local: PathBuf },
}

/// What is at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// A file with its mode.
    File(u32),
    EmptyDir,
    Neither,
}

/// The end because a file cannot be read.
pub(super) fn unreadable(path: &Path, error: &io::Error) -> Stop {
    let text = match error.kind() {
        io::ErrorKind::NotFound => format!("{} does not exist", path.display()),
        _ => format!("{}: {error}", path.display()),
    };
    Stop {
        stdout: String::new(),
        stderr: format!("{text}\n"),
        exit: Exit::Incomplete,
    }
}

/// The text of a file that is sent whole; nothing of what is neither a file
/// nor a directory.
pub(super) fn text_of(source: &str, bytes_max: u64) -> Result<Option<String>, Stop> {
    let refused = |text: String| Stop {
        stdout: String::new(),
        stderr: format!("{text}\n"),
        exit: Exit::Failure,
    };
    let path = Path::new(source);
    let meta = fs::metadata(path).map_err(|error| unreadable(path, &error))?;
    if meta.is_dir() {
        // On the standard output, as Salt says it.
        return Err(Stop {
            stdout: format!(
                "{source} is a directory, only files are supported in non-chunked mode. Use \
             \"--chunked\" command line argument.\n"
            ),
            stderr: String::new(),
            exit: Exit::Failure,
        });
    }
    if !meta.is_file() {
        return Ok(None);
    }
    if meta.len() > bytes_max {
        return Err(refused(format!(
            "{source} is too large to be sent whole: use --chunked"
        )));
    }
    let bytes = fs::read(path).map_err(|error| unreadable(path, &error))?;
    match String::from_utf8(bytes) {
        Ok(text) => Ok(Some(text)),
        Err(_) => Err(refused(format!("{source} is no text: use --chunked"))),
    }
}

/// Everything below the sources, and where it goes.
pub(super) fn all(sources: &[String], dest: &str) -> Result<Vec<Source>, Stop> {
    let mut found = Vec::new();
    for source in sources {
        let path = Path::new(source);
        walk(path, path, &mut found, 0)?;
    }
    let has_empty_dirs = found.iter().any(|(_, _, kind)| *kind == Kind::EmptyDir);
    let dest_is_dir = has_empty_dirs || found.len() > 1 || dest.ends_with(['/', '\\']);
    let mut sources = Vec::with_capacity(found.len());
    for (local, top, kind) in found {
        sources.push(match kind {
            Kind::Neither => Source::Neither { local },
            Kind::EmptyDir => Source::EmptyDir {
                remote: remote_path(&local, &top, dest, dest_is_dir)?,
            },
            Kind::File(mode) => Source::File {
                remote: remote_path(&local, &top, dest, dest_is_dir)?,
                local,
                mode,
            },
        });
    }
    Ok(sources)
}

/// A path, the source it is below, and what it is.
type Found = (PathBuf, PathBuf, Kind);

fn walk(path: &Path, top: &Path, found: &mut Vec<Found>, depth: usize) -> Result<(), Stop> {
    let meta = fs::metadata(path).map_err(|error| unreadable(path, &error))?;
    let mut is = |kind| found.push((path.to_owned(), top.to_owned(), kind));
    if !meta.is_dir() || depth > DEPTH_MAX {
        is(match meta.is_file() || meta.is_dir() {
            true => Kind::File(meta.permissions().mode() & 0o7777),
            false => Kind::Neither,
        });
        return Ok(());
    }
    let entries = fs::read_dir(path).and_then(Iterator::collect::<io::Result<Vec<_>>>);
    let mut entries = entries.map_err(|error| unreadable(path, &error))?;
    if entries.is_empty() {
        is(Kind::EmptyDir);
    }
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        walk(&entry.path(), top, found, depth + 1)?;
    }
    Ok(())
}

fn remote_path(local: &Path, top: &Path, dest: &str, dest_is_dir: bool) -> Result<String, Stop> {
    let name = |path: &Path| path.file_name().map(PathBuf::from).unwrap_or_default();
    let remote = if local == top {
        match dest_is_dir {
            true => Path::new(dest).join(name(local)),
            false => PathBuf::from(dest),
        }
    } else {
        let below = local.strip_prefix(top).unwrap_or(local);
        Path::new(dest).join(name(top)).join(below)
    };
    // Under another name it would be another file.
    remote.into_os_string().into_string().map_err(|_| Stop {
        stdout: String::new(),
        stderr: format!("{}: its name is no text\n", local.display()),
        exit: Exit::Failure,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn remotes(sources: &[&Path], dest: &str) -> Vec<String> {
        let sources: Vec<String> = sources
            .iter()
            .map(|path| path.to_str().unwrap().to_owned())
            .collect();
        all(&sources, dest)
            .unwrap()
            .into_iter()
            .map(|source| match source {
                Source::File { remote, .. } | Source::EmptyDir { remote } => remote,
                Source::Neither { local } => format!("not {}", local.display()),
            })
            .collect()
    }

    #[test]
    fn a_file_goes_to_its_destination_or_into_it() {
        let dir = tempfile::tempdir().unwrap();
        let (a, b) = (dir.path().join("a"), dir.path().join("b"));
        fs::write(&a, "x").unwrap();
        fs::write(&b, "x").unwrap();
        assert_eq!(remotes(&[&a], "/tmp/to"), ["/tmp/to"]);
        assert_eq!(remotes(&[&a], "/tmp/to/"), ["/tmp/to/a"]);
        assert_eq!(remotes(&[&a, &b], "/tmp/to"), ["/tmp/to/a", "/tmp/to/b"]);
    }

    #[test]
    fn directories_keep_their_shape() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().join("top");
        fs::create_dir_all(top.join("sub")).unwrap();
        fs::create_dir_all(top.join("void")).unwrap();
        fs::write(top.join("sub/f"), "x").unwrap();
        assert_eq!(
            remotes(&[&top], "/tmp/to"),
            ["/tmp/to/top/sub/f", "/tmp/to/top/void"]
        );
    }

    #[test]
    fn what_is_no_file_is_not_waited_for_and_no_name_is_guessed() {
        use std::os::unix::ffi::OsStrExt as _;
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().join("top");
        fs::create_dir(&top).unwrap();
        fs::write(top.join("new\nline"), "x").unwrap();
        let socket = top.join("socket");
        let _bound = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        assert_eq!(
            remotes(&[&top], "/tmp/to"),
            [
                "/tmp/to/top/new\nline".to_owned(),
                format!("not {}", socket.display())
            ]
        );
        fs::write(top.join(std::ffi::OsStr::from_bytes(b"caf\xe9")), "x").unwrap();
        let source = top.to_str().unwrap().to_owned();
        assert_eq!(all(&[source], "/tmp/to").unwrap_err().exit, Exit::Failure);
    }

    #[test]
    fn what_cannot_be_sent_whole_is_said() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
        fs::write(path("text"), "žluť").unwrap();
        fs::write(path("binary"), b"\xff\xfe").unwrap();
        assert_eq!(
            text_of(&path("text"), 100).unwrap().as_deref(),
            Some("žluť")
        );
        assert_eq!(text_of(&path("text"), 1).unwrap_err().exit, Exit::Failure);
        assert_eq!(
            text_of(&path("binary"), 100).unwrap_err().exit,
            Exit::Failure
        );
        assert_eq!(text_of(&path(""), 100).unwrap_err().exit, Exit::Failure);
        assert_eq!(
            text_of(&path("none"), 100).unwrap_err().exit,
            Exit::Incomplete
        );
    }
}
