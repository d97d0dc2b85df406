//! `file.mknod`, `file.mod_beacon`, and what is only on other systems.

use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use halite_call::{BEACON_INTERVAL, Call, CallResult, StateReturn, add_state_beacon, beacon_value};
use halite_proto::{Map, Value};

use super::common;
use crate::core::mode;
use crate::core::perms::{self, DesiredPerms};
use crate::exec::links::{Node, make_node};

pub(super) fn mknod(call: &Call<'_>) -> CallResult {
    let name = common::name(call);
    let ret = StateReturn::new(name.as_str());
    if name.is_empty() {
        return common::failed(ret, "Must provide name to file.mknod");
    }
    let ntype = call.text("ntype");
    let number = |name: &str| {
        call.int(name)
            .map(|number| u64::try_from(number).unwrap_or(0))
    };
    let (major, minor) = (number("major")?, number("minor")?);
    let (node, what) = match ntype.as_str() {
        "c" => (Node::Char(major, minor), "Character device"),
        "b" => (Node::Block(major, minor), "Block device"),
        "p" => (Node::Fifo, "Fifo pipe"),
        _ => {
            let text = format!(
                "Node type unavailable: '{ntype}'. Available node types are character ('c'), block \
                 ('b'), and pipe ('p')"
            );
            return common::failed(ret, text);
        }
    };
    let wanted = DesiredPerms {
        user: call.arg("user").clone(),
        group: call.arg("group").clone(),
        mode: mode::normalize(call.arg("mode")),
        attrs: None,
        follow: true,
    };
    let Ok(data) = fs::metadata(&name) else {
        if call.is_test() {
            return Ok(ret
                .pending(format!("{what} {name} is set to be created"))
                .into());
        }
        return Ok(make_node(&name, node, &wanted, false)?.into());
    };
    let kind = data.file_type();
    let right = match node {
        Node::Char(..) => kind.is_char_device(),
        Node::Block(..) => kind.is_block_device(),
        Node::Fifo => kind.is_fifo(),
    };
    if !right {
        let text = format!(
            "File {name} exists and is not a {}. Refusing to continue",
            what.to_lowercase()
        );
        return common::failed(ret, text);
    }
    let device = (
        rustix::fs::major(data.rdev()),
        rustix::fs::minor(data.rdev()),
    );
    if !matches!(node, Node::Fifo) && (u64::from(device.0), u64::from(device.1)) != (major, minor) {
        let text = format!(
            "{what} {name} exists and has a different major/minor {}/{}. Refusing to continue",
            device.0, device.1
        );
        return common::failed(ret, text);
    }
    let mut ret = ret;
    perms::check(&mut ret, Path::new(&name), &wanted, call.is_test())?;
    if ret.changes.is_empty() && ret.result == Some(true) {
        ret.comment = format!("{what} {name} is in the correct state").into();
    }
    Ok(ret.into())
}

pub(super) fn shortcut(call: &Call<'_>) -> CallResult {
    let ret = StateReturn::new(call.text("name"));
    common::failed(ret, "Shortcuts are only supported on Windows")
}

pub(super) fn mod_beacon(call: &Call<'_>) -> CallResult {
    let supported = (&["managed", "directory"][..], "beacon");
    let is_directory = call.get("sfun").and_then(Value::as_str) == Some("directory");
    add_state_beacon(call, "inotify", supported, |name, data| {
        let mask = vec!["create", "delete", "modify"];
        let mask = mask.into_iter().map(Value::from).collect::<Vec<_>>();
        let mut watched = Map::from([("mask", beacon_value(data, "mask", mask))]);
        if is_directory {
            watched.insert("auto_add", beacon_value(data, "auto_add", true));
            watched.insert("recurse", beacon_value(data, "recurse", true));
            watched.insert(
                "exclude",
                beacon_value(data, "exclude", Vec::<Value>::new()),
            );
        }
        Map::from([
            ("files", Value::from(Map::from([(name, watched)]))),
            ("interval", beacon_value(data, "interval", BEACON_INTERVAL)),
            ("coalesce", beacon_value(data, "coalesce", false)),
        ])
    })
}
