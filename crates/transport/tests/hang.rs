//! The way tmq hangs when it is used carelessly, repeated on our pumps: tens of
//! thousands of messages both ways at once, far beyond the high-water mark, from a
//! peer that sends without waiting for answers.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends there")]

use std::time::Duration;

use halite_transport::Endpoint;
use halite_transport::fleet::{RequestPort, RequestPortOptions};

const MESSAGES: u32 = 50_000;

async fn flood(options: RequestPortOptions) {
    let mut router = RequestPort::bind(&[Endpoint::tcp("127.0.0.1", 0)], options).unwrap();
    let endpoint = router.endpoints()[0].to_string();
    let replies = router.replies();
    let server = tokio::spawn(async move {
        while let Some(incoming) = router.recv().await {
            if replies.send(incoming.peer, incoming.payload).is_err() {
                break;
            }
        }
    });
    let peer = tokio::task::spawn_blocking(move || {
        let context = zmq::Context::new();
        let socket = context.socket(zmq::DEALER).unwrap();
        // The router drops answers above its own mark for a peer that does
        // not read; here the peer's own queue takes them all.
        socket.set_rcvhwm(0).unwrap();
        socket.set_linger(0).unwrap();
        socket.set_rcvtimeo(60_000).unwrap();
        socket.set_sndtimeo(60_000).unwrap();
        socket.connect(&endpoint).unwrap();
        let mut received = 0;
        for number in 0..MESSAGES {
            let frames = [&b""[..], &number.to_be_bytes()];
            socket.send_multipart(frames, 0).expect("sending stopped");
            while let Ok(frames) = socket.recv_multipart(zmq::DONTWAIT) {
                assert_eq!(frames[1], u32::to_be_bytes(received));
                received += 1;
            }
        }
        while received < MESSAGES {
            let frames = socket.recv_multipart(0).expect("receiving stopped");
            assert_eq!(frames[1], u32::to_be_bytes(received));
            received += 1;
        }
    });
    tokio::time::timeout(Duration::from_secs(300), peer)
        .await
        .expect("the sockets hang")
        .unwrap();
    server.abort();
}

/// No answer may be dropped, so that all can be counted.
fn unbounded_answers() -> RequestPortOptions {
    RequestPortOptions {
        peer_replies_max: 0,
        ..RequestPortOptions::default()
    }
}

#[tokio::test]
async fn a_flood_past_the_high_water_mark_passes_on_one_thread() {
    flood(unbounded_answers()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flood_past_the_high_water_mark_passes_on_two_threads() {
    flood(unbounded_answers()).await;
}

#[tokio::test]
async fn a_flood_passes_through_a_tiny_queue() {
    flood(RequestPortOptions {
        requests_max: 1,
        request_bytes_max: 8,
        ..unbounded_answers()
    })
    .await;
}
