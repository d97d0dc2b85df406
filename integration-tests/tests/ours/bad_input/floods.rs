//! Many bad requests.

use std::fs;
use std::io::Write as _;
use std::net::TcpStream;

use anyhow::{Result, ensure};
use halite_integration_tests::wire::msgpack::Item;
use halite_integration_tests::wire::zmtp::Connection;
use halite_integration_tests::{SHORT, START, until};

use super::{Target, altered};

/// Growth that is no growth: buffers that are kept, pages that were touched.
const GROWTH_MAX_KIB: u64 = 8 * 1024;

#[test]
fn streams_that_are_no_zeromq_do_no_harm() -> Result<()> {
    let target = Target::start()?;
    let peer = target.master.address().request();
    let mut held = Vec::new();
    for bytes in [
        &b"GET / HTTP/1.1\r\n\r\n"[..],
        b"\xff",
        b"\xff\0\0\0\0\0\0\0\0\x7f\x03",
        &[0; 4096],
    ] {
        let mut stream = TcpStream::connect(peer)?;
        stream.write_all(bytes)?;
        held.push(stream);
    }
    // A frame that announces more than any memory holds, and stays away.
    let mut announced = target.master.connect()?;
    let mut frame = vec![2];
    frame.extend((1_u64 << 62).to_be_bytes());
    announced.write_raw(&frame)?;
    // A request without its delimiter, one with too many frames, and silence.
    let mut odd = target.master.connect()?;
    odd.write_raw(b"\0\x04ping")?;
    let mut long = target.master.connect()?;
    long.write_raw(b"\x01\x01a\x01\0\x01\0\0\x04ping")?;
    for _ in 0..200 {
        held.push(TcpStream::connect(peer)?);
    }
    target.check_serves()?;
    let mut publish = Connection::open(target.master.address().publish(), "SUB", SHORT)?;
    publish.write_raw(&[0xff; 100_000]).ok();
    target.check_serves()
}

#[test]
fn a_flood_of_bad_requests_leaves_no_trace() -> Result<()> {
    let target = Target::start()?;
    let ping = [("cmd", Item::from("_file_envs"))];
    let (good, _) = target.honest.request(&target.session, &ping);
    let stale = altered(&good, "version", Some(Item::from(1))).pack();
    let garbage = vec![0xc1; 64 * 1024];
    let flood = |count: usize| -> Result<()> {
        let mut connection = target.master.connect()?;
        for _ in 0..count {
            connection.ask(&stale)?;
            connection.ask(&garbage)?;
        }
        Ok(())
    };
    flood(200)?;
    let before = target.master.own_memory_kib()?;
    flood(2000)?;
    // What a burst has left is given back, but not at once.
    until("the memory of a flood to come back", START, || {
        let after = target.master.own_memory_kib()?;
        Ok((after < before + GROWTH_MAX_KIB).then_some(()))
    })?;
    target.check_serves()?;
    let log = fs::read_to_string(target.master.dir().join("log"))?;
    ensure!(!log.contains("panicked"), "a panic in the log");
    Ok(())
}
