//! `network.wol*`: wakes machines.

use std::net::UdpSocket;

use halite_proto::{Map, Value};
use halite_store::Bank;

use super::Call;
use super::error::{Ran, RunnerError};
use super::table::Function;

pub(super) const FUNCTIONS: &[Function] = &[
    Function::new(
        "network.wol",
        "(mac, bcast='255.255.255.255', destport=9)",
        wol,
        "Wakes the machine with a hardware address.",
    ),
    Function::new(
        "network.wollist",
        "(maclist, bcast='255.255.255.255', destport=9)",
        wollist,
        "Wakes the machines whose hardware addresses a file lists.",
    ),
    Function::new(
        "network.wolmatch",
        "(tgt, tgt_type='glob', bcast='255.255.255.255', destport=9)",
        wolmatch,
        "Wakes the machines of minions, by the hardware addresses in their grains.",
    ),
];

/// Salt's text for an invalid address.
const INVALID_MAC: &str = "Invalid MAC address";

/// The bytes of a hardware address, with or without separators.
fn mac_bytes(text: &str) -> Option<Vec<u8>> {
    const DIGITS: usize = 12;
    let digits: String = text
        .trim()
        .chars()
        .filter(|c| !matches!(c, ':' | '-' | '.'))
        .collect();
    if digits.len() != DIGITS || !digits.is_ascii() {
        return None;
    }
    (0..DIGITS)
        .step_by(2)
        .map(|at| u8::from_str_radix(digits.get(at..at + 2)?, 16).ok())
        .collect()
}

/// Six bytes of ones, and sixteen times the address.
fn magic_packet(mac: &[u8]) -> Vec<u8> {
    let mut packet = vec![0xff; 6];
    packet.extend(mac.repeat(16));
    packet
}

fn wake(call: &Call<'_>, mac: &str) -> Result<(), RunnerError> {
    let failed = |why: String| RunnerError::Failed(format!("could not wake {mac}: {why}"));
    let bytes = mac_bytes(mac)
        .ok_or_else(|| RunnerError::Failed(format!("ValueError: {INVALID_MAC}: {mac}")))?;
    let port = call.arg("destport");
    let port = port
        .as_i64()
        .or_else(|| port.as_str()?.parse().ok())
        .and_then(|port| u16::try_from(port).ok())
        .ok_or_else(|| failed("no such port".to_owned()))?;
    let to = call.text("bcast").unwrap_or("255.255.255.255");
    let send = || {
        let socket = UdpSocket::bind(("0.0.0.0", 0))?;
        socket.set_broadcast(true)?;
        socket.send_to(&magic_packet(&bytes), (to, port))
    };
    send()
        .map(|_| ())
        .map_err(|error| failed(error.to_string()))
}

fn wol(call: &Call<'_>) -> Ran {
    // An address without separators may look like a number.
    wake(call, &halite_proto::python::str(call.arg("mac")))?;
    Ok(true.into())
}

fn wollist(call: &Call<'_>) -> Ran {
    let path = call.text("maclist").unwrap_or_default();
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) => {
            let text = format!("Failed to open the MAC file. Error: {error}");
            call.progress(Map::from([("error", text)]));
            return Ok(Value::List(Vec::new()));
        }
    };
    let mut woken = Vec::new();
    for mac in text.lines().map(str::trim).filter(|mac| !mac.is_empty()) {
        if mac_bytes(mac).is_none() {
            // One wrong line must not keep the machines below it asleep.
            let text = format!("Failed to open the MAC file. Error: {INVALID_MAC}: {mac}");
            call.progress(Map::from([("error", text)]));
            continue;
        }
        wake(call, mac)?;
        call.print(format!("Waking up {mac}"));
        woken.push(Value::from(mac));
    }
    Ok(woken.into())
}

fn wolmatch(call: &Call<'_>) -> Ran {
    let mut woken = Vec::new();
    for id in call.targets()? {
        let grains = call
            .runners
            .fleet
            .data
            .get(Bank::Grains, &id)?
            .unwrap_or_default();
        let addresses = grains.get("hwaddr_interfaces").and_then(Value::as_map);
        for (name, mac) in addresses.into_iter().flatten() {
            if let (Some(mac), false) = (mac.as_str(), name.as_str() == Some("lo")) {
                wake(call, mac)?;
                woken.push(Value::from(mac.trim()));
            }
        }
    }
    Ok(woken.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_packet_repeats_the_address() {
        let mac = mac_bytes("08:00:27:13:69:77").unwrap();
        assert_eq!(mac, [8, 0, 0x27, 0x13, 0x69, 0x77]);
        assert_eq!(mac_bytes("080027136977"), Some(mac.clone()));
        let packet = magic_packet(&mac);
        assert_eq!(packet.len(), 102);
        assert!(packet.starts_with(&[0xff; 6]) && packet.ends_with(&mac));
        for wrong in ["", "08:00", "zz:00:27:13:69:77", "ž8002713697"] {
            assert_eq!(mac_bytes(wrong), None, "{wrong}");
        }
    }
}
