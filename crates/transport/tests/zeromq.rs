//! The ZeroMQ roles against each other, over TCP and unix sockets.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends there")]

use std::time::{Duration, Instant};

use halite_transport::zeromq::{
    Heard, Publisher, PublisherOptions, Puller, PullerOptions, Pulse, RequestError, Requester,
    RequesterOptions, Router, RouterOptions, SubscribeOptions, Subscriber, SubscriberEvent,
    TopicWatch,
};
use halite_transport::{BindError, Endpoint};
use tokio::time::timeout;

/// Long enough for a loaded machine; nothing waits for it when all is well.
const SOON: Duration = Duration::from_secs(60);

fn loopback() -> Endpoint {
    Endpoint::tcp("127.0.0.1", 0)
}

/// An address for whoever binds a port again that was free in between: no
/// other test's connections and listeners get ports there.
fn own_loopback(number: u8) -> Endpoint {
    Endpoint::tcp(&format!("127.0.7.{number}"), 0)
}

fn router() -> Router {
    router_at(loopback())
}

fn router_at(endpoint: Endpoint) -> Router {
    Router::bind(&[endpoint], RouterOptions::default()).unwrap()
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

async fn next_message(subscriber: &mut Subscriber) -> Vec<Vec<u8>> {
    loop {
        let event = timeout(SOON, subscriber.recv()).await.expect("no event");
        if let SubscriberEvent::Message(frames) = event.expect("closed") {
            return frames;
        }
    }
}

async fn wait_for(subscriber: &mut Subscriber, wanted: SubscriberEvent) {
    loop {
        let event = timeout(SOON, subscriber.recv()).await.expect("no event");
        if event.expect("closed") == wanted {
            return;
        }
    }
}

/// Publishes until the subscriber has seen a publication: its subscription
/// reaches the publisher some time after the handshake.
async fn until_subscribed(publisher: &Publisher, subscriber: &mut Subscriber, topic: &[u8]) {
    let deadline = Instant::now() + SOON;
    loop {
        assert!(Instant::now() < deadline, "never subscribed");
        publisher
            .publish(&[topic.to_vec(), b"probe".to_vec()])
            .unwrap();
        let message = timeout(Duration::from_millis(20), next_message(subscriber)).await;
        if message.is_ok() {
            break;
        }
    }
    // The rest of the probes, however long they are on their way.
    let last = vec![topic.to_vec(), b"last probe".to_vec()];
    publisher.publish(&last).unwrap();
    while next_message(subscriber).await != last {}
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
    let mut router = Router::bind(&endpoints, RouterOptions::default()).unwrap();
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
async fn a_late_reply_is_never_taken_for_the_next_request() {
    let mut router = router();
    let replies = router.replies();
    let requester = Requester::connect(
        router.endpoints()[0].clone(),
        RequesterOptions {
            lanes_max: 1,
            ..RequesterOptions::default()
        },
    );
    // The connection stands before anything is given up.
    let (warm, ()) = tokio::join!(requester.request(b"warm".to_vec(), SOON), async {
        let incoming = timeout(SOON, router.recv()).await.unwrap().unwrap();
        replies.send(incoming.peer, b"up".to_vec()).unwrap();
    });
    assert_eq!(warm.unwrap(), b"up");
    let short = Duration::from_millis(100);
    let (given_up, late) = tokio::join!(
        requester.request(b"first".to_vec(), short),
        timeout(SOON, router.recv())
    );
    let error = given_up.unwrap_err();
    assert!(matches!(error, RequestError::NoAnswer { .. }), "{error}");
    let late = late.unwrap().unwrap();
    assert_eq!(late.payload, b"first");

    let second = tokio::spawn({
        let requester = requester.clone();
        async move { requester.request(b"second".to_vec(), SOON).await }
    });
    let incoming = timeout(SOON, router.recv()).await.unwrap().unwrap();
    assert_eq!(incoming.payload, b"second");
    replies.send(late.peer, b"stale".to_vec()).unwrap();
    replies.send(incoming.peer, b"fresh".to_vec()).unwrap();
    assert_eq!(second.await.unwrap().unwrap(), b"fresh");
}

#[tokio::test]
async fn a_dropped_request_does_not_disturb_the_next() {
    let mut router = router();
    let replies = router.replies();
    let requester = Requester::connect(
        router.endpoints()[0].clone(),
        RequesterOptions {
            lanes_max: 1,
            ..RequesterOptions::default()
        },
    );
    let given_up = tokio::spawn({
        let requester = requester.clone();
        async move { requester.request(b"first".to_vec(), SOON).await }
    });
    let first = timeout(SOON, router.recv()).await.unwrap().unwrap();
    given_up.abort();
    let _ = given_up.await;
    let second = tokio::spawn({
        let requester = requester.clone();
        async move { requester.request(b"second".to_vec(), SOON).await }
    });
    let incoming = timeout(SOON, router.recv()).await.unwrap().unwrap();
    replies.send(first.peer, b"stale".to_vec()).unwrap();
    replies.send(incoming.peer, b"fresh".to_vec()).unwrap();
    assert_eq!(second.await.unwrap().unwrap(), b"fresh");
}

#[tokio::test]
async fn a_slow_answer_does_not_hold_other_requests_up() {
    let mut router = router();
    let replies = router.replies();
    let requester = Requester::connect(router.endpoints()[0].clone(), Default::default());
    let slow = tokio::spawn({
        let requester = requester.clone();
        async move { requester.request(b"slow".to_vec(), SOON).await }
    });
    let waits = timeout(SOON, router.recv()).await.unwrap().unwrap();
    let quick = tokio::spawn({
        let requester = requester.clone();
        async move { requester.request(b"quick".to_vec(), SOON).await }
    });
    let incoming = timeout(SOON, router.recv()).await.unwrap().unwrap();
    assert_eq!(incoming.payload, b"quick");
    replies.send(incoming.peer, b"q".to_vec()).unwrap();
    assert_eq!(quick.await.unwrap().unwrap(), b"q");
    replies.send(waits.peer, b"s".to_vec()).unwrap();
    assert_eq!(slow.await.unwrap().unwrap(), b"s");
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
async fn a_master_that_is_not_there_is_said_to_be_unconnected() {
    // Bound and not listening: nobody answers there, and nobody else gets it.
    let held = tokio::net::TcpSocket::new_v4().unwrap();
    held.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let port = held.local_addr().unwrap().port();
    let requester = Requester::connect(Endpoint::tcp("127.0.0.1", port), Default::default());
    let error = requester
        .request(b"x".to_vec(), Duration::from_millis(200))
        .await
        .unwrap_err();
    assert!(
        matches!(error, RequestError::NotConnected { .. }),
        "{error}"
    );
    assert!(
        error
            .to_string()
            .contains(&format!("tcp://127.0.0.1:{port}"))
    );
}

#[tokio::test]
async fn a_lost_connection_fails_its_request_at_once_and_the_next_one_reconnects() {
    let mut router = router_at(own_loopback(1));
    let endpoint = router.endpoints()[0].clone();
    let requester = Requester::connect(endpoint.clone(), Default::default());
    let waiting = tokio::spawn({
        let requester = requester.clone();
        async move { requester.request(b"x".to_vec(), SOON).await }
    });
    timeout(SOON, router.recv()).await.unwrap().unwrap();
    router.close().await;
    let error = waiting.await.unwrap().unwrap_err();
    assert!(
        matches!(error, RequestError::Disconnected { .. }),
        "{error}"
    );

    let mut router = bind_again(&endpoint).await;
    let again = tokio::spawn(async move { requester.request(b"y".to_vec(), SOON).await });
    let incoming = timeout(SOON, router.recv()).await.unwrap().unwrap();
    let replies = router.replies();
    replies.send(incoming.peer, b"z".to_vec()).unwrap();
    assert_eq!(again.await.unwrap().unwrap(), b"z");
}

/// Binds `endpoint` as soon as its last owner's socket is closed.
async fn bind_again(endpoint: &Endpoint) -> Router {
    let deadline = Instant::now() + SOON;
    loop {
        match Router::bind(std::slice::from_ref(endpoint), RouterOptions::default()) {
            Ok(router) => return router,
            Err(BindError::InUse { .. }) if Instant::now() < deadline => {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            Err(error) => panic!("{error}"),
        }
    }
}

#[tokio::test]
async fn a_port_in_use_is_named() {
    let first = router();
    let endpoint = first.endpoints()[0].clone();
    let error = Router::bind(std::slice::from_ref(&endpoint), Default::default()).unwrap_err();
    assert!(matches!(error, BindError::InUse { .. }), "{error:?}");
    let text = error.to_string();
    assert!(
        text.starts_with(&format!("{endpoint} is already in use: ")),
        "{text}"
    );
    let error = Publisher::bind(&[endpoint], PublisherOptions::default()).unwrap_err();
    assert!(matches!(error, BindError::InUse { .. }), "{error:?}");

    let error = Router::bind(&[Endpoint::tcp("192.0.2.1", 0)], Default::default()).unwrap_err();
    assert!(matches!(error, BindError::NotLocal { .. }), "{error:?}");
    assert!(matches!(
        Router::bind(&[], Default::default()).unwrap_err(),
        BindError::NoEndpoint
    ));
}

#[tokio::test]
async fn an_ipc_file_in_use_is_named_and_its_owner_undisturbed() {
    let dir = tempfile::tempdir().unwrap();
    let endpoint = Endpoint::ipc(dir.path().join("publish_pull.ipc"));
    let endpoints = std::slice::from_ref(&endpoint);
    let puller = Puller::bind(endpoints, PullerOptions::default()).unwrap();
    let error = Puller::bind(endpoints, PullerOptions::default()).unwrap_err();
    assert!(matches!(error, BindError::InUse { .. }), "{error:?}");
    let mode = std::os::unix::fs::MetadataExt::mode(
        &std::fs::metadata(dir.path().join("publish_pull.ipc")).unwrap(),
    );
    assert_eq!(mode & 0o777, 0o600);
    drop(puller);
    wait_until_empty(dir.path()).await;
}

async fn wait_until_empty(dir: &std::path::Path) {
    let deadline = Instant::now() + SOON;
    while std::fs::read_dir(dir).unwrap().count() > 0 {
        assert!(Instant::now() < deadline, "a file is left");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn publications_arrive_whole_and_in_order() {
    let publisher = Publisher::bind(&[loopback()], PublisherOptions::default()).unwrap();
    let mut subscriber = Subscriber::connect(
        publisher.endpoints()[0].clone(),
        SubscribeOptions::default(),
    );
    wait_for(&mut subscriber, SubscriberEvent::Connected).await;
    until_subscribed(&publisher, &mut subscriber, b"").await;
    for number in 0..500u32 {
        let number = number.to_be_bytes().to_vec();
        publisher.publish(&[number]).unwrap();
    }
    for number in 0..500u32 {
        let frames = next_message(&mut subscriber).await;
        assert_eq!(frames, [number.to_be_bytes().to_vec()]);
    }
    assert!(publisher.publish(&[]).is_err());
}

#[tokio::test]
async fn a_subscriber_with_topics_gets_only_them() {
    let publisher = Publisher::bind(&[loopback()], PublisherOptions::default()).unwrap();
    let mut subscriber = Subscriber::connect(
        publisher.endpoints()[0].clone(),
        SubscribeOptions {
            identity: b"web1".to_vec(),
            topics: vec![b"broadcast".to_vec(), b"0123".to_vec()],
            ..SubscribeOptions::default()
        },
    );
    until_subscribed(&publisher, &mut subscriber, b"broadcast").await;
    for topic in ["other", "0123", "broadcast"] {
        let frames = vec![topic.as_bytes().to_vec(), b"load".to_vec()];
        publisher.publish(&frames).unwrap();
    }
    assert_eq!(next_message(&mut subscriber).await[0], b"0123");
    assert_eq!(next_message(&mut subscriber).await[0], b"broadcast");
}

#[tokio::test]
async fn a_subscriber_says_when_its_master_goes_and_comes() {
    let publisher = Publisher::bind(&[own_loopback(2)], PublisherOptions::default()).unwrap();
    let endpoint = publisher.endpoints()[0].clone();
    let mut subscriber = Subscriber::connect(endpoint.clone(), SubscribeOptions::default());
    wait_for(&mut subscriber, SubscriberEvent::Connected).await;
    publisher.close().await;
    wait_for(&mut subscriber, SubscriberEvent::Disconnected).await;
    let deadline = Instant::now() + SOON;
    let publisher = loop {
        match Publisher::bind(std::slice::from_ref(&endpoint), PublisherOptions::default()) {
            Ok(publisher) => break publisher,
            Err(error) => assert!(Instant::now() < deadline, "{error}"),
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    };
    wait_for(&mut subscriber, SubscriberEvent::Connected).await;
    until_subscribed(&publisher, &mut subscriber, b"").await;
}

#[tokio::test]
async fn a_router_waits_for_its_program_and_loses_nothing() {
    let mut router = Router::bind(
        &[loopback()],
        RouterOptions {
            requests_max: 2,
            ..RouterOptions::default()
        },
    )
    .unwrap();
    let requesters: Vec<_> = (0..20)
        .map(|_| Requester::connect(router.endpoints()[0].clone(), Default::default()))
        .collect();
    let callers: Vec<_> = requesters
        .into_iter()
        .map(|requester| tokio::spawn(async move { requester.request(b"x".to_vec(), SOON).await }))
        .collect();
    let replies = router.replies();
    for _ in 0..callers.len() {
        let incoming = timeout(SOON, router.recv()).await.unwrap().unwrap();
        replies.send(incoming.peer, incoming.payload).unwrap();
    }
    for caller in callers {
        assert_eq!(caller.await.unwrap().unwrap(), b"x");
    }
    assert_eq!(router.counters().received(), 20);
    assert_eq!(router.counters().sent(), 20);
}

#[tokio::test]
async fn a_request_above_the_limit_is_refused_on_both_sides() {
    let mut router = Router::bind(
        &[loopback()],
        RouterOptions {
            message_bytes_max: 1000,
            ..RouterOptions::default()
        },
    )
    .unwrap();
    let endpoint = router.endpoints()[0].clone();
    let careful = Requester::connect(
        endpoint.clone(),
        RequesterOptions {
            message_bytes_max: 1000,
            ..RequesterOptions::default()
        },
    );
    let error = careful.request(vec![0; 1001], SOON).await.unwrap_err();
    assert!(matches!(error, RequestError::TooLarge { .. }), "{error}");
    let careless = Requester::connect(endpoint, RequesterOptions::default());
    let error = careless.request(vec![0; 1001], SOON).await.unwrap_err();
    assert!(
        matches!(error, RequestError::Disconnected { .. }),
        "{error}"
    );
    // The next good request is served.
    let fine = tokio::spawn(async move { careless.request(vec![0; 1000], SOON).await });
    let incoming = timeout(SOON, router.recv()).await.unwrap().unwrap();
    assert_eq!(incoming.payload.len(), 1000);
    let replies = router.replies();
    replies.send(incoming.peer, Vec::new()).unwrap();
    assert_eq!(fine.await.unwrap().unwrap(), b"");
}

#[tokio::test]
async fn queued_replies_are_sent_before_a_router_closes() {
    let mut router = router();
    let requester = Requester::connect(router.endpoints()[0].clone(), Default::default());
    let asked = tokio::spawn(async move { requester.request(b"x".to_vec(), SOON).await });
    let incoming = timeout(SOON, router.recv()).await.unwrap().unwrap();
    let replies = router.replies();
    replies.send(incoming.peer, b"last".to_vec()).unwrap();
    router.close().await;
    assert_eq!(asked.await.unwrap().unwrap(), b"last");
}

/// A report nobody takes would stop the library's only I/O thread.
#[tokio::test]
async fn subscribers_that_go_away_stop_nobody_else() {
    for _ in 0..20 {
        let publisher = Publisher::bind(&[loopback()], PublisherOptions::default()).unwrap();
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

#[tokio::test]
async fn the_first_subscriber_and_the_end_of_the_last_are_heard_of() {
    let (told, mut heard) = tokio::sync::mpsc::unbounded_channel();
    let watch = TopicWatch::new(move |heard| {
        let _ = match heard {
            Heard::Begun(topic) => told.send((topic.to_vec(), true)),
            Heard::Ended(topic) => told.send((topic.to_vec(), false)),
            Heard::Said(_) => Ok(()),
        };
    });
    let options = PublisherOptions {
        watch: Some(watch),
        ..PublisherOptions::default()
    };
    let publisher = Publisher::bind(&[loopback()], options).unwrap();
    let subscribe = || {
        let options = SubscribeOptions {
            topics: vec![b"".to_vec(), b"name".to_vec()],
            ..SubscribeOptions::default()
        };
        Subscriber::connect(publisher.endpoints()[0].clone(), options)
    };
    let first = subscribe();
    let mut topics = vec![heard.recv().await.unwrap(), heard.recv().await.unwrap()];
    topics.sort();
    let topic = |name: &[u8], has_subscribers| (name.to_vec(), has_subscribers);
    assert_eq!(topics, [topic(b"", true), topic(b"name", true)]);
    let mut second = subscribe();
    until_subscribed(&publisher, &mut second, b"x").await;
    // One of two goes: nothing is said. The last one goes: it is.
    drop(first);
    drop(second);
    let mut topics = vec![heard.recv().await.unwrap(), heard.recv().await.unwrap()];
    topics.sort();
    assert_eq!(topics, [topic(b"", false), topic(b"name", false)]);
}

#[tokio::test]
async fn a_subscriber_says_again_and_again_that_it_lives() {
    let (told, mut heard) = tokio::sync::mpsc::unbounded_channel();
    let watch = TopicWatch::new(move |heard| {
        if let Heard::Said(message) = heard {
            let _ = told.send(message.to_vec());
        }
    });
    let options = PublisherOptions {
        watch: Some(watch),
        ..PublisherOptions::default()
    };
    let publisher = Publisher::bind(&[loopback()], options).unwrap();
    let options = SubscribeOptions {
        pulse: Some(Pulse {
            message: b"alive".to_vec(),
            interval: Duration::from_millis(5),
        }),
        ..SubscribeOptions::default()
    };
    let mut subscriber = Subscriber::connect(publisher.endpoints()[0].clone(), options);
    for _ in 0..3 {
        assert_eq!(heard.recv().await.unwrap(), b"alive");
    }
    // Publications come over the same connection.
    until_subscribed(&publisher, &mut subscriber, b"x").await;
}
