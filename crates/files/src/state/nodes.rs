//! `file.mknod`, `file.cached`, `file.not_cached`, and what is only on other
//! systems.

use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use halite_call::addresses::redacted;
use halite_call::{
    BEACON_INTERVAL, Call, CallResult, StateReturn, add_state_beacon, beacon_value, paths,
};
use halite_proto::{Map, Value};

use super::common;
use crate::core::perms::{self, DesiredPerms};
use crate::core::{mode, path};
use crate::exec::links::{Node, make_node};
use crate::sources::fetch::{self, local_sum};
use crate::sources::sums::{self, Names};
use crate::sources::{Scheme, local_path, scheme};

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

pub(super) fn cached(call: &Call<'_>) -> CallResult {
    let name = call.text("name");
    let ret = StateReturn::new(name.as_str());
    let saltenv = call
        .text_opt("saltenv")
        .unwrap_or_else(|| "base".to_owned());
    if let Some(wrong) = common::unchecked_signature(call) {
        return common::failed(ret, wrong);
    }
    let kind = scheme(&name);
    let hash = call.text_opt("source_hash");
    let free = call.flag("skip_verify") || call.flag("use_etag");
    if kind == Scheme::Remote && hash.is_none() && !free {
        let text = format!(
            "Unable to verify upstream hash of source file {name}, please set source_hash or set \
             skip_verify or use_etag to True"
        );
        return common::failed(ret, text);
    }
    let hash_name = call.text_opt("source_hash_name");
    let sum = match hash {
        Some(hash) if !call.flag("skip_verify") => {
            let names = Names {
                file_name: "",
                source: &name,
                source_hash_name: hash_name.as_deref(),
            };
            match sums::of_source(call, names, &hash, &saltenv) {
                Ok(sum) => Some(sum),
                Err(error) => return common::failed(ret, error.to_string()),
            }
        }
        _ => None,
    };
    let hash_type = sum.as_ref().map_or("sha256", |sum| sum.hash_type.as_str());
    let place = fetch::cached_at(call, &name, &saltenv);
    let before = place
        .as_deref()
        .and_then(|place| local_sum(place, hash_type));
    if call.is_test() {
        let text = match (&sum, &before, kind) {
            (Some(sum), Some(now), _) if sum.hsum == *now => {
                return Ok(ret.ok(format!("File already cached: {name}")).into());
            }
            (Some(_), Some(_), _) => format!("Hashes don't match.\nFile will be cached: {name}"),
            (None, Some(_), Scheme::Salt | Scheme::Remote) => {
                format!("No hash found. File will be cached: {name}")
            }
            _ => format!("File will be cached: {name}"),
        };
        return Ok(ret.pending(text).into());
    }
    if kind == Scheme::Other && name.contains("://") {
        return common::failed(ret, format!("Unsupported url scheme: {name}"));
    }
    if matches!(kind, Scheme::Local | Scheme::Other) {
        return Ok(local(&name, ret, sum.as_ref()).into());
    }
    let wanted = fetch::FetchRequest {
        url: &name,
        saltenv: &saltenv,
        sum: sum.as_ref(),
        use_etag: call.flag("use_etag"),
        verify_ssl: true,
    };
    let got = match fetch::cache(call, &wanted) {
        Ok(Some(path)) => path,
        Ok(None) => {
            let text = format!(
                "Failed to cache {}, check minion log for more information",
                redacted(&name)
            );
            return common::failed(ret, text);
        }
        Err(error) => return common::failed(ret, error.to_string()),
    };
    let now = local_sum(&got, hash_type);
    if let (Some(sum), Some(now)) = (&sum, &now)
        && sum.hsum != *now
    {
        let text = format!(
            "File is cached to {}, but the hash ({now}) does not match the specified hash ({})",
            got.display(),
            sum.hsum
        );
        return common::failed(ret, text);
    }
    let mut ret = ret.ok(format!("File is cached to {}", got.display()));
    if before != now {
        let change = Map::from([("old", Value::from(before)), ("new", Value::from(now))]);
        ret.changes.insert("hash", change);
    }
    Ok(ret.into())
}

fn local(name: &str, ret: StateReturn, sum: Option<&sums::Sum>) -> StateReturn {
    let full = path::absolute(local_path(name));
    let at = Path::new(&full);
    if !at.exists() {
        return ret.failed(format!("File {full} is not present on the minion"));
    }
    if let Some(sum) = sum {
        let now = local_sum(at, &sum.hash_type).unwrap_or_default();
        if now != sum.hsum {
            return ret.failed(format!(
                "File {full} is present on the minion, but the hash ({now}) does not match the \
                 specified hash ({})",
                sum.hsum
            ));
        }
        return ret.ok(format!(
            "File {full} is present on the minion and has hash {now}"
        ));
    }
    ret.ok(format!("File {full} is present on the minion"))
}

pub(super) fn not_cached(call: &Call<'_>) -> CallResult {
    let name = call.text("name");
    let ret = StateReturn::new(name.as_str());
    let saltenv = call
        .text_opt("saltenv")
        .unwrap_or_else(|| "base".to_owned());
    if matches!(scheme(&name), Scheme::Local | Scheme::Other) {
        let full = path::absolute(local_path(&name));
        return Ok(ret
            .ok(format!("File {full} is a local path, no action taken"))
            .into());
    }
    let Some(place) = fetch::cached_at(call, &name, &saltenv).filter(|place| place.exists()) else {
        return Ok(ret.ok(format!("{name} is not cached")).into());
    };
    let shown = place.display().to_string();
    if call.is_test() {
        let text = format!("{shown} is set for removal");
        return Ok(ret.change("deleted", shown).pending(text).into());
    }
    match paths::remove_file(&place) {
        Ok(()) => Ok(ret
            .change("deleted", true)
            .ok(format!("{shown} was deleted"))
            .into()),
        Err(error) => {
            tracing::error!(shown, %error, "could not remove a cached file");
            common::failed(ret, format!("Failed to delete {shown}"))
        }
    }
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
