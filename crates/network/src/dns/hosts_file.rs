//! Names of a file like `/etc/hosts`.

use std::io::Write;

use halite_call::host::replace_file;
use halite_call::{Call, CallError, CallResult, check_one_line, os_error, paths};
use halite_proto::{Map, Value};

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

pub(super) fn parse_hosts(call: &Call<'_>) -> CallResult {
    if let Some(text) = call.text_opt("hosts") {
        return Ok(hosts_in(&text).into());
    }
    let path = call.host().path(call.text("hostsfile"));
    Ok(match paths::read_to_string(path) {
        Ok(text) => hosts_in(&text).into(),
        Err(_) => "Error: hosts data was not found".into(),
    })
}

pub(super) fn entries(call: &Call<'_>) -> Result<Vec<String>, CallError> {
    match call.text_opt("entries") {
        Some(entries) => Ok(entries.split(',').map(str::to_owned).collect()),
        None => Err(CallError::invocation("entries are needed")),
    }
}

pub(super) fn hosts_append(call: &Call<'_>) -> CallResult {
    let file = call.text("hostsfile");
    let path = call.host().path(&file);
    let mut names = entries(call)?;
    let address = call.text("ip_addr");
    for field in names.iter().chain([&address]) {
        check_one_line("an entry", field)?;
    }
    let hosts = hosts_in(&paths::read_to_string(&path).unwrap_or_default());
    if let Some(known) = hosts.get(&address).and_then(Value::as_list) {
        names.retain(|name| !known.iter().any(|known| known.as_str() == Some(name)));
    }
    if names.is_empty() {
        return Ok(format!("No additional hosts were added to {file}").into());
    }
    let line = format!("\n{address} {}", names.join(" "));
    let appended =
        paths::append_or_create(&path).and_then(|mut file| file.write_all(line.as_bytes()));
    appended.map_err(|error| os_error(&error, &file))?;
    Ok(format!("The following line was added to {file}:{line}").into())
}

pub(super) fn hosts_remove(call: &Call<'_>) -> CallResult {
    let file = call.text("hostsfile");
    let path = call.host().path(&file);
    let names = entries(call)?;
    let failed = |error: std::io::Error| os_error(&error, &file);
    let text = paths::read_to_string(&path).map_err(failed)?;
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
