//! Settings of the network as a whole: whether it is on, the name of the
//! machine, its domain.

use halite_call::host::replace_file;
use halite_call::{Call, CallError, os_error, python};
use halite_proto::{Map, Value};

use super::{SWITCHES, is_no, is_yes, wrong};

const FILE: &str = "/etc/default/networking";
const RESOLV: &str = "/etc/resolv.conf";

/// What is set.
struct Current {
    networking: String,
    hostname: String,
    domain: String,
    search: Vec<String>,
}

fn current(call: &Call<'_>) -> Current {
    let host = call.host();
    let networking = host.read(FILE);
    let networking = networking
        .lines()
        .filter_map(|line| line.strip_prefix("CONFIGURE_INTERFACES"))
        .filter_map(|rest| rest.split_once('='))
        .next_back();
    let (mut domain, mut search) = (String::new(), Vec::new());
    for line in host.read(RESOLV).lines() {
        let mut words = line.split_whitespace();
        let key = words.next().unwrap_or_default().to_lowercase();
        let values: Vec<String> = words
            .take_while(|word| !word.starts_with(['#', ';']))
            .map(str::to_owned)
            .collect();
        match (key.as_str(), values.first()) {
            ("domain", Some(first)) => domain.clone_from(first),
            ("search", _) => search = values,
            _ => {}
        }
    }
    let hostname = host.read("/etc/hostname");
    Current {
        networking: networking.map_or("", |(_, value)| value.trim()).to_owned(),
        hostname: hostname.lines().next().unwrap_or_default().to_owned(),
        domain,
        search,
    }
}

fn shown(networking: &str, hostname: &str, domain: &str, search: &str) -> Value {
    let mut lines = Vec::new();
    for (key, value) in [
        ("NETWORKING", networking),
        ("HOSTNAME", hostname),
        ("DOMAIN", domain),
        ("SEARCH", search),
    ] {
        if !value.is_empty() {
            lines.push(Value::from(format!("{key}={value}\n")));
        }
    }
    Value::List(lines)
}

/// A list as it is shown.
fn list(words: &[String]) -> String {
    if words.is_empty() {
        return String::new();
    }
    let words = words.iter().map(|word| Value::from(word.as_str()));
    python::repr(&Value::List(words.collect()))
}

/// Ubuntu does not look at the file.
fn is_ubuntu(call: &Call<'_>) -> bool {
    let grains = call.ctx.grains();
    grains.get("osfullname").and_then(Value::as_str) == Some("Ubuntu")
}

pub(super) fn get(call: &Call<'_>) -> Result<Value, CallError> {
    let now = current(call);
    if is_ubuntu(call) {
        let one = [Value::from("networking")];
        let on = call.salt("service.available", &one, Map::new())?.is_true()
            && call.salt("service.status", &one, Map::new())?.is_true();
        let networking = if on { "yes" } else { "no" };
        return Ok(shown(networking, &now.hostname, &now.domain, ""));
    }
    let search = list(&now.search);
    Ok(shown(&now.networking, &now.hostname, &now.domain, &search))
}

fn wrong_setting(name: &str, expected: &str) -> CallError {
    wrong(format!(
        "Invalid network setting -- Setting: {name}, Expected: [{expected}]"
    ))
}

