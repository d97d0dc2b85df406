//! Realistic engines: with certificates, credentials, several servers, too little
//! room.

use std::time::Duration;

use async_nats::jetstream::stream::Config;
use async_nats::jetstream::{self, Context};
use halite_test_services::{Nats, Wanted};
use tokio::time::{sleep, timeout};

use crate::place::{Carrier, Heard, LONG, Place, name};

/// For how long an answer is waited for that is not to come.
const UNANSWERED: Duration = Duration::from_secs(6);

/// Both hear each other over an engine as it is wanted.
async fn they_hear_each_other(wanted: &Wanted) {
    let Some(carrier) = Carrier::nats_with(wanted) else {
        return;
    };
    let place = Place::new(carrier, 2);
    let mut masters = place.begin_all("c").await;
    let told = masters[0].mesh.tell(b"told").unwrap();
    assert!(masters[0].mesh.acknowledged(told, LONG).await);
    assert_eq!(masters[1].next_told().await.1, b"told");
}

#[tokio::test]
async fn an_engine_may_want_certificates_of_its_clients() {
    they_hear_each_other(&Wanted::default().tls().client_certificate()).await;
}

#[tokio::test]
async fn an_engine_may_want_a_file_of_credentials() {
    they_hear_each_other(&Wanted::default().credentials()).await;
}

