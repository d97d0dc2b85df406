//! Attributes of a file: hashes, sizes, times, owners, modes.

use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::Path;

use halite_call::{Call, CallError, CallResult, paths, python};
use halite_crypto::HashType;
use halite_proto::{Map, Value};

use super::paths::{arg, must_be_absolute};
use crate::core::{hash, mode, owner, path, perms};
use crate::sources::sums;
use halite_call::os_error;

/// The hash of a file in the form asked for.
pub(crate) fn hash_of(path: &str, form: &str) -> Result<String, CallError> {
    let hash_type = HashType::parse(form)
        .map_err(|_| CallError::exception("ValueError", format!("Invalid hash type: {form}")))?;
    let at = Path::new(path);
    if at.is_dir() {
        let error = std::io::Error::from_raw_os_error(nix::libc::EISDIR);
        return Err(os_error(&error, at));
    }
    hash::of_file(at, hash_type).map_err(|error| os_error(&error, at))
}

pub(super) fn get_hash(call: &Call<'_>) -> CallResult {
    Ok(hash_of(&arg(call, "path"), &call.text("form"))?.into())
}

pub(super) fn get_sum(call: &Call<'_>) -> CallResult {
    let path = arg(call, "path");
    if !Path::new(&path).is_file() {
        return Ok("File not found".into());
    }
    Ok(hash_of(&path, &call.text("form"))?.into())
}

pub(super) fn check_hash(call: &Call<'_>) -> CallResult {
    let path = arg(call, "path");
    let Some(wanted) = call.arg("file_hash").as_str() else {
        return Err(CallError::invocation("hash must be a string"));
    };
    let separated = wanted.split_once([':', '=']);
    let (form, hsum) = match separated {
        Some((form, hsum)) => (form.to_owned(), hsum),
        None => match hash::type_of_length(wanted.len()) {
            Some(form) => (form.to_owned(), wanted),
            None => {
                return Err(CallError::invocation(format!(
                    "Hash {wanted} (length: {}) could not be matched to a supported hash type. The \
                     supported hash types and lengths are: {}",
                    wanted.len(),
                    hash::lengths_text()
                )));
            }
        },
    };
    Ok((hash_of(&path, &form)? == hsum).into())
}

fn metadata(call: &Call<'_>) -> Result<(String, fs::Metadata), CallError> {
    let path = arg(call, "path");
    let follow = call.flag("follow_symlinks");
    let data = if follow {
        fs::metadata(&path)
    } else {
        fs::symlink_metadata(&path)
    };
    match data {
        Ok(data) => Ok((path, data)),
        Err(_) => Err(CallError::command(format!("Path not found: {path}"))),
    }
}

pub(super) fn get_uid(call: &Call<'_>) -> CallResult {
    Ok(metadata(call)?.1.uid().into())
}

pub(super) fn get_gid(call: &Call<'_>) -> CallResult {
    Ok(metadata(call)?.1.gid().into())
}

pub(super) fn get_user(call: &Call<'_>) -> CallResult {
    Ok(owner::user_name(metadata(call)?.1.uid()))
}

pub(super) fn get_group(call: &Call<'_>) -> CallResult {
    Ok(owner::group_name(metadata(call)?.1.gid()))
}

pub(super) fn get_mode(call: &Call<'_>) -> CallResult {
    Ok(mode::digits(metadata(call)?.1.permissions().mode()).into())
}

pub(super) fn set_mode(call: &Call<'_>) -> CallResult {
    let path = arg(call, "path");
    let text = mode::normalize(call.arg("mode")).unwrap_or_default();
    let at = Path::new(&path);
    if !path::is_there(at) {
        return Err(CallError::command(format!("{path}: File not found")));
    }
    let Some(bits) = mode::parse(&text) else {
        return Ok(format!("Invalid Mode {}", text.trim_start_matches('0')).into());
    };
    paths::set_permissions(at, &fs::Permissions::from_mode(bits))
        .map_err(|error| os_error(&error, at))?;
    let now = fs::metadata(at).map_err(|error| os_error(&error, at))?;
    Ok(mode::digits(now.permissions().mode()).into())
}

