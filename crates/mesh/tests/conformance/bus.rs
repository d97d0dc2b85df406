//! Faults that only a bus has: it is away, loses its data, or lets strangers in.

use std::time::Duration;

use async_nats::{Client, ConnectOptions};
use futures_util::StreamExt as _;
use tokio::time::timeout;

use crate::place::{Carrier, Heard, LONG, Place, name};

/// Somebody who has what it takes to sign in at the engine, and no key of a master.
async fn stranger(carrier: &Carrier) -> Client {
    let engine = carrier.engine();
    let mut options = ConnectOptions::new();
    if let Some((user, password)) = engine.login() {
        options = options.user_and_password(user.to_owned(), password.to_owned());
    }
    if let Some(tls) = &engine.tls {
        options = options.add_root_certificates(tls.ca.clone());
    }
    options.connect(engine.address.to_string()).await.unwrap()
}

#[tokio::test]
async fn what_is_told_while_the_engine_is_dead_is_heard_once_and_in_order() {
    let Some(carrier) = Carrier::nats() else {
        return;
    };
    let place = Place::new(carrier, 2);
    let mut masters = place.begin_all("c").await;
    let before = masters[0].mesh.tell(&[0]).unwrap();
    assert!(masters[0].mesh.acknowledged(before, LONG).await);
    let server = &place.carrier.engine().server;
    for round in 1..=3u8 {
        server.kill();
        masters[0].mesh.tell(&[round]);
        masters[1].wait_for(Heard::Down(name(0))).await;
        assert!(!masters[0].mesh.bus().unwrap().is_connected);
        assert!(!masters[0].mesh.copied(before + 1, Duration::ZERO).await || round > 1);
        server.start().unwrap();
        assert_eq!(masters[1].next_told().await.1, [round]);
        assert!(masters[0].mesh.linked(LONG).await);
    }
    let last = masters[0].mesh.tell(b"last").unwrap();
    assert!(masters[0].mesh.acknowledged(last, LONG).await);
    assert_eq!(masters[1].next_told().await.1, b"last");
}

#[tokio::test]
async fn masters_start_without_an_engine_and_meet_when_it_is_there() {
    let Some(carrier) = Carrier::nats() else {
        return;
    };
    carrier.engine().server.kill();
    let place = Place::new(carrier, 2);
    let [one, mut other] = [0, 1].map(|n| place.begin(n, 1, "c"));
    one.mesh.tell(b"alone");
    assert!(!one.mesh.linked(Duration::from_secs(1)).await);
    place.carrier.engine().server.start().unwrap();
    assert_eq!(other.next_told().await.1, b"alone");
}

#[tokio::test]
async fn what_the_engine_has_lost_is_told_again() {
    let Some(carrier) = Carrier::nats() else {
        return;
    };
    let place = Place::new(carrier, 2);
    let mut masters = place.begin_all("c").await;
    let before = masters[0].mesh.tell(b"before").unwrap();
    assert!(masters[0].mesh.acknowledged(before, LONG).await);
    place.wait_written(1, before).await;
    masters.pop().unwrap().stop().await;
    masters[0].wait_for(Heard::Down(name(1))).await;
    masters[0].mesh.tell(b"lost");
    let engine = async_nats::jetstream::new(stranger(&place.carrier).await);
    // It is there, and then everything is gone.
    let kept = async {
        loop {
            if let Ok(mut stream) = engine.get_stream("HALITE_c").await
                && stream.info().await.unwrap().state.messages >= 2
            {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(LONG, kept).await.unwrap();
    engine.delete_stream("HALITE_c").await.unwrap();
    let mut back = place.begin(1, 9, "c");
    let told = masters[0].mesh.tell(b"told").unwrap();
    for wanted in [&b"lost"[..], b"told"] {
        assert_eq!(back.next_told().await.1, wanted);
    }
    assert!(masters[0].mesh.acknowledged(told, LONG).await);
}

#[tokio::test]
async fn who_may_use_the_engine_reads_forges_and_repeats_nothing() {
    let Some(carrier) = Carrier::nats() else {
        return;
    };
    let place = Place::new(carrier, 2);
    let stranger = stranger(&place.carrier).await;
    let mut all = stranger.subscribe("halite.c.>").await.unwrap();
    stranger.flush().await.unwrap();
    let mut masters = place.begin_all("c").await;
    let told = masters[0].mesh.tell(b"a secret of ours").unwrap();
    assert!(masters[0].mesh.acknowledged(told, LONG).await);
    assert_eq!(masters[1].next_told().await.1, b"a secret of ours");
    // All that went over the engine comes again, as it was and changed.
    let mut seen = Vec::new();
    while let Ok(Some(message)) = timeout(Duration::from_millis(200), all.next()).await {
        let says = |text: &[u8]| message.payload.windows(text.len()).any(|part| part == text);
        assert!(!says(b"a secret of ours"));
        seen.push((message.subject, message.payload));
        if seen.len() > 400 {
            break;
        }
    }
    let is_told = |subject: &str| subject.contains(".told.");
    assert!(seen.iter().any(|(subject, _)| is_told(subject)));
    drop(all);
    for (subject, payload) in seen.iter().filter(|(subject, _)| is_told(subject)) {
        let mut changed = payload.to_vec();
        // The number of its last message, and a byte of what it says.
        for at in [32, payload.len() - 70] {
            changed[at] ^= 3;
            stranger
                .publish(subject.clone(), changed.clone().into())
                .await
                .unwrap();
        }
    }
    for (subject, payload) in &seen {
        stranger
            .publish(subject.clone(), payload.clone())
            .await
            .unwrap();
    }
    let junk = "halite.c.told.127_2e0_2e0_2e1";
    stranger
        .publish(junk, vec![1; 900_000].into())
        .await
        .unwrap();
    stranger.flush().await.unwrap();
    let last = masters[0].mesh.tell(b"and one more").unwrap();
    assert!(masters[0].mesh.linked(LONG).await);
    assert_eq!(masters[1].next_told().await.1, b"and one more");
    assert!(masters[0].mesh.copied(last, LONG).await);
    assert!(masters[0].heard.try_recv().is_err());
}

#[tokio::test]
async fn a_register_is_set_by_whoever_knows_its_number() {
    let Some(carrier) = Carrier::nats() else {
        return;
    };
    let place = Place::new(carrier, 2);
    let masters = place.begin_all("c").await;
    let [one, other] = [&masters[0].mesh, &masters[1].mesh];
    // Nobody has made its place before.
    let begun = async {
        loop {
            match one.register().await {
                Ok(register) => return register,
                Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
            }
        }
    };
    let begun = timeout(LONG, begun).await.unwrap();
    assert_eq!((begun.serial, begun.value), (0, Vec::new()));
    let first = one.set_register(0, b"one").await.unwrap().unwrap();
    assert_eq!(other.set_register(0, b"other").await.unwrap(), None);
    let read = other.register().await.unwrap();
    assert_eq!((read.serial, read.value), (first, b"one".to_vec()));
    let second = other.set_register(first, b"other").await.unwrap().unwrap();
    assert!(second > first);
    assert_eq!(one.set_register(first, b"one").await.unwrap(), None);
    assert_eq!(one.register().await.unwrap().value, b"other");
    place.carrier.engine().server.kill();
    assert!(one.register().await.is_err());
}
