//! The execution module `ip`.

use halite_call::host::replace_file;
use halite_call::{Call, CallError, CallResult, Function, Module, os_error, python};
use halite_proto::{Map, Value};

use super::interfaces::{self, DIRECTORY, FILE, Interface};
use super::{bond, redhat, routes, settings, system, wrong};
use crate::program;

pub(crate) const MODULE: Module = Module {
    name: "ip",
    functions: &[
        Function::new(
            "ip.apply_network_settings",
            "(**settings)",
            |call| {
                let own = own(call)?;
                Ok(match family(call)? {
                    Family::Debian => system::apply(call, &own),
                    Family::RedHat => redhat::apply(call, &own),
                }?
                .into())
            },
            "Has the network started again with what was set.",
        ),
        Function::new(
            "ip.build_bond",
            "(iface, **settings)",
            |call| {
                debian_only(call)?;
                bond::build(call, &call.text("iface"), &own(call)?)
            },
            "Writes the options of a bond for the kernel's module.",
        ),
        Function::new(
            "ip.build_interface",
            "(iface, iface_type, enabled, **settings)",
            build_interface,
            "Writes an interface: of the kinds eth, bond, vlan, bridge, slave and source.",
        ),
        Function::new(
            "ip.build_network_settings",
            "(**settings)",
            |call| match family(call)? {
                Family::Debian => system::build(call, &own(call)?),
                Family::RedHat => redhat::build_system(call, &own(call)?),
            },
            "Writes the settings of the network as a whole.",
        ),
        Function::new(
            "ip.build_routes",
            "(iface, **settings)",
            |call| match family(call)? {
                Family::Debian => routes::build(call, &call.text("iface"), &own(call)?),
                Family::RedHat => redhat::build_routes(call, &call.text("iface"), &own(call)?),
            },
            "Writes the routes of an interface.",
        ),
        Function::new(
            "ip.down",
            "(iface, iface_type)",
            |call| switch(call, "ifdown"),
            "Turns an interface off.",
        ),
        Function::new(
            "ip.get_bond",
            "(iface)",
            |call| {
                debian_only(call)?;
                bond::get(call, &call.text("iface"))
            },
            "The options of a bond for the kernel's module.",
        ),
        Function::new(
            "ip.get_interface",
            "(iface)",
            get_interface,
            "What is written of an interface.",
        ),
        Function::new(
            "ip.get_network_settings",
            "()",
            |call| match family(call)? {
                Family::Debian => system::get(call),
                Family::RedHat => Ok(redhat::get_system(call)),
            },
            "The settings of the network as a whole.",
        ),
        Function::new(
            "ip.get_routes",
            "(iface)",
            |call| match family(call)? {
                Family::Debian => Ok(routes::get(call, &call.text("iface"))),
                Family::RedHat => redhat::get_routes(call, &call.text("iface")),
            },
            "The routes that are written of an interface.",
        ),
        Function::new(
            "ip.up",
            "(iface, iface_type)",
            |call| switch(call, "ifup"),
            "Turns an interface on.",
        ),
    ],
};

/// Whose files the system has.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Family {
    Debian,
    RedHat,
}

fn family(call: &Call<'_>) -> Result<Family, CallError> {
    let grains = call.ctx.grains();
    let host = call.host();
    match grains.get("os_family").and_then(Value::as_str) {
        Some("RedHat") => Ok(Family::RedHat),
        Some("Debian") if host.has("netplan") && host.path("/etc/netplan").is_dir() => {
            Err(wrong("network settings of netplan are not supported here"))
        }
        Some("Debian") => Ok(Family::Debian),
        _ => Err(wrong(
            "only the network settings of Debian (ifupdown) and Red Hat (ifcfg) are supported here",
        )),
    }
}

/// The arguments, on systems that have such files.
fn own(call: &Call<'_>) -> Result<Map, CallError> {
    family(call)?;
    Ok(call.clean_kwargs())
}

fn debian_only(call: &Call<'_>) -> Result<(), CallError> {
    match family(call)? {
        Family::Debian => Ok(()),
        Family::RedHat => Err(wrong("the options of bonds are in the files of interfaces")),
    }
}

fn switch(call: &Call<'_>, verb: &str) -> CallResult {
    own(call)?;
    if ["slave", "source"].contains(&call.text("iface_type").as_str()) {
        return Ok(Value::Nil);
    }
    let name = call.text("iface");
    let ran = halite_call::host::Program::new(call, &[verb, &name]).run()?;
    Ok(program::said(&ran).into())
}

fn get_interface(call: &Call<'_>) -> CallResult {
    let name = call.text("iface");
    if family(call)? == Family::RedHat {
        return redhat::get(call, &name);
    }
    let all = interfaces::read(call)?;
    let found = all.iter().find(|(known, _)| *known == name);
    Ok(found.map_or_else(
        || Value::List(Vec::new()),
        |(name, interface)| interfaces::lines(&interface.written(name)),
    ))
}

fn build_interface(call: &Call<'_>) -> CallResult {
    let arguments = own(call)?;
    let (name, kind) = (call.text("iface"), call.text("iface_type").to_lowercase());
    if family(call)? == Family::RedHat {
        return redhat::build(call, &name, &kind, &arguments);
    }
    let test = arguments.get("test").is_some_and(Value::is_true);
    settings::check_kind(&name, &kind, &arguments)?;
    let package = match kind.as_str() {
        "vlan" => Some("vlan"),
        "bridge" => Some("bridge-utils"),
        _ => None,
    };
    if let Some(package) = package
        && !test
        && call.has_function("pkg.install")
    {
        call.salt("pkg.install", &[package.into()], Map::new())?;
    }
    let interface = if kind == "source" {
        let source = arguments.get("source").map(python::str);
        Interface {
            sources: source.into_iter().collect(),
            ..Interface::default()
        }
    } else {
        settings::interface(&name, &kind, call.flag("enabled"), &arguments)?
    };
    let text = interface.written(&name);
    if !test {
        write(call, &name, interface, &arguments)?;
    }
    Ok(interfaces::lines(&text))
}

/// Writes the file anew with the interface in its place, or a file of its own.
fn write(
    call: &Call<'_>,
    name: &str,
    interface: Interface,
    arguments: &Map,
) -> Result<(), CallError> {
    let (file, text) = match arguments.get("filename").map(python::str) {
        Some(file) if file.starts_with('/') => (file, interface.written(name)),
        Some(file) => (format!("{DIRECTORY}/{file}"), interface.written(name)),
        None => {
            let mut all = interfaces::read(call)?;
            match all.iter_mut().find(|(known, _)| known == name) {
                Some((_, old)) => *old = interface,
                None => all.push((name.to_owned(), interface)),
            }
            let texts = all.iter().map(|(name, interface)| interface.written(name));
            (FILE.to_owned(), texts.collect())
        }
    };
    let path = call.host().path(&file);
    if !path.parent().is_some_and(std::path::Path::is_dir) {
        let directory = file.rsplit_once('/').map_or("", |(directory, _)| directory);
        return Err(wrong(format!("{directory} cannot be written.")));
    }
    replace_file(&path, text.as_bytes()).map_err(|error| os_error(&error, &file))
}
