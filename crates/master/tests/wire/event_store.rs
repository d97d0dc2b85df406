//! `event_return: store` with a database that dies: the master says so, and all events
//! are there in order when it is back.

use std::net::{SocketAddr, TcpListener};
use std::time::{Duration, Instant};

use halite_proto::{Map, Value};
use halite_test_services::{Postgres, Wanted};
use halite_test_support::http;
use halite_transport::ipc::EventSubscriber;

use crate::away_whole_store::publish_listening;
use crate::shared_store::accepted;
use crate::store_runners::run;
use crate::support::{Master, SOON};

/// Events that are fired before the database dies, and as many while it is away.
const EVENTS: usize = 5;

/// An address where nobody listens.
fn free_address() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.61:0").unwrap();
    listener.local_addr().unwrap()
}

async fn fire(master: &Master, events: &mut EventSubscriber, number: usize) {
    let event = Map::from([("tag", Value::from(format!("my/{number}")))]);
    let (sent, success) = run(master, events, "event.send", event).await;
    assert!(success, "{sent:?}");
}

/// What the master says about its databases of events: the one that there is.
async fn status(master: &Master, events: &mut EventSubscriber) -> Value {
    let (status, _) = run(master, events, "store.status", Map::new()).await;
    let told = status.get("events").and_then(Value::as_list).unwrap();
    assert_eq!(told.len(), 1, "{status:?}");
    told[0].clone()
}

/// Waits until a line is on the page of metrics.
async fn has_metric(at: SocketAddr, line: &str) {
    let deadline = Instant::now() + SOON;
    loop {
        let page = tokio::task::spawn_blocking(move || http::ask(at, "GET", "/metrics", &[], ""));
        let page = page.await.unwrap().unwrap();
        if page.lines().any(|shown| shown == line) {
            return;
        }
        assert!(Instant::now() < deadline, "no {line}: {page}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// The events of the test that are stored, in their order.
fn stored(postgres: &Postgres) -> Vec<String> {
    let ask = "select tag from salt_events where tag like 'my/%' order by id";
    let found = postgres.sql("salt", ask).unwrap_or_default();
    found.lines().map(str::to_owned).collect()
}

async fn wait_until_stored(postgres: &Postgres, count: usize) {
    let wanted: Vec<String> = (0..count).map(|number| format!("my/{number}")).collect();
    let deadline = Instant::now() + SOON;
    loop {
        let found = stored(postgres);
        if found.len() >= count || Instant::now() > deadline {
            assert_eq!(found, wanted);
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn events_wait_for_their_database_and_the_master_says_so() {
    let Some(postgres) = Postgres::for_test(&Wanted::default()) else {
        return;
    };
    let metrics = free_address();
    let options = format!(
        "store: {}\nevent_return: store\nworker_threads: 4\n\
         metrics: {{enabled: True, exporter: prometheus, \
         prometheus: {{host: {}, port: {}}}}}",
        postgres.url("salt"),
        metrics.ip(),
        metrics.port()
    );
    let master = Master::start(&options);
    accepted(&master, &master, "web1").await;
    let mut events = master.events().await;
    for number in 0..EVENTS {
        fire(&master, &mut events, number).await;
    }
    wait_until_stored(&postgres, EVENTS).await;
    let told = status(&master, &mut events).await;
    assert_eq!(told.get("available"), Some(&true.into()), "{told:?}");
    has_metric(metrics, "halite_store_available{role=\"events\"} 1.0").await;

    postgres.server.kill();
    for number in EVENTS..2 * EVENTS {
        fire(&master, &mut events, number).await;
    }
    let told = status(&master, &mut events).await;
    assert_eq!(told.get("available"), Some(&false.into()), "{told:?}");
    assert!(told.get("away_since").is_some() && told.get("reason").is_some());
    has_metric(metrics, "halite_store_available{role=\"events\"} 0.0").await;
    let deadline = Instant::now() + SOON;
    loop {
        let (_, _, trouble) = publish_listening(&master, "*", "glob").await;
        let trouble = trouble.unwrap();
        assert!(trouble.contains(", events) has been"), "{trouble}");
        // They are stored on a thread of their own.
        if trouble.contains(" batches of events wait on this master's disk") {
            break;
        }
        assert!(Instant::now() < deadline, "{trouble}");
    }

    postgres.server.start().unwrap();
    wait_until_stored(&postgres, 2 * EVENTS).await;
    master.stop().await;
}
