//! States of firewalld: zones and services.

use halite_call::{Call, CallError, CallResult, Function, Module, StateReturn, python};
use halite_output::{Outputter, RenderOptions, render_as};
use halite_proto::{Map, Value};

pub(crate) const MODULE: Module = Module {
    name: "firewalld",
    functions: &[
        Function::new(
            "firewalld.present",
            "(name, block_icmp=None, prune_block_icmp=False, default=None, masquerade=None, ports=None, prune_ports=False, port_fwd=None, prune_port_fwd=False, services=None, prune_services=False, interfaces=None, prune_interfaces=False, sources=None, prune_sources=False, rich_rules=None, prune_rich_rules=False)",
            present,
            "A zone is there and has kinds of ICMP that it keeps out, ports (80/tcp),\nforwarded ports (source:target:protocol[:address]), services, interfaces,\nsources and rich rules; with prune_... no others of these.",
        ),
        Function::new(
            "firewalld.service",
            "(name, ports=None, protocols=None)",
            service,
            "A service is there and has just these ports and protocols.",
        ),
    ],
};

/// A kind of item that a zone or a service lists.
struct ItemKind {
    /// The argument, also its name in `changes`.
    argument: &'static str,
    /// The argument of the functions that add and remove one.
    item: &'static str,
    list: &'static str,
    add: &'static str,
    remove: &'static str,
}

macro_rules! kind {
    ($argument:literal, $item:literal, $list:literal) => {
        ItemKind {
            argument: $argument,
            item: $item,
            list: concat!("firewalld.", $list),
            add: concat!("firewalld.add_", $item),
            remove: concat!("firewalld.remove_", $item),
        }
    };
}

const ICMP: ItemKind = ItemKind {
    argument: "icmp_types",
    item: "icmp",
    list: "firewalld.list_icmp_block",
    add: "firewalld.block_icmp",
    remove: "firewalld.allow_icmp",
};

const PORTS: ItemKind = kind!("ports", "port", "list_ports");

const FORWARDS: ItemKind = kind!("port_fwd", "port_fwd", "list_port_fwd");

const OTHERS: [ItemKind; 4] = [
    kind!("services", "service", "list_services"),
    kind!("interfaces", "interface", "get_interfaces"),
    kind!("sources", "source", "get_sources"),
    ItemKind {
        argument: "rich_rules",
        item: "rule",
        list: "firewalld.get_rich_rules",
        add: "firewalld.add_rich_rule",
        remove: "firewalld.remove_rich_rule",
    },
];

const OF_SERVICES: [ItemKind; 2] = [
    ItemKind {
        argument: "ports",
        item: "port",
        list: "firewalld.get_service_ports",
        add: "firewalld.add_service_port",
        remove: "firewalld.remove_service_port",
    },
    ItemKind {
        argument: "protocols",
        item: "protocol",
        list: "firewalld.get_service_protocols",
        add: "firewalld.add_service_protocol",
        remove: "firewalld.remove_service_protocol",
    },
];

/// A zone or a service on its way to what is wanted.
struct Target<'c, 'a> {
    call: &'c Call<'a>,
    /// The argument that names it, and its name.
    of: Map,
    changes: Map,
    exists: bool,
}

fn list(value: &Value) -> Vec<Value> {
    match value {
        Value::Nil => Vec::new(),
        Value::List(items) => items.clone(),
        one => vec![one.clone()],
    }
}

fn call_all(call: &Call<'_>, fun: &str, kwargs: Map) -> CallResult {
    call.salt(fun, &[], kwargs)
}

impl<'c, 'a> Target<'c, 'a> {
    fn new(call: &'c Call<'a>, argument: &str) -> Self {
        Self {
            call,
            of: [(argument, call.arg("name").clone())].into_iter().collect(),
            changes: Map::new(),
            exists: true,
        }
    }

    fn changed(&mut self, key: &str, old: impl Into<Value>, new: impl Into<Value>) {
        let change = Map::from([("old", old.into()), ("new", new.into())]);
        self.changes.insert(key, change);
    }

    /// Calls a function of the zone or the service.
    fn ask(&self, fun: &str, more: Map) -> CallResult {
        let mut kwargs = self.of.clone();
        kwargs.extend(more);
        call_all(self.call, fun, kwargs)
    }

