//! Entries of sets.

use std::net::IpAddr;

use halite_call::{Call, CallError, CallResult, python};
use halite_proto::{Map, Value};

use super::run;
use super::sets::{NO_SET, about};

/// Options of an entry: what the set has to be made with, and the option.
const OPTIONS: [(&str, &str); 7] = [
    ("timeout", "timeout"),
    ("counters", "packets"),
    ("counters", "bytes"),
    ("skbinfo", "skbmark"),
    ("skbinfo", "skbprio"),
    ("skbinfo", "skbqueue"),
    ("comment", "comment"),
];

/// Addresses of a network that are looked for one by one.
const HOST_BITS_MAX: u32 = 16;

/// The set that the call names and what it was made with, and the entry, or
/// the answer that says what is missing.
fn named(call: &Call<'_>) -> Result<Result<(String, Map, Value), Value>, CallError> {
    let Some(name) = call.text_opt("name") else {
        return Ok(Err(NO_SET.into()));
    };
    let entry = call.arg("entry");
    if !entry.is_true() {
        return Ok(Err("Error: Entry needs to be specified".into()));
    }
    Ok(match about(call, &name)? {
        Some(about) => Ok((name, about, entry.clone())),
        None => Err(format!("Error: Set {name} does not exist").into()),
    })
}

/// The words of an entry: what it is, and options that stand behind it.
fn words_of(entry: &Value) -> Vec<String> {
    let text = python::str(entry);
    text.split_whitespace().map(str::to_owned).collect()
}

pub(super) fn add(call: &Call<'_>) -> CallResult {
    let (name, about, entry) = match named(call)? {
        Ok(named) => named,
        Err(missing) => return Ok(missing),
    };
    let header = about.get("Header").map(python::str).unwrap_or_default();
    let mut words = words_of(&entry);
    for (made_with, option) in OPTIONS {
        let Some(value) = call.text_given(option) else {
            continue;
        };
        if !header.split_whitespace().any(|word| word == made_with) {
            let text = format!("Error: Set {name} not created with {made_with} support");
            return Ok(text.into());
        }
        words.extend([option.to_owned(), value]);
    }
    changed(call, &["add", "-exist", &name], &words)
}

pub(super) fn delete(call: &Call<'_>) -> CallResult {
    match named(call)? {
        Ok((name, _, entry)) => changed(call, &["del", &name], &words_of(&entry)),
        Err(missing) => Ok(missing),
    }
}

fn changed(call: &Call<'_>, begin: &[&str], words: &[String]) -> CallResult {
    let all = begin
        .iter()
        .copied()
        .chain(words.iter().map(String::as_str));
    let ran = run(call, &all.collect::<Vec<_>>())?;
    Ok(match ran.ok() {
        true => "Success".into(),
        false => format!("Error: {}", ran.complaint()).into(),
    })
}

pub(super) fn test(call: &Call<'_>) -> CallResult {
    let (name, _, entry) = match named(call)? {
        Ok(named) => named,
        Err(missing) => return Ok(missing),
    };
    let words = words_of(&entry);
    let all = ["test", &name]
        .into_iter()
        .chain(words.iter().map(String::as_str));
    Ok(run(call, &all.collect::<Vec<_>>())?.ok().into())
}

pub(super) fn check(call: &Call<'_>) -> CallResult {
    let (name, _, entry) = match named(call)? {
        Ok(named) => named,
        Err(missing) => return Ok(missing),
    };
    let listed = run(call, &["list", &name])?.stdout;
    let members = members(&listed);
    let wanted = match &entry {
        Value::List(entries) => entries.iter().map(python::str).collect(),
        one => vec![python::str(one)],
    };
    Ok(wanted.iter().all(|wanted| has(&members, wanted)).into())
}

/// The entries of a listing, without the quotes of comments.
fn members(listed: &str) -> Vec<String> {
    let lines = listed
        .lines()
        .skip_while(|line| *line != "Members:")
        .skip(1);
    lines.map(|line| line.replace('"', "")).collect()
}

/// An address and its network's length.
fn network(text: &str) -> Option<(IpAddr, u32)> {
    let (address, bits) = match text.split_once('/') {
        Some((address, bits)) => (address, Some(bits.parse().ok()?)),
        None => (text, None),
    };
    let address: IpAddr = address.parse().ok()?;
    let all = if address.is_ipv4() { 32 } else { 128 };
    let bits = bits.unwrap_or(all);
    (bits <= all).then_some((address, bits))
}

/// The number of an address, at the top of 128 bits.
fn number(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(four) => u128::from(u32::from(four)) << 96,
        IpAddr::V6(six) => u128::from(six),
    }
}

/// Whether a network lies within another.
fn within(inner: (IpAddr, u32), outer: (IpAddr, u32)) -> bool {
    let mask = u128::MAX.checked_shl(128 - outer.1).unwrap_or(0);
    inner.0.is_ipv4() == outer.0.is_ipv4()
        && inner.1 >= outer.1
        && number(inner.0) & mask == number(outer.0) & mask
}

/// Whether an entry is there as it is written, is in a network that is, or is
/// a network all of whose hosts are. Options behind it have to be the same.
fn has(members: &[String], wanted: &str) -> bool {
    let (what, options) = wanted.split_once(' ').unwrap_or((wanted, ""));
    let networks: Vec<(IpAddr, u32)> = members
        .iter()
        .map(|member| member.split_once(' ').unwrap_or((member, "")))
        .filter(|(_, own)| options.is_empty() || *own == options)
        .filter_map(|(member, _)| network(member))
        .collect();
    let is_written = members.iter().any(|member| {
        let (own, behind) = member.split_once(' ').unwrap_or((member, ""));
        own == what && (options.is_empty() || behind == options)
    });
    let Some(wanted) = network(what).filter(|_| !is_written) else {
        return is_written;
    };
    networks.iter().any(|outer| within(wanted, *outer)) || has_hosts(&networks, wanted)
}

/// Whether all hosts of a small network are there one by one.
fn has_hosts(networks: &[(IpAddr, u32)], wanted: (IpAddr, u32)) -> bool {
    let (IpAddr::V4(address), bits) = wanted else {
        return false;
    };
    let host_bits = 32_u32.saturating_sub(bits);
    if !(2..=HOST_BITS_MAX).contains(&host_bits) {
        return false;
    }
    let first = u32::from(address) & (u32::MAX << host_bits);
    let last = first | !(u32::MAX << host_bits);
    (first + 1..last).all(|host| {
        let host = (IpAddr::V4(host.into()), 32);
        networks.iter().any(|outer| within(host, *outer))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_found_in_networks() {
        let members: Vec<String> = ["10.1.0.0/16 timeout 3", "10.0.0.1", "10.0.0.2 comment a b"]
            .map(str::to_owned)
            .to_vec();
        for (entry, is_there) in [
            ("10.0.0.1", true),
            ("10.0.0.3", false),
            ("10.1.2.3", true),
            ("10.1.2.0/24", true),
            ("10.0.0.0/30", true),
            ("10.0.0.0/29", false),
            ("10.0.0.2 comment a b", true),
            ("10.0.0.1 comment x", false),
            ("0.0.0.0/0", false),
            ("fd00::1", false),
            ("10.0.0.1,tcp:80", false),
        ] {
            assert_eq!(has(&members, entry), is_there, "{entry}");
        }
    }
}
