//! Sets as a whole.

use halite_call::host::Ran;
use halite_call::{Call, CallError, CallResult};
use halite_proto::{Map, Value};

use super::run;

const KINDS: [&str; 16] = [
    "bitmap:ip",
    "bitmap:ip,mac",
    "bitmap:port",
    "hash:ip",
    "hash:mac",
    "hash:ip,mac",
    "hash:net",
    "hash:net,net",
    "hash:ip,port",
    "hash:net,port",
    "hash:ip,port,ip",
    "hash:ip,port,net",
    "hash:ip,mark",
    "hash:net,port,net",
    "hash:net,iface",
    "list:set",
];

/// Options of a set that have a value, and those that have none.
const VALUES: [&str; 6] = ["range", "maxelem", "hashsize", "netmask", "size", "timeout"];
const FLAGS: [&str; 2] = ["counters", "skbinfo"];

pub(super) const NO_SET: &str = "Error: Set needs to be specified";

/// True, or what `ipset` complains of.
fn answer(ran: &Ran) -> Value {
    match ran.ok() {
        true => true.into(),
        false => ran.complaint().into(),
    }
}

/// The options a set was created with, or `None` if it does not exist.
pub(super) fn about(call: &Call<'_>, name: &str) -> Result<Option<Map>, CallError> {
    let ran = run(call, &["list", "-t", name])?;
    Ok(match ran.ok() {
        true => parsed(&ran.stdout).into_iter().next(),
        false => None,
    })
}

fn parsed(said: &str) -> Vec<Map> {
    let mut sets: Vec<Map> = Vec::new();
    for line in said.lines() {
        let Some((key, value)) = line.split_once(':') else {
            continue;
        };
        if key == "Name" {
            sets.push(Map::new());
        }
        if let Some(set) = sets.last_mut() {
            set.insert(key.trim(), value.trim());
        }
    }
    sets
}

pub(super) fn list(call: &Call<'_>) -> CallResult {
    let sets = parsed(&run(call, &["list", "-t"])?.stdout);
    Ok(sets.into_iter().map(Value::from).collect::<Vec<_>>().into())
}

pub(super) fn check(call: &Call<'_>) -> CallResult {
    match call.text_opt("name") {
        None => Ok(NO_SET.into()),
        Some(name) => Ok(about(call, &name)?.is_some().into()),
    }
}

pub(super) fn make(call: &Call<'_>) -> CallResult {
    let Some(name) = call.text_opt("name") else {
        return Ok("Error: Set Name needs to be specified".into());
    };
    let Some(kind) = call.text_opt("set_type") else {
        return Ok("Error: Set Type needs to be specified".into());
    };
    if !KINDS.contains(&kind.as_str()) {
        return Ok("Error: Set Type is invalid".into());
    }
    if kind.starts_with("bitmap:") && call.text_given("range").is_none() {
        return Ok("Error: range is a required argument".into());
    }
    let mut words = vec!["create".to_owned(), name, kind.clone()];
    for option in VALUES {
        if let Some(value) = call.text_given(option) {
            words.extend([option.to_owned(), value]);
        }
    }
    for option in FLAGS {
        if call.get(option).is_some_and(Value::is_true) {
            words.push(option.to_owned());
        }
    }
    if kind.starts_with("hash:") && kind != "hash:mac" {
        words.extend(["family".to_owned(), family(call).to_owned()]);
    }
    if call.flag("comment") {
        words.push("comment".to_owned());
    }
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    Ok(answer(&run(call, &words)?))
}

fn family(call: &Call<'_>) -> &'static str {
    match call.text("family").as_str() {
        "ipv6" | "ip6" | "inet6" => "inet6",
        _ => "inet",
    }
}

pub(super) fn delete(call: &Call<'_>) -> CallResult {
    match call.text_opt("name") {
        None => Ok(NO_SET.into()),
        Some(name) => Ok(answer(&run(call, &["destroy", &name])?)),
    }
}

pub(super) fn rename(call: &Call<'_>) -> CallResult {
    let Some(name) = call.text_opt("name") else {
        return Ok(NO_SET.into());
    };
    let Some(new) = call.text_opt("new_set") else {
        return Ok("Error: New name for set needs to be specified".into());
    };
    if about(call, &name)?.is_none() {
        return Ok("Error: Set does not exist".into());
    }
    if about(call, &new)?.is_some() {
        return Ok("Error: New Set already exists".into());
    }
    Ok(answer(&run(call, &["rename", &name, &new])?))
}

pub(super) fn flush(call: &Call<'_>) -> CallResult {
    let name = call.text_opt("name");
    let words: Vec<&str> = ["flush"].into_iter().chain(name.as_deref()).collect();
    Ok(run(call, &words)?.ok().into())
}
