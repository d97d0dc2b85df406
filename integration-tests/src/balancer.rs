//! A real haproxy before the masters, with the configuration of the documentation.

use std::fs;
use std::net::{SocketAddr, TcpStream};

use anyhow::{Context as _, Result};

use crate::cluster_page::lines_after;
use crate::fleet::Fleet;
use crate::net::Address;
use crate::process::{Daemon, Recipe};
use crate::wait::{START, until};

/// The program.
pub const HAPROXY: &str = "haproxy";

/// Where Debian has it.
const PLACE: &str = "/usr/sbin/haproxy";

/// Connections that one takes on each side, unless more are wanted.
const CONNECTIONS_MAX: u32 = 4000;

/// A running haproxy. It ends with the fleet.
#[derive(Debug)]
pub struct Balancer {
    /// Where minions find the masters.
    pub address: Address,
    daemon: Daemon,
}

impl Balancer {
    /// Starts it in front of these addresses, with ports of its own. It looks by
    /// connecting whether they are there, or asks at their `health_port`.
    ///
    /// # Errors
    /// When it is not installed or does not listen in time.
    pub fn start(fleet: &Fleet, backends: &[&Address], health_port: Option<u16>) -> Result<Self> {
        Self::start_for(fleet, (HAPROXY, CONNECTIONS_MAX), backends, health_port)
    }

    /// The same, one of several of a fleet, for so many connections on each side.
    ///
    /// # Errors
    /// As [`Balancer::start`].
    pub fn start_for(
        fleet: &Fleet,
        (name, connections_max): (&str, u32),
        backends: &[&Address],
        health_port: Option<u16>,
    ) -> Result<Self> {
        let address = Address::claim()?;
        let file = fleet.path().join(format!("{name}.cfg"));
        let text = configuration(&address, backends, health_port)?;
        let text = format!("global\n  maxconn {connections_max}\n{text}");
        fs::write(&file, text)?;
        let args = [
            "-db".to_owned(),
            "-f".to_owned(),
            file.display().to_string(),
        ];
        let recipe = Recipe::new(name, PLACE.into(), fleet.path()).args(&args);
        let mut daemon = Daemon::new(recipe, fleet.path().join(format!("{name}.log")));
        daemon.start()?;
        let mut balancer = Self { address, daemon };
        until("haproxy to listen", START, || {
            balancer.daemon.check_runs()?;
            Ok(TcpStream::connect(balancer.address.request()).ok())
        })?;
        Ok(balancer)
    }
}

/// The configuration of docs/cluster.md, with these addresses in place of its own.
fn configuration(
    address: &Address,
    backends: &[&Address],
    health_port: Option<u16>,
) -> Result<String> {
    let mut text = String::new();
    let checks = "default-server check";
    let mut port: fn(&Address) -> SocketAddr = Address::publish;
    for line in lines_after("# haproxy.cfg")? {
        let words: Vec<&str> = line.split_whitespace().collect();
        match (words.as_slice(), health_port) {
            (["listen", name], _) => {
                port = match *name {
                    "salt-publish" => Address::publish,
                    _ => Address::request,
                };
                text += &format!("{line}\n");
            }
            (["bind", _], _) => text += &format!("  bind {}\n", port(address)),
            (["server", "m1", _], _) => {
                for (n, backend) in backends.iter().enumerate() {
                    text += &format!("  server m{n} {}\n", port(backend));
                }
            }
            (["server", ..], _) => {}
            _ if line.trim_start().starts_with(checks) && health_port.is_some() => {
                let port = health_port.context("no port")?;
                let lines =
                    lines_after("# haproxy.cfg, in place of the last line of the defaults")?;
                let lines = lines.join("\n").replace("4515", &port.to_string());
                text += &format!("{lines}\n");
            }
            _ => text += &format!("{line}\n"),
        }
    }
    Ok(text)
}
