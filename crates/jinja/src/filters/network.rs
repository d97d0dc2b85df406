//! Filters of addresses; they look at text and ask nobody.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::{defined, only};
use crate::error::{Error, Result};
use crate::eval::{Args, Machine};
use crate::value::{Native, Value, iterate};

pub(super) fn find(name: &str) -> Option<Native> {
    Some(match name {
        "is_ip" => |_, args| question(args, |_| true),
        "is_ipv4" => |_, args| question(args, |address| address.is_ipv4()),
        "is_ipv6" => |_, args| question(args, |address| address.is_ipv6()),
        "ipaddr" => |_, args| filter(args, |_| true),
        "ipv4" => |_, args| filter(args, |address| address.is_ipv4()),
        "ipv6" => |_, args| filter(args, |address| address.is_ipv6()),
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
        "ip_host" => |_, args| filter(args, |_| true),
        "network_size" => |_, args| {
            let (_, bits, width) = network(&only(args, "network_size")?)?;
            let size = 1_i128.checked_shl(width - bits).filter(|size| *size > 0);
            size.map(Value::Int)
                .ok_or_else(|| Error::overflow("the network is too large"))
        },
        "network_hosts" => hosts,
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

/// An address with the length of its prefix, if it has one.
fn parse(text: &str) -> Option<(IpAddr, Option<u32>)> {
    let (address, prefix) = match text.split_once('/') {
        Some((address, prefix)) => (address, Some(prefix)),
        None => (text, None),
    };
    let bare = address.split_once('%').map_or(address, |(bare, _)| bare);
    let address: IpAddr = bare.parse().ok()?;
    let Some(prefix) = prefix else {
        return Some((address, None));
    };
    let width = if address.is_ipv4() { 32 } else { 128 };
    let bits = match prefix.parse::<u32>() {
        Ok(bits) if bits <= width => bits,
        Ok(_) => return None,
        Err(_) => {
            let mask = u32::from(prefix.parse::<Ipv4Addr>().ok()?);
            let bits = mask.leading_ones();
            (mask.count_ones() == bits).then_some(bits)?
        }
    };
    Some((address, Some(bits)))
}

fn question(args: Args, test: fn(&IpAddr) -> bool) -> Result<Value> {
    let value = args.pos.into_iter().next().unwrap_or(Value::None);
    defined(&value)?;
    let found = value.as_str().and_then(|text| text.parse::<IpAddr>().ok());
    Ok(Value::Bool(found.is_some_and(|address| test(&address))))
}

fn accepted(value: &Value, test: fn(&IpAddr) -> bool, options: Option<&str>) -> bool {
    let Some((address, _)) = value.as_str().and_then(parse) else {
        return false;
    };
    let wanted = |option: &str| match option.trim() {
        "global" => !is_private(&address) && !address.is_loopback() && !address.is_multicast(),
        "private" => is_private(&address) || address.is_loopback(),
        "loopback" => address.is_loopback(),
        "multicast" => address.is_multicast(),
        "unspecified" => address.is_unspecified(),
        "link-local" => is_link_local(&address),
        _ => false,
    };
    test(&address) && options.is_none_or(|options| options.split(',').any(wanted))
}

fn is_private(address: &IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => v4.is_private() || v4.is_link_local(),
        IpAddr::V6(v6) => v6.segments()[0] & 0xfe00 == 0xfc00 || is_link_local(address),
    }
}

fn is_link_local(address: &IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => v4.is_link_local(),
        IpAddr::V6(v6) => v6.segments()[0] & 0xffc0 == 0xfe80,
    }
}

fn filter(args: Args, test: fn(&IpAddr) -> bool) -> Result<Value> {
    let [value, options, _] = args.bind("ipaddr", ["ip_addr", "options", "version"], 1)?;
    let value = value.unwrap_or(Value::None);
    let options = options.filter(|options| !options.is_none());
    let options = options
        .as_ref()
        .map(|options| options.want_str("options"))
        .transpose()?;
    if let Value::List(_) | Value::Tuple(_) = &value {
        let items = iterate(&value)?;
        let kept = items
            .into_iter()
            .filter(|item| accepted(item, test, options));
        return Ok(Value::list(kept.collect()));
    }
    Ok(if accepted(&value, test, options) {
        value
    } else {
        Value::None
    })
}

fn wrapped(value: &Value) -> Value {
    match value.as_str() {
        Some(text) if text.parse::<Ipv6Addr>().is_ok() => Value::str(format!("[{text}]")),
        _ => value.clone(),
    }
}

fn network(value: &Value) -> Result<(IpAddr, u32, u32)> {
    let text = value.want_str("network")?;
    let (address, bits) = parse(text).ok_or_else(|| {
        Error::of_value(format!(
            "'{text}' does not appear to be an IPv4 or IPv6 network"
        ))
    })?;
    let width = if address.is_ipv4() { 32 } else { 128 };
    Ok((address, bits.unwrap_or(width), width))
}

/// Addresses that `network_hosts` lists at most.
const HOSTS_MAX: u32 = 16;

fn hosts(machine: &Machine<'_>, args: Args) -> Result<Value> {
    let [value, _, _] = args.bind("network_hosts", ["value", "options", "version"], 1)?;
    let (address, bits, width) = network(&value.unwrap_or(Value::None))?;
    let host_bits = width - bits;
    if host_bits > HOSTS_MAX {
        return Err(Error::limit("the network has too many hosts to list"));
    }
    let number = match address {
        IpAddr::V4(v4) => u128::from(u32::from(v4)),
        IpAddr::V6(v6) => u128::from(v6),
    };
    let count = 1_u128 << host_bits;
    let first = number & !(count - 1);
    machine.steps_taken(1 << host_bits)?;
    let show = |at: u128| {
        let address = match u32::try_from(at) {
            Ok(at) if width == 32 => IpAddr::V4(Ipv4Addr::from(at)),
            _ => IpAddr::V6(Ipv6Addr::from(at)),
        };
        Value::str(address.to_string())
    };
    let range = match (width, host_bits) {
        (_, 0 | 1) => first..first + count,
        (32, _) => first + 1..first + count - 1,
        _ => first + 1..first + count,
    };
    Ok(Value::list(range.map(show).collect()))
}
