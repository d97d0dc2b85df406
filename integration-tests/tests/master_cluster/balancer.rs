//! A real haproxy in front of masters.

use std::fs;
use std::net::TcpStream;

use anyhow::Result;
use halite_integration_tests::{Address, Daemon, Fleet, Recipe, START, until};

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
        let mut text = String::from(
            "global\n  maxconn 4000\n\
             defaults\n  mode tcp\n  timeout connect 2s\n  timeout client 24h\n  \
             timeout server 24h\n  balance roundrobin\n  option redispatch\n",
        );
        type PortOf = fn(&Address) -> std::net::SocketAddr;
        let ports: [(&str, PortOf); 2] = [
            ("publish", |of| of.publish()),
            ("request", |of| of.request()),
        ];
        for (name, port) in ports {
            text += &format!("listen {name}\n  bind {}\n", port(&address));
            let mut check = "check inter 200 fall 1 rise 1".to_owned();
            if let Some(health) = health_port {
                text += "  option httpchk GET /health\n";
                check += &format!(" port {health}");
            }
            for (n, backend) in backends.iter().enumerate() {
                let at = port(backend);
                text += &format!("  server m{n} {at} {check}\n");
            }
        }
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
