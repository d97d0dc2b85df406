//! Getting files out of archives and into them.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, SystemTime};

use halite_modules::CallError;
use zip::write::SimpleFileOptions;

use super::fence::check_content;
use super::read::{open_tar, open_zip};
use crate::core::errors::{os_error, os_text};
use crate::core::open;
use crate::core::write::{Dress, replace_with};

/// Extracts a tar archive; the names of what was in it.
pub(super) fn untar(archive: &Path, dest: &Path) -> Result<Vec<String>, CallError> {
    let wrong = |error: io::Error| {
        CallError::command(format!("Failed to extract {}: {error}", archive.display()))
    };
    let (mut tar, fence) = open_tar(archive).map_err(wrong)?;
    tar.set_preserve_permissions(true);
    tar.set_preserve_mtime(true);
    tar.set_preserve_ownerships(nix::unistd::geteuid().is_root());
    tar.set_overwrite(true);
    let mut names = Vec::new();
    // Modes of directories come last: they may forbid writing into them.
    let mut directories = Vec::new();
    for entry in tar.entries().map_err(wrong)? {
        let mut entry = entry.map_err(wrong)?;
        let name = fence.passed(&mut entry).map_err(wrong)?;
        check_content(&mut entry).map_err(wrong)?;
        let kind = entry.header().entry_type();
        let is_dir = kind.is_dir();
        if is_dir {
            entry.set_preserve_permissions(false);
        }
        let is_inside = if kind.is_file() || kind.is_contiguous() {
            untar_file(&mut entry, dest, &name).map_err(wrong)?
        } else {
            entry.unpack_in(dest).map_err(wrong)?
        };
        if is_dir
            && is_inside
            && let (Ok(mode), Some(path)) = (entry.header().mode(), directory(dest, &name))
        {
            let _ = fs::set_permissions(path, fs::Permissions::from_mode(mode & 0o7777 | OWN));
            if mode & OWN != OWN {
                directories.push((name.clone(), mode));
            }
        }
        if !is_inside {
            return Err(CallError::command(format!(
                "{} holds {name}, which leads out of the directory",
                archive.display()
            )));
        }
        names.push(name.trim_end_matches('/').to_owned());
    }
    for (name, mode) in directories.into_iter().rev() {
        if let Some(path) = directory(dest, &name) {
            let _ = fs::set_permissions(path, fs::Permissions::from_mode(mode & 0o7777));
        }
    }
    Ok(names)
}

/// What one needs to write into a directory.
const OWN: u32 = 0o700;

/// Puts a regular file in place when it is whole: a half one would pass for
/// extracted. Whether its place is below `dest`.
fn untar_file<R: Read>(entry: &mut tar::Entry<'_, R>, dest: &Path, name: &str) -> io::Result<bool> {
    let below = name.trim_start_matches('/');
    let Some(path) = inside(dest, below).filter(|path| path.as_path() != dest) else {
        return Ok(false);
    };
    // Before anything is made: an earlier entry may be a link that leads out.
    let parent = path.parent().unwrap_or(dest);
    let made = parent.ancestors().find(|at| at.exists()).unwrap_or(dest);
    if !made.canonicalize()?.starts_with(dest.canonicalize()?) {
        return Ok(false);
    }
    make_parent(&path)?;
    let header = entry.header();
    let number = |id: io::Result<u64>| {
        let is_root = nix::unistd::geteuid().is_root();
        id.ok()
            .and_then(|id| u32::try_from(id).ok())
            .filter(|_| is_root)
    };
    let dress = Dress {
        uid: number(header.uid()),
        gid: number(header.gid()),
        ..Dress::with_mode(header.mode()?)
    };
    let seconds = header.mtime().unwrap_or(0);
    let time = SystemTime::UNIX_EPOCH
        .checked_add(Duration::from_secs(seconds))
        .unwrap_or(SystemTime::UNIX_EPOCH);
    replace_with(&path, dress, |file| {
        io::copy(entry, file)?;
        file.set_times(fs::FileTimes::new().set_modified(time).set_accessed(time))
    })?;
    Ok(true)
}

