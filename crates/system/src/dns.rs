//! Names and addresses: the execution modules `dig` and `dnsutil`.

use std::fs;
use std::io::Write;
use std::net::{IpAddr, ToSocketAddrs};

use halite_modules::host::{Program, replace_file};
use halite_modules::{Call, CallError, CallResult, Function, Module, python};
use halite_proto::{Map, Value};

use crate::zone;

/// How many records of SPF may lead from one to another.
const SPF_DEPTH_MAX: usize = 16;

const HOST: &str = "(host, nameserver=None)";

pub(crate) const DIG: Module = Module {
    name: "dig",
    functions: &[
        Function::new(
            "dig.A",
            HOST,
            |c| addresses(c, "A"),
            "The IPv4 addresses of a host.",
        ),
        Function::new(
            "dig.AAAA",
            HOST,
            |c| addresses(c, "AAAA"),
            "The IPv6 addresses of a host.",
        ),
        Function::new("dig.CNAME", HOST, cname, "The name that a name stands for."),
        Function::new(
            "dig.MX",
            "(domain, resolve=False, nameserver=None)",
            mx,
            "Who takes mail for a domain.",
        ),
        Function::new(
            "dig.NS",
            "(domain, resolve=True, nameserver=None)",
            ns,
            "The name servers of a domain, or with resolve their addresses.",
        ),
        Function::new("dig.PTR", HOST, ptr, "The names of an address."),
        Function::new(
            "dig.SPF",
            "(domain, record='SPF', nameserver=None)",
            spf,
            "The addresses that may send mail for a domain.",
        ),
        Function::new("dig.TXT", HOST, txt, "The texts of a name."),
        Function::new("dig.a", HOST, |c| addresses(c, "A"), "The same as dig.A."),
        Function::new(
            "dig.aaaa",
            HOST,
            |c| addresses(c, "AAAA"),
            "The same as dig.AAAA.",
        ),
        Function::new(
            "dig.check_ip",
            "(addr)",
            |call| Ok(is_address(&call.text("addr")).into()),
            "Whether a text is an address, or one with a mask.",
        ),
        Function::new("dig.cname", HOST, cname, "The same as dig.CNAME."),
        Function::new(
            "dig.mx",
            "(domain, resolve=False, nameserver=None)",
            mx,
            "The same as dig.MX.",
        ),
        Function::new(
            "dig.ns",
            "(domain, resolve=True, nameserver=None)",
            ns,
            "The same as dig.NS.",
        ),
        Function::new("dig.ptr", HOST, ptr, "The same as dig.PTR."),
        Function::new(
            "dig.spf",
            "(domain, record='SPF', nameserver=None)",
            spf,
            "The same as dig.SPF.",
        ),
    ],
};

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

const NO_DIG: &str = "This function requires dig, which is not currently available";

/// Whether a text is an address, or one with a mask.
fn is_address(text: &str) -> bool {
    let (address, mask) = match text.rsplit_once('/') {
        Some((address, mask)) => (address, Some(mask)),
        None => (text, None),
    };
    let Ok(address) = address.parse::<IpAddr>() else {
        return false;
    };
    let range = if address.is_ipv4() { 1..=32 } else { 8..=128 };
    mask.is_none_or(|mask| mask.parse().is_ok_and(|mask: u8| range.contains(&mask)))
}

/// What dig answers in lines; nothing if it fails.
fn asked(
    call: &Call<'_>,
    name: &str,
    kind: &[&str],
    nameserver: Option<&str>,
) -> Result<Option<String>, CallError> {
    if !call.host().has("dig") {
        return Err(CallError::NotFound(
            "The 'dig' binary was not found in $PATH.".to_owned(),
        ));
    }
    if name.starts_with(['-', '+', '@']) {
        return Err(CallError::invocation(format!("not a name: {name:?}")));
    }
    let mut words = vec!["dig", "+short"];
    match kind {
        ["-x"] => words.extend(["-x", name]),
        kind => {
            words.push(name);
            words.extend(kind);
        }
    }
    let server = nameserver.map(|server| format!("@{server}"));
    words.extend(server.as_deref());
    let ran = Program::new(call, &words).run()?;
    if !ran.ok() {
        tracing::warn!(
            "dig returned exit code '{}'. Returning empty list as fallback.",
            ran.code
        );
        return Ok(None);
    }
    Ok(Some(ran.stdout))
}

