//! Links and special files.

use std::fs;
use std::path::Path;

use halite_call::paths::{self, HeldName};
use halite_call::{Call, CallError, CallResult, StateReturn};
use halite_proto::{Map, Value};
use nix::sys::stat::{Mode, SFlag, makedev};

use super::paths::{arg, must_be_absolute};
use crate::core::link::link_in_place;
use crate::core::perms::{self, DesiredPerms};
use crate::core::{mode, path};
use halite_call::{os_error, os_text_two};

pub(super) fn symlink(call: &Call<'_>) -> CallResult {
    let (src, path) = (call.text("src"), arg(call, "path"));
    must_be_absolute(&format!("Link path must be absolute: {path}"), &path)?;
    let at = Path::new(&path);
    let force = call.flag("force");
    if let Ok(data) = fs::symlink_metadata(at) {
        if data.is_symlink() {
            if fs::read_link(at).unwrap_or_default().display().to_string() == src {
                return Ok(true.into());
            }
            if !force && !call.flag("atomic") {
                return Err(CallError::command(format!(
                    "Found existing symlink: {path}"
                )));
            }
        } else if !force && !call.flag("atomic") {
            return Err(CallError::command(format!(
                "Existing path is not a symlink: {path}"
            )));
        }
    }
    match link_in_place(at, &src, true) {
        Ok(()) => Ok(true.into()),
        Err(error) if error.kind() == std::io::ErrorKind::IsADirectory => Err(os_error(&error, at)),
        Err(_) => Err(CallError::command(format!("Could not create '{path}'"))),
    }
}

pub(super) fn readlink(call: &Call<'_>) -> CallResult {
    let path = arg(call, "path");
    must_be_absolute(&format!("Path to link must be absolute: {path}"), &path)?;
    let Ok(target) = fs::read_link(&path) else {
        return Err(CallError::invocation(format!(
            "A valid link was not specified: {path}"
        )));
    };
    if call.flag("canonicalize") {
        return Ok(path::real(&path).display().to_string().into());
    }
    Ok(target.display().to_string().into())
}

pub(super) fn link(call: &Call<'_>) -> CallResult {
    let (src, path) = (arg(call, "src"), arg(call, "path"));
    must_be_absolute("File path must be absolute.", &src)?;
    let (from, to) = (Path::new(&src), Path::new(&path));
    match paths::hard_link(from, to) {
        Ok(()) => Ok(true.into()),
        Err(error) => Err(CallError::command(format!(
            "Could not create '{path}': {}",
            os_text_two(&error, from, to)
        ))),
    }
}

/// What kind of special file.
#[derive(Clone, Copy)]
pub(crate) enum Node {
    /// A character device.
    Char(u64, u64),
    /// A block device.
    Block(u64, u64),
    /// A named pipe.
    Fifo,
}

pub(super) fn mknod(call: &Call<'_>) -> CallResult {
    let number = |name: &str| {
        call.int(name)
            .map(|number| u64::try_from(number).unwrap_or(0))
    };
    let ntype = call.text("ntype");
    let node = match ntype.as_str() {
        "c" => Node::Char(number("major")?, number("minor")?),
        "b" => Node::Block(number("major")?, number("minor")?),
        "p" => Node::Fifo,
        _ => {
            return Err(CallError::invocation(format!(
                "Node type unavailable: '{ntype}'. Available node types are character ('c'), block \
                 ('b'), and pipe ('p')."
            )));
        }
    };
    make(call, node)
}

pub(super) fn mknod_chrdev(call: &Call<'_>) -> CallResult {
    let number = |name: &str| {
        call.int(name)
            .map(|number| u64::try_from(number).unwrap_or(0))
    };
    make(call, Node::Char(number("major")?, number("minor")?))
}

pub(super) fn mknod_blkdev(call: &Call<'_>) -> CallResult {
    let number = |name: &str| {
        call.int(name)
            .map(|number| u64::try_from(number).unwrap_or(0))
    };
    make(call, Node::Block(number("major")?, number("minor")?))
}

pub(super) fn mknod_fifo(call: &Call<'_>) -> CallResult {
    make(call, Node::Fifo)
}

fn make(call: &Call<'_>, node: Node) -> CallResult {
    let name = arg(call, "name");
    let wanted = DesiredPerms {
        user: call.arg("user").clone(),
        group: call.arg("group").clone(),
        mode: mode::normalize(call.arg("mode")),
        attrs: None,
        follow: true,
    };
    Ok(make_node(&name, node, &wanted, call.is_test())?.into())
}

/// Makes a special file, as a state's result says it.
pub(crate) fn make_node(
    name: &str,
    node: Node,
    wanted: &DesiredPerms,
    test: bool,
) -> Result<StateReturn, CallError> {
    let mut ret = StateReturn::new(name);
    let (kind, device, what) = match node {
        Node::Char(major, minor) => (SFlag::S_IFCHR, makedev(major, minor), "Character device"),
        Node::Block(major, minor) => (SFlag::S_IFBLK, makedev(major, minor), "Block device"),
        Node::Fifo => (SFlag::S_IFIFO, 0, "Fifo pipe"),
    };
    if test {
        ret.changes.insert("new", format!("{what} {name} created."));
        ret.result = None;
        return Ok(ret);
    }
    let bits = wanted
        .mode
        .as_deref()
        .and_then(mode::parse)
        .unwrap_or(0o600);
    let mode = Mode::from_bits_truncate(bits);
    let made = HeldName::of(Path::new(name)).and_then(|place| place.make_node(kind, mode, device));
    match made {
        Ok(()) => {}
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            let text = format!("File {name} exists and cannot be overwritten");
            return Ok(ret.failed(text));
        }
        Err(error) => return Err(os_error(&error, Path::new(name))),
    }
    let mut quiet = StateReturn::new(name);
    perms::check(&mut quiet, Path::new(name), wanted, false)?;
    ret.result = quiet.result;
    ret.comment = quiet.comment;
    ret.changes = Map::from([("new", Value::from(format!("{what} {name} created.")))]);
    Ok(ret)
}