/// The place of a name below a directory; nothing if it leads out.
pub(super) fn inside(dest: &Path, name: &str) -> Option<PathBuf> {
    let mut path = dest.to_owned();
    for component in Path::new(name).components() {
        match component {
            Component::Normal(part) => path.push(part),
            Component::CurDir => {}
            _ => return None,
        }
    }
    Some(path)
}

/// The place of a directory, if it is one and no link: whoever changes a link's
/// mode changes that of what it leads to.
fn directory(dest: &Path, name: &str) -> Option<PathBuf> {
    let path = inside(dest, name)?;
    let is_real = fs::symlink_metadata(&path).is_ok_and(|data| data.is_dir());
    (is_real && is_safe(dest, &path)).then_some(path)
}

/// Whether the way to a place is made of directories only, from `dest` on.
fn is_safe(dest: &Path, path: &Path) -> bool {
    let Ok(below) = path.strip_prefix(dest) else {
        return false;
    };
    let mut way = dest.to_owned();
    let parts: Vec<Component<'_>> = below.components().collect();
    let above = parts.len().saturating_sub(1);
    for part in parts.into_iter().take(above) {
        way.push(part);
        if fs::symlink_metadata(&way).is_ok_and(|data| data.is_symlink()) {
            return false;
        }
    }
    true
}

/// How a zip archive is extracted.
pub(super) struct Unzip<'a> {
    pub(super) archive: &'a Path,
    pub(super) dest: &'a Path,
    pub(super) excludes: &'a [String],
    pub(super) password: Option<&'a str>,
    pub(super) permissions: bool,
}

impl Unzip<'_> {
    /// Extracts; the names of what was extracted.
    pub(super) fn run(&self) -> Result<Vec<String>, CallError> {
        let failed = |why: String| {
            CallError::command(format!("Exception encountered unpacking zipfile: {why}"))
        };
        if !self.archive.exists() {
            let error = io::Error::from_raw_os_error(nix::libc::ENOENT);
            return Err(failed(os_text(&error, self.archive)));
        }
        let mut zip =
            open_zip(self.archive).map_err(|_| failed("File is not a zip file".to_owned()))?;
        fs::create_dir_all(self.dest).map_err(|error| os_error(&error, self.dest))?;
        let mut names = Vec::new();
        for at in 0..zip.len() {
            let entry = match self.password {
                Some(password) => zip.by_index_decrypt(at, password.as_bytes()),
                None => zip.by_index(at),
            };
            let mut entry = entry.map_err(|error| failed(error.to_string()))?;
            let name = String::from_utf8_lossy(entry.name_raw()).into_owned();
            if self.excludes.contains(&name) {
                continue;
            }
            let Some(path) = inside(self.dest, &name).filter(|path| is_safe(self.dest, path))
            else {
                return Err(failed(format!("{name} leads out of the directory")));
            };
            let mode = entry.unix_mode();
            let kept = mode.filter(|mode| {
                self.permissions && mode & 0o170_000 != 0o120_000 && mode & 0o7777 != 0
            });
            let written = if name.ends_with('/') {
                fs::create_dir_all(&path)
            } else if mode.is_some_and(|mode| mode & 0o170_000 == 0o120_000) {
                link(&mut entry, &path)
            } else {
                file(&mut entry, &path, kept)
            };
            written.map_err(|error| failed(os_text(&error, &path)))?;
            if let Some(mode) = kept.filter(|_| name.ends_with('/'))
                && let Some(path) = directory(self.dest, &name)
            {
                let _ = fs::set_permissions(path, fs::Permissions::from_mode(mode & 0o7777));
            }
            names.push(name);
        }
        Ok(names)
    }
}

fn make_parent(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(parent) => fs::create_dir_all(parent),
        None => Ok(()),
    }
}

