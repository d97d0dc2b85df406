//! Which callers get a connection when there are few. A program of its own: the
//! limit is that of the process.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends there")]

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use halite_transport::Endpoint;
use halite_transport::fleet::{RequestPort, RequestPortOptions, Requester, RequesterOptions};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use tokio::io::AsyncReadExt as _;
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::timeout;

/// Of which 128 are not for connections.
const DESCRIPTORS: u64 = 300;

/// Shorter than a handshake may last, which frees the places again.
const SOON: Duration = Duration::from_secs(5);

/// A connection from an address, if it is not turned away.
async fn connect(at: SocketAddr, last: u8) -> Option<TcpStream> {
    let socket = TcpSocket::new_v4().unwrap();
    socket
        .bind((IpAddr::from([127, 0, 0, last]), 0).into())
        .unwrap();
    let mut stream = socket.connect(at).await.unwrap();
    let greeting = stream.read(&mut [0; 1]).await;
    matches!(greeting, Ok(1)).then_some(stream)
}

#[tokio::test]
async fn two_addresses_do_not_take_all_connections() {
    let (_, hard) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
    setrlimit(Resource::RLIMIT_NOFILE, DESCRIPTORS, hard).unwrap();
    let options = RequestPortOptions::default();
    let mut router = RequestPort::bind(&[Endpoint::tcp("127.0.0.1", 0)], options).unwrap();
    let endpoint = router.endpoints()[0].clone();
    let text = endpoint.to_string();
    let at: SocketAddr = text.strip_prefix("tcp://").unwrap().parse().unwrap();
    let mut held = vec![connect(at, 8).await.unwrap()];
    // What the port may have is known; the strangers' ends are in this process.
    setrlimit(Resource::RLIMIT_NOFILE, hard.min(4096), hard).unwrap();
    for last in [8, 9] {
        while let Some(connection) = connect(at, last).await {
            held.push(connection);
        }
    }
    assert!(held.len() > 100, "{}", held.len());

    let requester = Requester::connect(endpoint, RequesterOptions::default());
    let asked = tokio::spawn(async move { requester.request(b"alive?".to_vec(), SOON).await });
    let incoming = timeout(SOON, router.recv())
        .await
        .expect("no place")
        .unwrap();
    router
        .replies()
        .send(incoming.peer, b"yes".to_vec())
        .unwrap();
    assert_eq!(asked.await.unwrap().unwrap(), b"yes");
    drop(held);
}
