//! Neighbours, sockets, rings of interfaces, and the machine's name.

use std::net::{Ipv4Addr, SocketAddrV4, UdpSocket};

use halite_proto::{Map, Value};

use halite_call::{
    Call, CallError, CallResult, check_one_line,
    host::{Program, replace_file},
    os_error, python,
};

fn output(call: &Call<'_>, words: &[&str]) -> Result<String, CallError> {
    let args = [Value::List(
        words.iter().map(|word| Value::from(*word)).collect(),
    )];
    let said = call.salt("cmd.run", &args, Map::from([("python_shell", false)]))?;
    Ok(python::str(&said))
}

fn neighbours(call: &Call<'_>, mark: char) -> CallResult {
    let said = output(call, &["ip", "neigh", "show"])?;
    let mut found = Map::new();
    for line in said.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        if let [address, _, _, _, hardware, ..] = words.as_slice()
            && address.contains(mark)
        {
            found.insert(*hardware, *address);
        }
    }
    Ok(found.into())
}

pub(super) fn ip_neighs(call: &Call<'_>) -> CallResult {
    neighbours(call, '.')
}

pub(super) fn ip_neighs6(call: &Call<'_>) -> CallResult {
    neighbours(call, ':')
}

/// How a line of a program is read.
type Reader = fn(&[&str]) -> Option<Map>;

pub(super) fn netstat(call: &Call<'_>) -> CallResult {
    let (said, read): (String, Reader) = match call.host().has("netstat") {
        true => (output(call, &["netstat", "-tulpnea"])?, of_netstat),
        false => (output(call, &["ss", "-tulpnea"])?, of_ss),
    };
    let lines = said
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>());
    let sockets = lines.filter_map(|words| read(&words).map(Value::from));
    Ok(sockets.collect::<Vec<_>>().into())
}

fn of_netstat(words: &[&str]) -> Option<Map> {
    let fields: &[&str] = match words.first()? {
        word if word.starts_with("tcp") => &[
            "proto",
            "recv-q",
            "send-q",
            "local-address",
            "remote-address",
            "state",
            "user",
            "inode",
            "program",
        ],
        word if word.starts_with("udp") => &[
            "proto",
            "recv-q",
            "send-q",
            "local-address",
            "remote-address",
            "user",
            "inode",
            "program",
        ],
        _ => return None,
    };
    // An established UDP socket has a state that the table does not tell.
    Some(
        fields
            .iter()
            .zip(words)
            .map(|(field, word)| (*field, *word))
            .collect(),
    )
}

fn of_ss(words: &[&str]) -> Option<Map> {
    let [proto, state, receive, send, local, remote, rest @ ..] = words else {
        return None;
    };
    let is_tcp = proto.starts_with("tcp");
    if !is_tcp && !proto.starts_with("udp") {
        return None;
    }
    let field = |name: &str| rest.iter().find_map(|word| word.strip_prefix(name));
    let program = field("users:").and_then(|users| users.split('"').nth(1));
    let number = |name: &str| field(name).map_or_else(|| Value::from(0), Value::from);
    let mut socket = Map::from([
        ("proto", *proto),
        ("recv-q", receive),
        ("send-q", send),
        ("local-address", local),
        ("remote-address", remote),
    ]);
    if is_tcp {
        let state = if *state == "ESTAB" {
            "ESTABLISHED"
        } else {
            state
        };
        socket.insert("state", state);
    }
    socket.insert("user", number("uid:"));
    socket.insert("inode", number("ino:"));
    socket.insert("program", program.unwrap_or_default());
    Some(socket)
}

const ETHTOOL: &str = "/sbin/ethtool";

pub(super) fn get_bufsize(call: &Call<'_>) -> CallResult {
    if call.host().which(ETHTOOL).is_none() {
        return Ok(Map::new().into());
    }
    let said = output(call, &[ETHTOOL, "-g", &call.text("iface")])?;
    let mut sizes = Map::from([("result", false)]);
    let mut suffix = "max-";
    for line in said.lines() {
        let pair = line.split_once(':');
        let number = pair.and_then(|(_, number)| number.trim().parse::<i64>().ok());
        if let (Some((name, _)), Some(number)) = (pair, number) {
            let name = name.to_lowercase().replace(' ', "-");
            sizes.insert(format!("{name}{suffix}"), number);
            sizes.insert("result", true);
        } else if line.ends_with("maximums:") {
            suffix = "-max";
        } else if line.ends_with("settings:") {
            suffix = "";
        }
    }
    if sizes.get("result") == Some(&Value::Bool(false)) {
        sizes.insert("comment", said);
    }
    Ok(sizes.into())
}

pub(super) fn mod_bufsize(call: &Call<'_>) -> CallResult {
    if call.host().which(ETHTOOL).is_none() {
        return Ok(false.into());
    }
    let report = |result: bool, comment: String| -> CallResult {
        Ok(Map::from([("result", Value::from(result)), ("comment", comment.into())]).into())
    };
    let kwargs = call.clean_kwargs();
    if !kwargs.is_empty() && !call.varargs().is_empty() {
        let words: Vec<String> = call.varargs().iter().map(python::str).collect();
        return report(false, format!("Unknown arguments: {}", words.join(" ")));
    }
    let mut changes = Vec::new();
    for name in ["rx", "tx", "rx-mini", "rx-jumbo"] {
        if let Some(size) = kwargs.get(name).filter(|size| !size.is_nil()) {
            changes.extend([name.to_owned(), python::int(size)?.to_string()]);
        }
    }
    if changes.is_empty() {
        let comment = "Requires rx=<val> tx==<val> rx-mini=<val> and/or rx-jumbo=<val>";
        return report(false, comment.to_owned());
    }
    let iface = call.text("iface");
    let words: Vec<&str> = [ETHTOOL, "-G", &iface]
        .into_iter()
        .chain(changes.iter().map(String::as_str))
        .collect();
    let said = output(call, &words)?;
    match said.is_empty() {
        true => report(true, changes.join(" ")),
        false => report(false, said),
    }
}