/// Links are longer than this nowhere.
const LINK_BYTES_MAX: u64 = 4096;

fn link(entry: &mut impl Read, path: &Path) -> io::Result<()> {
    make_parent(path)?;
    let mut target = String::new();
    entry.take(LINK_BYTES_MAX).read_to_string(&mut target)?;
    if fs::symlink_metadata(path).is_ok() {
        fs::remove_file(path)?;
    }
    std::os::unix::fs::symlink(target, path)
}

fn file(entry: &mut impl Read, path: &Path, mode: Option<u32>) -> io::Result<()> {
    make_parent(path)?;
    let dress = Dress {
        mode,
        ..Dress::kept(crate::core::manage::default_mode())
    };
    replace_with(path, dress, |file| io::copy(entry, file).map(|_| ()))
}

/// Makes a zip archive of the sources; the names in it.
pub(super) fn make_zip(
    archive: &Path,
    sources: &[String],
    cwd: Option<&str>,
) -> Result<Vec<String>, CallError> {
    let wrong = |error: &dyn std::fmt::Display| {
        CallError::command(format!("Exception encountered creating zipfile: {error}"))
    };
    let part = archive.with_extension("zip.part");
    let file = File::create(&part).map_err(|error| os_error(&error, &part))?;
    let mut zip = zip::ZipWriter::new(file);
    let mut names = Vec::new();
    let base = Path::new(cwd.unwrap_or("/"));
    let done = (|| -> Result<(), CallError> {
        for source in sources {
            let full = base.join(source);
            let name = source
                .trim_start_matches('/')
                .trim_end_matches('/')
                .to_owned();
            if let Ok(data) = fs::symlink_metadata(&full) {
                add(&mut zip, &full, &name, &data, &mut names).map_err(|error| wrong(&error))?;
            }
        }
        Ok(())
    })();
    let finished = done.and_then(|()| zip.finish().map(|_| ()).map_err(|error| wrong(&error)));
    if names.is_empty() || finished.is_err() {
        let _ = fs::remove_file(&part);
        finished?;
        return Err(wrong(&"none of the sources exist"));
    }
    fs::rename(&part, archive).map_err(|error| os_error(&error, archive))?;
    Ok(names)
}

