//! A rule from the arguments of a function or a state.

use halite_call::{CallError, python};
use halite_proto::{Map, Value};

fn take(kwargs: &mut Map, name: &str) -> Option<String> {
    kwargs.remove(name).map(|value| python::str(&value))
}

/// The first of two names that has a value; both are used up.
fn either(kwargs: &mut Map, one: &str, other: &str) -> Option<String> {
    let (one, other) = (kwargs.remove(one), kwargs.remove(other));
    let given = one.is_some() || other.is_some();
    let value = one.filter(Value::is_true).or(other).unwrap_or_default();
    given.then(|| python::str(&value))
}

/// The rule in the language of `nft`, for addresses of `family` as `nft` calls
/// it.
pub(super) fn build(mut kwargs: Map, family: &str) -> Result<String, CallError> {
    let kwargs = &mut kwargs;
    if let Some(target) = kwargs.remove("target") {
        kwargs.insert("jump", target);
    }
    kwargs.retain(|key, _| {
        !key.as_str().is_some_and(|key| {
            halite_state::keywords::is_internal(key) || ["chain", "save", "table"].contains(&key)
        })
    });
    let proto = take(kwargs, "proto").unwrap_or_default();
    let mut rule = String::new();
    for (name, before, after) in [
        ("if", "meta iifname ", " "),
        ("of", "meta oifname ", " "),
        ("connstate", "ct state { ", " } "),
        ("icmp-type", "icmp type { ", " } "),
        ("icmpv6-type", "icmpv6 type { ", " } "),
        ("pkttype", "meta pkttype { ", " } "),
    ] {
        if let Some(value) = take(kwargs, name) {
            rule += &format!("{before}{value}{after}");
        }
    }
    if kwargs.remove("counter").is_some() {
        rule += "counter ";
    }
    for (name, other) in [("saddr", "source"), ("daddr", "destination")] {
        if let Some(value) = either(kwargs, name, other) {
            rule += &format!("{family} {name} {value} ");
        }
    }
    for name in ["dport", "sport"] {
        if let Some(value) = take(kwargs, name) {
            rule += &format!("{name} {{ {} }} ", value.replace(':', "-"));
        }
    }
    for (name, word) in [("dports", "dport"), ("sports", "sport")] {
        if let Some(value) = take(kwargs, name) {
            rule += &format!("{word} {{ {} }} ", ports(&value)?);
        }
    }
    for name in ["jump", "j"] {
        if let Some(value) = take(kwargs, name) {
            rule += &format!("{value} ");
        }
    }
    if let Some(value) = either(kwargs, "redirect-to", "to-port") {
        rule += &format!("redirect to {value} ");
    }
    for (name, before) in [
        ("to-ports", "--to-ports "),
        ("to-source", ""),
        ("to-destination", ""),
        ("reject-with", "reject with "),
    ] {
        if let Some(value) = take(kwargs, name) {
            rule += &format!("{before}{value} ");
        }
    }
    Ok(rule
        .trim()
        .replace("dport", &format!("{proto} dport"))
        .replace("sport", &format!("{proto} sport")))
}

/// Ports as `nft` lists them: the highest first.
fn ports(text: &str) -> Result<String, CallError> {
    let mut ports = text
        .split(',')
        .map(|port| python::int(&Value::from(port)))
        .collect::<Result<Vec<i64>, CallError>>()?;
    ports.sort_unstable_by(|a, b| b.cmp(a));
    let ports: Vec<String> = ports.iter().map(i64::to_string).collect();
    Ok(ports.join(", "))
}