pub(super) fn mod_hostname(call: &Call<'_>) -> CallResult {
    if call.arg("hostname").is_nil() {
        return Ok(false.into());
    }
    let new = call.text("hostname");
    let good = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
    if new.is_empty() || new.starts_with('-') || !new.chars().all(good) {
        return Err(CallError::invocation(format!("not a host name: {new:?}")));
    }
    let host = call.host();
    let Some(old) = set_hostname(call, &new)? else {
        return Ok(false.into());
    };
    check_one_line("a name", &new)?;
    let rewrite = |path: &str, change: &dyn Fn(&str) -> String| -> Result<(), CallError> {
        let text: String = host
            .read(path)
            .lines()
            .map(|line| change(line) + "\n")
            .collect();
        replace_file(&host.path(path), text.as_bytes()).map_err(|error| os_error(&error, path))
    };
    rewrite("/etc/hosts", &|line| {
        let mut is_named = false;
        let words = line.split_whitespace().map(|word| {
            let is_it = word == old && !is_named;
            is_named |= is_it;
            if is_it { new.as_str() } else { word }
        });
        words.collect::<Vec<_>>().join("\t")
    })?;
    let grains = call.ctx.grains();
    let is = |name: &str, value: &str| grains.get(name).and_then(Value::as_str) == Some(value);
    if is("os_family", "RedHat") && host.path("/etc/sysconfig/network").exists() {
        rewrite("/etc/sysconfig/network", &|line| {
            let Some(value) = line.strip_prefix("HOSTNAME=") else {
                return line.to_owned();
            };
            let quote = ["\"", "'"]
                .into_iter()
                .find(|quote| value.starts_with(quote));
            let quote = quote.unwrap_or_default();
            format!("HOSTNAME={quote}{new}{quote}")
        })?;
    } else if is("os_family", "Debian") {
        replace_file(&host.path("/etc/hostname"), format!("{new}\n").as_bytes())
            .map_err(|error| os_error(&error, "/etc/hostname"))?;
    }
    Ok(true.into())
}

/// Sets the name that the kernel and systemd have. The former name, or `None` if
/// `hostnamectl` could not set the new one.
fn set_hostname(call: &Call<'_>, new: &str) -> Result<Option<String>, CallError> {
    if !call.host().has("hostnamectl") {
        let old = python::str(&call.salt("network.get_fqdn", &[], Map::new())?);
        Program::new(call, &["hostname", new]).run()?;
        return Ok(Some(old));
    }
    let status = Program::new(call, &["hostnamectl", "status"])
        .may_fail()
        .run()?;
    let known = status
        .stdout
        .lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(name, _)| name.contains("Static hostname"))
        .map(|(_, name)| name.trim().to_owned());
    let old = match known {
        Some(old) => old,
        None => python::str(&call.salt("network.get_hostname", &[], Map::new())?),
    };
    let set = Program::new(call, &["hostnamectl", "set-hostname", new]).run()?;
    if !set.ok() {
        tracing::debug!("hostnamectl could not set the name: {}", set.stderr);
        return Ok(None);
    }
    Ok(Some(old))
}

pub(super) fn wol(call: &Call<'_>) -> CallResult {
    let text = call.text("mac");
    let digits: String = text.chars().filter(|c| !":-.".contains(*c)).collect();
    let bytes: Option<Vec<u8>> = (0..digits.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(digits.get(at..at + 2)?, 16).ok())
        .collect();
    let Some(mac) = bytes.filter(|bytes| bytes.len() == 6) else {
        let text = "Invalid MAC address";
        return Err(CallError::exception("ValueError", text));
    };
    let address: Ipv4Addr = call.text("bcast").parse().map_err(|_| {
        CallError::invocation(format!("not an IPv4 address: {}", call.text("bcast")))
    })?;
    let port = u16::try_from(call.int("destport")?)
        .map_err(|_| CallError::exception("OverflowError", "port must be 0-65535."))?;
    let mut packet = vec![0xff; 6];
    packet.extend(mac.repeat(16));
    let sent = (|| {
        let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
        socket.set_broadcast(true)?;
        socket.send_to(&packet, SocketAddrV4::new(address, port))
    })();
    sent.map(|_| true.into())
        .map_err(|error| CallError::exception("OSError", error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sockets_are_read_from_either_program() {
        let line = "tcp LISTEN 0 128 0.0.0.0:22 0.0.0.0:* users:((\"sshd\",pid=1,fd=3)) ino:7 sk:1";
        let words: Vec<&str> = line.split_whitespace().collect();
        let socket = of_ss(&words).unwrap();
        let text = |map: &Map, key: &str| map.get(key).and_then(Value::as_str).map(str::to_owned);
        assert_eq!(text(&socket, "program").as_deref(), Some("sshd"));
        assert_eq!(text(&socket, "state").as_deref(), Some("LISTEN"));
        assert_eq!(socket.get("user"), Some(&0.into()));
        let line = "udp 0 0 127.0.0.1:323 0.0.0.0:* 0 17 9/chronyd";
        let words: Vec<&str> = line.split_whitespace().collect();
        let socket = of_netstat(&words).unwrap();
        assert_eq!(text(&socket, "program").as_deref(), Some("9/chronyd"));
        assert_eq!(of_netstat(&["Proto"]), None);
    }
}
