//! Filters of addresses; they use the text only and make no requests.

use std::net::Ipv6Addr;

use super::address::{Address, of_number, to_number};
use super::{defined, only};
use crate::error::{Error, Result};
use crate::eval::{Args, Machine};
use crate::value::{Native, Value, iterate};

/// Which versions of addresses a filter keeps.
#[derive(Clone, Copy)]
enum Version {
    Four,
    Six,
    Any,
}

pub(super) fn find(name: &str) -> Option<Native> {
    Some(match name {
        "is_ip" => |_, args| question(args, Version::Any),
        "is_ipv4" => |_, args| question(args, Version::Four),
        "is_ipv6" => |_, args| question(args, Version::Six),
        "ipaddr" => |_, args| filter(args, Version::Any),
        "ipv4" => |_, args| filter(args, Version::Four),
        "ipv6" => |_, args| filter(args, Version::Six),
        "ipwrap" => |_, args| {
            let value = only(args, "ipwrap")?;
            defined(&value)?;
            match &value {
                Value::List(_) | Value::Tuple(_) => {
                    let items = iterate(&value)?;
                    Ok(Value::list(items.iter().map(wrapped).collect()))
                }
                other => Ok(wrapped(other)),
            }
        },
        "ip_host" => |_, args| {
            each(args, "ip_host", |address| {
                let bits = address.prefix.unwrap_or_else(|| address.width());
                let prefix = Some(bits);
                Ok(Value::str(Address { prefix, ..address }.text()))
            })
        },
        "network_size" => |_, args| {
            each(args, "network_size", |address| {
                let bits = address.prefix.unwrap_or_else(|| address.width());
                let size = 1_i128.checked_shl(address.width() - bits);
                size.filter(|size| *size > 0)
                    .map(Value::Int)
                    .ok_or_else(|| Error::overflow("the network is too large"))
            })
        },
        "network_hosts" => {
            |machine, args| each(args, "network_hosts", |address| hosts(machine, address))
        }
        "mac_str_to_bytes" => |_, args| {
            let value = only(args, "mac_str_to_bytes")?;
            let text = value.want_str("mac")?;
            let digits: String = text
                .chars()
                .filter(|c| !matches!(c, ':' | '-' | '.'))
                .collect();
            let bytes: Option<Vec<u8>> = (0..digits.len())
                .step_by(2)
                .map(|at| u8::from_str_radix(digits.get(at..at + 2)?, 16).ok())
                .collect();
            match bytes {
                Some(bytes) if bytes.len() == 6 => Ok(Value::Bytes(bytes.into())),
                _ => Err(Error::of_value("Invalid MAC address")),
            }
        },
        _ => return None,
    })
}

/// The address, if it is of the version and all that the options ask for.
fn accepted(value: &Value, version: Version, options: Option<&str>) -> Option<Address> {
    let address = Address::parse(value.as_str()?)?;
    let is_version = match version {
        Version::Four => address.ip.is_ipv4(),
        Version::Six => address.ip.is_ipv6(),
        Version::Any => true,
    };
    (is_version && options.is_none_or(|options| address.is_all(options))).then_some(address)
}

/// The value and the options of a filter.
fn given(args: Args, name: &'static str) -> Result<(Value, Option<String>, Version)> {
    let [value, options, version] = args.bind(name, ["value", "options", "version"], 1)?;
    let value = value.unwrap_or(Value::None);
    let options = match options.filter(|options| !options.is_none()) {
        Some(options) => Some(options.want_str("options")?.to_owned()),
        None => None,
    };
    let version = match version.and_then(|version| version.as_int()) {
        Some(4) => Version::Four,
        Some(6) => Version::Six,
        _ => Version::Any,
    };
    let options = options.filter(|options| !options.is_empty());
    Ok((value, options, version))
}

fn question(args: Args, version: Version) -> Result<Value> {
    let (value, options, _) = given(args, "is_ip")?;
    defined(&value)?;
    let found = accepted(&value, version, options.as_deref());
    Ok(Value::Bool(found.is_some()))
}

/// All addresses of a value: of a list those of version 4 come first.
fn addresses(value: &Value, version: Version, options: Option<&str>) -> Result<Vec<Address>> {
    let (Value::List(_) | Value::Tuple(_)) = value else {
        return Ok(accepted(value, version, options).into_iter().collect());
    };
    let items = iterate(value)?;
    let of = |version| {
        let kept = items
            .iter()
            .filter_map(|item| accepted(item, version, options));
        kept.collect::<Vec<_>>()
    };
    Ok(match version {
        Version::Any => [of(Version::Four), of(Version::Six)].concat(),
        one => of(one),
    })
}

fn filter(args: Args, version: Version) -> Result<Value> {
    let (value, options, _) = given(args, "ipaddr")?;
    let found = addresses(&value, version, options.as_deref())?;
    let mut texts = found.into_iter().map(|address| Value::str(address.text()));
    Ok(match value {
        Value::List(_) | Value::Tuple(_) => Value::list(texts.collect()),
        _ => texts.next().unwrap_or(Value::None),
    })
}

/// Applies a function to each address; others are left out.
fn each(args: Args, name: &'static str, of: impl Fn(Address) -> Result<Value>) -> Result<Value> {
    let (value, options, version) = given(args, name)?;
    let found = addresses(&value, version, options.as_deref())?;
    let mut results = found.into_iter().map(of);
    match value {
        Value::List(_) | Value::Tuple(_) => {
            let results: Vec<Value> = results.collect::<Result<_>>()?;
            Ok(if results.is_empty() {
                Value::None
            } else {
                Value::list(results)
            })
        }
        _ => results.next().unwrap_or(Ok(Value::None)),
    }
}

fn wrapped(value: &Value) -> Value {
    match value.as_str() {
        Some(text) if text.parse::<Ipv6Addr>().is_ok() => Value::str(format!("[{text}]")),
        _ => value.clone(),
    }
}

/// Bits of the hosts of a network that `network_hosts` lists at most.
const HOST_BITS_MAX: u32 = 16;

fn hosts(machine: &Machine<'_>, address: Address) -> Result<Value> {
    let width = address.width();
    let host_bits = width - address.prefix.unwrap_or(width);
    if host_bits > HOST_BITS_MAX {
        return Err(Error::limit("the network has too many hosts to list"));
    }
    let count = 1_u128 << host_bits;
    let first = to_number(address.ip) & !(count - 1);
    machine.steps_taken(1 << host_bits)?;
    let range = match (width, host_bits) {
        (_, 0 | 1) => first..first + count,
        (32, _) => first + 1..first + count - 1,
        _ => first + 1..first + count,
    };
    let show = |at: u128| Value::str(of_number(at, width).to_string());
    Ok(Value::list(range.map(show).collect()))
}
