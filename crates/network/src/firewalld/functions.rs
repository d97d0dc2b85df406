//! The table of the functions.

use halite_call::{Call, CallError, CallResult, Function, Module};
use halite_proto::{Map, Value};

use super::{icmp, of_zone, run, zones};

pub(crate) const MODULE: Module = Module {
    name: "firewalld",
    functions: &[
        Function::new(
            "firewalld.add_interface",
            "(zone, interface, permanent=True)",
            |call| change(call, "add-interface", "interface"),
            "Adds an interface to a zone.",
        ),
        Function::new(
            "firewalld.add_masquerade",
            "(zone=None, permanent=True)",
            |call| zones::asked(call, "add-masquerade"),
            "Turns masquerading on in a zone.",
        ),
        Function::new(
            "firewalld.add_port",
            "(zone, port, permanent=True, force_masquerade=False)",
            |call| {
                zones::masquerade_if_forced(call)?;
                change(call, "add-port", "port")
            },
            "Opens a port (80/tcp) in a zone.",
        ),
        Function::new(
            "firewalld.add_port_fwd",
            "(zone, src, dest, proto='tcp', dstaddr='', permanent=True, force_masquerade=False)",
            |call| {
                zones::masquerade_if_forced(call)?;
                zones::forward(call, "add")
            },
            "Forwards a port of a zone to another, also of another address.",
        ),
        Function::new(
            "firewalld.add_rich_rule",
            "(zone, rule, permanent=True)",
            |call| change(call, "add-rich-rule", "rule"),
            "Adds a rich rule to a zone.",
        ),
        Function::new(
            "firewalld.add_service",
            "(service, zone=None, permanent=True)",
            |call| change(call, "add-service", "service"),
            "Opens a zone for a service.",
        ),
        Function::new(
            "firewalld.add_service_port",
            "(service, port)",
            |call| {
                known_service(call)?;
                of_service(call, "add-port", Some("port"))
            },
            "Adds a port to a service.",
        ),
        Function::new(
            "firewalld.add_service_protocol",
            "(service, protocol)",
            |call| of_service(call, "add-protocol", Some("protocol")),
            "Adds a protocol to a service.",
        ),
        Function::new(
            "firewalld.add_source",
            "(zone, source, permanent=True)",
            |call| change(call, "add-source", "source"),
            "Adds a source of packets to a zone.",
        ),
        Function::new(
            "firewalld.allow_icmp",
            "(zone, icmp, permanent=True)",
            |call| icmp::switch(call, false),
            "Lets a kind of ICMP into a zone; False if there is no such kind.",
        ),
        Function::new(
            "firewalld.block_icmp",
            "(zone, icmp, permanent=True)",
            |call| icmp::switch(call, true),
            "Keeps a kind of ICMP out of a zone; False if there is no such kind.",
        ),
        Function::new(
            "firewalld.default_zone",
            "()",
            |call| Ok(run(call, &["--get-default-zone".to_owned()])?.into()),
            "The default zone.",
        ),
        Function::new(
            "firewalld.delete_service",
            "(name, restart=True)",
            |call| made(call, "delete-service", "name"),
            "Deletes a service.",
        ),
        Function::new(
            "firewalld.delete_zone",
            "(zone, restart=True)",
            |call| made(call, "delete-zone", "zone"),
            "Deletes a zone.",
        ),
        Function::new(
            "firewalld.get_icmp_types",
            "(permanent=True)",
            |call| words(call, "get-icmptypes"),
            "The kinds of ICMP.",
        ),
        Function::new(
            "firewalld.get_interfaces",
            "(zone, permanent=True)",
            |call| words(call, "list-interfaces"),
            "The interfaces of a zone.",
        ),
        Function::new(
            "firewalld.get_masquerade",
            "(zone=None, permanent=True)",
            |call| Ok(zones::is_masquerading(call)?.into()),
            "Whether masquerading is on in a zone.",
        ),
        Function::new(
            "firewalld.get_rich_rules",
            "(zone, permanent=True)",
            |call| {
                let said = listed(call, "list-rich-rules")?;
                let lines = said.lines().filter(|line| !line.is_empty());
                Ok(lines.map(Value::from).collect::<Vec<_>>().into())
            },
            "The rich rules of a zone.",
        ),
        Function::new(
            "firewalld.get_service_ports",
            "(service)",
            |call| of_service(call, "get-ports", None),
            "The ports of a service.",
        ),
        Function::new(
            "firewalld.get_service_protocols",
            "(service)",
            |call| of_service(call, "get-protocols", None),
            "The protocols of a service.",
        ),
        Function::new(
            "firewalld.get_services",
            "(permanent=True)",
            |call| words(call, "get-services"),
            "The services that are known.",
        ),
        Function::new(
            "firewalld.get_sources",
            "(zone, permanent=True)",
            |call| words(call, "list-sources"),
            "The sources of a zone.",
        ),
        Function::new(
            "firewalld.get_zones",
            "(permanent=True)",
            |call| words(call, "get-zones"),
            "The names of the zones.",
        ),
        Function::new(
            "firewalld.list_all",
            "(zone=None, permanent=True)",
            |call| Ok(zones::parsed(&listed(call, "list-all")?).into()),
            "All of a zone.",
        ),
        Function::new(
            "firewalld.list_icmp_block",
            "(zone, permanent=True)",
            |call| words(call, "list-icmp-blocks"),
            "The kinds of ICMP that a zone keeps out.",
        ),
        Function::new(
            "firewalld.list_port_fwd",
            "(zone, permanent=True)",
            |call| Ok(zones::forwards(&listed(call, "list-forward-ports")?).into()),
            "The forwarded ports of a zone.",
        ),
        Function::new(
            "firewalld.list_ports",
            "(zone, permanent=True)",
            |call| words(call, "list-ports"),
            "The open ports of a zone.",
        ),
        Function::new(
            "firewalld.list_services",
            "(zone=None, permanent=True)",
            |call| words(call, "list-services"),
            "The services that a zone is open for.",
        ),
        Function::new(
            "firewalld.list_zones",
            "(permanent=True)",
            |call| Ok(zones::parsed(&listed(call, "list-all-zones")?).into()),
            "All of all zones.",
        ),
        Function::new(
            "firewalld.make_permanent",
            "()",
            |call| Ok(run(call, &["--runtime-to-permanent".to_owned()])?.into()),
            "Keeps what is set now for good.",
        ),
        Function::new(
            "firewalld.new_service",
            "(name, restart=True)",
            |call| made(call, "new-service", "name"),
            "Adds a service.",
        ),
        Function::new(
            "firewalld.new_zone",
            "(zone, restart=True)",
            |call| made(call, "new-zone", "zone"),
            "Adds a zone.",
        ),
        Function::new(
            "firewalld.reload_rules",
            "()",
            reload,
            "Has the rules that are for good take effect.",
        ),
        Function::new(
            "firewalld.remove_interface",
            "(zone, interface, permanent=True)",
            |call| change(call, "remove-interface", "interface"),
            "Removes an interface from a zone.",
        ),
        Function::new(
            "firewalld.remove_masquerade",
            "(zone=None, permanent=True)",
            |call| zones::asked(call, "remove-masquerade"),
            "Turns masquerading off in a zone.",
        ),
        Function::new(
            "firewalld.remove_port",
            "(zone, port, permanent=True)",
            |call| change(call, "remove-port", "port"),
            "Closes a port in a zone.",
        ),
        Function::new(
            "firewalld.remove_port_fwd",
            "(zone, src, dest, proto='tcp', dstaddr='', permanent=True)",
            |call| zones::forward(call, "remove"),
            "Forwards a port of a zone no more.",
        ),
        Function::new(
            "firewalld.remove_rich_rule",
            "(zone, rule, permanent=True)",
            |call| change(call, "remove-rich-rule", "rule"),
            "Removes a rich rule from a zone.",
        ),
        Function::new(
            "firewalld.remove_service",
            "(service, zone=None, permanent=True)",
            |call| change(call, "remove-service", "service"),
            "Closes a zone for a service.",
        ),
        Function::new(
            "firewalld.remove_service_port",
            "(service, port)",
            |call| {
                known_service(call)?;
                of_service(call, "remove-port", Some("port"))
            },
            "Removes a port from a service.",
        ),
        Function::new(
            "firewalld.remove_service_protocol",
            "(service, protocol)",
            |call| of_service(call, "remove-protocol", Some("protocol")),
            "Removes a protocol from a service.",
        ),
        Function::new(
            "firewalld.remove_source",
            "(zone, source, permanent=True)",
            |call| change(call, "remove-source", "source"),
            "Removes a source of packets from a zone.",
        ),
        Function::new(
            "firewalld.set_default_zone",
            "(zone)",
            |call| {
                let word = format!("--set-default-zone={}", call.text("zone"));
                Ok(run(call, &[word])?.into())
            },
            "Sets the default zone.",
        ),
        Function::new(
            "firewalld.version",
            "()",
            |call| Ok(run(call, &["--version".to_owned()])?.into()),
            "The version of firewalld.",
        ),
    ],
};

