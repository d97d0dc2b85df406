//! Name resolution by any available program, and zones: the execution module
//! `dnsutil`.

use std::net::{IpAddr, ToSocketAddrs};

use halite_call::{Call, CallResult, Function, Module, paths, python};
use halite_proto::{Map, Value};

use crate::zone;

use super::dig::{HOST, NO_DIG, is_address};
use super::hosts_file::{hosts_append, hosts_remove, parse_hosts};

pub(crate) const DNSUTIL: Module = Module {
    name: "dnsutil",
    functions: &[
        Function::new(
            "dnsutil.A",
            HOST,
            |call| resolved(call, "dig.A", IpAddr::is_ipv4),
            "The IPv4 addresses of a host.",
        ),
        Function::new(
            "dnsutil.AAAA",
            HOST,
            |call| resolved(call, "dig.AAAA", IpAddr::is_ipv6),
            "The IPv6 addresses of a host.",
        ),
        Function::new(
            "dnsutil.MX",
            "(domain, resolve=False, nameserver=None)",
            |call| by_dig(call, "dig.MX", &["domain", "resolve", "nameserver"]),
            "Who takes mail for a domain.",
        ),
        Function::new(
            "dnsutil.NS",
            "(domain, resolve=True, nameserver=None)",
            |call| by_dig(call, "dig.NS", &["domain", "resolve", "nameserver"]),
            "The name servers of a domain.",
        ),
        Function::new(
            "dnsutil.SPF",
            "(domain, record='SPF', nameserver=None)",
            |call| by_dig(call, "dig.SPF", &["domain", "record", "nameserver"]),
            "The addresses that may send mail for a domain.",
        ),
        Function::new(
            "dnsutil.check_ip",
            "(ip_addr)",
            |call| match call.host().has("dig") {
                true => Ok(is_address(&call.text("ip_addr")).into()),
                false => Ok(NO_DIG.into()),
            },
            "Whether a text is an address.",
        ),
        Function::new(
            "dnsutil.hosts_append",
            "(hostsfile='/etc/hosts', ip_addr=None, entries=None)",
            hosts_append,
            "Adds names, separated by commas, of an address to a hosts file.",
        ),
        Function::new(
            "dnsutil.hosts_remove",
            "(hostsfile='/etc/hosts', entries=None)",
            hosts_remove,
            "Removes names, separated by commas, from a hosts file.",
        ),
        Function::new(
            "dnsutil.parse_hosts",
            "(hostsfile='/etc/hosts', hosts=None)",
            parse_hosts,
            "The addresses of a hosts file with their names.",
        ),
        Function::new(
            "dnsutil.parse_zone",
            "(zonefile=None, zone=None)",
            parse_zone,
            "The records of a zone.",
        ),
        Function::new(
            "dnsutil.serial",
            "(zone='', update=False)",
            serial,
            "A serial number for zones, kept as a grain; update raises it.",
        ),
    ],
};

fn by_dig(call: &Call<'_>, fun: &str, names: &[&str]) -> CallResult {
    if !call.host().has("dig") {
        return Ok(NO_DIG.into());
    }
    let args: Vec<Value> = names.iter().map(|name| call.arg(name).clone()).collect();
    call.salt(fun, &args, Map::new())
}

/// Asks dig, or where there is none the resolver of the system.
fn resolved(call: &Call<'_>, fun: &str, is_wanted: fn(&IpAddr) -> bool) -> CallResult {
    if call.host().has("dig") || !call.arg("nameserver").is_nil() {
        return by_dig(call, fun, &["host", "nameserver"]);
    }
    let host = call.text("host");
    let found = (host.as_str(), 0u16).to_socket_addrs();
    let addresses: Vec<IpAddr> = found
        .into_iter()
        .flatten()
        .map(|socket| socket.ip())
        .filter(is_wanted)
        .collect();
    if addresses.is_empty() {
        return Ok(format!("Unable to resolve {host}").into());
    }
    let addresses = addresses
        .into_iter()
        .map(|address| address.to_string().into());
    Ok(addresses.collect::<Vec<Value>>().into())
}

fn parse_zone(call: &Call<'_>) -> CallResult {
    let file = call.text_opt("zonefile");
    let text = file.and_then(|file| paths::read_to_string(call.host().path(file)).ok());
    match text.or_else(|| call.text_opt("zone")) {
        Some(text) => zone::parse(&text).map(Value::from),
        None => Ok("Error: Zone data was not found".into()),
    }
}

fn serial(call: &Call<'_>) -> CallResult {
    let key = match call.text_opt("zone") {
        Some(zone) => format!("dnsserial_{zone}"),
        None => "dnsserial".to_owned(),
    };
    let stored = call.salt("grains.get", &[key.as_str().into()], Map::new())?;
    let present = jiff::Zoned::now().strftime("%Y%m%d01").to_string();
    if !call.flag("update") {
        return Ok(if stored.is_true() {
            stored
        } else {
            present.into()
        });
    }
    let text = python::str(&stored);
    let current = match stored.is_true() && text >= present {
        true => (python::int(&stored)? + 1).to_string(),
        false => present,
    };
    let args = [Value::from(key), current.as_str().into()];
    call.salt("grains.setval", &args, Map::new())?;
    Ok(current.into())
}
