//! What the modules of storage have in common.

use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use halite_call::host::{Host, Ran};
use halite_call::{Call, python};
use halite_proto::Value;

/// Whether a path is a block device. A machine that is made up has files for
/// them.
pub(crate) fn is_block(call: &Call<'_>, device: &str) -> bool {
    let host = call.host();
    let about = std::fs::metadata(host.path(device));
    !device.is_empty()
        && about.is_ok_and(|about| about.file_type().is_block_device() || !host.is_real())
}

/// What a program says, errors included, in lines.
pub(crate) fn lines(ran: &Ran) -> Value {
    let both = [ran.stdout.as_str(), ran.stderr.as_str()];
    let lines = both.into_iter().flat_map(str::lines);
    lines.map(Value::from).collect::<Vec<_>>().into()
}

/// The items of a list or of comma separated text.
pub(crate) fn items(value: &Value) -> Vec<String> {
    match value {
        Value::List(items) => items.iter().map(python::str).collect(),
        Value::Nil => Vec::new(),
        other => python::str(other)
            .split(',')
            .filter(|item| !item.is_empty())
            .map(str::to_owned)
            .collect(),
    }
}

/// What a path leads to on the machine, whose root may be a directory here.
pub(crate) fn real_path(host: &Host, path: &str) -> String {
    let root = std::fs::canonicalize(host.path("/"));
    let real = std::fs::canonicalize(host.path(path));
    match (root, real) {
        (Ok(root), Ok(real)) => match real.strip_prefix(&root) {
            Ok(rest) => Path::new("/").join(rest).display().to_string(),
            Err(_) => real.display().to_string(),
        },
        _ => path.to_owned(),
    }
}
