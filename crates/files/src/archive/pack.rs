//! Packs files into archives.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use halite_call::replace::place_followed;
use halite_call::{CallError, os_text};
use zip::write::SimpleFileOptions;

use crate::core::mode::default_mode;
use crate::core::open;
use crate::core::write::Dress;

/// Makes a zip archive of the sources; the names in it.
pub(super) fn make_zip(
    archive: &Path,
    sources: &[String],
    cwd: Option<&str>,
) -> Result<Vec<String>, CallError> {
    let mut names = Vec::new();
    let base = Path::new(cwd.unwrap_or("/"));
    let fill = |file: &mut File| -> io::Result<()> {
        let mut zip = zip::ZipWriter::new(file);
        for source in sources {
            let full = base.join(source);
            let name = source.trim_start_matches('/').trim_end_matches('/');
            if let Ok(data) = fs::symlink_metadata(&full) {
                add(&mut zip, &full, name, &data, &mut names)?;
            }
        }
        if names.is_empty() {
            return Err(io::Error::other("none of the sources exist"));
        }
        zip.finish()
            .map(drop)
            .map_err(|error| io::Error::other(error.to_string()))
    };
    match place_followed(archive, Dress::kept(default_mode()), fill) {
        Ok(_) => Ok(names),
        Err(error) => {
            let why = match error.raw_os_error() {
                Some(_) => os_text(&error, archive),
                None => error.to_string(),
            };
            Err(CallError::command(format!(
                "Exception encountered creating zipfile: {why}"
            )))
        }
    }
}

fn add(
    zip: &mut zip::ZipWriter<&mut File>,
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
