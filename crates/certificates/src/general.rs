//! General names: DNS names, addresses, URIs and others that a certificate is
//! good for.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use halite_call::{CallError, python};
use halite_proto::Value;

use crate::asn1::{DerError, Item, oid_from_der, oid_to_der, tag, tlv};
use crate::domain;
use crate::name::Name;

mod kind {
    pub(super) const EMAIL: u8 = 0x81;
    pub(super) const DNS: u8 = 0x82;
    pub(super) const DIRECTORY: u8 = 0xa4;
    pub(super) const URI: u8 = 0x86;
    pub(super) const IP: u8 = 0x87;
    pub(super) const ID: u8 = 0x88;
}

/// `DNS:example.org` as a pair.
pub(crate) type Pair = (String, Value);

/// One name in DER.
pub(crate) fn encode((kind, value): &Pair) -> Result<Vec<u8>, CallError> {
    let text = || match value {
        Value::Str(text) => Ok(text.clone()),
        other => Err(CallError::invocation(format!(
            "Expected string value, got {}: `{}`",
            other.type_name(),
            python::str(other)
        ))),
    };
    let kind = kind.to_lowercase();
    Ok(match kind.as_str() {
        "dirname" => tlv(kind::DIRECTORY, &Name::from_value(value)?.der()),
        "rid" => {
            let dotted = python::str(value);
            let der = oid_to_der(&dotted)
                .ok_or_else(|| CallError::command(format!("Invalid oid: {dotted}")))?;
            tlv(kind::ID, &der)
        }
        "ip" => tlv(kind::IP, &address(&python::str(value))?),
        "email" => {
            let text = text()?;
            let checked = match text.rsplit_once('@') {
                Some((user, host)) => format!("{user}@{}", domain::plain(host)?),
                None => domain::with_dot(&text)?,
            };
            tlv(kind::EMAIL, checked.as_bytes())
        }
        "uri" => {
            let text = text()?;
            if let Some(host) = domain::of_uri(&text) {
                domain::plain(host)?;
            }
            tlv(kind::URI, text.as_bytes())
        }
        "dns" => tlv(kind::DNS, domain::wildcard(&text()?)?.as_bytes()),
        "othername" => {
            return Err(CallError::invocation(
                "otherName is currently not implemented",
            ));
        }
        other => {
            return Err(CallError::command(format!(
                "GeneralName type {other} is invalid"
            )));
        }
    })
}

/// All names, one after the other.
pub(crate) fn encode_all(pairs: &[Pair]) -> Result<Vec<u8>, CallError> {
    let names: Vec<Vec<u8>> = pairs.iter().map(encode).collect::<Result<_, _>>()?;
    Ok(names.concat())
}

/// The name of a directory.
pub(crate) fn directory(name_der: &[u8]) -> Vec<u8> {
    tlv(kind::DIRECTORY, name_der)
}

/// `kind:value` in its two parts.
pub(crate) fn pair(text: &str) -> Result<Pair, CallError> {
    match text.split_once(':') {
        Some((kind, value)) => Ok((kind.trim().to_owned(), value.trim().into())),
        None => Err(CallError::exception(
            "ValueError",
            format!("not enough values to unpack: {text} has no type"),
        )),
    }
}

fn address(text: &str) -> Result<Vec<u8>, CallError> {
    let bad = || {
        CallError::command(format!(
            "Provided value {text} does not seem to be an IP address or network range."
        ))
    };
    let bytes = |ip: IpAddr| match ip {
        IpAddr::V4(ip) => ip.octets().to_vec(),
        IpAddr::V6(ip) => ip.octets().to_vec(),
    };
    let Some((ip, prefix)) = text.split_once('/') else {
        return text.parse().map(bytes).map_err(|_| bad());
    };
    let mut network = ip.parse().map(bytes).map_err(|_| bad())?;
    let mask: Vec<u8> = match prefix.parse::<usize>() {
        Ok(prefix) if prefix <= network.len() * 8 => mask(network.len(), prefix),
        _ => match prefix.parse::<Ipv4Addr>() {
            Ok(mask) if network.len() == 4 => mask.octets().to_vec(),
            _ => return Err(bad()),
        },
    };
    if network
        .iter()
        .zip(&mask)
        .any(|(byte, mask)| byte & !mask != 0)
    {
        return Err(bad());
    }
    network.extend(mask);
    Ok(network)
}

