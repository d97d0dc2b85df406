//! Which hosts this machine can reach, and how.

use std::net::{SocketAddr, TcpStream, ToSocketAddrs, UdpSocket};
use std::time::Duration;

use halite_proto::{Map, Value};

use halite_call::host::{run_quietly, which};
use halite_call::{Call, CallError, CallResult, python};

fn need(program: &str) -> Result<(), CallError> {
    which(program).map(drop).ok_or_else(|| {
        CallError::NotFound(format!("The '{program}' binary was not found in $PATH."))
    })
}

/// A host name or address as a word that no program takes for an option.
fn host(call: &Call<'_>) -> Result<String, CallError> {
    let host = call.text("host");
    let good = |c: char| c.is_ascii_alphanumeric() || ".-_:%".contains(c);
    if !host.is_empty() && !host.starts_with('-') && host.chars().all(good) {
        Ok(host)
    } else {
        Err(CallError::invocation(format!("not a host: {host}")))
    }
}

pub(super) fn ping(call: &Call<'_>) -> CallResult {
    let host = host(call)?;
    let timeout = call.arg("timeout");
    let seconds = if timeout.is_true() {
        Some(python::int(timeout)?.to_string())
    } else {
        None
    };
    let mut words = vec!["ping"];
    if let Some(seconds) = &seconds {
        words.extend(["-W", seconds]);
    }
    words.extend(["-c", "4", &host]);
    need("ping")?;
    let ran = run_quietly(call, &words)?.unwrap_or_default();
    if call.flag("return_boolean") {
        return Ok((ran.retcode == 0).into());
    }
    let text = if ran.stderr.is_empty() {
        ran.stdout
    } else {
        format!("{}\n{}", ran.stdout, ran.stderr)
    };
    Ok(text.trim().into())
}

pub(super) fn dig(call: &Call<'_>) -> CallResult {
    need("dig")?;
    let ran = run_quietly(call, &["dig", &host(call)?])?.unwrap_or_default();
    Ok(ran.stdout.into())
}

pub(super) fn traceroute(call: &Call<'_>) -> CallResult {
    need("traceroute")?;
    let ran = run_quietly(call, &["traceroute", &host(call)?])?.unwrap_or_default();
    let hops = ran.stdout.lines().filter_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        words.first()?.parse::<i64>().ok()?;
        Some(Value::from(
            words.into_iter().map(Value::from).collect::<Vec<_>>(),
        ))
    });
    Ok(hops.collect::<Vec<_>>().into())
}

pub(super) fn get_route(call: &Call<'_>) -> CallResult {
    let address: std::net::IpAddr = call
        .text("ip")
        .parse()
        .map_err(|_| CallError::invocation(format!("not an address: {}", call.text("ip"))))?;
    need("ip")?;
    let address = address.to_string();
    let ran = run_quietly(call, &["ip", "-o", "route", "get", &address])?.unwrap_or_default();
    let words: Vec<&str> = ran.stdout.split_whitespace().collect();
    let behind = |name: &str| {
        let at = words.iter().position(|word| *word == name)?;
        words.get(at + 1).map(|word| (*word).to_owned())
    };
    Ok(Map::from([
        ("destination", Value::from(address)),
        ("gateway", behind("via").into()),
        ("interface", behind("dev").into()),
        ("source", behind("src").into()),
    ])
    .into())
}

pub(super) fn connect(call: &Call<'_>) -> CallResult {
    let answer = |result: bool, comment: String| {
        Ok(Map::from([("result", Value::from(result)), ("comment", comment.into())]).into())
    };
    let host = call.text("host");
    if host.is_empty() {
        return answer(false, "Required argument, host, is missing.".to_owned());
    }
    let Some(port) = call.text_opt("port") else {
        return answer(false, "Required argument, port, is missing.".to_owned());
    };
    let kwargs = call.kwargs();
    // What is neither is tcp.
    let proto = match kwargs.get("proto").and_then(Value::as_str) {
        Some("udp") => "udp",
        _ => "tcp",
    };
    let seconds = kwargs
        .get("timeout")
        .map(python::float)
        .transpose()?
        .unwrap_or(5.0);
    let timeout = Duration::try_from_secs_f64(seconds)
        .ok()
        .filter(|timeout| !timeout.is_zero())
        .unwrap_or(Duration::from_secs(5));
    let family = kwargs.get("family").map(python::str);
    let wanted = |address: &SocketAddr| match family.as_deref() {
        Some("ipv4") => address.is_ipv4(),
        Some("ipv6") => address.is_ipv6(),
        _ => true,
    };
    let number: Option<u16> = port.parse().ok();
    let addresses = number.and_then(|number| (host.as_str(), number).to_socket_addrs().ok());
    let Some(address) = addresses.and_then(|mut addresses| addresses.find(wanted)) else {
        return answer(
            false,
            format!("Unable to resolve host {host} on {proto} port {port}"),
        );
    };
    let ip = address.ip();
    if reaches(address, proto == "udp", timeout) {
        answer(
            true,
            format!("Successfully connected to {host} ({ip}) on {proto} port {port}"),
        )
    } else {
        answer(
            false,
            format!("Unable to connect to {host} ({ip}) on {proto} port {port}"),
        )
    }
}

fn reaches(address: SocketAddr, udp: bool, timeout: Duration) -> bool {
    if !udp {
        return TcpStream::connect_timeout(&address, timeout).is_ok();
    }
    // Over UDP only an answer tells.
    let local: SocketAddr = if address.is_ipv4() {
        ([0, 0, 0, 0], 0).into()
    } else {
        ([0; 8], 0).into()
    };
    let ask = || {
        let socket = UdpSocket::bind(local)?;
        socket.set_read_timeout(Some(timeout))?;
        socket.connect(address)?;
        socket.send(b"foo")?;
        socket.recv(&mut [0; 256])
    };
    ask().is_ok()
}
