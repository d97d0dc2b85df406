//! `network.*`: addresses, routes, and reachable hosts.

mod addresses;
mod kernel;
mod links;
mod reach;

use halite_grains::{interfaces, network};
use halite_proto::{Map, Value};

use halite_call::{Call, CallResult, Function, Module};

pub(super) const MODULE: Module = Module {
    name: "network",
    functions: &[
        Function::new(
            "network.active_tcp",
            "()",
            kernel::active_tcp,
            "The established TCP connections.",
        ),
        Function::new(
            "network.arp",
            "()",
            kernel::arp,
            "The neighbours' hardware addresses with their IPv4 addresses.",
        ),
        Function::new(
            "network.calc_net",
            "(ip_addr, netmask=None)",
            addresses::calc_net,
            "The net of an address and a mask.",
        ),
        Function::new(
            "network.connect",
            "(host, port=None, **kwargs)",
            reach::connect,
            "Whether a connection to a host and port can be made; proto, timeout (5\nseconds) and family may be given.",
        ),
        Function::new(
            "network.convert_cidr",
            "(cidr)",
            addresses::convert_cidr,
            "Network, mask and broadcast address of a net.",
        ),
        Function::new(
            "network.default_route",
            "(family=None)",
            kernel::default_route,
            "The default routes, of all families or of inet or inet6.",
        ),
        Function::new(
            "network.dig",
            "(host)",
            reach::dig,
            "Asks the name servers for a host with the program dig.",
        ),
        Function::new(
            "network.fqdns",
            "()",
            fqdns,
            "The names of all addresses of this machine; may take long.",
        ),
        Function::new(
            "network.get_bufsize",
            "(iface)",
            links::get_bufsize,
            "The sizes of the rings of an interface.",
        ),
        Function::new(
            "network.get_fqdn",
            "()",
            get_fqdn,
            "The full name of this machine.",
        ),
        Function::new(
            "network.get_hostname",
            "()",
            get_hostname,
            "The name of this machine.",
        ),
        Function::new(
            "network.get_route",
            "(ip)",
            reach::get_route,
            "Gateway, interface and source address of packets to an address.",
        ),
        Function::new(
            "network.hw_addr",
            "(iface)",
            hwaddr,
            "The hardware address of an interface.",
        ),
        Function::new(
            "network.hwaddr",
            "(iface)",
            hwaddr,
            "The hardware address of an interface.",
        ),
        Function::new(
            "network.ifacestartswith",
            "(cidr)",
            ifacestartswith,
            "The interfaces with an address that starts like this.",
        ),
        Function::new(
            "network.in_subnet",
            "(cidr)",
            addresses::in_subnet,
            "Whether this machine has an address in a net.",
        ),
        Function::new(
            "network.interface",
            "(iface)",
            interface,
            "The IPv4 addresses of an interface.",
        ),
        Function::new(
            "network.interface_ip",
            "(iface)",
            interface_ip,
            "The first IPv4 address of an interface.",
        ),
        Function::new(
            "network.interfaces",
            "()",
            all_interfaces,
            "All interfaces with their addresses.",
        ),
        Function::new(
            "network.ip_addrs",
            "(interface=None, include_loopback=False, cidr=None, type=None)",
            addresses::ip_addrs,
            "The IPv4 addresses of this machine: of an interface, in a net, public or\nprivate ones.",
        ),
        Function::new(
            "network.ip_addrs6",
            "(interface=None, include_loopback=False, cidr=None)",
            addresses::ip_addrs6,
            "The IPv6 addresses of this machine: of an interface, in a net.",
        ),
        Function::new(
            "network.ip_in_subnet",
            "(ip_addr, cidr)",
            addresses::ip_in_subnet,
            "Whether an address is in a net.",
        ),
        Function::new(
            "network.ip_neighs",
            "()",
            links::ip_neighs,
            "The IPv4 neighbours by their hardware addresses.",
        ),
        Function::new(
            "network.ip_neighs6",
            "()",
            links::ip_neighs6,
            "The IPv6 neighbours by their hardware addresses.",
        ),
        Function::new(
            "network.ip_networks",
            "(interface=None, include_loopback=False, verbose=False)",
            addresses::ip_networks,
            "The IPv4 nets of this machine.",
        ),
        Function::new(
            "network.ip_networks6",
            "(interface=None, include_loopback=False, verbose=False)",
            addresses::ip_networks6,
            "The IPv6 nets of this machine.",
        ),
        Function::new(
            "network.ipaddrs",
            "(interface=None, include_loopback=False, cidr=None, type=None)",
            addresses::ip_addrs,
            "The same as network.ip_addrs.",
        ),
        Function::new(
            "network.ipaddrs6",
            "(interface=None, include_loopback=False, cidr=None)",
            addresses::ip_addrs6,
            "The same as network.ip_addrs6.",
        ),
        Function::new(
            "network.iphexval",
            "(ip)",
            addresses::iphexval,
            "An IPv4 address in hexadecimal digits.",
        ),
        Function::new(
            "network.ipneighs",
            "()",
            links::ip_neighs,
            "The same as network.ip_neighs.",
        ),
        Function::new(
            "network.ipneighs6",
            "()",
            links::ip_neighs6,
            "The same as network.ip_neighs6.",
        ),
        Function::new(
            "network.is_loopback",
            "(ip_addr)",
            addresses::is_loopback,
            "Whether an address is one of this machine itself.",
        ),
        Function::new(
            "network.is_private",
            "(ip_addr)",
            addresses::is_private,
            "Whether an address is not one of the public network.",
        ),
        Function::new(
            "network.mod_bufsize",
            "(iface, *args, **kwargs)",
            links::mod_bufsize,
            "Changes rx, tx, rx-mini or rx-jumbo: the sizes of the rings of an interface.",
        ),
        Function::new(
            "network.mod_hostname",
            "(hostname)",
            links::mod_hostname,
            "Gives the machine another name, in /etc/hosts too.",
        ),
        Function::new(
            "network.netstat",
            "()",
            links::netstat,
            "The sockets of this machine with their programs.",
        ),
        Function::new(
            "network.ping",
            "(host, timeout=False, return_boolean=False)",
            reach::ping,
            "Sends four echo requests with the program ping.",
        ),
        Function::new(
            "network.reverse_ip",
            "(ip_addr)",
            addresses::reverse_ip,
            "The name under which name servers know an address.",
        ),
        Function::new(
            "network.routes",
            "(family=None)",
            kernel::routes,
            "The routes, of all families or of inet or inet6.",
        ),
        Function::new(
            "network.subnets",
            "(interfaces=None)",
            addresses::subnets,
            "The IPv4 nets of this machine, loopback aside.",
        ),
        Function::new(
            "network.subnets6",
            "()",
            addresses::subnets6,
            "The IPv6 nets of this machine, loopback aside.",
        ),
        Function::new(
            "network.traceroute",
            "(host)",
            reach::traceroute,
            "The way to a host, with the program traceroute.",
        ),
        Function::new(
            "network.wol",
            "(mac, bcast='255.255.255.255', destport=9)",
            links::wol,
            "Sends the packet that wakes a machine up.",
        ),
    ],
};

