//! Settings of the network as a whole.

use halite_call::{Call, CallError, python};
use halite_proto::{Map, Value};

use super::super::{SWITCHES, is_no, is_yes, system, wrong};
use super::{lines, write};

const FILE: &str = "/etc/sysconfig/network";

/// From this release on NetworkManager is what is started again.
const NETWORK_MANAGER_SINCE: i64 = 8;

pub(in super::super) fn get(call: &Call<'_>) -> Value {
    lines(&call.host().read(FILE))
}

/// What is set now.
fn current(call: &Call<'_>, key: &str) -> Option<String> {
    let text = call.host().read(FILE);
    let pairs = text.lines().filter_map(|line| line.split_once('='));
    let mut found = pairs.filter(|(known, _)| known.trim() == key);
    let (_, value) = found.next_back()?;
    Some(value.trim().trim_matches('"').to_owned())
}

fn wrong_setting(name: &str, expected: &str) -> CallError {
    wrong(format!(
        "Invalid network setting -- Setting: {name}, Expected: [{expected}]"
    ))
}

fn truth(name: &str, value: &Value) -> Result<&'static str, CallError> {
    if is_yes(value) {
        Ok("yes")
    } else if is_no(value) {
        Ok("no")
    } else {
        Err(wrong_setting(name, SWITCHES))
    }
}

pub(in super::super) fn build(call: &Call<'_>, arguments: &Map) -> Result<Value, CallError> {
    let arguments: Map = arguments
        .iter()
        .map(|(key, value)| (python::str(key).to_lowercase(), value.clone()))
        .collect();
    let enabled = match arguments.get("enabled") {
        Some(value) => value.clone(),
        None => current(call, "NETWORKING").into(),
    };
    let networking = truth("networking", &enabled)?;
    let hostname = arguments.get("hostname").map(python::str);
    let hostname = hostname
        .or_else(|| current(call, "HOSTNAME"))
        .filter(|name| !name.is_empty())
        .ok_or_else(|| wrong_setting("hostname", "server1.example.com"))?;
    let mut text = vec![
        format!("NETWORKING={networking}"),
        format!("HOSTNAME={hostname}"),
    ];
    for key in ["gateway", "gatewaydev", "nisdomain"] {
        if let Some(value) = arguments.get(key).map(python::str) {
            text.push(format!("{}={value}", key.to_uppercase()));
        }
    }
    if let Some(value) = arguments.get("nozeroconf") {
        text.push(format!("NOZEROCONF={}", truth("nozeroconf", value)?));
    }
    if text.iter().any(|line| line.contains('\n')) {
        return Err(wrong("a setting of the network has one line"));
    }
    if !arguments.get("test").is_some_and(Value::is_true) {
        write(call, FILE, &text)?;
    }
    Ok(text.into_iter().map(Value::from).collect::<Vec<_>>().into())
}

/// Has the services take over what was set.
pub(in super::super) fn apply(call: &Call<'_>, arguments: &Map) -> Result<bool, CallError> {
    let named = system::apply_hostname(call, arguments)?;
    if arguments.get("require_reboot").is_some_and(is_yes) {
        return Ok(named);
    }
    let grains = call.ctx.grains();
    let release = grains.get("osmajorrelease").map(python::int);
    let is_old = matches!(release, Some(Ok(release)) if release < NETWORK_MANAGER_SINCE);
    let service = if is_old { "network" } else { "NetworkManager" };
    let restarted = call.salt("service.restart", &[service.into()], Map::new())?;
    Ok(named && restarted.is_true())
}
