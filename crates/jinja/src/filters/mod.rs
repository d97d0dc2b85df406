//! The filters: Jinja2's, and Salt's where it adds or replaces one. Those that need
//! the machine, the network or randomness are handed to the host.

mod address;
mod data;
mod hash;
mod html;
pub(crate) mod keys;
mod network;
mod number;
mod pretty;
mod regex;
mod select;
mod sequence;
mod sets;
mod text;
mod words;

pub(crate) use regex::test_match;

use crate::error::{Error, ErrorKind, Result};
use crate::eval::{Args, Machine};
use crate::value::{Native, Value};

/// Salt's filters that only the host can answer.
const OF_HOST: &[&str] = &[
    "date_format",
    "dns_check",
    "file_hashsum",
    "filter_by_networks",
    "gen_mac",
    "get_uid",
    "http_query",
    "is_bin_file",
    "is_empty",
    "is_text_file",
    "json_query",
    "list_files",
    "mysql_to_dict",
    "rand_str",
    "random",
    "random_hash",
    "random_sample",
    "random_shuffle",
    "random_str",
    "strftime",
    "which",
    "xml",
];

fn find(name: &str) -> Option<Native> {
    sequence::find(name)
        .or_else(|| text::find(name))
        .or_else(|| data::find(name))
        .or_else(|| select::find(name))
        .or_else(|| number::find(name))
        .or_else(|| words::find(name))
        .or_else(|| html::find(name))
        .or_else(|| sets::find(name))
        .or_else(|| keys::find(name))
        .or_else(|| hash::find(name))
        .or_else(|| network::find(name))
}

/// Whether there is a filter of that name.
pub(crate) fn exists(name: &str) -> bool {
    find(name).is_some() || OF_HOST.contains(&name)
}

/// Applies a filter; the first argument is the value.
pub(crate) fn apply(machine: &Machine<'_>, name: &str, args: Args) -> Result<Value> {
    machine.step()?;
    match find(name) {
        Some(filter) => filter(machine, args),
        None if OF_HOST.contains(&name) => {
            if let Some(undefined) = args.pos.first().and_then(Value::as_undefined) {
                return Err(undefined.error());
            }
            machine.host_filter(name, &args)
        }
        None => Err(Error::new(
            ErrorKind::Runtime,
            format!("No filter named '{name}'."),
        )),
    }
}

/// The only argument.
fn only(args: Args, name: &str) -> Result<Value> {
    let [value] = args.bind(name, ["value"], 1)?;
    Ok(value.unwrap_or(Value::None))
}

/// The truth of an argument that may be missing.
fn flag(value: Option<Value>, default: bool) -> Result<bool> {
    value.map_or(Ok(default), |value| value.is_true())
}

/// An integer argument that may be missing.
fn int(value: Option<Value>, default: i128) -> Result<i128> {
    value.map_or(Ok(default), |value| value.want_int())
}

/// A value that must be defined: Salt's filters for data look inside it too.
fn defined(value: &Value) -> Result<()> {
    value
        .as_undefined()
        .map_or(Ok(()), |undefined| Err(undefined.error()))
}
