//! The guarantees for messages between the masters of a cluster, over direct links
//! and over a bus.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod bus;
mod engines;
mod place;

use std::time::Duration;

use halite_mesh::PeerId;

use self::place::{Carrier, Heard, LONG, POISON, Place, name};

/// A scenario on both carriers.
macro_rules! on_each {
    ($($scenario:ident)*) => {
        mod direct {
            $(#[tokio::test]
            async fn $scenario() {
                super::$scenario(super::Carrier::Direct).await;
            })*
        }
        mod nats {
            $(#[tokio::test]
            async fn $scenario() {
                if let Some(carrier) = super::Carrier::nats() {
                    super::$scenario(carrier).await;
                }
            })*
        }
    };
}

on_each! {
    all_hear_all_in_order_and_once
    who_was_away_is_told_what_it_has_missed
    a_copy_is_what_a_peer_has_handled
    who_is_removed_hears_nothing_more
    another_cluster_is_none_of_ours
    a_message_that_cannot_be_handled_holds_up_no_other
}

async fn all_hear_all_in_order_and_once(carrier: Carrier) {
    let place = Place::new(carrier, 3);
    let mut masters = place.begin_all("c").await;
    for round in 0..100u8 {
        for master in &masters {
            master.mesh.tell(&[round]);
        }
    }
    // Larger than what an engine takes at once.
    let large: Vec<u8> = (0..3_000_000u32).map(|n| n.to_le_bytes()[1]).collect();
    let number = masters[0].mesh.tell(&large).unwrap();
    let only = PeerId::parse(&name(2)).unwrap();
    masters[0].mesh.tell_one(&only, b"for one").unwrap();
    assert!(masters[0].mesh.acknowledged(number + 1, LONG).await);
    for (n, master) in masters.iter_mut().enumerate() {
        let mut next = [0u8; 3];
        let others = 200 + usize::from(n != 0) + usize::from(n == 2);
        for _ in 0..others {
            let (peer, message) = master.next_told().await;
            let of = (0..3).find(|of| name(*of) == peer).unwrap();
            assert_ne!(of, n);
            match message.len() {
                1 => {
                    assert_eq!(message, [next[of]]);
                    next[of] += 1;
                }
                7 => assert_eq!((of, n, next[0]), (0, 2, 100)),
                _ => assert_eq!((of, next[0], message == large), (0, 100, true)),
            }
        }
        assert!(master.heard.try_recv().is_err());
    }
}

async fn who_was_away_is_told_what_it_has_missed(carrier: Carrier) {
    let place = Place::new(carrier, 2);
    let mut masters = place.begin_all("c").await;
    let number = masters[0].mesh.tell(b"before").unwrap();
    assert!(masters[0].mesh.acknowledged(number, LONG).await);
    let mut away = masters.pop().unwrap();
    assert_eq!(away.next_told().await.1, b"before");
    place.wait_written(1, number).await;
    away.stop().await;
    masters[0].wait_for(Heard::Down(name(1))).await;
    masters[0].mesh.tell(b"one");
    let somebody = PeerId::parse("somebody-else").unwrap();
    masters[0].mesh.tell_one(&somebody, b"not for it");
    masters[0].mesh.tell(b"two");
    tokio::time::sleep(Duration::from_millis(300)).await;
    let mut back = place.begin(1, 9, "c");
    back.mesh.tell(b"of a new life");
    for wanted in [&b"one"[..], b"two"] {
        let (message, age) = back.next_aged().await;
        assert_eq!(message, wanted);
        assert!(age >= Duration::from_millis(250) && age < LONG, "{age:?}");
    }
    assert_eq!(masters[0].next_told().await.1, b"of a new life");
}

async fn a_copy_is_what_a_peer_has_handled(carrier: Carrier) {
    let place = Place::new(carrier, 2);
    let mut masters = place.begin_all("c").await;
    let slow = &masters[1];
    slow.hold();
    let number = masters[0].mesh.tell(b"a result").unwrap();
    assert!(!masters[0].mesh.copied(number, Duration::from_secs(1)).await);
    slow.let_go();
    assert!(masters[0].mesh.copied(number, LONG).await);
    masters.pop().unwrap().stop().await;
    masters[0].wait_for(Heard::Down(name(1))).await;
    let number = masters[0].mesh.tell(b"of which nobody hears").unwrap();
    assert!(!masters[0].mesh.copied(number, LONG).await);
}

async fn who_is_removed_hears_nothing_more(carrier: Carrier) {
    let place = Place::new(carrier, 3);
    let mut masters = place.begin_all("c").await;
    place.unpin(2);
    masters[0].wait_for(Heard::Down(name(2))).await;
    masters[1].wait_for(Heard::Down(name(2))).await;
    let number = masters[0].mesh.tell(b"among us").unwrap();
    assert!(masters[0].mesh.acknowledged(number, LONG).await);
    masters[2].mesh.tell(b"not heard");
    assert_eq!(masters[1].next_told().await.1, b"among us");
    let mut removed = masters.pop().unwrap();
    while let Ok(heard) = removed.heard.try_recv() {
        assert!(!matches!(heard, Heard::Told(..)), "{heard:?}");
    }
    masters[0].mesh.tell(b"still here");
    assert_eq!(masters[1].next_told().await.1, b"still here");
}

async fn another_cluster_is_none_of_ours(carrier: Carrier) {
    let place = Place::new(carrier, 2);
    let mut one = place.begin(0, 1, "one");
    let mut other = place.begin(1, 1, "other");
    one.mesh.tell(b"in one");
    other.mesh.tell(b"in the other");
    assert!(!one.mesh.linked(Duration::from_secs(2)).await);
    for master in [&mut one, &mut other] {
        assert!(master.heard.try_recv().is_err());
    }
}

async fn a_message_that_cannot_be_handled_holds_up_no_other(carrier: Carrier) {
    let place = Place::new(carrier, 2);
    let mut masters = place.begin_all("c").await;
    for message in [&b"before"[..], POISON, b"behind"] {
        masters[0].mesh.tell(message);
    }
    let number = masters[0].mesh.tell(b"last").unwrap();
    assert!(masters[0].mesh.acknowledged(number, LONG).await);
    let mut heard = Vec::new();
    while let Ok(next) = masters[1].heard.try_recv() {
        heard.push(next);
    }
    let told = |message: &[u8]| Heard::Told(name(0), message.to_vec());
    assert_eq!(
        heard,
        [
            told(b"before"),
            Heard::Missed(name(0)),
            told(b"behind"),
            told(b"last")
        ]
    );
}