    fn now(&self, kind: &ItemKind) -> Result<Vec<Value>, CallError> {
        match self.exists || !self.call.is_test() {
            true => Ok(list(&self.ask(kind.list, Map::new())?)),
            false => Ok(Vec::new()),
        }
    }

    /// Has what is wanted of a kind there, and with `prune` nothing else.
    fn set(
        &mut self,
        kind: &ItemKind,
        wanted: &[Value],
        prune: bool,
        arguments: impl Fn(&Value) -> Map,
    ) -> Result<(), CallError> {
        let old = self.now(kind)?;
        let add: Vec<&Value> = wanted.iter().filter(|item| !old.contains(item)).collect();
        let gone: Vec<&Value> = old
            .iter()
            .filter(|item| prune && !wanted.contains(item))
            .collect();
        if add.is_empty() && gone.is_empty() {
            return Ok(());
        }
        if !self.call.is_test() {
            for (fun, items) in [(kind.add, &add), (kind.remove, &gone)] {
                for item in items {
                    self.ask(fun, arguments(item))?;
                }
            }
        }
        let kept = old.iter().filter(|item| !gone.contains(item));
        let new: Vec<Value> = match prune {
            true => wanted.to_vec(),
            false => kept.chain(add).cloned().collect(),
        };
        self.changed(kind.argument, old, new);
        Ok(())
    }

    /// The same, of texts.
    fn set_texts(
        &mut self,
        kind: &ItemKind,
        wanted: &[Value],
        prune: bool,
    ) -> Result<(), CallError> {
        let texts: Vec<Value> = wanted.iter().map(|item| python::str(item).into()).collect();
        self.set(kind, &texts, prune, |item| {
            [(kind.item, item.clone())].into_iter().collect()
        })
    }
}

fn present(call: &Call<'_>) -> CallResult {
    let name = call.text("name");
    let mut zone = Target::new(call, "zone");
    let done = zone_present(call, &mut zone, &name);
    finish(call, zone, done, |changes| {
        let options = RenderOptions::default();
        let text = render_as(Outputter::Nested, &changes.clone().into(), &options);
        let comment = format!("Configuration for '{name}' will change:\n{text}");
        StateReturn::of(call).pending(comment)
    })
}

/// Reloads what was changed, and says how it went.
fn finish(
    call: &Call<'_>,
    target: Target<'_, '_>,
    done: Result<(), CallError>,
    predicted: impl FnOnce(&Map) -> StateReturn,
) -> CallResult {
    let name = call.text("name");
    let mut state = StateReturn::of(call);
    let has_changes = !target.changes.is_empty();
    if call.is_test() && has_changes && done.is_ok() {
        return Ok(predicted(&target.changes).into());
    }
    if has_changes && !call.is_test() {
        call_all(call, "firewalld.reload_rules", Map::new())?;
    }
    state.changes = target.changes;
    Ok(match done {
        Ok(()) if has_changes => state.ok(format!("'{name}' was configured.")),
        Ok(()) => state.ok(format!("'{name}' is already in the desired state.")),
        Err(CallError::Command(text)) => state.failed(format!("Error: {text}")),
        Err(other) => return Err(other),
    }
    .into())
}

fn zone_present(call: &Call<'_>, zone: &mut Target<'_, '_>, name: &str) -> Result<(), CallError> {
    let zones = list(&call_all(call, "firewalld.get_zones", Map::new())?);
    if !zones.contains(&name.into()) {
        zone.exists = false;
        if !call.is_test() {
            zone.ask("firewalld.new_zone", Map::new())?;
        }
        zone.changed(name, zones, name);
    }
    blocked(call, zone)?;
    if call.flag("default") {
        let default = call_all(call, "firewalld.default_zone", Map::new())?;
        if default.as_str() != Some(name) {
            if !call.is_test() {
                zone.ask("firewalld.set_default_zone", Map::new())?;
            }
            zone.changed("default", default, name);
        }
    }
    masquerading(call, zone)?;
    if call.flag("ports") || call.flag("prune_ports") {
        zone.set_texts(&PORTS, &list(call.arg("ports")), call.flag("prune_ports"))?;
    }
    if call.flag("port_fwd") || call.flag("prune_port_fwd") {
        forwarded(call, zone)?;
    }
    for kind in &OTHERS {
        let prune = call.flag(&format!("prune_{}", kind.argument));
        if call.flag(kind.argument) || prune {
            zone.set_texts(kind, &list(call.arg(kind.argument)), prune)?;
        }
    }
    Ok(())
}

