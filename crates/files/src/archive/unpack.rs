//! Extracts files from archives.
//!
//! Invariant: what is created is inside the directory, whatever links the archive
//! brings, and whatever happens to directories in the meantime.

use std::fs;
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, SystemTime};

use halite_call::CallError;
use halite_call::paths::{self, HeldName};
use halite_call::replace::place_at;
use tar::Entry;

use super::fence::check_content;
use super::places::{in_place_of_old, make_directory, place_inside};
use super::read::{open_tar, open_zip};
use crate::core::write::Dress;
use halite_call::{os_error, os_text};

/// Extracts a tar archive; the names of what was in it.
pub(super) fn untar(archive: &Path, dest: &Path) -> Result<Vec<String>, CallError> {
    let wrong = |error: io::Error| {
        CallError::command(format!("Failed to extract {}: {error}", archive.display()))
    };
    let (mut tar, fence) = open_tar(archive).map_err(wrong)?;
    let mut names = Vec::new();
    // Modes of directories come last: they may forbid writing into them.
    let mut directories = Vec::new();
    for entry in tar.entries().map_err(wrong)? {
        let mut entry = entry.map_err(wrong)?;
        let name = fence.passed(&mut entry).map_err(wrong)?;
        check_content(&mut entry).map_err(wrong)?;
        let kind = entry.header().entry_type();
        let below = name.trim_start_matches('/');
        let is_inside = match inside(dest, below) {
            None => false,
            // Names such as `./`.
            Some(path) if path == dest => kind.is_dir(),
            Some(path) => untar_entry(&mut entry, dest, &path).map_err(wrong)?,
        };
        if !is_inside {
            return Err(CallError::command(format!(
                "{} holds {name}, which leads out of the directory",
                archive.display()
            )));
        }
        if kind.is_dir()
            && let Ok(mode) = entry.header().mode()
        {
            set_mode(dest, below, mode & 0o7777 | OWN);
            if mode & OWN != OWN {
                directories.push((below.to_owned(), mode));
            }
        }
        names.push(name.trim_end_matches('/').to_owned());
    }
    for (name, mode) in directories.into_iter().rev() {
        set_mode(dest, &name, mode & 0o7777);
    }
    Ok(names)
}

/// What one needs to write into a directory.
const OWN: u32 = 0o700;

/// Puts an entry in its place. Whether that is inside `dest`.
fn untar_entry<R: Read>(entry: &mut Entry<'_, R>, dest: &Path, path: &Path) -> io::Result<bool> {
    let Some(place) = place_inside(dest, path)? else {
        return Ok(false);
    };
    let header = entry.header();
    let kind = header.entry_type();
    let is_root = nix::unistd::geteuid().is_root();
    let number = |id: io::Result<u64>| {
        id.ok()
            .and_then(|id| u32::try_from(id).ok())
            .filter(|_| is_root)
    };
    let (uid, gid) = (number(header.uid()), number(header.gid()));
    let seconds = header.mtime().unwrap_or(0);
    if kind.is_dir() {
        make_directory(&place)?;
        if is_root {
            place.hold()?.chown(uid, gid)?;
        }
    } else if kind.is_symlink() {
        let target = link_name(entry)?;
        in_place_of_old(&place, || place.make_link(&target))?;
        if is_root {
            place.hold()?.chown(uid, gid)?;
        }
        place.set_modified(i64::try_from(seconds).unwrap_or(0))?;
    } else if kind.is_hard_link() {
        let target = link_name(entry)?;
        let target = target.to_str().and_then(|target| inside(dest, target));
        let Some(target) = target else {
            return Ok(false);
        };
        let target = HeldName::of(&target)?;
        if !target.is_inside(dest)? {
            return Ok(false);
        }
        in_place_of_old(&place, || target.link_to(&place))?;
    } else if !kind.is_pax_global_extensions() {
        let dress = Dress {
            uid,
            gid,
            ..Dress::with_mode(header.mode()?)
        };
        untar_file(entry, &place, dress, seconds)?;
    }
    Ok(true)
}

/// Puts a regular file in place when it is whole: a half one would pass for
/// extracted.
fn untar_file(
    entry: &mut impl Read,
    place: &HeldName,
    dress: Dress,
    seconds: u64,
) -> io::Result<()> {
    let time = SystemTime::UNIX_EPOCH
        .checked_add(Duration::from_secs(seconds))
        .unwrap_or(SystemTime::UNIX_EPOCH);
    let write = |file: &mut fs::File| {
        io::copy(entry, file)?;
        file.set_times(fs::FileTimes::new().set_modified(time).set_accessed(time))
    };
    place_at(place, dress, write).map(drop)
}

fn link_name<R: Read>(entry: &Entry<'_, R>) -> io::Result<PathBuf> {
    let name = entry.link_name()?.unwrap_or_default();
    match name.as_os_str().is_empty() {
        true => Err(io::Error::other("it holds a link without a target")),
        false => Ok(name.into_owned()),
    }
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

/// Sets the mode of a directory below `dest`, if it is one, and no link is on
/// the way down: whoever changes a link's mode changes that of what it leads
/// to.
fn set_mode(dest: &Path, name: &str, mode: u32) {
    let Some(path) = inside(dest, name) else {
        return;
    };
    let held = match path == dest {
        true => paths::Held::open(dest, true),
        false => HeldName::below(dest, &path).and_then(|place| place.hold()),
    };
    if let Ok(held) = held
        && held.data().is_ok_and(|data| data.is_dir())
    {
        let _ = held.set_mode(mode);
    }
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
        paths::create_dir_all(self.dest).map_err(|error| os_error(&error, self.dest))?;
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
            let is_link = mode.is_some_and(|mode| mode & 0o170_000 == 0o120_000);
            let written = match name.ends_with('/') {
                true => paths::create_dir_all(&path).map(|()| true),
                false => self.unzip_file(&mut entry, &path, kept, is_link),
            };
            if !written.map_err(|error| failed(os_text(&error, &path)))? {
                return Err(failed(format!("{name} leads out of the directory")));
            }
            if let Some(mode) = kept.filter(|_| name.ends_with('/')) {
                set_mode(self.dest, &name, mode & 0o7777);
            }
            names.push(name);
        }
        Ok(names)
    }

    /// Puts a file or link in its place. Whether that is inside.
    fn unzip_file(
        &self,
        entry: &mut impl Read,
        path: &Path,
        mode: Option<u32>,
        is_link: bool,
    ) -> io::Result<bool> {
        let Some(place) = place_inside(self.dest, path)? else {
            return Ok(false);
        };
        if is_link {
            let mut target = String::new();
            entry.take(LINK_BYTES_MAX).read_to_string(&mut target)?;
            in_place_of_old(&place, || place.make_link(Path::new(&target)))?;
        } else {
            let dress = Dress {
                mode,
                ..Dress::kept(crate::core::mode::default_mode())
            };
            place_at(&place, dress, |file| io::copy(entry, file).map(drop))?;
        }
        Ok(true)
    }
}

/// Links are longer than this nowhere.
const LINK_BYTES_MAX: u64 = 4096;

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::unix::fs::PermissionsExt;

    use zip::write::SimpleFileOptions;

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