fn of_call(call: &Call<'_>, name: &str, kind: &[&str]) -> Result<Option<String>, CallError> {
    let nameserver = call.text_opt("nameserver");
    asked(call, &call.text(name), kind, nameserver.as_deref())
}

fn list<'l>(items: impl IntoIterator<Item = &'l str>) -> Value {
    items
        .into_iter()
        .map(Value::from)
        .collect::<Vec<_>>()
        .into()
}

fn addresses(call: &Call<'_>, kind: &str) -> CallResult {
    let said = of_call(call, "host", &[kind])?.unwrap_or_default();
    Ok(list(said.lines().filter(|line| is_address(line))))
}

fn cname(call: &Call<'_>) -> CallResult {
    Ok(match of_call(call, "host", &["CNAME"])? {
        Some(said) => said.into(),
        None => Value::List(Vec::new()),
    })
}

/// The lines of an answer, as Python splits them: none is one that is empty.
fn split(said: Option<String>) -> Value {
    match said {
        Some(said) => list(said.split('\n')),
        None => Value::List(Vec::new()),
    }
}

fn ptr(call: &Call<'_>) -> CallResult {
    Ok(split(of_call(call, "host", &["-x"])?))
}

fn txt(call: &Call<'_>) -> CallResult {
    Ok(split(of_call(call, "host", &["TXT"])?))
}

/// The IPv4 addresses of each of these names.
fn addresses_of<'n>(
    call: &Call<'_>,
    names: impl Iterator<Item = &'n str>,
) -> Result<Vec<Vec<String>>, CallError> {
    let nameserver = call.text_opt("nameserver");
    names
        .map(|name| {
            let said = asked(call, name, &["A"], nameserver.as_deref())?.unwrap_or_default();
            Ok(said
                .lines()
                .filter(|line| is_address(line))
                .map(str::to_owned)
                .collect())
        })
        .collect()
}

fn ns(call: &Call<'_>) -> CallResult {
    let said = of_call(call, "domain", &["NS"])?;
    let Some(text) = said.as_deref().filter(|_| call.flag("resolve")) else {
        return Ok(split(said));
    };
    let names = text.lines().filter(|name| !name.is_empty());
    let found = addresses_of(call, names)?;
    Ok(list(found.iter().flatten().map(String::as_str)))
}

fn mx(call: &Call<'_>) -> CallResult {
    let Some(said) = of_call(call, "domain", &["MX"])? else {
        return Ok(Value::List(Vec::new()));
    };
    let mut servers: Vec<Vec<String>> = said
        .split('\n')
        .map(|line| line.split_whitespace().map(str::to_owned).collect())
        .collect();
    if call.flag("resolve") {
        for server in &mut servers {
            let Some(name) = server.get_mut(1) else {
                continue;
            };
            let found = addresses_of(call, std::iter::once(name.as_str()))?;
            if let Some(address) = found.into_iter().flatten().next() {
                *name = address;
            }
        }
    }
    let servers = servers
        .iter()
        .map(|words| list(words.iter().map(String::as_str)));
    Ok(servers.collect::<Vec<_>>().into())
}

fn spf(call: &Call<'_>) -> CallResult {
    let mut found = Vec::new();
    senders(
        call,
        &call.text("domain"),
        &call.text("record"),
        0,
        &mut found,
    )?;
    Ok(list(found.iter().map(String::as_str)))
}