/// Asks for something of the zone that the call names.
pub(super) fn listed(call: &Call<'_>, what: &str) -> Result<String, CallError> {
    let zone = call.get("zone").filter(|zone| zone.is_true());
    let zone = zone.map(halite_call::python::str);
    run(
        call,
        &of_zone(zone.as_deref(), format!("--{what}"), call.flag("permanent")),
    )
}

fn words(call: &Call<'_>, what: &str) -> CallResult {
    let said = listed(call, what)?;
    let words = said.split_whitespace().map(Value::from);
    Ok(words.collect::<Vec<_>>().into())
}

/// Adds something to a zone or removes it.
fn change(call: &Call<'_>, verb: &str, argument: &str) -> CallResult {
    zones::asked(call, &format!("{verb}={}", call.text(argument)))
}

/// Makes or deletes a service or a zone, which counts after a reload.
fn made(call: &Call<'_>, verb: &str, argument: &str) -> CallResult {
    let word = format!("--{verb}={}", call.text(argument));
    let said = run(call, &of_zone(None, word, true))?;
    if said == "success" && call.flag("restart") {
        return reload(call);
    }
    Ok(said.into())
}

fn reload(call: &Call<'_>) -> CallResult {
    Ok(run(call, &["--reload".to_owned()])?.into())
}

fn known_service(call: &Call<'_>) -> Result<(), CallError> {
    let services = call.salt("firewalld.get_services", &[], Map::new())?;
    let name = Value::from(call.text("service"));
    match services.as_list().is_some_and(|all| all.contains(&name)) {
        true => Ok(()),
        false => Err(CallError::command("The service does not exist.")),
    }
}

/// Asks for something of a service, or changes what an argument says of it.
fn of_service(call: &Call<'_>, verb: &str, argument: Option<&str>) -> CallResult {
    let value = argument.map(|argument| format!("={}", call.text(argument)));
    let words = [
        "--permanent".to_owned(),
        format!("--service={}", call.text("service")),
        format!("--{verb}{}", value.unwrap_or_default()),
    ];
    let said = run(call, &words)?;
    Ok(match argument {
        Some(_) => said.into(),
        None => said
            .split_whitespace()
            .map(Value::from)
            .collect::<Vec<_>>()
            .into(),
    })
}
