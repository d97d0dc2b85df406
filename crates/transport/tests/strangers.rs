//! Attacks of strangers on the two open ports: with plain sockets, since a correct
//! ZeroMQ library would not send such data.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends there")]

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use halite_transport::Endpoint;
use halite_transport::fleet::{
    PublishPort, PublishPortOptions, RequestPort, RequestPortOptions, Requester, RequesterOptions,
};
use tokio::task::spawn_blocking;
use tokio::time::timeout;

const SOON: Duration = Duration::from_secs(60);
const KIB: usize = 1024;

fn address(endpoint: &Endpoint) -> SocketAddr {
    let text = endpoint.to_string();
    text.strip_prefix("tcp://").unwrap().parse().unwrap()
}

/// A stranger that has shaken hands as a socket of some kind.
struct Stranger(TcpStream);

impl Stranger {
    fn connect(at: SocketAddr, kind: &str) -> io::Result<Self> {
        let mut stream = TcpStream::connect(at)?;
        stream.set_read_timeout(Some(SOON))?;
        stream.set_write_timeout(Some(SOON))?;
        let mut hello = vec![0; 64];
        (hello[0], hello[9], hello[10]) = (0xff, 0x7f, 3);
        hello[12..16].copy_from_slice(b"NULL");
        let mut ready = Vec::from(*b"\x05READY\x0bSocket-Type\0\0\0");
        ready.push(u8::try_from(kind.len()).unwrap());
        ready.extend_from_slice(kind.as_bytes());
        hello.extend([4, u8::try_from(ready.len()).unwrap()]);
        hello.extend_from_slice(&ready);
        stream.write_all(&hello)?;
        // The other side's greeting and its READY.
        let mut answer = [0; 66];
        stream.read_exact(&mut answer)?;
        let mut ready = vec![0; usize::from(answer[65])];
        stream.read_exact(&mut ready)?;
        Ok(Self(stream))
    }

    fn head(&mut self, more: bool, bytes: usize) -> io::Result<()> {
        let mut head = vec![2 | u8::from(more)];
        head.extend((bytes as u64).to_be_bytes());
        self.0.write_all(&head)
    }

    /// Whether the other side has ended the connection.
    fn is_ended(&mut self) -> bool {
        !matches!(self.0.read(&mut [0; 1]), Ok(1..))
    }
}

async fn answers(router: &mut RequestPort, requester: &Requester) {
    let asked = requester.clone();
    let asked = tokio::spawn(async move { asked.request(b"alive?".to_vec(), SOON).await });
    let incoming = timeout(SOON, router.recv()).await.unwrap().unwrap();
    assert_eq!(incoming.payload, b"alive?");
    let replies = router.replies();
    replies.send(incoming.peer, b"yes".to_vec()).unwrap();
    assert_eq!(asked.await.unwrap().unwrap(), b"yes");
}

fn small_router() -> RequestPort {
    let options = RequestPortOptions {
        unfinished_bytes_max: 256 * KIB,
        ..RequestPortOptions::default()
    };
    RequestPort::bind(&[Endpoint::tcp("127.0.0.1", 0)], options).unwrap()
}