/// Until something holds.
async fn until(mut holds: impl FnMut() -> bool) {
    let waited = async {
        while !holds() {
            sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(LONG, waited).await.unwrap();
}

#[tokio::test]
async fn an_engine_that_takes_too_little_at_once_is_shown() {
    let wanted = Wanted::default().config("max_payload: 16KB");
    let Some(carrier) = Carrier::nats_with(&wanted) else {
        return;
    };
    let place = Place::new(carrier, 2);
    let one = place.begin(0, 1, "c");
    let _other = place.begin(1, 2, "c");
    one.mesh.tell(b"told").unwrap();
    until(|| {
        let bus = one.mesh.bus().unwrap();
        bus.is_connected && !bus.is_storing
    })
    .await;
    assert!(!one.mesh.is_linked_to_all());
}

#[tokio::test]
async fn an_engine_with_small_messages_carries_large_ones() {
    let wanted = Wanted::default().config("max_payload: 40KB");
    let Some(carrier) = Carrier::nats_with(&wanted) else {
        return;
    };
    let place = Place::new(carrier, 2);
    let mut masters = place.begin_all("c").await;
    let large: Vec<u8> = (0..3_000_000u32).map(|n| n.to_le_bytes()[1]).collect();
    let told = masters[0].mesh.tell(&large).unwrap();
    assert!(masters[0].mesh.acknowledged(told, LONG).await);
    assert!(masters[1].next_told().await.1 == large);
}

#[tokio::test]
async fn an_engine_that_keeps_nothing_is_shown_until_it_does() {
    let Some(carrier) = Carrier::nats_with(&Wanted::default()) else {
        return;
    };
    let place = Place::new(carrier, 2);
    let engine = streams(&place.carrier.engines()[0]).await;
    let full = Config {
        name: "HALITE_c".to_owned(),
        subjects: vec!["halite.c.told.*".to_owned()],
        max_message_size: 8,
        ..Config::default()
    };
    engine.create_stream(full.clone()).await.unwrap();
    let mut masters = place.begin_all("c").await;
    assert!(masters[0].mesh.bus().unwrap().is_storing);
    // Who is linked hears it all the same, also if there is more of it than fits into
    // one piece.
    for told in [vec![1; 100], vec![2; 1_000_000], vec![3; 100]] {
        let number = masters[0].mesh.tell(&told).unwrap();
        assert!(masters[1].next_told().await.1 == told);
        assert!(masters[0].mesh.acknowledged(number, LONG).await);
    }
    let mut last = 3;
    while masters[0].mesh.bus().unwrap().is_storing && last < 200 {
        last = masters[0].mesh.tell(&[4; 100]).unwrap();
        assert!(masters[1].next_told().await.1 == [4; 100]);
        sleep(Duration::from_millis(10)).await;
    }
    assert!(!masters[0].mesh.bus().unwrap().is_storing);
    assert!(masters[0].mesh.bus().unwrap().is_connected);
    place.wait_written(1, last).await;
    masters.pop().unwrap().stop().await;
    masters[0].wait_for(Heard::Down(name(1))).await;
    let missed = masters[0].mesh.tell(b"longer than that").unwrap();
    let mut back = place.begin(1, 9, "c");
    let roomy = Config {
        max_message_size: -1,
        ..full
    };
    engine.update_stream(roomy).await.unwrap();
    assert_eq!(back.next_told().await.1, b"longer than that");
    until(|| masters[0].mesh.is_copied(missed)).await;
    until(|| masters[0].mesh.bus().unwrap().is_storing).await;
}

#[tokio::test]
async fn a_server_that_dies_is_made_up_for_by_the_others() {
    let Some(engines) = Nats::cluster_for_test(3, &Wanted::default()) else {
        return;
    };
    make_on_three(&engines[0], "HALITE_c", "halite.c.told.*").await;
    let place = Place::new(Carrier::Nats(engines), 2);
    let mut masters = place.begin_all("c").await;
    for (round, engine) in place.carrier.engines().iter().enumerate() {
        engine.server.kill();
        let told = [u8::try_from(round).unwrap()];
        let number = masters[0].mesh.tell(&told).unwrap();
        assert_eq!(masters[1].next_told().await.1, told);
        // The link may end by it, and whoever has heard it says so on the next.
        until(|| masters[0].mesh.is_copied(number)).await;
        engine.server.start().unwrap();
        is_whole(engine).await;
    }
    assert!(masters[1].heard.try_recv().is_err());
}

/// A stream on three servers that agree.
async fn make_on_three(engine: &Nats, name: &str, subject: &str) {
    let on_three = Config {
        name: name.to_owned(),
        subjects: vec![subject.to_owned()],
        num_replicas: 3,
        ..Config::default()
    };
    // They need a moment to agree on who leads.
    let engine = streams(engine).await;
    let made = async {
        while engine.create_stream(on_three.clone()).await.is_err() {
            sleep(Duration::from_millis(100)).await;
        }
    };
    timeout(LONG, made).await.unwrap();
}

#[tokio::test]
async fn without_most_of_its_servers_a_bus_carries_and_keeps_later() {
    let Some(engines) = Nats::cluster_for_test(3, &Wanted::default()) else {
        return;
    };
    make_on_three(&engines[0], "HALITE_c", "halite.c.told.*").await;
    make_on_three(&engines[0], "HALITE-LEASE_c", "halite.c.lease").await;
    let place = Place::new(Carrier::Nats(engines), 2);
    let mut masters = place.begin_all("c").await;
    let taken = masters[0].mesh.set_register(0, b"m0").await.unwrap();
    assert!(taken.is_some());
    for engine in &place.carrier.engines()[1..] {
        engine.server.kill();
    }
    let mut last = 0;
    while masters[0].mesh.bus().unwrap().is_storing {
        last = masters[0].mesh.tell(&[4; 100]).unwrap();
        assert!(masters[1].next_told().await.1 == [4; 100]);
        sleep(Duration::from_millis(200)).await;
    }
    assert!(masters[0].mesh.bus().unwrap().is_connected);
    // Nobody can say any more whose the register is.
    let set = masters[0].mesh.set_register(taken.unwrap(), b"m1");
    assert!(!matches!(timeout(UNANSWERED, set).await, Ok(Ok(Some(_)))));
    place.wait_written(1, last).await;
    masters.pop().unwrap().stop().await;
    masters[0].wait_for(Heard::Down(name(1))).await;
    let missed = masters[0].mesh.tell(b"meanwhile").unwrap();
    for engine in &place.carrier.engines()[1..] {
        engine.server.start().unwrap();
    }
    let mut back = place.begin(1, 9, "c");
    assert_eq!(back.next_told().await.1, b"meanwhile");
    until(|| masters[0].mesh.is_copied(missed)).await;
    // What was put there before has to be given up first.
    let is_stored = async {
        while !masters[0].mesh.bus().unwrap().is_storing {
            sleep(Duration::from_millis(100)).await;
        }
    };
    timeout(3 * LONG, is_stored).await.unwrap();
    // Its servers need a moment to agree on who leads.
    let register = async {
        loop {
            match masters[0].mesh.register().await {
                Ok(register) => return register,
                Err(_) => sleep(Duration::from_millis(100)).await,
            }
        }
    };
    let register = timeout(LONG, register).await.unwrap();
    assert!(register.serial >= taken.unwrap(), "{register:?}");
}

/// Waits until a server has caught up with the others.
async fn is_whole(engine: &Nats) {
    let engine = streams(engine).await;
    let caught_up = async {
        loop {
            if let Ok(mut stream) = engine.get_stream("HALITE_c").await
                && let Ok(info) = stream.info().await
                && let Some(cluster) = &info.cluster
                && cluster.leader.is_some()
                && cluster.replicas.iter().all(|of| of.current && !of.offline)
            {
                return;
            }
            sleep(Duration::from_millis(50)).await;
        }
    };
    timeout(LONG, caught_up).await.unwrap();
}

async fn streams(engine: &Nats) -> Context {
    let client = async_nats::connect(engine.address.to_string()).await;
    jetstream::new(client.unwrap())
}