fn add(
    zip: &mut zip::ZipWriter<File>,
    path: &Path,
    name: &str,
    data: &fs::Metadata,
    names: &mut Vec<String>,
) -> io::Result<()> {
    let options = SimpleFileOptions::default().unix_permissions(data.permissions().mode() & 0o7777);
    let other = |error: zip::result::ZipError| io::Error::other(error.to_string());
    if data.is_dir() {
        zip.add_directory(format!("{name}/"), options)
            .map_err(other)?;
        names.push(format!("{name}/"));
        let mut below: Vec<_> = fs::read_dir(path)?.flatten().collect();
        below.sort_by_key(fs::DirEntry::file_name);
        for entry in below {
            let data = fs::symlink_metadata(entry.path())?;
            let name = format!("{name}/{}", entry.file_name().to_string_lossy());
            add(zip, &entry.path(), &name, &data, names)?;
        }
        return Ok(());
    }
    if data.is_symlink() {
        let target = fs::read_link(path)?;
        zip.add_symlink(name, target.to_string_lossy(), options)
            .map_err(other)?;
    } else if data.is_file() {
        zip.start_file(name, options.large_file(data.len() > u64::from(u32::MAX)))
            .map_err(other)?;
        io::copy(&mut open::to_read(path)?, zip)?;
        zip.flush()?;
    } else {
        return Ok(());
    }
    names.push(name.to_owned());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_written_outside() {
        let dir = tempfile::tempdir().unwrap();
        let dest = dir.path().join("d");
        fs::create_dir(&dest).unwrap();
        assert!(inside(&dest, "../x").is_none());
        assert!(inside(&dest, "/etc/x").is_none());
        assert_eq!(inside(&dest, "./a/b"), Some(dest.join("a/b")));
        std::os::unix::fs::symlink("/tmp", dest.join("out")).unwrap();
        assert!(!is_safe(&dest, &dest.join("out/x")));
        assert!(is_safe(&dest, &dest.join("in/x")));
    }

    #[test]
    fn a_tar_that_leads_out_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let (archive, dest) = (dir.path().join("a.tar"), dir.path().join("d"));
        let mut header = tar::Header::new_gnu();
        header.as_mut_bytes()[..4].copy_from_slice(b"../x");
        header.set_size(1);
        header.set_mode(0o644);
        header.set_entry_type(tar::EntryType::Regular);
        header.set_cksum();
        let mut builder = tar::Builder::new(File::create(&archive).unwrap());
        builder.append(&header, &b"1"[..]).unwrap();
        builder.finish().unwrap();
        fs::create_dir(&dest).unwrap();
        let error = untar(&archive, &dest).unwrap_err().to_string();
        assert!(error.contains("leads out"), "{error}");
        assert!(!dir.path().join("x").exists());
    }

    /// A place outside whose mode archives want to change, and nothing else.
    fn victim(dir: &Path) -> (PathBuf, PathBuf) {
        let (victim, dest) = (dir.join("victim"), dir.join("d"));
        fs::create_dir(&victim).unwrap();
        fs::set_permissions(&victim, fs::Permissions::from_mode(0o700)).unwrap();
        fs::create_dir(&dest).unwrap();
        (victim, dest)
    }

    fn is_untouched(victim: &Path) -> bool {
        let mode = fs::metadata(victim).unwrap().permissions().mode();
        mode & 0o7777 == 0o700 && fs::read_dir(victim).unwrap().next().is_none()
    }

    #[test]
    fn a_tar_changes_nothing_through_its_own_links() {
        let dir = tempfile::tempdir().unwrap();
        let (victim, dest) = victim(dir.path());
        for name in ["link", "link/below", "link/below/file"] {
            let archive = dir.path().join("a.tar");
            let mut builder = tar::Builder::new(File::create(&archive).unwrap());
            let mut header = tar::Header::new_gnu();
            header.set_entry_type(tar::EntryType::Symlink);
            header.set_size(0);
            builder.append_link(&mut header, "link", &victim).unwrap();
            let mut header = tar::Header::new_gnu();
            header.set_mode(0o777);
            let content: &[u8] = if name.ends_with("file") { b"1" } else { b"" };
            header.set_size(content.len() as u64);
            header.set_entry_type(match content {
                [] => tar::EntryType::Directory,
                _ => tar::EntryType::Regular,
            });
            builder.append_data(&mut header, name, content).unwrap();
            builder.finish().unwrap();
            let _ = untar(&archive, &dest);
            assert!(is_untouched(&victim), "{name}");
            let _ = fs::remove_file(dest.join("link"));
        }
    }

    #[test]
    fn a_zip_changes_nothing_through_its_own_links() {
        let dir = tempfile::tempdir().unwrap();
        let (victim, dest) = victim(dir.path());
        for name in ["link/", "link/below/", "link/file"] {
            let archive = dir.path().join("a.zip");
            let mut zip = zip::ZipWriter::new(File::create(&archive).unwrap());
            let options = SimpleFileOptions::default();
            zip.add_symlink("link", victim.to_str().unwrap(), options)
                .unwrap();
            let options = options.unix_permissions(0o777);
            match name.ends_with('/') {
                true => zip.add_directory(name, options).unwrap(),
                false => zip.start_file(name, options).unwrap(),
            }
            zip.finish().unwrap();
            let unzip = Unzip {
                archive: &archive,
                dest: &dest,
                excludes: &[],
                password: None,
                permissions: true,
            };
            let _ = unzip.run();
            assert!(is_untouched(&victim), "{name}");
            let _ = fs::remove_file(dest.join("link"));
        }
    }
}
