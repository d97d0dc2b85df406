//! Publish ports and subscribers.

use std::sync::Arc;

use halite_proto::MinionId;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::time::timeout;

use super::*;
use crate::fleet::{Audience, PresenceEvent, PresenceWatch, SignsOfLife, SubscriberEvent};

fn id(text: &str) -> MinionId {
    MinionId::parse(text).unwrap()
}

fn filtering_port(variant: Variant, filtering: bool) -> PublishPort {
    let options = PublishPortOptions {
        filtering,
        ..PublishPortOptions::default()
    };
    variant.publish_port(&loopback(), options).unwrap()
}

/// The options with which a minion of this name subscribes.
fn minion(name: &str) -> SubscribeOptions {
    SubscribeOptions {
        minion: Some(id(name)),
        ..SubscribeOptions::default()
    }
}

fn filtering(name: &str) -> SubscribeOptions {
    SubscribeOptions {
        filtering: true,
        ..minion(name)
    }
}

/// The options of a subscriber that names its minion, which `watching` accepts if it is a
/// proof.
fn saying(name: &str, said: &str) -> SubscribeOptions {
    let said = said.as_bytes().to_vec();
    SubscribeOptions {
        signs_of_life: Some(SignsOfLife::new(move || Some(said.clone()))),
        ..minion(name)
    }
}

fn showing(name: &str) -> SubscribeOptions {
    saying(name, &format!("proof of {name}"))
}

async fn wait_for(subscriber: &mut Subscriber, wanted: SubscriberEvent) {
    loop {
        let event = timeout(SOON, subscriber.recv()).await.expect("no event");
        if event.expect("closed") == wanted {
            return;
        }
    }
}

async fn next(subscriber: &mut Subscriber) -> Vec<u8> {
    loop {
        let event = timeout(SOON, subscriber.recv()).await.expect("no event");
        if let SubscriberEvent::Publication(payload) = event.expect("closed") {
            return payload;
        }
    }
}

/// A subscriber whose subscription has taken effect, which may be some time
/// after the connection is there.
async fn subscribed(variant: Variant, port: &PublishPort, options: SubscribeOptions) -> Subscriber {
    let mut subscriber = variant.subscriber(&port.endpoints()[0], options);
    let deadline = Instant::now() + SOON;
    loop {
        assert!(Instant::now() < deadline, "never subscribed");
        port.publish(Audience::Everyone, b"probe");
        let probe = timeout(Duration::from_millis(20), next(&mut subscriber));
        if probe.await.is_ok() {
            break;
        }
    }
    subscriber
}

/// The publications up to `last`, without the probes.
async fn until(subscriber: &mut Subscriber, last: &[u8]) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    loop {
        let payload = next(subscriber).await;
        if payload == last {
            return all;
        }
        if payload != b"probe" {
            all.push(payload);
        }
    }
}

pub(super) async fn all_get_what_is_for_everyone_in_order(variant: Variant) {
    let port = filtering_port(variant, false);
    let mut subscribers = Vec::new();
    for name in ["web1", "web2", "db1"] {
        subscribers.push(subscribed(variant, &port, minion(name)).await);
    }
    let wanted: Vec<_> = (0..500_u32).map(|number| number.to_be_bytes()).collect();
    for payload in &wanted {
        port.publish(Audience::Everyone, payload);
    }
    port.publish(Audience::Everyone, b"end");
    for subscriber in &mut subscribers {
        assert_eq!(until(subscriber, b"end").await, wanted);
    }
    assert_eq!(port.counters().dropped(), 0);
}

pub(super) async fn filtering_subscribers_get_what_is_for_them(variant: Variant) {
    let port = filtering_port(variant, true);
    let mut web1 = subscribed(variant, &port, filtering("web1")).await;
    let mut web2 = subscribed(variant, &port, filtering("web2")).await;
    port.publish(Audience::Minions(&["web1"]), b"for web1");
    port.publish(Audience::Minions(&["web2", "web1"]), b"for both");
    port.publish(Audience::Minions(&["db1"]), b"for db1");
    port.publish(Audience::Everyone, b"for everyone");
    port.publish(Audience::Everyone, b"end");
    let got = until(&mut web1, b"end").await;
    assert_eq!(got, [&b"for web1"[..], b"for both", b"for everyone"]);
    let got = until(&mut web2, b"end").await;
    assert_eq!(got, [&b"for both"[..], b"for everyone"]);
}