fn all_interfaces(_: &Call<'_>) -> CallResult {
    let all: Map = interfaces::read()
        .iter()
        .map(|interface| (interface.name.as_str(), interface.to_value()))
        .collect();
    Ok(all.into())
}

/// The interface that the parameter names, or what Salt answers without one.
fn named(call: &Call<'_>) -> Result<interfaces::Interface, Value> {
    let name = call.text("iface");
    let all = interfaces::read();
    let names: Vec<String> = all
        .iter()
        .map(|known| format!("\"{}\"", known.name))
        .collect();
    all.into_iter()
        .find(|known| known.name == name)
        .ok_or_else(|| {
            format!(
                "Interface \"{name}\" not in available interfaces: {}",
                names.join(", ")
            )
            .into()
        })
}

fn interface(call: &Call<'_>) -> CallResult {
    Ok(named(call).map_or_else(
        |said| said,
        |found| found.to_value().remove("inet").unwrap_or_default(),
    ))
}

fn interface_ip(call: &Call<'_>) -> CallResult {
    Ok(named(call).map_or_else(
        |said| said,
        |found| {
            let first = found.inet.first().map(|inet| inet.address.to_string());
            first.unwrap_or_default().into()
        },
    ))
}

fn hwaddr(call: &Call<'_>) -> CallResult {
    Ok(named(call).map_or_else(|said| said, |found| found.hwaddr.unwrap_or_default().into()))
}

fn ifacestartswith(call: &Call<'_>) -> CallResult {
    let start = call.text("cidr");
    let names = interfaces::read().into_iter().filter(|interface| {
        interface
            .inet
            .iter()
            .any(|inet| inet.address.to_string().starts_with(&start))
    });
    Ok(names
        .map(|interface| Value::from(interface.name))
        .collect::<Vec<_>>()
        .into())
}

fn get_hostname(_: &Call<'_>) -> CallResult {
    let name = nix::unistd::gethostname()
        .ok()
        .and_then(|name| name.into_string().ok());
    Ok(name.unwrap_or_default().into())
}

fn get_fqdn(_: &Call<'_>) -> CallResult {
    Ok(network::fqdn().into())
}

fn fqdns(_: &Call<'_>) -> CallResult {
    Ok(Map::from([("fqdns", network::resolve_fqdns())]).into())
}