/// Kinds of ICMP, of those that there are.
fn blocked(call: &Call<'_>, zone: &mut Target<'_, '_>) -> Result<(), CallError> {
    let prune = call.flag("prune_block_icmp");
    if !call.flag("block_icmp") && !prune {
        return Ok(());
    }
    let known = list(&call_all(call, "firewalld.get_icmp_types", Map::new())?);
    let (wanted, unknown): (Vec<Value>, Vec<Value>) = list(call.arg("block_icmp"))
        .into_iter()
        .partition(|kind| known.contains(kind));
    for kind in unknown {
        tracing::error!("{} is an invalid ICMP type", python::str(&kind));
    }
    zone.set_texts(&ICMP, &wanted, prune)
}

fn masquerading(call: &Call<'_>, zone: &mut Target<'_, '_>) -> Result<(), CallError> {
    let is_on = match zone.exists {
        true => zone.ask("firewalld.get_masquerade", Map::new())?.is_true(),
        false => false,
    };
    let (fun, told) = match (call.arg("masquerade"), is_on) {
        (Value::Nil, _) => return Ok(()),
        (wanted, false) if wanted.is_true() => ("add", "set"),
        (wanted, true) if !wanted.is_true() => ("remove", "disabled"),
        _ => return Ok(()),
    };
    if !call.is_test() {
        zone.ask(&format!("firewalld.{fun}_masquerade"), Map::new())?;
    }
    zone.changed(
        "masquerade",
        is_on,
        format!("Masquerading successfully {told}."),
    );
    Ok(())
}

/// A forwarded port as it is listed, of `source:target:protocol[:address]`.
fn forward(value: &Value) -> Result<Value, CallError> {
    let text = python::str(value);
    let mut parts = text.splitn(4, ':');
    let (Some(source), Some(target), Some(protocol)) = (parts.next(), parts.next(), parts.next())
    else {
        return Err(CallError::command(format!(
            "a forwarded port is source:target:protocol[:address], not {text:?}"
        )));
    };
    Ok(Map::from([
        ("Source port", source),
        ("Protocol", protocol),
        ("Destination port", target),
        ("Destination address", parts.next().unwrap_or_default()),
    ])
    .into())
}

fn forwarded(call: &Call<'_>, zone: &mut Target<'_, '_>) -> Result<(), CallError> {
    let wanted: Result<Vec<Value>, CallError> =
        list(call.arg("port_fwd")).iter().map(forward).collect();
    zone.set(&FORWARDS, &wanted?, call.flag("prune_port_fwd"), |port| {
        let part = |name: &str| port.get(name).cloned().unwrap_or_default();
        Map::from([
            ("src", part("Source port")),
            ("dest", part("Destination port")),
            ("proto", part("Protocol")),
            ("dstaddr", part("Destination address")),
        ])
    })
}

fn service(call: &Call<'_>) -> CallResult {
    let name = call.text("name");
    let mut service = Target::new(call, "service");
    let done = service_present(call, &mut service, &name);
    finish(call, service, done, |changes| {
        let comment = format!("Configuration for '{name}' will change.");
        let mut state = StateReturn::of(call).pending(comment);
        state.changes = changes.clone();
        state
    })
}

fn service_present(
    call: &Call<'_>,
    service: &mut Target<'_, '_>,
    name: &str,
) -> Result<(), CallError> {
    let services = list(&call_all(call, "firewalld.get_services", Map::new())?);
    if !services.contains(&name.into()) {
        service.exists = false;
        if !call.is_test() {
            let kwargs = Map::from([("name", Value::from(name)), ("restart", false.into())]);
            call_all(call, "firewalld.new_service", kwargs)?;
        }
    }
    for kind in &OF_SERVICES {
        service.set_texts(kind, &list(call.arg(kind.argument)), true)?;
    }
    // A service without anything is a change, too.
    if !service.exists && service.changes.is_empty() {
        service.changed(name, services, name);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_may_have_colons() {
        let port = forward(&"25:2525:tcp:fd00::9".into()).unwrap();
        assert_eq!(port.get("Destination address"), Some(&"fd00::9".into()));
        let port = forward(&"25:2525:udp".into()).unwrap();
        assert_eq!(port.get("Destination address"), Some(&"".into()));
        assert!(forward(&25.into()).is_err());
    }
}
