//! Filters that read tables and addresses.

use std::net::IpAddr;

use halite_jinja::{Error, Result};
use halite_proto::{Map, Value};

use super::Args;

/// The table that `mysql` prints, by the values of one column.
pub(super) fn mysql_to_dict(args: &Args<'_>) -> Result<Value> {
    let key = args.text(1, "key")?;
    let value = args.value();
    let lines = value
        .as_list()
        .ok_or_else(|| args.wrong("data", &value))?
        .iter()
        .filter_map(Value::as_str)
        .filter(|line| !line.is_empty() && !line.starts_with('+'));
    let mut headers: Vec<&str> = vec![""];
    let mut table = Map::new();
    for line in lines {
        let fields: Vec<&str> = line.split('|').map(str::trim).collect();
        if headers.len() <= 1 {
            headers = fields;
            continue;
        }
        let mut row = Map::new();
        // What stands between the bars at both ends.
        for (at, header) in headers.iter().enumerate().skip(1) {
            if at + 1 == headers.len() {
                break;
            }
            let field = fields
                .get(at)
                .ok_or_else(|| Error::foreign("list index out of range"))?;
            row.insert(*header, number(field));
        }
        let name = row
            .get(&key)
            .cloned()
            .ok_or_else(|| Error::foreign(format!("'{key}'")))?;
        table.insert(name, row);
    }
    Ok(table.into())
}

/// Text that is a number as the number.
fn number(text: &str) -> Value {
    if let Ok(int) = text.parse::<i128>() {
        return Value::Int(int);
    }
    let digits = text.chars().any(|c| c.is_ascii_digit());
    match text.parse::<f64>() {
        Ok(float) if digits => Value::Float(float),
        _ => text.into(),
    }
}

/// A network: its address and the bits of its prefix.
struct Network {
    address: IpAddr,
    prefix: u32,
}

impl Network {
    fn parse(value: &Value) -> Result<Self> {
        let text = value.as_str().unwrap_or_default();
        let wrong = || {
            Error::foreign(format!(
                "'{text}' does not appear to be an IPv4 or IPv6 network"
            ))
        };
        let (address, prefix) = text.split_once('/').unwrap_or((text, ""));
        let address: IpAddr = address.parse().map_err(|_| wrong())?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let prefix = match prefix {
            "" if text.contains('/') => return Err(wrong()),
            "" => most,
            mask if mask.contains('.') => {
                let mask: std::net::Ipv4Addr = mask.parse().map_err(|_| wrong())?;
                u32::from(mask).leading_ones()
            }
            bits => bits
                .parse()
                .ok()
                .filter(|bits| *bits <= most)
                .ok_or_else(wrong)?,
        };
        let network = Self { address, prefix };
        if network.start(address) != number_of(address) {
            return Err(Error::foreign(format!("{text} has host bits set")));
        }
        Ok(network)
    }

    /// An address with the bits behind the prefix cleared.
    fn start(&self, address: IpAddr) -> u128 {
        let bits = if address.is_ipv4() { 32 } else { 128 };
        let behind = bits - self.prefix.min(bits);
        let number = number_of(address);
        number.checked_shr(behind).map_or(0, |high| high << behind)
    }

    fn holds(&self, address: IpAddr) -> bool {
        address.is_ipv4() == self.address.is_ipv4()
            && self.start(address) == number_of(self.address)
    }
}

fn number_of(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(ip) => u32::from(ip).into(),
        IpAddr::V6(ip) => ip.into(),
    }
}

/// The addresses that are in one of the networks.
pub(super) fn filter_by_networks(args: &Args<'_>) -> Result<Value> {
    let Some(networks) = args.get(1, "networks") else {
        return Ok(args.value());
    };
    let networks = networks
        .as_list()
        .ok_or_else(|| args.wrong("networks", networks))?
        .iter()
        .map(Network::parse)
        .collect::<Result<Vec<_>>>()?;
    let filter = |addresses: &Value| -> Result<Value> {
        let mut kept = Vec::new();
        for value in addresses.as_list().unwrap_or_default() {
            let text = value.as_str().unwrap_or_default();
            let address: IpAddr = text.parse().map_err(|_| {
                Error::foreign(format!(
                    "'{text}' does not appear to be an IPv4 or IPv6 address"
                ))
            })?;
            // One that is in two of them comes twice, as in Salt.
            let times = networks.iter().filter(|net| net.holds(address)).count();
            kept.extend(std::iter::repeat_n(value.clone(), times));
        }
        Ok(kept.into())
    };
    match args.value() {
        Value::Map(map) => {
            let mut filtered = Map::new();
            for (name, addresses) in &map {
                filtered.insert(name.clone(), filter(addresses)?);
            }
            Ok(filtered.into())
        }
        list @ Value::List(_) => filter(&list),
        other => Err(Error::foreign(format!(
            "Do not know how to filter a <class '{}'>",
            other.type_name()
        ))),
    }
}
