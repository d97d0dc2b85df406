//! What the roles do over ZeroMQ in addition to every transport's duties.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends there")]

use std::time::{Duration, Instant};

use halite_transport::fleet::{
    Audience, LocalPublishOptions, LocalPublishSocket, PublishPort, PublishPortOptions,
    RequestError, RequestPort, RequestPortOptions, Requester, RequesterOptions, SubscribeOptions,
    Subscriber, SubscriberEvent,
};
use halite_transport::{BindError, Endpoint};
use tokio::time::timeout;

/// Long enough for a loaded machine; nothing waits for it when all is well.
const SOON: Duration = Duration::from_secs(60);

fn loopback() -> Endpoint {
    Endpoint::tcp("127.0.0.1", 0)
}

fn router() -> RequestPort {
    RequestPort::bind(&[loopback()], RequestPortOptions::default()).unwrap()
}

/// A router that answers with what it is asked.
fn echo_router() -> Endpoint {
    let mut router = router();
    let endpoint = router.endpoints()[0].clone();
    tokio::spawn(async move {
        let replies = router.replies();
        while let Some(incoming) = router.recv().await {
            replies.send(incoming.peer, incoming.payload).unwrap();
        }
    });
    endpoint
}

async fn wait_for(subscriber: &mut Subscriber, wanted: SubscriberEvent) {
    loop {
        let event = timeout(SOON, subscriber.recv()).await.expect("no event");
        if event.expect("closed") == wanted {
            return;
        }
    }
}

#[tokio::test]
async fn a_request_is_answered_over_ipv4_ipv6_and_ipc() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("requests.ipc");
    let mut endpoints = vec![loopback(), Endpoint::ipc(path.clone())];
    // Kernels and containers without IPv6 have no such address.
    if std::net::TcpListener::bind("[::1]:0").is_ok() {
        endpoints.push(Endpoint::tcp("::1", 0));
    }
    let mut router = RequestPort::bind(&endpoints, RequestPortOptions::default()).unwrap();
    let bound = router.endpoints().to_vec();
    let replies = router.replies();
    let server = tokio::spawn(async move {
        while let Some(incoming) = router.recv().await {
            let mut answer = b"re: ".to_vec();
            answer.extend_from_slice(&incoming.payload);
            replies.send(incoming.peer, answer).unwrap();
        }
    });
    for endpoint in bound {
        let requester = Requester::connect(endpoint, RequesterOptions::default());
        let answer = requester.request(b"hello".to_vec(), SOON).await.unwrap();
        assert_eq!(answer, b"re: hello");
    }
    server.abort();
}

#[tokio::test]
async fn a_name_is_resolved() {
    let Endpoint::Tcp { port, .. } = echo_router() else {
        panic!("not TCP")
    };
    let requester = Requester::connect(Endpoint::tcp("localhost", port), Default::default());
    assert_eq!(requester.request(b"x".to_vec(), SOON).await.unwrap(), b"x");
    let nowhere = Requester::connect(Endpoint::tcp("name.invalid", port), Default::default());
    let error = nowhere.request(b"x".to_vec(), SOON).await.unwrap_err();
    assert!(matches!(error, RequestError::Unresolved { .. }), "{error}");
}

#[tokio::test]
async fn more_callers_than_lanes_all_get_their_own_answer() {
    let requester = Requester::connect(echo_router(), Default::default());
    let callers: Vec<_> = (0..300u32)
        .map(|number| {
            let requester = requester.clone();
            tokio::spawn(async move {
                let payload = number.to_be_bytes().to_vec();
                let answer = requester.request(payload.clone(), SOON).await.unwrap();
                assert_eq!(answer, payload);
            })
        })
        .collect();
    for caller in callers {
        caller.await.unwrap();
    }
}

#[tokio::test]
async fn a_port_in_use_is_named() {
    let first = router();
    let endpoint = first.endpoints()[0].clone();
    let error = RequestPort::bind(std::slice::from_ref(&endpoint), Default::default()).unwrap_err();
    assert!(matches!(error, BindError::InUse { .. }), "{error:?}");
    let text = error.to_string();
    assert!(
        text.starts_with(&format!("{endpoint} is already in use: ")),
        "{text}"
    );
    let error = PublishPort::bind(&[endpoint], PublishPortOptions::default()).unwrap_err();
    assert!(matches!(error, BindError::InUse { .. }), "{error:?}");

    let error =
        RequestPort::bind(&[Endpoint::tcp("192.0.2.1", 0)], Default::default()).unwrap_err();
    assert!(matches!(error, BindError::NotLocal { .. }), "{error:?}");
    assert!(matches!(
        RequestPort::bind(&[], Default::default()).unwrap_err(),
        BindError::NoEndpoint
    ));
}

