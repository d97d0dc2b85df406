//! A herd with more connections than the process may have. A program of its own:
//! the limit is that of the process.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends there")]

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use futures_util::future::join_all;
use halite_transport::Endpoint;
use halite_transport::fleet::{RequestPort, RequestPortOptions, Requester, RequesterOptions};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use tokio::spawn;

/// Of which 128 are not for connections.
const DESCRIPTORS: u64 = 300;

/// More than there are places.
const MINIONS: u8 = 250;

const SOON: Duration = Duration::from_secs(60);

fn minion(last: u8, endpoint: &Endpoint) -> Requester {
    let address = SocketAddr::from((IpAddr::from([127, 0, 7, last]), 0));
    let options = RequesterOptions {
        source: Some(address),
        reconnect: Duration::from_millis(20),
        reconnect_max: Duration::from_millis(100),
        ..RequesterOptions::default()
    };
    Requester::connect(endpoint.clone(), options)
}

#[tokio::test]
async fn all_are_served_though_there_are_fewer_places() {
    let (_, hard) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
    setrlimit(Resource::RLIMIT_NOFILE, DESCRIPTORS, hard).unwrap();
    let options = RequestPortOptions::default();
    let mut port = RequestPort::bind(&[Endpoint::tcp("127.0.0.1", 0)], options).unwrap();
    let endpoint = port.endpoints()[0].clone();
    let replies = port.replies();
    let server = spawn(async move {
        while let Some(incoming) = port.recv().await {
            replies.send(incoming.peer, incoming.payload).unwrap();
        }
    });
    // The first connection fixes what the port may have; the herd's own ends are
    // in this process.
    let herd: Vec<_> = (1..=MINIONS).map(|last| minion(last, &endpoint)).collect();
    herd[0].request(b"first".to_vec(), SOON).await.unwrap();
    setrlimit(Resource::RLIMIT_NOFILE, hard.min(4096), hard).unwrap();
    // Each keeps its connection after the first round, and may lose it.
    for round in [b"one", b"two"] {
        let asked = herd
            .iter()
            .map(|minion| minion.request(round.to_vec(), SOON));
        for answer in join_all(asked).await {
            assert_eq!(answer.unwrap(), round);
        }
    }
    server.abort();
}
