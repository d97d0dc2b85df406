//! A real haproxy before the masters, with the configuration of the documentation.

use std::fs;
use std::net::{SocketAddr, TcpStream};

use anyhow::{Context as _, Result};
use halite_integration_tests::{Address, Daemon, Fleet, Recipe, START, until};

use crate::page::lines_after;

/// The program.
pub(crate) const HAPROXY: &str = "haproxy";

/// Where Debian has it.
const PLACE: &str = "/usr/sbin/haproxy";

/// A running haproxy. It ends with the fleet.
pub(crate) struct Balancer {
    pub(crate) address: Address,
    daemon: Daemon,
}

impl Balancer {
    /// Starts it in front of these addresses, with ports of its own. It looks by
    /// connecting whether they are there, or asks at their `health_port`.
    pub(crate) fn start(
        fleet: &Fleet,
        backends: &[&Address],
        health_port: Option<u16>,
    ) -> Result<Self> {
        let address = Address::claim()?;
        let file = fleet.path().join("haproxy.cfg");
        let text = configuration(&address, backends, health_port)?;
        fs::write(&file, text)?;
        let args = [
            "-db".to_owned(),
            "-f".to_owned(),
            file.display().to_string(),
        ];
        let recipe = Recipe::new(HAPROXY, PLACE.into(), fleet.path()).args(&args);
        let mut daemon = Daemon::new(recipe, fleet.path().join("haproxy.log"));
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
    let mut text = String::from("global\n  maxconn 4000\n");
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