#[tokio::test]
async fn an_ipc_file_in_use_is_named_and_its_owner_undisturbed() {
    let dir = tempfile::tempdir().unwrap();
    let endpoint = Endpoint::ipc(dir.path().join("publish_pull.ipc"));
    let endpoints = std::slice::from_ref(&endpoint);
    let puller = LocalPublishSocket::bind(endpoints, LocalPublishOptions::default()).unwrap();
    let error = LocalPublishSocket::bind(endpoints, LocalPublishOptions::default()).unwrap_err();
    assert!(matches!(error, BindError::InUse { .. }), "{error:?}");
    let mode = std::os::unix::fs::MetadataExt::mode(
        &std::fs::metadata(dir.path().join("publish_pull.ipc")).unwrap(),
    );
    assert_eq!(mode & 0o777, 0o600);
    drop(puller);
    wait_until_empty(dir.path()).await;
}

/// What waits in the socket is not lost when its file is, and its other
/// endpoints stay.
#[tokio::test]
async fn a_removed_file_is_bound_again_and_nothing_else_changes() {
    let dir = tempfile::tempdir().unwrap();
    let paths = ["a.ipc", "b.ipc"].map(|name| dir.path().join(name));
    let files = paths.clone().map(Endpoint::ipc);
    let endpoints = [&[loopback()], &files[..]].concat();
    let options = LocalPublishOptions {
        messages_max: 1,
        ..LocalPublishOptions::default()
    };
    let mut puller = LocalPublishSocket::bind(&endpoints, options).unwrap();
    let bound = puller.endpoints().to_vec();
    let context = zmq::Context::new();
    let push = |endpoint: &Endpoint, texts: &[&str]| {
        let socket = context.socket(zmq::PUSH).unwrap();
        socket.connect(&endpoint.to_string()).unwrap();
        for text in texts {
            socket.send(text, 0).unwrap();
        }
        socket
    };
    // More than the program takes: the rest waits in the socket.
    let first = push(&bound[1], &["1", "2", "3"]);
    wait_until(|| puller.counters().received() > 0).await;
    for path in &paths {
        std::fs::remove_file(path).unwrap();
    }
    wait_until(|| paths.iter().all(|path| path.exists())).await;
    let others: Vec<_> = bound.iter().map(|at| push(at, &["4"])).collect();
    let mut taken = Vec::new();
    while taken.len() < 6 {
        let message = timeout(SOON, puller.recv()).await.unwrap().unwrap();
        taken.push(String::from_utf8(message).unwrap());
    }
    taken.sort();
    assert_eq!(taken, ["1", "2", "3", "4", "4", "4"]);
    drop((first, others));
}

async fn wait_until_empty(dir: &std::path::Path) {
    wait_until(|| std::fs::read_dir(dir).unwrap().count() == 0).await;
}

