//! A real haproxy before the masters, with the configuration of the documentation.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

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
    /// Where it says what it does.
    control: PathBuf,
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
        let control = fleet.path().join(format!("{name}.sock"));
        let text = format!(
            "global\n  maxconn {connections_max}\n  stats socket {} mode 600\n{text}",
            control.display()
        );
        fs::write(&file, text)?;
        let args = [
            "-db".to_owned(),
            "-f".to_owned(),
            file.display().to_string(),
        ];
        let recipe = Recipe::new(name, PLACE.into(), fleet.path()).args(&args);
        let mut daemon = Daemon::new(recipe, fleet.path().join(format!("{name}.log")));
        daemon.start()?;
        let mut balancer = Self {
            address,
            daemon,
            control,
        };
        until("haproxy to listen", START, || {
            balancer.daemon.check_runs()?;
            Ok(TcpStream::connect(balancer.address.request()).ok())
        })?;
        Ok(balancer)
    }

    /// Which of the backends each publish connection leads to, by the client's end.
    ///
    /// # Errors
    /// When it does not say so.
    pub fn publish_routes(&self) -> Result<BTreeMap<SocketAddr, usize>> {
        let mut control = UnixStream::connect(&self.control)?;
        control.write_all(b"show sess\n")?;
        let mut said = String::new();
        control.read_to_string(&mut said)?;
        Ok(said.lines().filter_map(publish_route).collect())
    }
}

/// The client's end and the backend in a line about a publish connection.
fn publish_route(line: &str) -> Option<(SocketAddr, usize)> {
    let word = |name: &str| {
        let mut words = line.split_whitespace();
        words.find_map(|word| word.strip_prefix(name))
    };
    if word("be=")? != "salt-publish" {
        return None;
    }
    let server = word("srv=")?.strip_prefix('m')?.parse().ok()?;
    Some((word("src=")?.parse().ok()?, server))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn routes_are_those_of_publish_connections_that_have_a_server() {
        let line = "0x55d0: proto=tcpv4 src=127.0.0.1:40022 fe=salt-publish be=salt-publish \
                    srv=m2 ts=00 epoch=0";
        let client = SocketAddr::from(([127, 0, 0, 1], 40022));
        assert_eq!(publish_route(line), Some((client, 2)));
        for other in ["salt-request", "GLOBAL"] {
            assert_eq!(publish_route(&line.replace("salt-publish", other)), None);
        }
        assert_eq!(publish_route(&line.replace("m2", "<none>")), None);
        assert_eq!(publish_route(""), None);
    }
}