#[tokio::test]
async fn messages_that_never_end_give_way_to_those_that_do() {
    let mut router = small_router();
    let at = address(&router.endpoints()[0]);
    let strangers = spawn_blocking(move || {
        let mut strangers: Vec<_> = (0..8)
            .map(|_| Stranger::connect(at, "REQ").unwrap())
            .collect();
        for stranger in &mut strangers {
            stranger.head(true, 0).unwrap();
            stranger.head(false, 1024 * KIB).unwrap();
            // Those that were told to go may be gone already.
            let _ = stranger.0.write_all(&[0; 100 * KIB]);
        }
        // Room is for two of them; the others, the oldest, have to go.
        strangers[..4].iter_mut().all(Stranger::is_ended)
    });
    assert!(timeout(SOON, strangers).await.unwrap().unwrap());
    let requester = Requester::connect(router.endpoints()[0].clone(), RequesterOptions::default());
    answers(&mut router, &requester).await;
    // One large request alone has room, however small the bound.
    let large = vec![7; 900 * KIB];
    let asked = {
        let (requester, large) = (requester.clone(), large.clone());
        tokio::spawn(async move { requester.request(large, SOON).await })
    };
    let incoming = timeout(SOON, router.recv()).await.unwrap().unwrap();
    assert_eq!(incoming.payload, large);
    let replies = router.replies();
    replies.send(incoming.peer, Vec::new()).unwrap();
    asked.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_message_of_endless_parts_is_kept_by_nobody() {
    let mut router = small_router();
    let at = address(&router.endpoints()[0]);
    let sent = spawn_blocking(move || {
        let mut stranger = Stranger::connect(at, "DEALER").unwrap();
        // 64 times what may be kept of unfinished messages.
        let part = vec![0; 64 * KIB];
        for _ in 0..256 {
            stranger.head(true, part.len()).unwrap();
            stranger.0.write_all(&part).unwrap();
        }
        // It ends after all, and a good request follows.
        stranger.head(false, 1).unwrap();
        stranger.0.write_all(b"x\x01\x00\x00\x04good").unwrap();
        stranger
    });
    let stranger = timeout(SOON, sent).await.unwrap().unwrap();
    let incoming = timeout(SOON, router.recv()).await.unwrap().unwrap();
    assert_eq!(incoming.payload, b"good");
    assert_eq!(router.counters().malformed(), 1);
    drop(stranger);
}

#[tokio::test]
async fn who_does_not_read_answers_gets_no_more_of_them() {
    let options = RequestPortOptions {
        peer_reply_bytes_max: 256 * KIB,
        ..RequestPortOptions::default()
    };
    let mut router = RequestPort::bind(&[Endpoint::tcp("127.0.0.1", 0)], options).unwrap();
    let at = address(&router.endpoints()[0]);
    let asked = spawn_blocking(move || {
        let mut stranger = Stranger::connect(at, "DEALER").unwrap();
        stranger.0.write_all(b"\x01\x00\x00\x01x").unwrap();
        stranger
    });
    let incoming = timeout(SOON, router.recv()).await.unwrap().unwrap();
    let stranger = asked.await.unwrap();
    let replies = router.replies();
    // The kernel's buffers take some megabytes, as many as it is set to; the
    // rest is not kept.
    for _ in 0..10_000 {
        replies.send(incoming.peer, vec![0; 64 * KIB]).unwrap();
        tokio::task::yield_now().await;
        if router.counters().dropped() > 500 {
            break;
        }
    }
    assert!(router.counters().dropped() > 500, "{:?}", router.counters());
    drop(stranger);
}

#[tokio::test]
async fn strangers_at_the_publish_port_are_shown_out() {
    let at = Endpoint::tcp("127.0.0.1", 0);
    let publisher = PublishPort::bind(&[at], PublishPortOptions::default()).unwrap();
    let at = address(&publisher.endpoints()[0]);
    let ended = spawn_blocking(move || {
        let stranger = || Stranger::connect(at, "SUB").unwrap();
        // An invalid topic, a message of several parts, too many topics,
        // and one who wants to ask.
        let (mut large, mut parts, mut many) = (stranger(), stranger(), stranger());
        large.head(false, 5000).unwrap();
        parts.0.write_all(b"\x01\x02\x01x").unwrap();
        for topic in 0..=u8::MAX {
            let _ = many.0.write_all(&[0, 2, 1, topic]);
        }
        let mut ended = [large, parts, many].map(|mut stranger| stranger.is_ended());
        ended.reverse();
        let asks = Stranger::connect(at, "REQ").map(|mut stranger| stranger.is_ended());
        (ended, asks.unwrap_or(true))
    });
    let ended = timeout(SOON, ended).await.unwrap().unwrap();
    assert_eq!(ended, ([true; 3], true));
}

#[tokio::test]
async fn what_is_no_zeromq_is_shown_out_at_once() {
    let router = small_router();
    let at = address(&router.endpoints()[0]);
    let ended = spawn_blocking(move || {
        [
            &b"GET / HTTP/1.1\r\n\r\n"[..],
            &[0x16, 3, 1, 2, 0, 1],
            // ZMTP 1 and 2.
            &[1, 0],
            b"\xff\0\0\0\0\0\0\0\x01\x7f\x01\x00",
        ]
        .map(|bytes| {
            let mut stream = TcpStream::connect(at).unwrap();
            stream.set_read_timeout(Some(SOON)).unwrap();
            stream.write_all(bytes).unwrap();
            // Its own greeting may come first.
            let mut told = Vec::new();
            match stream.read_to_end(&mut told) {
                Ok(_) => true,
                Err(error) => error.kind() == io::ErrorKind::ConnectionReset,
            }
        })
    });
    assert_eq!(timeout(SOON, ended).await.unwrap().unwrap(), [true; 4]);
    drop(router);
}

/// A byte now and then does not make a handshake last.
#[tokio::test]
async fn a_handshake_has_its_time_in_all() {
    let router = small_router();
    let at = address(&router.endpoints()[0]);
    let lasted = spawn_blocking(move || {
        let begun = Instant::now();
        let mut stream = TcpStream::connect(at).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_millis(500)))
            .unwrap();
        let mut greeting = vec![0; 64];
        (greeting[0], greeting[9], greeting[10]) = (0xff, 0x7f, 3);
        greeting[12..16].copy_from_slice(b"NULL");
        // The greeting of the other side and its READY come first.
        for byte in greeting {
            let _ = stream.write_all(&[byte]);
            match stream.read(&mut [0; 256]) {
                Ok(0) => return begun.elapsed(),
                Err(error) if error.kind() != io::ErrorKind::WouldBlock => return begun.elapsed(),
                _ => {}
            }
        }
        begun.elapsed()
    });
    let lasted = lasted.await.unwrap();
    assert!(lasted < Duration::from_secs(20), "{lasted:?}");
    drop(router);
}
