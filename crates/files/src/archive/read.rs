//! Lists the entries of an archive.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek};
use std::path::Path;
use std::process::{Child, ChildStdout, Stdio};

use flate2::read::MultiGzDecoder;
use halite_call::CallError;
use halite_process::child;
use halite_proto::{Map, Value};

use super::exec::MORE;
use super::fence::{Fence, Fenced, fenced};
use super::format::Format;
use crate::core::open;
use crate::limits::ARCHIVE_ENTRIES_MAX;
use halite_call::os_text;

/// The bytes of a tar, decompressed.
pub(super) enum Plain {
    /// As they are.
    File(BufReader<File>),
    /// Through gzip.
    Gzip(Box<MultiGzDecoder<BufReader<File>>>),
    /// Through a program.
    Program(ChildStdout, Child),
}

impl Read for Plain {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::File(file) => file.read(buffer),
            Self::Gzip(gzip) => gzip.read(buffer),
            Self::Program(out, child) => {
                let count = out.read(buffer)?;
                if count == 0 && !buffer.is_empty() && !child.wait()?.success() {
                    return Err(io::Error::other("the archive cannot be decompressed"));
                }
                Ok(count)
            }
        }
    }
}

impl Drop for Plain {
    fn drop(&mut self) {
        if let Self::Program(_, child) = self {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Opens a tar archive, whatever it is compressed with.
pub(super) fn open_tar(path: &Path) -> io::Result<(tar::Archive<Fenced<Plain>>, Fence)> {
    let mut start = [0; 6];
    let mut file = open::to_read(path)?;
    let mut got = 0;
    while got < start.len() {
        match file.read(&mut start[got..])? {
            0 => break,
            count => got += count,
        }
    }
    let program = |name: &str| -> io::Result<Plain> {
        let mut child = child::command(name)
            .args(["-d", "-c"])
            .arg(path)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let out = child
            .stdout
            .take()
            .ok_or_else(|| io::Error::other("the program has no output"))?;
        Ok(Plain::Program(out, child))
    };
    let plain = match &start {
        [0x1f, 0x8b, ..] => {
            let file = BufReader::new(open::to_read(path)?);
            Plain::Gzip(Box::new(MultiGzDecoder::new(file)))
        }
        [b'B', b'Z', b'h', ..] => program("bzip2")?,
        [0xfd, b'7', b'z', b'X', b'Z', 0] | [0x5d, 0, 0, ..] => program("xz")?,
        [0x28, 0xb5, 0x2f, 0xfd, ..] => program("zstd")?,
        _ => Plain::File(BufReader::new(open::to_read(path)?)),
    };
    Ok(fenced(plain))
}

/// Opens a zip archive.
pub(super) fn open_zip(path: &Path) -> Result<zip::ZipArchive<BufReader<File>>, CallError> {
    let file = open::to_read(path).map_err(|error| CallError::command(os_text(&error, path)))?;
    zip::ZipArchive::new(BufReader::new(file))
        .map_err(|_| CallError::command(format!("{} is not a ZIP file", path.display())))
}

/// How much of what a program complains about is shown, in bytes.
const COMPLAINT_BYTES_MAX: u64 = 16 * 1024;

fn not_listed(path: &Path, why: &str) -> CallError {
    let path = path.display();
    CallError::command(format!("Failed to list contents of {path}: {why}"))
}

/// The names in an archive, by kind, directories with a slash behind them.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Contents {
    pub(super) dirs: BTreeSet<String>,
    pub(super) files: BTreeSet<String>,
    pub(super) links: BTreeSet<String>,
}

impl Contents {
    /// Looks into an archive. What tar does not know to decompress is read
    /// from the program `decompress`, words that the path is put behind.
    pub(super) fn of(
        path: &Path,
        format: Format,
        decompress: Option<&[String]>,
    ) -> Result<Self, CallError> {
        match format {
            Format::Tar => Self::of_tar(path, decompress),
            Format::Zip => Self::of_zip(path),
            Format::Rar => Self::of_rar(path),
        }
    }

    fn of_tar(path: &Path, decompress: Option<&[String]>) -> Result<Self, CallError> {
        let shown = path.display();
        let own = open_tar(path).and_then(Self::from_tar);
        let found = match (own, decompress) {
            (Err(_), Some([program, args @ ..])) if path.exists() => {
                Self::through(path, program, args)?
            }
            (own, _) => own,
        };
        match found {
            Ok(Some(contents)) => Ok(contents),
            Ok(None) => Err(CallError::command(format!("{shown} has too many entries"))),
            Err(error) if error.kind() == io::ErrorKind::NotFound && !path.exists() => {
                Err(not_listed(path, &os_text(&error, path)))
            }
            Err(_) => Err(CallError::command(format!(
                "Unable to list contents of {shown}. If this is an XZ-compressed tar archive, \
                 install XZ Utils to enable listing its contents. If it is compressed using \
                 something other than XZ, it may be necessary to specify CLI options to decompress \
                 the archive. See the documentation for details."
            ))),
        }
    }

    /// The entries of a tar that a program writes; what it complains about is
    /// the error.
    fn through(
        path: &Path,
        program: &str,
        args: &[String],
    ) -> Result<io::Result<Option<Self>>, CallError> {
        let said = |error: io::Error| CallError::command(os_text(&error, path));
        let mut complaints = tempfile::tempfile().map_err(said)?;
        let mut child = child::command(program)
            .args(args)
            .arg(path)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(complaints.try_clone().map_err(said)?)
            .spawn()
            .map_err(|error| not_listed(path, &os_text(&error, Path::new(program))))?;
        let Some(out) = child.stdout.take() else {
            return Ok(Err(io::Error::other("the program has no output")));
        };
        let found = Self::from_tar(fenced(Plain::Program(out, child)));
        let mut text = Vec::new();
        complaints.rewind().map_err(said)?;
        let mut complaints = complaints.take(COMPLAINT_BYTES_MAX);
        complaints.read_to_end(&mut text).map_err(said)?;
        if text.is_empty() {
            return Ok(found);
        }
        Err(CallError::command(format!(
            "Failed to decompress {0}{MORE}archive location:\n    {0}\nerror:\n    {1}",
            path.display(),
            String::from_utf8_lossy(&text)
                .trim_end()
                .replace('\n', "\n    ")
        )))
    }

    /// The entries of a tar, or nothing if they are too many.
    fn from_tar(
        (mut archive, fence): (tar::Archive<Fenced<Plain>>, Fence),
    ) -> io::Result<Option<Self>> {
        let mut contents = Self::default();
        for (count, entry) in archive.entries()?.enumerate() {
            let mut entry = entry?;
            if count >= ARCHIVE_ENTRIES_MAX {
                return Ok(None);
            }
            let name = fence.passed(&mut entry)?;
            let kind = entry.header().entry_type();
            if kind.is_dir() {
                contents.add_dir(&name);
            } else if kind.is_symlink() {
                contents.links.insert(name);
            } else if !kind.is_pax_global_extensions() && !kind.is_pax_local_extensions() {
                contents.files.insert(name);
            }
        }
        Ok(Some(contents))
    }

    fn of_zip(path: &Path) -> Result<Self, CallError> {
        let mut archive = open_zip(path)?;
        let mut contents = Self::default();
        for at in 0..archive.len().min(ARCHIVE_ENTRIES_MAX) {
            let entry = archive.by_index_raw(at).map_err(|error| {
                CallError::command(format!(
                    "Failed to list contents of {}: {error}",
                    path.display()
                ))
            })?;
            let name = String::from_utf8_lossy(entry.name_raw()).into_owned();
            if name.ends_with('/') {
                contents.add_dir(&name);
            } else if entry
                .unix_mode()
                .is_some_and(|mode| mode & 0o170_000 == 0o120_000)
            {
                contents.links.insert(name);
            } else {
                contents.files.insert(name);
            }
        }
        Ok(contents)
    }

    fn of_rar(path: &Path) -> Result<Self, CallError> {
        let out = child::command("unrar")
            .args(["lb", "-p-"])
            .arg(path)
            .stdin(Stdio::null())
            .output()
            .map_err(|_| CallError::NotFound("unrar".to_owned()))?;
        if !out.status.success() {
            return Err(CallError::command(format!(
                "Failed to list contents of {}: {}",
                path.display(),
                String::from_utf8_lossy(&out.stderr).trim()
            )));
        }
        let names = String::from_utf8_lossy(&out.stdout).into_owned();
        let names: BTreeSet<String> = names.lines().map(str::to_owned).collect();
        let mut contents = Self::default();
        for name in &names {
            let below = format!("{name}/");
            if names.iter().any(|other| other.starts_with(&below)) {
                contents.add_dir(name);
            } else {
                contents.files.insert(name.clone());
            }
        }
        Ok(contents)
    }

    fn add_dir(&mut self, name: &str) {
        let bare = name.trim_end_matches('/');
        if !bare.is_empty() {
            self.dirs.insert(format!("{bare}/"));
        }
    }

    /// The names without their first `count` parts.
    pub(super) fn stripped(self, count: usize) -> Self {
        let strip = |names: BTreeSet<String>| -> BTreeSet<String> {
            names
                .into_iter()
                .filter_map(|name| {
                    let rest: Vec<&str> = name.split('/').skip(count).collect();
                    let rest = rest.join("/");
                    (!rest.is_empty()).then_some(rest)
                })
                .collect()
        };
        Self {
            dirs: strip(self.dirs),
            files: strip(self.files),
            links: strip(self.links),
        }
    }

    /// All names, sorted.
    pub(super) fn names(&self) -> BTreeSet<&String> {
        self.dirs
            .iter()
            .chain(&self.files)
            .chain(&self.links)
            .collect()
    }

    fn top_level(names: &BTreeSet<String>) -> Vec<&String> {
        names
            .iter()
            .filter(|name| !name.trim_end_matches('/').contains('/'))
            .collect()
    }

    /// Directories at the top, those that have no entry of their own too.
    pub(super) fn top_dirs(&self) -> BTreeSet<String> {
        self.names()
            .into_iter()
            .filter_map(|name| {
                let name = name.strip_prefix("./").unwrap_or(name);
                name.split_once('/').map(|(top, _)| format!("{top}/"))
            })
            .filter(|name| name != "/" && name != "./")
            .collect()
    }

    /// How many names there are at the top.
    pub(super) fn top_count(&self) -> usize {
        self.top_dirs().len()
            + Self::top_level(&self.files).len()
            + Self::top_level(&self.links).len()
    }

    /// Everything at the top.
    pub(super) fn top_names(&self) -> Vec<String> {
        let mut names: Vec<String> = self.top_dirs().into_iter().collect();
        names.extend(Self::top_level(&self.files).into_iter().cloned());
        names.extend(Self::top_level(&self.links).into_iter().cloned());
        names
    }

    /// By kind, as `archive.list verbose=True` returns it.
    pub(super) fn verbose(&self) -> Value {
        let list = |names: Vec<&String>| -> Value {
            names
                .into_iter()
                .map(|name| Value::from(name.as_str()))
                .collect::<Vec<_>>()
                .into()
        };
        let top_dirs = self.top_dirs();
        Map::from([
            ("dirs", list(self.dirs.iter().collect())),
            ("files", list(self.files.iter().collect())),
            ("links", list(self.links.iter().collect())),
            ("top_level_dirs", list(top_dirs.iter().collect())),
            ("top_level_files", list(Self::top_level(&self.files))),
            ("top_level_links", list(Self::top_level(&self.links))),
        ])
        .into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn through(program: &[&str]) -> Result<Contents, String> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("odd");
        let mut tar = tar::Builder::new(Vec::new());
        let mut header = tar::Header::new_gnu();
        header.set_size(3);
        header.set_cksum();
        tar.append_data(&mut header, "a/f", &b"hi\n"[..]).unwrap();
        std::fs::write(dir.path().join("plain"), tar.into_inner().unwrap()).unwrap();
        std::fs::write(&path, "neither tar nor we can unpack it").unwrap();
        let script = "cat \"$(dirname \"$1\")/plain\"";
        let words: Vec<String> = match program {
            [] => ["sh", "-c", script, "sh"].map(str::to_owned).to_vec(),
            words => words.iter().map(|word| (*word).to_owned()).collect(),
        };
        let found = Contents::of(&path, Format::Tar, Some(&words));
        found.map_err(|error| {
            let text = error.to_string();
            text.replace(&*path.to_string_lossy(), "ODD")
        })
    }

    #[test]
    fn what_tar_cannot_read_is_read_from_a_program() {
        let found = through(&[]).unwrap();
        assert_eq!(found.files, BTreeSet::from(["a/f".to_owned()]));
    }

    #[test]
    fn programs_that_do_not_help_are_told() {
        let silent = through(&["false"]).unwrap_err();
        assert!(
            silent.starts_with("Unable to list contents of ODD. If"),
            "{silent}"
        );
        assert_eq!(
            through(&["sh", "-c", "echo never heard of it >&2"]).unwrap_err(),
            "Failed to decompress ODD. Additional info follows:\n\narchive location:\n    \
             ODD\nerror:\n    never heard of it"
        );
        assert_eq!(
            through(&["halite-no-such-program"]).unwrap_err(),
            "Failed to list contents of ODD: [Errno 2] No such file or directory: \
             'halite-no-such-program'"
        );
    }
}
