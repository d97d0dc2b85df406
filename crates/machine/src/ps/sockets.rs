//! The internet sockets of a process.

use std::fs;
use std::io::ErrorKind;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::path::Path;

use halite_proto::Value;

/// Sockets that are read of one table; the rest is left out.
const SOCKETS_MAX: usize = 1_000_000;

const STATES: [&str; 11] = [
    "ESTABLISHED",
    "SYN_SENT",
    "SYN_RECV",
    "FIN_WAIT1",
    "FIN_WAIT2",
    "TIME_WAIT",
    "CLOSE",
    "CLOSE_WAIT",
    "LAST_ACK",
    "LISTEN",
    "CLOSING",
];

/// fd, family, type, own address, the other's, state: as psutil tells them.
pub(super) fn of_process(place: &Path) -> Result<Value, ErrorKind> {
    let entries = fs::read_dir(place.join("fd")).map_err(|error| error.kind())?;
    let sockets: Vec<(String, i64)> = entries
        .flatten()
        .filter_map(|entry| {
            let target = fs::read_link(entry.path()).ok()?;
            let inode = target
                .to_str()?
                .strip_prefix("socket:[")?
                .strip_suffix(']')?
                .to_owned();
            Some((inode, entry.file_name().to_str()?.parse().ok()?))
        })
        .collect();
    let mut found = Vec::new();
    if sockets.is_empty() {
        return Ok(found.into());
    }
    for (table, family, kind) in [
        ("tcp", 2, 1),
        ("tcp6", 10, 1),
        ("udp", 2, 2),
        ("udp6", 10, 2),
    ] {
        let text = fs::read_to_string(place.join("net").join(table)).unwrap_or_default();
        for line in text.lines().skip(1).take(SOCKETS_MAX) {
            let words: Vec<&str> = line.split_whitespace().collect();
            let (Some(own), Some(other), Some(state), Some(inode)) =
                (words.get(1), words.get(2), words.get(3), words.get(9))
            else {
                continue;
            };
            for (_, fd) in sockets.iter().filter(|(of, _)| of == inode) {
                let state = match kind {
                    1 => usize::from_str_radix(state, 16)
                        .ok()
                        .and_then(|number| STATES.get(number.checked_sub(1)?).copied()),
                    _ => None,
                };
                found.push(
                    vec![
                        Value::from(*fd),
                        family.into(),
                        kind.into(),
                        address(own),
                        address(other),
                        state.unwrap_or("NONE").into(),
                    ]
                    .into(),
                );
            }
        }
    }
    Ok(Value::List(found))
}

/// Address and port; none for a socket that has no other end.
fn address(text: &str) -> Value {
    let parsed = || {
        let (address, port) = text.split_once(':')?;
        let port = u16::from_str_radix(port, 16).ok()?;
        if port == 0 {
            return None;
        }
        // Words of 32 bits, each as the machine has it in memory.
        let mut bytes = Vec::new();
        for at in (0..address.len()).step_by(8) {
            let word = u32::from_str_radix(address.get(at..at + 8)?, 16).ok()?;
            bytes.extend(word.to_ne_bytes());
        }
        let shown = match bytes.len() {
            4 => Ipv4Addr::from(<[u8; 4]>::try_from(bytes).ok()?).to_string(),
            _ => Ipv6Addr::from(<[u8; 16]>::try_from(bytes).ok()?).to_string(),
        };
        Some(vec![Value::from(shown), port.into()].into())
    };
    parsed().unwrap_or_else(|| Value::List(Vec::new()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read() {
        let loopback = format!("{:08X}:1194", u32::from_ne_bytes([127, 0, 0, 1]));
        assert_eq!(
            address(&loopback),
            vec![Value::from("127.0.0.1"), 4500.into()].into()
        );
        assert_eq!(address("00000000:0000"), Value::List(Vec::new()));
        assert_eq!(address("x"), Value::List(Vec::new()));
    }
}