pub(super) fn user_to_uid(call: &Call<'_>) -> CallResult {
    let user = call.arg("user");
    Ok(owner::uid(user).map_or_else(|| "".into(), Value::from))
}

pub(super) fn group_to_gid(call: &Call<'_>) -> CallResult {
    let group = call.arg("group");
    Ok(owner::gid(group).map_or_else(|| "".into(), Value::from))
}

pub(super) fn uid_to_user(call: &Call<'_>) -> CallResult {
    match call.arg("uid") {
        Value::Int(_) => Ok(owner::user_name(narrow(call.int("uid")?)?)),
        other => Err(CallError::wrong_type(format!(
            "uid should be integer, not {}",
            other.type_name()
        ))),
    }
}

pub(super) fn gid_to_group(call: &Call<'_>) -> CallResult {
    let gid = call.arg("gid");
    if gid.as_str() == Some("") {
        return Ok("".into());
    }
    Ok(owner::group_name(narrow(python::int(gid)?)?))
}

fn narrow(number: i64) -> Result<u32, CallError> {
    u32::try_from(number)
        .map_err(|_| CallError::exception("OverflowError", "the id is out of range"))
}

fn change(call: &Call<'_>, user: Option<&Value>, follow: bool) -> CallResult {
    let path = arg(call, "path");
    let group = call.arg("group");
    let given = |value: &Value| value.as_str() != Some("");
    let user = user.filter(|user| given(user));
    let group = Some(group).filter(|group| given(group));
    let wrong = perms::change_owner(Path::new(&path), user, group, follow);
    Ok(wrong.map_or(Value::Nil, Value::from))
}

pub(super) fn chown(call: &Call<'_>) -> CallResult {
    change(call, Some(call.arg("user")), true)
}

pub(super) fn lchown(call: &Call<'_>) -> CallResult {
    if owner::uid(call.arg("user")).is_none() {
        return Err(CallError::wrong_type("uid should be integer, not str"));
    }
    let path = arg(call, "path");
    fs::symlink_metadata(&path).map_err(|error| os_error(&error, &path))?;
    change(call, Some(call.arg("user")), false)
}

pub(super) fn chgrp(call: &Call<'_>) -> CallResult {
    let path = arg(call, "path");
    if !Path::new(&path).exists() {
        return Err(CallError::command(format!("Path not found: {path}")));
    }
    change(call, None, true)
}

pub(super) fn stats(call: &Call<'_>) -> CallResult {
    let path = arg(call, "path");
    // A link that leads nowhere is told of as itself.
    let data = match fs::metadata(&path) {
        Ok(data) if call.flag("follow_symlinks") => Ok(data),
        _ => fs::symlink_metadata(&path),
    };
    let data = data.map_err(|_| CallError::command(format!("Path not found: {path}")))?;
    let kind = data.file_type();
    let kind = if kind.is_dir() {
        "dir"
    } else if kind.is_symlink() {
        "link"
    } else if kind.is_block_device() {
        "block"
    } else if kind.is_char_device() {
        "char"
    } else if kind.is_fifo() {
        "pipe"
    } else if kind.is_socket() {
        "socket"
    } else {
        "file"
    };
    let mut ret = Map::from([
        ("inode", Value::from(data.ino())),
        ("uid", data.uid().into()),
        ("gid", data.gid().into()),
        ("group", owner::group_name(data.gid())),
        ("user", owner::user_name(data.uid())),
        ("atime", time(data.atime(), data.atime_nsec())),
        ("mtime", time(data.mtime(), data.mtime_nsec())),
        ("ctime", time(data.ctime(), data.ctime_nsec())),
        ("size", data.len().into()),
        ("mode", mode::digits(data.permissions().mode()).into()),
    ]);
    if let Some(form) = call.text_opt("hash_type").filter(|_| data.is_file()) {
        ret.insert("sum", hash_of(&path, &form)?);
    }
    ret.insert("type", kind);
    ret.insert("target", path::real(&path).display().to_string());
    Ok(ret.into())
}

