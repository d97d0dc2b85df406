//! Request ports and requesters.

use tokio::spawn;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::*;
use crate::fleet::{Incoming, RequestError};

/// For how long nobody answers.
const SHORTLY: Duration = Duration::from_millis(300);

fn port(variant: Variant) -> RequestPort {
    let options = RequestPortOptions::default();
    variant.request_port(&loopback(), options).unwrap()
}

fn requester(variant: Variant, port: &RequestPort) -> Requester {
    variant.requester(&port.endpoints()[0], RequesterOptions::default())
}

async fn next(port: &mut RequestPort) -> Incoming {
    timeout(SOON, port.recv()).await.unwrap().unwrap()
}

/// Sends a request in a task of its own.
fn asked(requester: &Requester, payload: &[u8]) -> JoinHandle<Result<Vec<u8>, RequestError>> {
    let (requester, payload) = (requester.clone(), payload.to_vec());
    spawn(async move { requester.request(payload, SOON).await })
}

/// A port that answers with what it is asked.
fn echo(mut port: RequestPort) -> JoinHandle<()> {
    let replies = port.replies();
    spawn(async move {
        while let Some(incoming) = port.recv().await {
            replies.send(incoming.peer, incoming.payload).unwrap();
        }
    })
}

pub(super) async fn a_request_is_answered(variant: Variant) {
    let mut port = port(variant);
    let asked = asked(&requester(variant, &port), b"hello");
    let incoming = next(&mut port).await;
    assert_eq!(incoming.payload, b"hello");
    port.replies().send(incoming.peer, b"re".to_vec()).unwrap();
    assert_eq!(asked.await.unwrap().unwrap(), b"re");
    assert_eq!((port.counters().received(), port.counters().sent()), (1, 1));
}

pub(super) async fn many_peers_get_their_own_answers(variant: Variant) {
    let port = port(variant);
    let requesters: Vec<_> = (0..20).map(|_| requester(variant, &port)).collect();
    let server = echo(port);
    let mut callers = Vec::new();
    for number in 0..300_u32 {
        let payload = number.to_be_bytes();
        let requester = &requesters[number as usize % requesters.len()];
        callers.push((payload, asked(requester, &payload)));
    }
    for (payload, caller) in callers {
        assert_eq!(caller.await.unwrap().unwrap(), payload);
    }
    server.abort();
}

pub(super) async fn answers_may_come_in_any_order(variant: Variant) {
    let mut port = port(variant);
    let requester = requester(variant, &port);
    let slow = asked(&requester, b"slow");
    let waits = next(&mut port).await;
    let quick = asked(&requester, b"quick");
    let incoming = next(&mut port).await;
    assert_eq!(incoming.payload, b"quick");
    let replies = port.replies();
    replies.send(incoming.peer, b"q".to_vec()).unwrap();
    assert_eq!(quick.await.unwrap().unwrap(), b"q");
    replies.send(waits.peer, b"s".to_vec()).unwrap();
    assert_eq!(slow.await.unwrap().unwrap(), b"s");
}

pub(super) async fn a_late_reply_is_never_taken_for_the_next_request(variant: Variant) {
    let mut port = port(variant);
    let options = RequesterOptions {
        connections_max: 1,
        ..RequesterOptions::default()
    };
    let requester = variant.requester(&port.endpoints()[0], options);
    let replies = port.replies();
    // The connection stands before anything is given up.
    let warm = asked(&requester, b"warm");
    let incoming = next(&mut port).await;
    replies.send(incoming.peer, b"up".to_vec()).unwrap();
    assert_eq!(warm.await.unwrap().unwrap(), b"up");
    let short = Duration::from_millis(100);
    let given_up = requester.request(b"first".to_vec(), short);
    let (given_up, late) = tokio::join!(given_up, next(&mut port));
    let error = given_up.unwrap_err();
    assert!(matches!(error, RequestError::NoAnswer { .. }), "{error}");
    assert_eq!(late.payload, b"first");

    let second = asked(&requester, b"second");
    let incoming = next(&mut port).await;
    assert_eq!(incoming.payload, b"second");
    replies.send(late.peer, b"stale".to_vec()).unwrap();
    replies.send(incoming.peer, b"fresh".to_vec()).unwrap();
    assert_eq!(second.await.unwrap().unwrap(), b"fresh");
}

pub(super) async fn a_dropped_request_does_not_disturb_the_next(variant: Variant) {
    let mut port = port(variant);
    let requester = requester(variant, &port);
    let given_up = asked(&requester, b"first");
    let first = next(&mut port).await;
    given_up.abort();
    let _ = given_up.await;
    let second = asked(&requester, b"second");
    let incoming = next(&mut port).await;
    let replies = port.replies();
    replies.send(first.peer, b"stale".to_vec()).unwrap();
    replies.send(incoming.peer, b"fresh".to_vec()).unwrap();
    assert_eq!(second.await.unwrap().unwrap(), b"fresh");
}

pub(super) async fn a_port_waits_for_its_program_and_loses_nothing(variant: Variant) {
    let options = RequestPortOptions {
        requests_max: 2,
        ..RequestPortOptions::default()
    };
    let mut port = variant.request_port(&loopback(), options).unwrap();
    let callers: Vec<_> = (0..20)
        .map(|_| asked(&requester(variant, &port), b"x"))
        .collect();
    let replies = port.replies();
    for _ in 0..callers.len() {
        let incoming = next(&mut port).await;
        replies.send(incoming.peer, incoming.payload).unwrap();
    }
    for caller in callers {
        assert_eq!(caller.await.unwrap().unwrap(), b"x");
    }
    assert_eq!(port.counters().received(), 20);
    assert_eq!(port.counters().sent(), 20);
}

