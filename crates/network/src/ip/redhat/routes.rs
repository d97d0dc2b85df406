//! Routes of an interface, one file for each family of addresses.

use halite_call::{Call, CallError, python};
use halite_proto::{Map, Value};

use super::super::wrong;
use super::{lines, script, write};

fn line(route: &Value) -> Vec<String> {
    let of = |key: &str| {
        let value = route.get(key).filter(|value| value.is_true());
        value.map(python::str)
    };
    let name = of("name").map(|name| format!("# {name}"));
    let mut text = of("ipaddr").unwrap_or_default();
    for (key, before) in [
        ("netmask", "/"),
        ("gateway", " via "),
        ("dev", " dev "),
        ("metric", " metric "),
    ] {
        if let Some(value) = of(key) {
            text.push_str(before);
            text.push_str(&value);
        }
    }
    name.into_iter().chain([text]).collect()
}

pub(in super::super) fn build(
    call: &Call<'_>,
    interface: &str,
    arguments: &Map,
) -> Result<Value, CallError> {
    let routes = arguments.get("routes").ok_or_else(|| {
        wrong(format!(
            "Invalid option -- Route interface: {interface}, Option: routes, Expected: [List of routes]"
        ))
    })?;
    let (mut four, mut six) = (Vec::new(), Vec::new());
    for route in routes.as_list().unwrap_or_default() {
        let address = route.get("ipaddr").map(python::str).unwrap_or_default();
        match address.contains(':') {
            true => six.extend(line(route)),
            false => four.extend(line(route)),
        }
    }
    if !arguments.get("test").is_some_and(Value::is_true) {
        write(call, &script("route", interface)?, &four)?;
        write(call, &script("route6", interface)?, &six)?;
    }
    let all = four.into_iter().chain(six).map(Value::from);
    Ok(all.collect::<Vec<_>>().into())
}

pub(in super::super) fn get(call: &Call<'_>, interface: &str) -> Result<Value, CallError> {
    let host = call.host();
    let four = host.read(script("route", interface)?);
    let six = host.read(script("route6", interface)?);
    Ok(lines(&format!("{four}{six}")))
}