#[expect(clippy::cast_precision_loss, reason = "times are floats in Python")]
fn time(seconds: i64, nanos: i64) -> Value {
    Value::Float(seconds as f64 + nanos as f64 * 1e-9)
}

pub(super) fn lstat(call: &Call<'_>) -> CallResult {
    let path = arg(call, "path");
    must_be_absolute("Path to file must be absolute.", &path)?;
    let Ok(data) = fs::symlink_metadata(&path) else {
        return Ok(Map::new().into());
    };
    Ok(Map::from([
        ("st_atime", time(data.atime(), data.atime_nsec())),
        ("st_ctime", time(data.ctime(), data.ctime_nsec())),
        ("st_gid", data.gid().into()),
        ("st_mode", data.mode().into()),
        ("st_mtime", time(data.mtime(), data.mtime_nsec())),
        ("st_nlink", data.nlink().into()),
        ("st_size", data.len().into()),
        ("st_uid", data.uid().into()),
    ])
    .into())
}

pub(super) fn statvfs(call: &Call<'_>) -> CallResult {
    let path = arg(call, "path");
    must_be_absolute("File path must be absolute.", &path)?;
    let found = rustix::fs::statvfs(path.as_str())
        .map_err(|_| CallError::command(format!("Could not statvfs '{path}'")))?;
    Ok(Map::from([
        ("f_bavail", found.f_bavail),
        ("f_bfree", found.f_bfree),
        ("f_blocks", found.f_blocks),
        ("f_bsize", found.f_bsize),
        ("f_favail", found.f_favail),
        ("f_ffree", found.f_ffree),
        ("f_files", found.f_files),
        ("f_flag", found.f_flag.bits()),
        ("f_frsize", found.f_frsize),
        ("f_namemax", found.f_namemax),
    ])
    .into())
}

pub(super) fn get_devmm(call: &Call<'_>) -> CallResult {
    let name = arg(call, "name");
    let data = fs::metadata(name)
        .ok()
        .filter(|data| data.file_type().is_block_device() || data.file_type().is_char_device());
    let (major, minor) = data.map_or((0, 0), |data| {
        (
            rustix::fs::major(data.rdev()),
            rustix::fs::minor(data.rdev()),
        )
    });
    Ok(vec![major.into(), minor.into()].into())
}

pub(super) fn diskusage(call: &Call<'_>) -> CallResult {
    let path = arg(call, "path");
    let mut total = 0;
    for path in super::paths::glob(&path) {
        total += usage(Path::new(&path), 0);
    }
    Ok(total.into())
}

fn usage(path: &Path, depth: usize) -> u64 {
    let Ok(data) = fs::symlink_metadata(path) else {
        return 0;
    };
    if data.is_dir() && depth < crate::limits::DEPTH_MAX {
        return fs::read_dir(path)
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| usage(&entry.path(), depth + 1))
            .sum();
    }
    data.len()
}

pub(super) fn extract_hash(call: &Call<'_>) -> CallResult {
    let (file_name, source) = (call.text("file_name"), call.text("source"));
    let hash_name = call.text_opt("source_hash_name");
    let names = sums::Names {
        file_name: &file_name,
        source: &source,
        source_hash_name: hash_name.as_deref(),
    };
    let found = sums::extract(
        Path::new(&call.text("hash_fn")),
        &call.text_opt("hash_type").unwrap_or_default(),
        names,
    )?;
    Ok(found.map_or(Value::Nil, |sum| sum.to_value()))
}

pub(super) fn get_source_sum(call: &Call<'_>) -> CallResult {
    let (file_name, source) = (call.text("file_name"), call.text("source"));
    let hash_name = call.text_opt("source_hash_name");
    let names = sums::Names {
        file_name: &file_name,
        source: &source,
        source_hash_name: hash_name.as_deref(),
    };
    if call.arg("source_hash").is_nil() {
        return Err(CallError::wrong_type(
            "expected str, bytes or os.PathLike object, not NoneType",
        ));
    }
    let sum = sums::of_source(
        call,
        names,
        &call.text("source_hash"),
        &call.text("saltenv"),
    )?;
    Ok(sum.to_value())
}
