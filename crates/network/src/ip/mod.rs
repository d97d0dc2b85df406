//! Settings of the network in the files of Debian's ifupdown and of Red Hat's
//! network scripts: the execution module `ip`.

mod bond;
mod functions;
mod interfaces;
mod options;
mod redhat;
mod routes;
mod settings;
mod system;

pub(crate) use functions::MODULE;

use halite_call::CallError;
use halite_proto::Value;

/// Something is wrong with the arguments, as states of the network expect it.
fn wrong(message: impl Into<String>) -> CallError {
    CallError::exception("AttributeError", message)
}

/// What counts as yes.
fn is_yes(value: &Value) -> bool {
    match value {
        Value::Bool(yes) => *yes,
        Value::Int(1) => true,
        Value::Str(text) => ["yes", "on", "true", "1"].contains(&text.as_str()),
        _ => false,
    }
}

/// What counts as no.
fn is_no(value: &Value) -> bool {
    match value {
        Value::Bool(yes) => !*yes,
        Value::Int(0) => true,
        Value::Str(text) => ["no", "off", "false", "0"].contains(&text.as_str()),
        _ => false,
    }
}

/// All that counts as either, for messages.
const SWITCHES: &str = "yes|on|true|1|True|no|off|false|0|False";

fn wrong_interface(interface: &str, option: &str, expected: &str) -> CallError {
    wrong(format!(
        "Invalid option -- Interface: {interface}, Option: {option}, Expected: [{expected}]"
    ))
}