pub(super) fn build(call: &Call<'_>, arguments: &Map) -> Result<Value, CallError> {
    let arguments: Map = arguments
        .iter()
        .map(|(key, value)| (python::str(key).to_lowercase(), value.clone()))
        .collect();
    let now = current(call);
    let enabled = match arguments.get("enabled") {
        Some(value) => value.clone(),
        None => now.networking.as_str().into(),
    };
    let networking = if is_yes(&enabled) {
        "yes"
    } else if is_no(&enabled) {
        "no"
    } else {
        return Err(wrong_setting("networking", SWITCHES));
    };
    let hostname = match arguments.get("hostname") {
        Some(value) => python::str(value),
        None => now.hostname.clone(),
    };
    if hostname.is_empty() {
        return Err(wrong_setting("hostname", "server1.example.com"));
    }
    let test = arguments.get("test").is_some_and(Value::is_true);
    if is_ubuntu(call) {
        let verb = if networking == "yes" {
            "enable"
        } else {
            "disable"
        };
        for service in ["NetworkManager", "networking"] {
            let one = [Value::from(service)];
            if !test && call.salt("service.available", &one, Map::new())?.is_true() {
                call.salt(&format!("service.{verb}"), &one, Map::new())?;
            }
        }
    } else {
        let text = format!(
            "# Configuration for networking init script being run during\n# the boot sequence\n\n# Set to 'no' to skip interfaces configuration on boot\nCONFIGURE_INTERFACES={networking}\n\n# Don't configure these interfaces. Shell wildcards supported/\n#EXCLUDE_INTERFACES=\n\n# Set to 'yes' to enable additional verbosity\n#VERBOSE=no"
        );
        if test {
            let lines = text.split_inclusive('\n').map(Value::from).collect();
            return Ok(Value::List(lines));
        }
        write(call, FILE, &text)?;
    }
    let (short, domain) = match hostname.split_once('.') {
        Some((short, domain)) => (short.to_owned(), domain.to_owned()),
        None => (hostname, now.domain.clone()),
    };
    let asked = arguments.get("search");
    let search = asked.map_or_else(|| list(&now.search), python::str);
    let new_search = asked.is_some_and(|asked| {
        *asked
            != Value::List(
                now.search
                    .iter()
                    .map(|word| Value::from(word.as_str()))
                    .collect(),
            )
    });
    if domain != now.domain || new_search {
        let words = match asked {
            Some(Value::List(words)) => words.iter().map(python::str).collect(),
            Some(text) => vec![python::str(text)],
            None => now.search.clone(),
        };
        resolver(call, &domain, &words.join(" "), &now, test)?;
    }
    Ok(shown(networking, &short, &domain, &search))
}

/// Puts domain and search list into the file of the resolver.
fn resolver(
    call: &Call<'_>,
    domain: &str,
    search: &str,
    now: &Current,
    test: bool,
) -> Result<(), CallError> {
    let mut has = (false, false);
    let mut lines: Vec<String> = Vec::new();
    for line in call.host().read_to_change(RESOLV)?.lines() {
        match line.split_whitespace().next() {
            Some("domain") => {
                has.0 = true;
                lines.push(format!("domain {domain}"));
            }
            Some("search") => {
                has.1 = true;
                lines.push(format!("search {search}"));
            }
            _ => lines.push(line.to_owned()),
        }
    }
    if !has.1 && !search.is_empty() {
        lines.insert(0, format!("search {search}"));
    }
    if !has.0 && domain != now.domain {
        lines.insert(0, format!("domain {domain}"));
    }
    if test {
        return Ok(());
    }
    write(call, RESOLV, &(lines.join("\n") + "\n"))
}

fn write(call: &Call<'_>, file: &str, text: &str) -> Result<(), CallError> {
    replace_file(&call.host().path(file), text.as_bytes()).map_err(|error| os_error(&error, file))
}

/// Gives the machine its name, if that is asked for.
pub(super) fn apply_hostname(call: &Call<'_>, arguments: &Map) -> Result<bool, CallError> {
    if !arguments.get("apply_hostname").is_some_and(is_yes) {
        return Ok(true);
    }
    let Some(hostname) = arguments.get("hostname") else {
        return Ok(false);
    };
    let done = call.salt(
        "network.mod_hostname",
        std::slice::from_ref(hostname),
        Map::new(),
    )?;
    Ok(done.is_true())
}

/// Has the services take over what was set.
pub(super) fn apply(call: &Call<'_>, arguments: &Map) -> Result<bool, CallError> {
    let fine = apply_hostname(call, arguments)?;
    if arguments.get("require_reboot").is_some_and(is_yes) {
        return Ok(fine);
    }
    let one = [Value::from("networking")];
    let stopped = call.salt("service.stop", &one, Map::new())?.is_true();
    Ok(fine && stopped && call.salt("service.start", &one, Map::new())?.is_true())
}
