//! Two machines with one id and one key.

use std::time::Duration;

use halite_proto::request::{MinionRequest, RegisterResources, Replay, Replayed};
use halite_proto::returns::JobReturn;
use halite_proto::{Map, Nonce, Value};
use halite_transport::fleet::{Requester, RequesterOptions};
use tokio::time::{Instant, sleep};

use crate::support::{Master, Minion, SOON, wait_event};

/// What a process of a minion is told of others.
async fn others(minion: &Minion, process: &Nonce) -> Vec<String> {
    let process = Some(process.clone());
    let answer = minion.ask(MinionRequest::Replay(Replay { process })).await;
    Replayed::from_value(answer).others
}

#[tokio::test]
async fn two_processes_of_one_key_are_told_of_each_other_and_the_admin_of_both() {
    let master = Master::start("");
    let mut events = master.events().await;
    let minion = Minion::signed_in(&master, "web1").await;
    let [one, other] = [1, 2].map(|n| Nonce::from_random([n; 16]));
    let mut told = Vec::new();
    let deadline = Instant::now() + SOON;
    while told.len() < 2 {
        told.clear();
        for process in [&one, &other] {
            told.extend(others(&minion, process).await);
        }
        assert!(Instant::now() < deadline, "{told:?}");
        sleep(Duration::from_millis(500)).await;
    }
    assert_eq!(told, ["127.0.0.1", "127.0.0.1"]);
    let event = wait_event(&mut events, "salt/minion/web1/cloned").await;
    assert_eq!(event.get("id"), Some(&"web1".into()));
    assert_eq!(
        event.get("addresses"),
        Some(&Value::List(vec!["127.0.0.1".into()]))
    );
    // Whoever waits for it is told as well.
    let standing = master.standing("web1").await;
    assert_eq!(standing.clones, ["127.0.0.1", "127.0.0.1"]);
}

#[tokio::test]
async fn a_minion_of_salt_whose_jobs_come_back_twice_from_two_addresses_is_told_of() {
    let master = Master::start("");
    let mut events = master.events().await;
    let mut machines = Vec::new();
    for last in [1, 9] {
        let mut minion = Minion::signed_in(&master, "web1").await;
        let options = RequesterOptions {
            source: Some(([127, 0, 0, last], 0).into()),
            ..RequesterOptions::default()
        };
        minion.client = Requester::connect(master.requests.clone(), options);
        machines.push(minion);
    }
    // Also by what they return for a resource of theirs: it is the minion that
    // is two machines.
    let resources = Map::from([("dummy", Value::List(vec!["switch1".into()]))]);
    let registered = RegisterResources {
        resources,
        resource_grains: Default::default(),
    };
    machines[0]
        .ask(MinionRequest::RegisterResources(registered))
        .await;
    for n in 0..3 {
        let jid = format!("2026112014184193974{n}");
        for minion in &machines {
            let mut returned = Map::from([
                ("jid", Value::from(jid.as_str())),
                ("id", "web1".into()),
                ("fun", "test.ping".into()),
                ("fun_args", Value::List(Vec::new())),
                ("return", true.into()),
            ]);
            if n == 0 {
                returned.insert("resource_id", "switch1");
            }
            let job = JobReturn::from_map(returned).unwrap();
            minion.ask(MinionRequest::Return(Box::new(job))).await;
        }
    }
    let event = wait_event(&mut events, "salt/minion/web1/cloned").await;
    let addresses = ["127.0.0.1", "127.0.0.9"].map(Value::from);
    assert_eq!(event.get("addresses"), Some(&Value::List(addresses.into())));
}
