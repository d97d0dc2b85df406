//! `mine.get_docker`: where the ports of containers are reached, from what
//! `docker.ps` has left in the mine.

use halite_proto::{Map, Value};

use halite_call::{Call, CallError, CallResult, python};

const EVERY_ADDRESS: &str = "0.0.0.0";

pub(super) fn get_docker(call: &Call<'_>) -> CallResult {
    let hosts = call.salt("mine.get", &["*".into(), "docker.ps".into()], Map::new())?;
    let of = |name: &str| match call.arg(name) {
        Value::List(list) => Some(list.iter().map(python::str).collect::<Vec<_>>()),
        one if one.is_true() => Some(vec![python::str(one)]),
        _ => None,
    };
    let wanted = ProxyOptions {
        interfaces: of("interfaces"),
        cidrs: of("cidrs"),
        with_id: call.flag("with_container_id"),
    };
    let within = |cidr: &str, address: &str| {
        let args = [Value::from(address), cidr.into()];
        Ok(call
            .salt("network.ip_in_subnet", &args, Map::new())?
            .is_true())
    };
    Ok(proxies(&hosts, &wanted, &within)?.into())
}

struct ProxyOptions {
    interfaces: Option<Vec<String>>,
    cidrs: Option<Vec<String>>,
    with_id: bool,
}

/// By image and port of a container the addresses and ports of its hosts.
fn proxies(
    hosts: &Value,
    wanted: &ProxyOptions,
    within: &dyn Fn(&str, &str) -> Result<bool, CallError>,
) -> Result<Map, CallError> {
    let mut images: Vec<(Value, Ports)> = Vec::new();
    for (_, containers) in hosts.as_map().into_iter().flatten() {
        let addresses = host_addresses(containers.get("host"), wanted, within)?;
        for (name, container) in containers.as_map().into_iter().flatten() {
            let Some(image) = container
                .get("Image")
                .filter(|_| name.as_str() != Some("host"))
            else {
                continue;
            };
            let id = container.get("Info").and_then(|info| info.get("Id"));
            let known = slot(&mut images, image.clone());
            let ports = container.get("Ports").and_then(Value::as_list);
            for port in ports.unwrap_or_default() {
                let at = match port.get("IP").map(python::str) {
                    Some(address) if address == EVERY_ADDRESS => addresses.clone(),
                    Some(address) if !address.is_empty() => vec![address],
                    // Not reached from outside.
                    _ => continue,
                };
                for address in at {
                    put(known, port, &address, id.filter(|_| wanted.with_id));
                }
            }
        }
    }
    let images = images.into_iter().map(|(image, ports)| {
        let ports = ports.into_iter();
        let ports: Map = ports.map(|(port, at)| (port, Value::List(at))).collect();
        let shown = match ports.is_empty() {
            true => Map::new(),
            false => Map::from([("ipv4", ports)]),
        };
        (image, Value::from(shown))
    });
    Ok(images.collect())
}

/// Places by port.
type Ports = Vec<(Value, Vec<Value>)>;

/// What is kept under a key, in the order in which keys came.
fn slot<V: Default>(list: &mut Vec<(Value, V)>, key: Value) -> &mut V {
    let at = match list.iter().position(|(known, _)| *known == key) {
        Some(at) => at,
        None => {
            list.push((key, V::default()));
            list.len() - 1
        }
    };
    &mut list[at].1
}

fn put(ports: &mut Ports, port: &Value, address: &str, id: Option<&Value>) {
    let public = port.get("PublicPort").map(python::str).unwrap_or_default();
    let place = Value::from(format!("{address}:{public}"));
    let place = match id {
        Some(id) => Value::List(vec![place, id.clone()]),
        None => place,
    };
    let private = port.get("PrivatePort").cloned().unwrap_or_default();
    let places = slot(ports, private);
    if !places.contains(&place) {
        places.push(place);
    }
}

fn host_addresses(
    host: Option<&Value>,
    wanted: &ProxyOptions,
    within: &dyn Fn(&str, &str) -> Result<bool, CallError>,
) -> Result<Vec<String>, CallError> {
    let interfaces = host.and_then(|host| host.get("interfaces")?.as_map());
    let mut found: Vec<String> = Vec::new();
    for (name, about) in interfaces.into_iter().flatten() {
        let name = python::str(name);
        if wanted
            .interfaces
            .as_ref()
            .is_some_and(|only| !only.contains(&name))
        {
            continue;
        }
        let addresses = about.get("inet").and_then(Value::as_list);
        for address in addresses.unwrap_or_default() {
            let Some(address) = address.get("address").map(python::str) else {
                continue;
            };
            let fits = match &wanted.cidrs {
                None => true,
                Some(cidrs) => {
                    let mut fits = false;
                    for cidr in cidrs {
                        fits |= within(cidr, &address)?;
                    }
                    fits
                }
            };
            if fits && !found.contains(&address) {
                found.push(address);
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINE: &str = r#"
h1:
  host:
    interfaces:
      eth0: {up: true, inet: [{address: 10.0.0.5}]}
      docker0: {inet: [{address: 172.17.0.1}]}
      lo: {up: true}
  c1:
    Image: web:1
    Info: {Id: abc}
    Ports:
      - {IP: 0.0.0.0, PrivatePort: 80, PublicPort: 8080, Type: tcp}
      - {PrivatePort: 443}
  c2:
    Image: db
    Info: {Id: def}
    Ports: [{IP: 10.9.9.9, PrivatePort: 5432, PublicPort: 15432}]
"#;

    /// What Salt returns for the same.
    #[test]
    fn ports_are_where_salt_finds_them() {
        let hosts = halite_yaml::load(MINE, "test").unwrap().into_value();
        let within = |cidr: &str, address: &str| Ok(cidr == "all" || address.starts_with("172."));
        let list = |names: &[&str]| Some(names.iter().map(|name| (*name).to_owned()).collect());
        for (interfaces, cidrs, with_id, expected) in [
            (
                None,
                None,
                false,
                "{'web:1': {'ipv4': {80: ['10.0.0.5:8080', '172.17.0.1:8080']}}, \
                 'db': {'ipv4': {5432: ['10.9.9.9:15432']}}}",
            ),
            (
                list(&["eth0", "nope"]),
                None,
                true,
                "{'web:1': {'ipv4': {80: [['10.0.0.5:8080', 'abc']]}}, \
                 'db': {'ipv4': {5432: [['10.9.9.9:15432', 'def']]}}}",
            ),
            (
                None,
                list(&["172.17.0.0/16"]),
                false,
                "{'web:1': {'ipv4': {80: ['172.17.0.1:8080']}}, \
                 'db': {'ipv4': {5432: ['10.9.9.9:15432']}}}",
            ),
            (
                list(&["lo"]),
                None,
                false,
                "{'web:1': {}, 'db': {'ipv4': {5432: ['10.9.9.9:15432']}}}",
            ),
        ] {
            let wanted = ProxyOptions {
                interfaces,
                cidrs,
                with_id,
            };
            let found = proxies(&hosts, &wanted, &within).unwrap();
            assert_eq!(python::repr(&found.into()), expected);
        }
    }
}
