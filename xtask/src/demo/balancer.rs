//! The balancer of the cluster: the real haproxy, or, if it is missing, a small
//! stand-in in this process.

use std::io;
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::thread;
use std::time::Duration;

use anyhow::{Result, ensure};
use halite_integration_tests::{Recipe, until};

use super::fleet::{DemoFleet, PATIENCE, listens, remark};

const HAPROXY: &str = "haproxy";

/// Where packages put it, which need not be on the path.
const PLACES: [&str; 2] = ["/usr/sbin/haproxy", "/usr/local/sbin/haproxy"];

/// How long a master may take to accept a connection of the stand-in.
const CONNECT_MAX: Duration = Duration::from_secs(2);

/// Starts a balancer at one address of the fleet, in front of masters at others.
/// haproxy outlives this process if the fleet does; the stand-in does not, and is
/// refused with `must_stay`.
pub(super) fn start(
    demo: &mut DemoFleet,
    at: usize,
    masters: &[usize],
    must_stay: bool,
) -> Result<()> {
    let place = PLACES.iter().find(|place| Path::new(place).exists());
    let ports = [demo.address(at).publish(), demo.address(at).request()];
    if let Some(place) = place {
        let recipe = Recipe::new(HAPROXY, place.into(), demo.path());
        demo.start(HAPROXY, recipe.args(&["-f", "haproxy.cfg"]))?;
        let haproxy = demo.daemon(HAPROXY)?;
        return until("haproxy to listen", PATIENCE, || {
            haproxy.check_runs()?;
            Ok(ports.iter().all(listens).then_some(()))
        });
    }
    ensure!(
        !must_stay,
        "haproxy is not installed: a fleet that stays needs it (apt install haproxy)"
    );
    remark("haproxy is not installed: this process balances in its place");
    let masters: Vec<Ipv4Addr> = masters.iter().map(|n| demo.address(*n).ip()).collect();
    for port in ports {
        let listener = TcpListener::bind(port)?;
        let backends = masters.iter().map(|ip| (*ip, port.port()).into());
        let backends: Vec<SocketAddr> = backends.collect();
        thread::spawn(move || balance(&listener, &backends));
    }
    Ok(())
}

/// Hands connections to the masters in turn; to the next one where a master takes none.
fn balance(listener: &TcpListener, backends: &[SocketAddr]) {
    let mut turn = 0;
    for client in listener.incoming().flatten() {
        turn += 1;
        let in_turn = backends.iter().cycle().skip(turn % backends.len());
        let mut in_turn = in_turn.take(backends.len());
        let master = in_turn.find_map(|at| TcpStream::connect_timeout(at, CONNECT_MAX).ok());
        if let Some(master) = master {
            thread::spawn(move || carry_both(&client, &master));
        }
    }
}

/// Carries bytes both ways until one end closes.
fn carry_both(client: &TcpStream, master: &TcpStream) {
    thread::scope(|scope| {
        scope.spawn(|| carry(client, master));
        carry(master, client);
    });
}

fn carry(mut from: &TcpStream, mut to: &TcpStream) {
    // Whatever ends one direction ends both: minions look for another master then.
    let _ = io::copy(&mut from, &mut to);
    let _ = from.shutdown(Shutdown::Both);
    let _ = to.shutdown(Shutdown::Both);
}