pub(super) async fn a_request_above_the_limit_is_refused_on_both_sides(variant: Variant) {
    let options = RequestPortOptions {
        message_bytes_max: 1000,
        ..RequestPortOptions::default()
    };
    let mut port = variant.request_port(&loopback(), options).unwrap();
    let options = RequesterOptions {
        message_bytes_max: 1000,
        ..RequesterOptions::default()
    };
    let careful = variant.requester(&port.endpoints()[0], options);
    let error = careful.request(vec![0; 1001], SOON).await.unwrap_err();
    assert!(matches!(error, RequestError::TooLarge { .. }), "{error}");
    let careless = requester(variant, &port);
    let error = careless.request(vec![0; 1001], SOON).await.unwrap_err();
    assert!(
        matches!(error, RequestError::Disconnected { .. }),
        "{error}"
    );
    // The next good request is served.
    let fine = asked(&careless, &[0; 1000]);
    let incoming = next(&mut port).await;
    assert_eq!(incoming.payload.len(), 1000);
    port.replies().send(incoming.peer, Vec::new()).unwrap();
    assert_eq!(fine.await.unwrap().unwrap(), b"");
}

pub(super) async fn nobody_at_the_other_end_is_no_connection(variant: Variant) {
    // Bound and not listening: nobody answers there, and nobody else gets it.
    let held = tokio::net::TcpSocket::new_v4().unwrap();
    held.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let endpoint = Endpoint::tcp("127.0.0.1", held.local_addr().unwrap().port());
    let requester = variant.requester(&endpoint, RequesterOptions::default());
    let asked = requester.request(b"x".to_vec(), Duration::from_millis(200));
    let error = asked.await.unwrap_err();
    assert!(
        matches!(error, RequestError::NotConnected { .. }),
        "{error}"
    );
    assert!(error.to_string().contains(&endpoint.to_string()), "{error}");
}

pub(super) async fn queued_replies_are_sent_before_a_port_closes(variant: Variant) {
    let mut port = port(variant);
    let asked = asked(&requester(variant, &port), b"x");
    let incoming = next(&mut port).await;
    let replies = port.replies();
    replies.send(incoming.peer, b"last".to_vec()).unwrap();
    port.close().await;
    assert_eq!(asked.await.unwrap().unwrap(), b"last");
}

pub(super) async fn a_port_that_turns_away_answers_what_was_asked(variant: Variant) {
    let mut port = port(variant);
    let (idle, asking) = (requester(variant, &port), requester(variant, &port));
    let answered = asked(&idle, b"first");
    let incoming = next(&mut port).await;
    port.replies().send(incoming.peer, Vec::new()).unwrap();
    answered.await.unwrap().unwrap();
    let asked = asked(&asking, b"x");
    let incoming = next(&mut port).await;

    port.turn_away();
    // Neither who was connected nor somebody new finds it.
    for late in [idle, requester(variant, &port)] {
        let refused = late.request(b"y".to_vec(), SHORTLY).await;
        assert!(refused.is_err(), "{refused:?}");
    }
    assert_eq!(port.replies().connections(), 1);
    let replies = port.replies();
    replies.send(incoming.peer, b"last".to_vec()).unwrap();
    assert_eq!(asked.await.unwrap().unwrap(), b"last");
    let gone = async {
        while replies.connections() > 0 {
            tokio::task::yield_now().await;
        }
    };
    timeout(SOON, gone).await.unwrap();
}

pub(super) async fn a_closed_port_fails_requests_and_can_be_bound_again(variant: Variant) {
    let bind = |at: &Endpoint| variant.request_port(at, RequestPortOptions::default());
    let mut port = bind(&own_loopback(1)).unwrap();
    let endpoint = port.endpoints()[0].clone();
    let requester = requester(variant, &port);
    let waiting = asked(&requester, b"x");
    next(&mut port).await;
    port.close().await;
    let error = waiting.await.unwrap().unwrap_err();
    assert!(
        matches!(error, RequestError::Disconnected { .. }),
        "{error}"
    );

    let mut port = bind_again(|| bind(&endpoint)).await;
    let again = asked(&requester, b"y");
    let incoming = next(&mut port).await;
    port.replies().send(incoming.peer, b"z".to_vec()).unwrap();
    assert_eq!(again.await.unwrap().unwrap(), b"z");
}

pub(super) async fn a_reply_to_a_closed_port_is_an_error(variant: Variant) {
    let mut port = port(variant);
    let asked = asked(&requester(variant, &port), b"x");
    let incoming = next(&mut port).await;
    let replies = port.replies();
    port.close().await;
    assert!(replies.send(incoming.peer, b"late".to_vec()).is_err());
    assert!(asked.await.unwrap().is_err());
}

pub(super) async fn a_port_in_use_is_named(variant: Variant) {
    let first = port(variant);
    let endpoint = &first.endpoints()[0];
    let options = RequestPortOptions::default();
    let error = variant.request_port(endpoint, options).unwrap_err();
    assert!(matches!(error, BindError::InUse { .. }), "{error:?}");
    let text = error.to_string();
    assert!(
        text.starts_with(&format!("{endpoint} is already in use: ")),
        "{text}"
    );
}
