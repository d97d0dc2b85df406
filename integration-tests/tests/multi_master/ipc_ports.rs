//! `ipc_mode: tcp`: the local event bus on loopback ports.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use anyhow::{Result, ensure};
use halite_integration_tests::wire::msgpack::Item;
use halite_integration_tests::{Ports, SHORT, until};
use serde_json::{Value, json};

use crate::support::{Several, plain, plain_master, wait_ping};

/// #66603: a minion of two masters has its bus on a pair of ports for each of
/// them; programs beside it find it at either.
#[test]
fn programs_find_the_bus_on_its_ports() -> Result<()> {
    let claimed = Ports::<4>::claim()?;
    let ports = claimed.numbers;
    let mut several = Several::with(2, 1, plain_master, |plan| {
        plan.set("ipc_mode", "tcp")
            .set("tcp_pub_port", json!([ports[0], ports[1]]))
            .set("tcp_pull_port", json!([ports[2], ports[3]]))
    })?;
    let (first, _, minion) = several.two()?;
    wait_ping(first, "web1")?;
    let status = minion.status(&["--out=json"])?.exit(0)?.json()?;
    ensure!(
        status["masters"]
            .as_array()
            .is_some_and(|all| all.len() == 2),
        "got {status}"
    );
    // `salt-call` changes the schedule of the running minion over the bus.
    minion.called(&["schedule.add", "j", "function=test.ping", "minutes=5"])?;
    let listed = first.returns(&["web1", "schedule.list", "return_yaml=False"])?;
    ensure!(listed["web1"].get("j").is_some(), "got {listed:?}");
    // An event that is handed in at either pair is heard at both.
    for (number, pull) in [ports[2], ports[3]].into_iter().enumerate() {
        let tag = format!("heard/{number}");
        let mut listeners = Vec::new();
        for publish in [ports[0], ports[1]] {
            let listener = TcpStream::connect(("127.0.0.1", publish))?;
            listener.set_read_timeout(Some(SHORT))?;
            listeners.push(listener);
        }
        until("both to be heard", SHORT, || {
            // Whose program it was nobody can tell once it has closed its connection.
            let _open = hand_in(pull, &tag)?;
            let heard = listeners.iter_mut().all(|listener| hears(listener, &tag));
            Ok(heard.then_some(()))
        })?;
    }
    Ok(())
}

/// Hands an event in, as Salt's programs do; the connection.
fn hand_in(pull: u16, tag: &str) -> Result<TcpStream> {
    let event = [format!("{tag}\n\n").into_bytes(), Item::map([]).pack()].concat();
    let body = Item::Bytes(event);
    let framed = Item::map([("head", Item::map([])), ("body", body)]).pack();
    let length = u32::try_from(framed.len())?.to_be_bytes();
    let mut stream = TcpStream::connect(("127.0.0.1", pull))?;
    stream.write_all(&[length.as_slice(), &framed].concat())?;
    Ok(stream)
}

/// Whether an event with this tag has come within a moment.
fn hears(listener: &mut TcpStream, tag: &str) -> bool {
    let mut heard = Vec::new();
    let mut chunk = [0; 4096];
    listener
        .set_read_timeout(Some(std::time::Duration::from_millis(200)))
        .ok();
    while let Ok(count @ 1..) = listener.read(&mut chunk) {
        heard.extend_from_slice(chunk.get(..count).unwrap_or_default());
        let found = heard.windows(tag.len()).any(|part| part == tag.as_bytes());
        if found {
            return true;
        }
    }
    false
}

/// Wrong ports are refused before anything binds, with a way out.
#[test]
fn wrong_ports_are_refused_with_a_way_out() -> Result<()> {
    let mut several = Several::without_minions(2, plain_master)?;
    let wrong: [(Value, Value, &str); 4] = [
        (
            json!([4510]),
            json!([4511, 4513]),
            "tcp_pub_port lists 1 ports for 2 masters",
        ),
        (
            json!([4510, 4510]),
            json!([4511, 4513]),
            "port 4510 is used twice",
        ),
        (
            json!(4510),
            json!([4511, 4513]),
            "must both be lists or both be numbers",
        ),
        (json!([0, 4512]), json!([4511, 4513]), "is not a port"),
    ];
    for (number, (publish, pull, text)) in wrong.into_iter().enumerate() {
        let plan = several.fleet.minion(
            &format!("bad{number}"),
            halite_integration_tests::Kind::Ours,
        );
        let plan = plan.of(&several.masters[0]).of(&several.masters[1]);
        let minion = plan
            .set("ipc_mode", "tcp")
            .set("tcp_pub_port", publish)
            .set("tcp_pull_port", pull)
            .lay()?;
        let said = minion.checked()?.exit(78)?;
        ensure!(said.stderr.contains(text), "{said}");
        if number < 3 {
            ensure!(said.stderr.contains("tcp_pub_port: [4510, 4512]"), "{said}");
        }
    }
    several.add_minions(0, plain)
}

/// A master with its bus on ports serves as any other.
#[test]
fn a_master_with_its_bus_on_ports_serves() -> Result<()> {
    let claimed = Ports::<3>::claim()?;
    let [publish, pull, publications] = claimed.numbers;
    let fleet = halite_integration_tests::Fleet::new("ports")?;
    let mut master = fleet
        .master("m1", halite_integration_tests::Kind::Ours)
        .auto_accept()
        .set("ipc_mode", "tcp")
        .set("tcp_master_pub_port", publish)
        .set("tcp_master_pull_port", pull)
        .set("tcp_master_publish_pull", publications)
        .lay()?;
    master.start_on_ports()?;
    let minion = fleet
        .minion("web1", halite_integration_tests::Kind::Ours)
        .of(&master)
        .start()?;
    wait_ping(&master, "web1")?;
    drop(minion);
    Ok(())
}
