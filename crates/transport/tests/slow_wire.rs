//! Requests over a wire that is slow, or that stands still.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends there")]

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use halite_transport::Endpoint;
use halite_transport::fleet::{
    RequestError, RequestPort, RequestPortOptions, Requester, RequesterOptions,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::sleep;

/// Of the buffers on the way, so that what is acknowledged has nearly passed.
const BUFFER_BYTES: u32 = 4096;

/// A port that answers with the length of a request.
async fn measuring_port() -> SocketAddr {
    let at = Endpoint::tcp("127.0.0.1", 0);
    let mut port = RequestPort::bind(&[at], RequestPortOptions::default()).unwrap();
    let bound = port.endpoints()[0].clone();
    let replies = port.replies();
    tokio::spawn(async move {
        while let Some(request) = port.recv().await {
            let length = request.payload.len().to_string();
            let _ = replies.send(request.peer, length.into_bytes());
        }
    });
    bound
        .to_string()
        .trim_start_matches("tcp://")
        .parse()
        .unwrap()
}

/// A wire to `there` that passes so many bytes a second, and of each connection
/// no more than `bytes_max`.
async fn wire(there: SocketAddr, bytes_per_s: usize, bytes_max: usize) -> Endpoint {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(BUFFER_BYTES).unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let listener = socket.listen(16).unwrap();
    let here = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((near, _)) = listener.accept().await {
            tokio::spawn(pass(near, there, bytes_per_s, bytes_max));
        }
    });
    Endpoint::tcp("127.0.0.1", here.port())
}

async fn pass(near: TcpStream, there: SocketAddr, bytes_per_s: usize, bytes_max: usize) {
    const STEPS_PER_S: usize = 50;
    let far = TcpStream::connect(there).await.unwrap();
    let (mut from, mut back_to) = near.into_split();
    let (mut back_from, mut to) = far.into_split();
    tokio::spawn(async move { copy(&mut back_from, &mut back_to).await });
    let mut chunk = vec![0; bytes_per_s / STEPS_PER_S];
    let mut passed = 0;
    while passed < bytes_max
        && let Ok(count @ 1..) = from.read(&mut chunk).await
    {
        to.write_all(&chunk[..count]).await.unwrap();
        passed += count;
        sleep(Duration::from_secs(1) / 50).await;
    }
    // It stands, and nothing passes.
    std::future::pending::<()>().await;
}

fn requester(wire: Endpoint) -> Requester {
    Requester::connect(wire, RequesterOptions::default())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_has_time_for_as_long_as_it_moves() {
    let there = measuring_port().await;
    let slow = requester(wire(there, 40 * 1024, usize::MAX).await);
    // Four seconds on this wire, which is more than a request has at a standstill.
    let payload = vec![7; 160 * 1024];
    let answer = slow.request(payload, Duration::from_millis(300)).await;
    assert_eq!(answer.unwrap(), b"163840");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_stands_still_is_given_up() {
    let there = measuring_port().await;
    let stuck = requester(wire(there, 1024 * 1024, 16 * 1024).await);
    let begun = Instant::now();
    let payload = vec![7; 160 * 1024];
    let answer = stuck.request(payload, Duration::from_millis(300)).await;
    assert!(
        matches!(answer, Err(RequestError::NoAnswer { .. })),
        "{answer:?}"
    );
    let took = begun.elapsed();
    assert!(took < Duration::from_secs(20), "given up after {took:?}");
}