fn senders(
    call: &Call<'_>,
    domain: &str,
    record: &str,
    depth: usize,
    found: &mut Vec<String>,
) -> Result<(), CallError> {
    if depth >= SPF_DEPTH_MAX {
        return Err(CallError::command(format!(
            "the SPF records of {domain} lead on and on"
        )));
    }
    let nameserver = call.text_opt("nameserver");
    let Some(said) = asked(call, domain, &[record], nameserver.as_deref())? else {
        return Ok(());
    };
    if said.is_empty() && record == "SPF" {
        return senders(call, domain, "TXT", depth + 1, found);
    }
    let said = said.replace('"', "");
    let mut sections = said.split_whitespace();
    if sections.next() != Some("v=spf1") {
        return Ok(());
    }
    for section in sections {
        if let Some(other) = section.strip_prefix("redirect=") {
            return senders(call, other, "SPF", depth + 1, found);
        }
        let section = section.trim_start_matches(['+', '~']);
        match section.split_once(':') {
            Some(("include", other)) => senders(call, other, "SPF", depth + 1, found)?,
            Some(("ip4" | "ip6", address)) if is_address(address) => {
                found.push(address.to_owned());
            }
            _ => {}
        }
    }
    Ok(())
}

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

/// The addresses of a hosts file with their names.
fn hosts_in(text: &str) -> Map {
    let mut hosts: Map = Map::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let mut words = line.split_whitespace();
        let Some(address) = words.next() else {
            continue;
        };
        let names = hosts.get_or_insert_with(address, || Value::List(Vec::new()));
        if let Value::List(names) = names {
            names.extend(words.map(Value::from));
        }
    }
    hosts
}

fn parse_hosts(call: &Call<'_>) -> CallResult {
    if let Some(text) = call.text_opt("hosts") {
        return Ok(hosts_in(&text).into());
    }
    let path = call.host().path(call.text("hostsfile"));
    Ok(match fs::read_to_string(path) {
        Ok(text) => hosts_in(&text).into(),
        Err(_) => "Error: hosts data was not found".into(),
    })
}

fn entries(call: &Call<'_>) -> Result<Vec<String>, CallError> {
    match call.text_opt("entries") {
        Some(entries) => Ok(entries.split(',').map(str::to_owned).collect()),
        None => Err(CallError::invocation("entries are needed")),
    }
}

fn hosts_append(call: &Call<'_>) -> CallResult {
    let file = call.text("hostsfile");
    let path = call.host().path(&file);
    let mut names = entries(call)?;
    let address = call.text("ip_addr");
    let hosts = hosts_in(&fs::read_to_string(&path).unwrap_or_default());
    if let Some(known) = hosts.get(&address).and_then(Value::as_list) {
        names.retain(|name| !known.iter().any(|known| known.as_str() == Some(name)));
    }
    if names.is_empty() {
        return Ok(format!("No additional hosts were added to {file}").into());
    }
    let line = format!("\n{address} {}", names.join(" "));
    let appended = fs::OpenOptions::new()
        .append(true)
        .create(true)
        .open(&path)
        .and_then(|mut file| file.write_all(line.as_bytes()));
    appended.map_err(|error| CallError::command(format!("{file}: {error}")))?;
    Ok(format!("The following line was added to {file}:{line}").into())
}

fn hosts_remove(call: &Call<'_>) -> CallResult {
    let file = call.text("hostsfile");
    let path = call.host().path(&file);
    let names = entries(call)?;
    let failed = |error: std::io::Error| CallError::command(format!("{file}: {error}"));
    let text = fs::read_to_string(&path).map_err(failed)?;
    let kept = text.lines().filter_map(|line| {
        if line.is_empty() || line.trim().starts_with('#') {
            return Some(format!("{line}\n"));
        }
        let mut words: Vec<&str> = line.split_whitespace().collect();
        for name in &names {
            let known = words.iter().skip(1).position(|word| word == name);
            if let Some(at) = known {
                words.remove(at + 1);
            }
        }
        (words.len() > 1).then(|| format!("{}\n", words.join(" ")))
    });
    let kept: String = kept.collect();
    replace_file(&path, kept.as_bytes()).map_err(failed)?;
    Ok(Value::Nil)
}

fn parse_zone(call: &Call<'_>) -> CallResult {
    let file = call.text_opt("zonefile");
    let text = file.and_then(|file| fs::read_to_string(call.host().path(file)).ok());
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_known() {
        for (text, known) in [
            ("127.0.0.1", true),
            ("127.0.0.1/33", false),
            ("::1/64", true),
            ("::1/4", false),
            ("x", false),
        ] {
            assert_eq!(is_address(text), known, "{text}");
        }
    }
}
