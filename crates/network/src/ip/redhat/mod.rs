//! Settings of the network in the files of Red Hat's network scripts
//! (`ifcfg-*`, `route-*`), which NetworkManager reads, too.

mod bond;
mod interface;
mod routes;
mod system;

pub(super) use interface::{build, get};
pub(super) use routes::{build as build_routes, get as get_routes};
pub(super) use system::{apply, build as build_system, get as get_system};

use halite_call::host::replace_file;
use halite_call::{Call, CallError, os_error};
use halite_proto::Value;

/// Where the files of interfaces are.
const SCRIPTS: &str = "/etc/sysconfig/network-scripts";

/// The place of a file of an interface.
fn script(kind: &str, interface: &str) -> Result<String, CallError> {
    match interface.is_empty() || interface.contains('/') {
        true => Err(CallError::invocation(format!(
            "not an interface: {interface:?}"
        ))),
        false => Ok(format!("{SCRIPTS}/{kind}-{interface}")),
    }
}

/// The lines of a file; empty if it does not exist.
fn lines(text: &str) -> Value {
    text.lines().map(Value::from).collect::<Vec<_>>().into()
}

fn write(call: &Call<'_>, file: &str, lines: &[String]) -> Result<(), CallError> {
    let path = call.host().path(file);
    let directory = file.rsplit_once('/').map_or("", |(directory, _)| directory);
    if !path.parent().is_some_and(std::path::Path::is_dir) {
        return Err(super::wrong(format!("{directory} cannot be written.")));
    }
    let text: String = lines.iter().flat_map(|line| [line, "\n"]).collect();
    replace_file(&path, text.as_bytes()).map_err(|error| os_error(&error, file))
}
