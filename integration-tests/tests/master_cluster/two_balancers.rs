//! Two balancers that share an address with keepalived, as docs/cluster.md has them.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};
use halite_integration_tests::cluster_page::lines_after;
use halite_integration_tests::{Daemon, Fleet, HAPROXY, Recipe, SHORT, START, until};

/// What both have in turns.
const SHARED: &str = "192.0.2.10";

const WIRE: &str = "eth0";

/// A machine of its own, as far as the network is concerned, with haproxy and keepalived.
struct BalancerHost {
    namespace: String,
    haproxy: Daemon,
    keepalived: Daemon,
}

impl BalancerHost {
    fn start(fleet: &Fleet, number: u8, namespace: &str) -> Result<Self> {
        ip(&[
            "netns",
            "exec",
            namespace,
            "sysctl",
            "-qw",
            "net.ipv4.ip_nonlocal_bind=1",
        ])?;
        let dir = fleet.path().join(namespace);
        fs::create_dir_all(&dir)?;
        let text = lines_after("# haproxy.cfg")?
            .join("\n")
            .replace("10.27.5.1:", &format!("{SHARED}:"));
        fs::write(
            dir.join("haproxy.cfg"),
            format!("global\n  maxconn 100\n{text}\n"),
        )?;
        let lines = lines_after(KEEPALIVED)?.join("\n");
        let lines = lines.replace("10.27.5.1/24", &format!("{SHARED}/24"));
        let priority = format!("priority {}", 102 - u16::from(number));
        let lines = lines.replace("priority 101", &priority);
        fs::write(dir.join("keepalived.conf"), lines + "\n")?;
        let file = |name: &str| dir.join(name).display().to_string();
        let haproxy = in_namespace(
            namespace,
            &[HAPROXY, "-db", "-f", &file("haproxy.cfg")],
            &dir,
        );
        let keepalived = in_namespace(
            namespace,
            &[
                "keepalived",
                "--dont-fork",
                "--log-console",
                "--vrrp",
                "-f",
                &file("keepalived.conf"),
                "-p",
                &file("keepalived.pid"),
                "-r",
                &file("vrrp.pid"),
            ],
            &dir,
        );
        let mut host = Self {
            namespace: namespace.to_owned(),
            haproxy: Daemon::new(haproxy, dir.join("haproxy.log")),
            keepalived: Daemon::new(keepalived, dir.join("keepalived.log")),
        };
        host.haproxy.start()?;
        host.keepalived.start()?;
        Ok(host)
    }

    fn has_address(&self) -> Result<bool> {
        let shown = Command::new("ip")
            .args(["-n", &self.namespace, "-4", "-o", "addr", "show", WIRE])
            .output()?;
        Ok(String::from_utf8_lossy(&shown.stdout).contains(SHARED))
    }
}

/// The comment above the configuration.
const KEEPALIVED: &str = "# keepalived.conf, on both balancers; the second has priority 100";

/// Two namespaces with a wire between them, until it goes.
struct Network([String; 2]);

impl Network {
    /// `None`, and reported, where none can be made.
    fn for_test() -> Result<Option<Self>> {
        let names = ["a", "b"].map(|end| format!("halite-{}-{end}", std::process::id()));
        if ip(&["netns", "add", &names[0]]).is_err() {
            halite_test_support::not_run("no network namespaces (`ip netns add` fails)");
            return Ok(None);
        }
        let network = Self(names);
        let [a, b] = &network.0;
        ip(&["netns", "add", b])?;
        let wire = [
            "link", "add", WIRE, "netns", a, "type", "veth", "peer", "name", WIRE, "netns", b,
        ];
        ip(&wire)?;
        for (n, name) in network.0.iter().enumerate() {
            let address = format!("192.0.2.{}/24", n + 1);
            ip(&["-n", name, "addr", "add", &address, "dev", WIRE])?;
            for link in ["lo", WIRE] {
                ip(&["-n", name, "link", "set", link, "up"])?;
            }
        }
        Ok(Some(network))
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        for name in &self.0 {
            let _ = ip(&["netns", "del", name]);
        }
    }
}

fn ip(args: &[&str]) -> Result<()> {
    let ended = Command::new("ip").args(args).stdout(Stdio::null()).output();
    let ended = ended.context("could not run ip")?;
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    ensure!(ended.status.success(), "ip {args:?}: {said}");
    Ok(())
}

fn in_namespace(namespace: &str, command: &[&str], dir: &Path) -> Recipe {
    let args = [&["netns", "exec", namespace], command].concat();
    Recipe::new(command[0], "ip".into(), dir).args(&args)
}

#[test]
fn the_address_goes_to_the_balancer_that_still_works_and_back() -> Result<()> {
    let needed = [HAPROXY, "keepalived", "ip", "ss", "sysctl"];
    if !halite_test_support::have_root() || !halite_test_support::have_programs(&needed) {
        return Ok(());
    }
    let Some(network) = Network::for_test()? else {
        return Ok(());
    };
    let fleet = Fleet::new("balancers")?;
    let mut first = BalancerHost::start(&fleet, 1, &network.0[0])?;
    let mut second = BalancerHost::start(&fleet, 2, &network.0[1])?;
    let is_at = |has: &BalancerHost, has_not: &BalancerHost| -> Result<Option<()>> {
        Ok((has.has_address()? && !has_not.has_address()?).then_some(()))
    };
    until("the address at the first", START, || is_at(&first, &second))?;
    first.haproxy.kill9()?;
    until("the address at the second", START, || {
        is_at(&second, &first)
    })?;
    first.haproxy.start()?;
    until("the address at the first again", START, || {
        is_at(&first, &second)
    })?;
    for host in [&mut first, &mut second] {
        host.keepalived.stop(SHORT)?;
        host.haproxy.kill9()?;
    }
    Ok(())
}