pub(super) async fn a_proven_minion_gets_nothing_that_is_for_others_only(variant: Variant) {
    let (port, mut events) = watching(variant);
    let mut web1 = subscribed(variant, &port, showing("web1")).await;
    let mut unproven = subscribed(variant, &port, minion("web2")).await;
    // What follows from the first is done when the second comes.
    for _ in 0..2 {
        wait_until(&mut events, PresenceEvent::Here(id("web1"))).await;
    }
    port.publish(Audience::Minions(&["db1"]), b"for db1");
    port.publish(Audience::Minions(&["db1", "web1"]), b"for two");
    port.publish(Audience::Everyone, b"for everyone");
    port.publish(Audience::Everyone, b"end");
    let got = until(&mut web1, b"end").await;
    assert_eq!(got, [&b"for two"[..], b"for everyone"]);
    let got = until(&mut unproven, b"end").await;
    assert_eq!(got, [&b"for db1"[..], b"for two", b"for everyone"]);
}

pub(super) async fn where_syndics_may_be_all_get_everything(variant: Variant) {
    let (port, mut events) = watching_with(variant, true);
    let mut web1 = subscribed(variant, &port, showing("web1")).await;
    for _ in 0..2 {
        wait_until(&mut events, PresenceEvent::Here(id("web1"))).await;
    }
    port.publish(Audience::Minions(&["db1"]), b"for db1");
    port.publish(Audience::Everyone, b"end");
    assert_eq!(until(&mut web1, b"end").await, [b"for db1"]);
}

pub(super) async fn without_filtering_all_get_everything(variant: Variant) {
    let port = filtering_port(variant, false);
    let mut web1 = subscribed(variant, &port, minion("web1")).await;
    port.publish(Audience::Minions(&["db1"]), b"for db1");
    port.publish(Audience::Minions(&["db1", "db2"]), b"for two");
    port.publish(Audience::Everyone, b"end");
    let got = until(&mut web1, b"end").await;
    assert_eq!(got, [&b"for db1"[..], b"for two"], "each of them once");
}

pub(super) async fn a_slow_subscriber_loses_what_it_has_no_room_for(variant: Variant) {
    let options = PublishPortOptions {
        peer_messages_max: 4,
        ..PublishPortOptions::default()
    };
    let port = variant.publish_port(&loopback(), options).unwrap();
    let slow = SubscribeOptions {
        messages_max: 1,
        ..minion("slow")
    };
    let mut slow = subscribed(variant, &port, slow).await;
    let deadline = Instant::now() + SOON;
    let payload = vec![0; 64 * 1024];
    while port.counters().dropped() == 0 {
        assert!(Instant::now() < deadline, "everything is kept");
        port.publish(Audience::Everyone, &payload);
        tokio::task::yield_now().await;
    }
    // Others are not held up, and what follows comes when there is room.
    let _quick = subscribed(variant, &port, minion("quick")).await;
    loop {
        port.publish(Audience::Everyone, b"end");
        if next(&mut slow).await == b"end" {
            break;
        }
    }
}

pub(super) async fn a_subscriber_says_when_its_port_goes_and_comes(variant: Variant) {
    let bind = |at: &Endpoint| variant.publish_port(at, PublishPortOptions::default());
    let port = bind(&own_loopback(2)).unwrap();
    let endpoint = port.endpoints()[0].clone();
    let mut subscriber = variant.subscriber(&endpoint, minion("web1"));
    wait_for(&mut subscriber, SubscriberEvent::Connected).await;
    port.close().await;
    wait_for(&mut subscriber, SubscriberEvent::Disconnected).await;
    let port = bind_again(|| bind(&endpoint)).await;
    wait_for(&mut subscriber, SubscriberEvent::Connected).await;
    let deadline = Instant::now() + SOON;
    loop {
        assert!(Instant::now() < deadline, "never subscribed again");
        port.publish(Audience::Everyone, b"again");
        let again = timeout(Duration::from_millis(20), next(&mut subscriber));
        if again.await.is_ok() {
            break;
        }
    }
}

pub(super) async fn a_port_that_hands_over_sends_what_is_queued_and_makes_room(variant: Variant) {
    let bind = |at: &Endpoint| variant.publish_port(at, PublishPortOptions::default());
    let port = bind(&own_loopback(3)).unwrap();
    let endpoint = port.endpoints()[0].clone();
    let mut subscriber = subscribed(variant, &port, minion("web1")).await;
    port.publish(Audience::Everyone, b"last");
    port.hand_over();
    while next(&mut subscriber).await != b"last" {}
    wait_for(&mut subscriber, SubscriberEvent::Disconnected).await;
    // The handle stands, and its place is free.
    let other = bind_again(|| bind(&endpoint)).await;
    wait_for(&mut subscriber, SubscriberEvent::Connected).await;
    port.publish(Audience::Everyone, b"to nobody");
    drop((other, port));
}

/// A port and the events of presence that it has.
fn watching(variant: Variant) -> (PublishPort, UnboundedReceiver<PresenceEvent>) {
    watching_with(variant, false)
}