fn mask(length: usize, prefix: usize) -> Vec<u8> {
    (0..length)
        .map(|at| {
            let bits = prefix.saturating_sub(at * 8).min(8);
            u8::try_from((0xff00u16 >> bits) & 0xff).unwrap_or_default()
        })
        .collect()
}

/// As results show it.
pub(crate) fn show(item: &Item<'_>) -> Result<String, DerError> {
    let text = || String::from_utf8_lossy(item.body).into_owned();
    Ok(match item.tag {
        kind::DNS => format!("DNS:{}", text()),
        kind::EMAIL => format!("mail:{}", text()),
        kind::URI => format!("URI:{}", text()),
        kind::ID => format!("RID:{}", oid_from_der(item.body).ok_or(DerError::Value)?),
        kind::IP => format!("IP:{}", show_address(item.body)?),
        kind::DIRECTORY => {
            let name = item.inside().expect(tag::SEQUENCE)?;
            format!("dirName:{}", Name::from_der(&name)?.written())
        }
        other => format!("<GeneralName {}>", other & 0x1f),
    })
}

/// All names within an item.
pub(crate) fn show_all(item: &Item<'_>) -> Result<Value, DerError> {
    let names = item.inside().all()?;
    let shown: Result<Vec<Value>, DerError> = names
        .iter()
        .map(|name| show(name).map(Value::from))
        .collect();
    Ok(Value::List(shown?))
}

fn show_address(bytes: &[u8]) -> Result<String, DerError> {
    let one = |bytes: &[u8]| -> Result<String, DerError> {
        if let Ok(four) = <[u8; 4]>::try_from(bytes) {
            return Ok(Ipv4Addr::from(four).to_string());
        }
        let sixteen = <[u8; 16]>::try_from(bytes).map_err(|_| DerError::Value)?;
        let groups: Vec<String> = Ipv6Addr::from(sixteen)
            .segments()
            .iter()
            .map(|group| format!("{group:04x}"))
            .collect();
        Ok(groups.join(":"))
    };
    match bytes.len() {
        4 | 16 => one(bytes),
        8 | 32 => {
            let (network, mask) = bytes.split_at(bytes.len() / 2);
            let prefix: u32 = mask.iter().map(|byte| byte.count_ones()).sum();
            Ok(format!("{}/{prefix}", one(network)?))
        }
        _ => Err(DerError::Value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::asn1::Reader;

    #[test]
    fn names_are_shown_in_full() {
        for (given, shown) in [
            ("dns:*.example.org", "DNS:*.example.org"),
            ("IP:10.0.0.1", "IP:10.0.0.1"),
            ("ip:10.0.0.0/9", "IP:10.0.0.0/9"),
            (
                "ip:2001:db8::1",
                "IP:2001:0db8:0000:0000:0000:0000:0000:0001",
            ),
            ("email:me@example.org", "mail:me@example.org"),
            ("URI:http://a.b:80/c", "URI:http://a.b:80/c"),
            ("rid:1.2.3", "RID:1.2.3"),
            ("dirName:CN=a,O=b", "dirName:CN=a,O=b"),
        ] {
            let der = encode(&pair(given).unwrap()).unwrap();
            let item = Reader::new(&der).next().unwrap();
            assert_eq!(show(&item).unwrap(), shown);
        }
        for bad in [
            "ip:1.2.3",
            "ip:10.0.0.1/8",
            "x:y",
            "othername:1",
            "dns:a_b",
            "dns:..",
            "uri:http://a_b/",
        ] {
            assert!(encode(&pair(bad).unwrap()).is_err(), "{bad}");
        }
    }
}
