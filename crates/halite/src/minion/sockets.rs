//! The sockets of a minion: its local bus, and the connections to masters.

use std::net::IpAddr;

use anyhow::{Context, Result};
use halite_config::{IpcMode, MasterType, MinionConfig, PortSetting};
use halite_crypto::HashType;
use halite_minion::core::ports::{self, BusPorts};
use halite_minion::start::{BusPlace, Source};
use halite_proto::MasterUri;
use halite_transport::Endpoint;
use halite_transport::fleet::KeepAlive;

use super::masters;

/// Where connections to masters come from. The address of an interface is that
/// of now: a daemon that starts before it is up would not find it.
pub(super) fn source(config: &MinionConfig) -> Result<Source> {
    let port =
        |name, port: u64| u16::try_from(port).with_context(|| format!("bad option `{name}`"));
    let address = match config.source_interface_name.as_str() {
        "" => Some(config.source_address.as_str())
            .filter(|address| !address.is_empty())
            .map(str::parse)
            .transpose()
            .context("bad option `source_address`")?,
        name => Some(interface_address(name, config.ipv6 == Some(true))?),
    };
    Ok(Source {
        address,
        publish_port: port("source_publish_port", config.source_publish_port)?,
        request_port: port("source_ret_port", config.source_ret_port)?,
    })
}

fn interface_address(name: &str, ipv6: bool) -> Result<IpAddr> {
    let addresses = nix::ifaddrs::getifaddrs().context("could not list the interfaces")?;
    let address_of = |interface: nix::ifaddrs::InterfaceAddress| {
        let address = interface.address?;
        match ipv6 {
            true => address.as_sockaddr_in6().map(|v6| IpAddr::V6(v6.ip())),
            false => address.as_sockaddr_in().map(|v4| IpAddr::V4(v4.ip())),
        }
    };
    addresses
        .filter(|interface| interface.interface_name == name)
        .find_map(address_of)
        .with_context(|| {
            format!("bad option `source_interface_name`: interface {name:?} has no address here")
        })
}

/// There is one bus, and each master has a pair of ports of it: what listens at
/// any of them hears all.
pub(super) fn bus(config: &MinionConfig, masters: &[(String, MasterUri)]) -> Result<BusPlace> {
    if config.ipc_mode == IpcMode::Ipc {
        return Ok(BusPlace::SockDir(config.sock_dir.clone()));
    }
    let names: Vec<String> = masters.iter().map(|(name, _)| name.clone()).collect();
    let setting = |setting: &PortSetting| match setting {
        PortSetting::Base(port) => ports::PortSetting::Base(*port),
        PortSetting::List(list) => ports::PortSetting::List(list.clone()),
    };
    let mut all = ports::allocate(
        &names,
        &setting(&config.tcp_pub_port),
        &setting(&config.tcp_pull_port),
    )?;
    if all.is_empty() {
        all.push(BusPorts {
            publish: ports::TCP_PUB_PORT,
            pull: ports::TCP_PULL_PORT,
        });
    }
    Ok(BusPlace::Ports(all))
}

/// Where the bus of the minion that has this configuration is, when it runs:
/// to subscribe at, and to send events to.
///
/// # Errors
/// When options do not fit each other.
pub fn bus_endpoints(config: &MinionConfig) -> Result<(Endpoint, Endpoint)> {
    let masters = match config.master_type {
        MasterType::Func => Vec::new(),
        _ => masters(config)?,
    };
    let hash_type = HashType::parse(&config.hash_type.0).context("bad option `hash_type`")?;
    Ok(match bus(config, &masters)? {
        BusPlace::SockDir(dir) => {
            halite_minion::start::bus_endpoints(&dir, &config.minion_id()?, hash_type)
        }
        BusPlace::Ports(all) => match all.first() {
            Some(first) => first.endpoints(config.ipv6),
            None => anyhow::bail!("this minion's bus has no ports"),
        },
        BusPlace::Process => anyhow::bail!("this minion has no bus"),
    })
}

pub(super) fn keep_alive(config: &MinionConfig) -> KeepAlive {
    let number = |number: i64| i32::try_from(number).unwrap_or(-1);
    let idle = config.tcp_keepalive_idle.0;
    KeepAlive {
        on: config.tcp_keepalive,
        #[expect(
            clippy::cast_possible_truncation,
            reason = "a cast of a float saturates"
        )]
        idle_s: idle as i32,
        count: number(config.tcp_keepalive_cnt),
        interval_s: number(config.tcp_keepalive_intvl),
    }
}