fn watching_with(
    variant: Variant,
    syndics: bool,
) -> (PublishPort, UnboundedReceiver<PresenceEvent>) {
    watching_by(variant, syndics, |watch| watch)
}

fn watching_by(
    variant: Variant,
    syndics: bool,
    answering: impl FnOnce(PresenceWatch) -> PresenceWatch,
) -> (PublishPort, UnboundedReceiver<PresenceEvent>) {
    let (sender, events) = unbounded_channel();
    let watch = PresenceWatch::new(
        |said| {
            let id = said.strip_prefix(b"proof of ")?;
            MinionId::parse(std::str::from_utf8(id).ok()?).ok()
        },
        move |event| {
            let _ = sender.send(event);
        },
    );
    let options = PublishPortOptions {
        presence: Some(answering(watch)),
        syndics,
        ..PublishPortOptions::default()
    };
    let port = variant.publish_port(&loopback(), options).unwrap();
    (port, events)
}

async fn event(events: &mut UnboundedReceiver<PresenceEvent>) -> PresenceEvent {
    timeout(SOON, events.recv()).await.unwrap().unwrap()
}

async fn wait_until(events: &mut UnboundedReceiver<PresenceEvent>, wanted: PresenceEvent) {
    while event(events).await != wanted {}
}

pub(super) async fn presence_begins_and_ends_with_what_is_proven(variant: Variant) {
    let (port, mut events) = watching(variant);
    let first = subscribed(variant, &port, showing("web1")).await;
    // It is said again and again.
    for _ in 0..3 {
        assert_eq!(event(&mut events).await, PresenceEvent::Here(id("web1")));
    }
    let other = subscribed(variant, &port, showing("db1")).await;
    wait_until(&mut events, PresenceEvent::Here(id("db1"))).await;
    drop(other);
    wait_until(&mut events, PresenceEvent::Gone(id("db1"))).await;
    drop(first);
    wait_until(&mut events, PresenceEvent::Gone(id("web1"))).await;
}

pub(super) async fn who_has_proven_a_minion_is_answered(variant: Variant) {
    let heard = |_: &[u8], id: &MinionId| Some(format!("heard {id}").into_bytes());
    let (port, mut events) = watching_by(variant, false, |watch| watch.answering(heard));
    let mut first = subscribed(variant, &port, showing("web1")).await;
    let answer = SubscriberEvent::Publication(b"heard web1".to_vec());
    // Each of its signs is.
    for _ in 0..2 {
        wait_for(&mut first, answer.clone()).await;
    }
    let mut liar = subscribed(variant, &port, saying("web2", "halite/pulse/web2")).await;
    wait_for(&mut first, answer.clone()).await;
    wait_until(&mut events, PresenceEvent::Here(id("web1"))).await;
    port.publish(Audience::Everyone, b"to all");
    let to_all = SubscriberEvent::Publication(b"to all".to_vec());
    let heard = timeout(SOON, liar.recv()).await.expect("no publication");
    assert_eq!(
        heard,
        Some(to_all.clone()),
        "who proves nothing is not answered"
    );
    wait_for(&mut first, to_all).await;
}

pub(super) async fn connections_that_prove_no_minion_are_counted(variant: Variant) {
    let (sender, mut events) = unbounded_channel();
    let watch = PresenceWatch::new(
        |said| (said == b"proof of web1").then(|| id("web1")),
        move |event| {
            let _ = sender.send(event);
        },
    );
    let unproven = watch.unproven();
    let options = PublishPortOptions {
        presence: Some(watch),
        ..PublishPortOptions::default()
    };
    let port = variant.publish_port(&loopback(), options).unwrap();
    let begun = unproven.none_since().unwrap();
    let proven = subscribed(variant, &port, showing("web1")).await;
    wait_until(&mut events, PresenceEvent::Here(id("web1"))).await;
    assert!(unproven.none_since().unwrap() > begun);
    let silent = subscribed(variant, &port, minion("web2")).await;
    let until = |is_none: bool| {
        let unproven = Arc::clone(&unproven);
        timeout(SOON, async move {
            while unproven.none_since().is_some() != is_none {
                tokio::task::yield_now().await;
            }
        })
    };
    until(false).await.unwrap();
    drop(silent);
    until(true).await.unwrap();
    drop(proven);
    wait_until(&mut events, PresenceEvent::Gone(id("web1"))).await;
    assert!(unproven.none_since().is_some());
}

pub(super) async fn who_proves_nothing_has_no_presence(variant: Variant) {
    let (port, mut events) = watching(variant);
    let silent = subscribed(variant, &port, minion("web1")).await;
    let liar = subscribed(variant, &port, saying("web1", "halite/pulse/web1")).await;
    drop((silent, liar));
    let _other = subscribed(variant, &port, showing("db1")).await;
    assert_eq!(event(&mut events).await, PresenceEvent::Here(id("db1")));
}