async fn wait_until(is_so: impl Fn() -> bool) {
    let deadline = Instant::now() + SOON;
    while !is_so() {
        assert!(Instant::now() < deadline, "it does not come to be");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// A report nobody takes would stop the library's only I/O thread.
#[tokio::test]
async fn subscribers_that_go_away_stop_nobody_else() {
    for _ in 0..20 {
        let publisher = PublishPort::bind(&[loopback()], PublishPortOptions::default()).unwrap();
        let endpoint = publisher.endpoints()[0].clone();
        let mut subscribers: Vec<_> = (0..5)
            .map(|_| Subscriber::connect(endpoint.clone(), SubscribeOptions::default()))
            .collect();
        for subscriber in &mut subscribers {
            wait_for(subscriber, SubscriberEvent::Connected).await;
        }
        drop((subscribers, publisher));
        let requester = Requester::connect(echo_router(), RequesterOptions::default());
        let answer = requester.request(b"alive".to_vec(), SOON).await.unwrap();
        assert_eq!(answer, b"alive");
    }
}

/// What a Salt minion with `zmq_filtering` gets, seen by the library itself.
#[tokio::test]
async fn filtered_publications_have_the_topics_of_salt_in_front() {
    // `sha1sum` says so of `web1`.
    const WEB1: &str = "977588a87e10582032716712ccf5d85d18a5fccf";
    let options = PublishPortOptions {
        filtering: true,
        syndics: true,
        ..PublishPortOptions::default()
    };
    let port = PublishPort::bind(&[loopback()], options).unwrap();
    let endpoint = port.endpoints()[0].to_string();
    let (ready, mut is_ready) = tokio::sync::oneshot::channel();
    let reader = tokio::task::spawn_blocking(move || {
        let context = zmq::Context::new();
        let socket = context.socket(zmq::SUB).unwrap();
        socket.set_linger(0).unwrap();
        socket.set_rcvtimeo(60_000).unwrap();
        socket.connect(&endpoint).unwrap();
        for topic in [WEB1, "broadcast", "syndic"] {
            socket.set_subscribe(topic.as_bytes()).unwrap();
        }
        let mut ready = Some(ready);
        let mut got = Vec::new();
        loop {
            let frames = socket.recv_multipart(0).unwrap();
            if let Some(ready) = ready.take() {
                ready.send(()).unwrap();
            }
            if frames[1] == b"end" {
                return got;
            }
            if frames[1] != b"probe" {
                got.push(frames);
            }
        }
    });
    while is_ready.try_recv().is_err() {
        port.publish(Audience::Everyone, b"probe");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    port.publish(Audience::Minions(&["web1", "db1"]), b"some");
    port.publish(Audience::Everyone, b"all");
    port.publish(Audience::Everyone, b"end");
    let got = timeout(SOON, reader).await.unwrap().unwrap();
    let frames = |topic: &str, payload: &[u8]| vec![topic.as_bytes().to_vec(), payload.to_vec()];
    assert_eq!(
        got,
        [
            frames(WEB1, b"some"),
            frames("syndic", b"some"),
            frames("broadcast", b"all"),
        ]
    );
}

#[tokio::test]
async fn what_is_closed_leaves_its_port_and_its_file() {
    let dir = tempfile::tempdir().unwrap();
    // Where no other test gets a port that is free again.
    let any = [Endpoint::tcp("127.0.7.3", 0)];
    let file = [Endpoint::ipc(dir.path().join("publish_pull.ipc"))];
    let local = LocalPublishSocket::bind(&file, LocalPublishOptions::default()).unwrap();
    let publish = PublishPort::bind(&any, PublishPortOptions::default()).unwrap();
    let mut requests = RequestPort::bind(&any, RequestPortOptions::default()).unwrap();
    let ports = [&publish.endpoints()[0], &requests.endpoints()[0]].map(|at| at.port().unwrap());
    let subscriber =
        Subscriber::connect(publish.endpoints()[0].clone(), SubscribeOptions::default());
    let requester = Requester::connect(requests.endpoints()[0].clone(), Default::default());
    let asking = tokio::spawn(async move { requester.request(b"x".to_vec(), SOON).await });
    let incoming = requests.recv().await.unwrap();
    let replies = requests.replies();
    replies.send(incoming.peer, b"y".to_vec()).unwrap();
    assert_eq!(asking.await.unwrap().unwrap(), b"y");

    local.close().await;
    requests.close().await;
    publish.close().await;
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    for port in ports {
        std::net::TcpListener::bind(("127.0.7.3", port)).unwrap();
    }
    drop(subscriber);
}

#[tokio::test]
async fn a_program_of_this_machine_does_not_wait_behind_a_fleet() {
    const ROOM: usize = 4;
    let options = RequestPortOptions {
        requests_max: ROOM,
        ..RequestPortOptions::default()
    };
    let mut port = RequestPort::bind(&[loopback()], options).unwrap();
    let endpoint = port.endpoints()[0].clone();
    let asking = |from: &str, what: &'static [u8]| {
        let options = RequesterOptions {
            source: Some(format!("{from}:0").parse().unwrap()),
            ..RequesterOptions::default()
        };
        let requester = Requester::connect(endpoint.clone(), options);
        tokio::spawn(async move { requester.request(what.to_vec(), SOON).await })
    };
    let fleet: Vec<_> = (2..20)
        .map(|n| asking(&format!("127.0.0.{n}"), b"fleet"))
        .collect();
    let counters = port.counters();
    let all_wait = |count: u64| {
        let counters = port.counters();
        timeout(SOON, async move {
            while counters.received() < count {
                tokio::task::yield_now().await;
            }
        })
    };
    all_wait(ROOM as u64).await.unwrap();
    let own = [asking("127.0.0.1", b"own"), asking("127.0.0.1", b"own")];
    all_wait(ROOM as u64 + 2).await.unwrap();
    let replies = port.replies();
    let mut taken = Vec::new();
    for _ in 0..fleet.len() + own.len() {
        let incoming = timeout(SOON, port.recv()).await.unwrap().unwrap();
        taken.push(incoming.payload.clone());
        replies.send(incoming.peer, incoming.payload).unwrap();
    }
    // In turns: nor does a fleet wait behind the programs.
    assert_eq!(taken[..4], [&b"own"[..], b"fleet", b"own", b"fleet"]);
    for asked in fleet.into_iter().chain(own) {
        asked.await.unwrap().unwrap();
    }
    assert_eq!(counters.received(), 20);
}
