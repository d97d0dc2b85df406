//! A master on a store that fails, stalls and answers late: it keeps what it has
//! promised, and reports what it cannot do.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use halite_proto::clear::PublishReply;
use halite_proto::publish::FunSpec;
use halite_proto::request::{MineGet, MineStore, MinionRequest};
use halite_proto::returns::{JobReturn, ReturnJid};
use halite_proto::{Jid, Map, MinionId, Value};
use halite_store::Faults;
use halite_transport::fleet::{Subscriber, SubscriberEvent};
use halite_transport::ipc::EventSubscriber;

use crate::jobs::{next, open, publish, published, subscriber};
use crate::logged;
use crate::modules::returned;
use crate::support::{Master, Minion, SOON};

const MINIONS: [&str; 3] = ["web1", "web2", "web3"];

const JOBS: usize = 20;

/// A minion of Salt tries less often; each try fails with a probability of at
/// most three in eight for each of its operations.
const TRIES_MAX: usize = 200;

const PAUSE: Duration = Duration::from_millis(5);

/// Faults that are off, so that a master can start with them.
fn faults(seed: u64) -> Faults {
    let faults = Faults::new(seed, 2, PAUSE);
    faults.set(false);
    faults
}

/// A return of a job.
pub(crate) fn return_of(jid: &Jid, text: &str) -> MinionRequest {
    let fun = FunSpec::from("test.ping");
    let jid = ReturnJid::Jid(jid.clone());
    MinionRequest::Return(Box::new(JobReturn::new(
        jid,
        fun,
        Vec::new(),
        text.into(),
        0,
    )))
}

/// Returns a job until it is acknowledged, as minions do.
pub(crate) async fn give(minion: &Minion, jid: &Jid, text: &str) {
    for _ in 0..TRIES_MAX {
        match minion.ask(return_of(jid, text)).await {
            Value::Nil => return,
            refused => assert_eq!(refused, "".into()),
        }
    }
    panic!("{jid} is never acknowledged");
}

/// The next job that a minion reads from the wire.
pub(crate) async fn arrives(subscriber: &mut Subscriber, minion: &Minion) -> Jid {
    loop {
        if let SubscriberEvent::Publication(payload) = next(subscriber).await {
            let publication = halite_proto::publish::Publication::decode(&payload).unwrap();
            return open(minion.publish.as_ref().unwrap(), &publication)
                .unwrap()
                .jid;
        }
    }
}

/// How often each result was told on the event bus, up to the last job's.
async fn count_results(
    events: &mut EventSubscriber,
    expected: &BTreeSet<String>,
) -> BTreeMap<String, usize> {
    let mut told = BTreeMap::new();
    while told.len() < expected.len() {
        let event = tokio::time::timeout(SOON, events.next()).await;
        let event = event.expect("not all results are told").unwrap().unwrap();
        if expected.contains(event.tag()) {
            *told.entry(event.tag().to_owned()).or_default() += 1;
        }
    }
    told
}

/// Every command that was accepted reaches the minions, every result that was
/// acknowledged is there and told, and what is not kept is in the log.
#[tokio::test]
async fn no_command_and_no_result_is_lost() {
    logged::listen();
    for seed in 1..4 {
        let faults = faults(seed);
        let master = Master::start_with_faults(faults.clone());
        let mut minions = Vec::new();
        for id in MINIONS {
            minions.push(Minion::signed_in(&master, id).await);
        }
        let mut subscriber = subscriber(&master).await;
        published(&master, &mut subscriber).await;
        let mut events = master.events().await;
        faults.set(true);
        let mut jids = BTreeSet::new();
        let (mut tags, mut sent_again) = (BTreeSet::new(), BTreeSet::new());
        for _ in 0..JOBS {
            let reply = master.ask_clear(publish(&master, "*", "glob")).await;
            let reply = PublishReply::from_value(reply).unwrap();
            let PublishReply::Accepted {
                jid,
                minions: meant,
                ..
            } = reply
            else {
                panic!("{reply:?}");
            };
            assert_eq!(meant.len(), MINIONS.len());
            while arrives(&mut subscriber, &minions[0]).await != jid {}
            for minion in &minions {
                give(minion, &jid, &format!("{jid} of {}", minion.id)).await;
                tags.insert(format!("salt/job/{jid}/ret/{}", minion.id));
            }
            // Whose acknowledgement is lost sends it again.
            let again = &minions[jids.len() % MINIONS.len()];
            give(again, &jid, &format!("{jid} of {}", again.id)).await;
            sent_again.insert(format!("salt/job/{jid}/ret/{}", again.id));
            assert!(jids.insert(jid), "an id was given twice");
        }
        faults.set(false);
        let last = master.ask_clear(publish(&master, "*", "glob")).await;
        let PublishReply::Accepted { jid: last, .. } = PublishReply::from_value(last).unwrap()
        else {
            panic!("not accepted");
        };
        give(&minions[0], &last, "last").await;
        tags.insert(format!("salt/job/{last}/ret/{}", minions[0].id));
        for (tag, times) in count_results(&mut events, &tags).await {
            // What is stored and comes again while nobody can tell is told again.
            let times_max = if sent_again.contains(&tag) { 2 } else { 1 };
            assert!(times <= times_max, "{tag}: {times}");
        }
        let store = master.store().jobs;
        for jid in &jids {
            let returns = store.returns(jid).unwrap();
            let result = |(id, stored): (MinionId, halite_store::StoredReturn)| {
                assert_eq!(
                    stored.into_map().get("return"),
                    Some(&format!("{jid} of {id}").into())
                );
                id.to_string()
            };
            assert_eq!(returns.into_iter().map(result).collect::<Vec<_>>(), MINIONS);
            let targets = store
                .load(jid)
                .unwrap()
                .and_then(|mut load| load.remove("tgt"));
            assert!(
                targets == Some("*".into()) || !logged::with(jid.as_str()).is_empty(),
                "{jid} is not kept, and nobody was told"
            );
        }
        assert!(faults.failed() > 20, "only {} have failed", faults.failed());
        master.stop().await;
    }
    // Whose handler panics gets no answer, and all have got one.
    assert_eq!(logged::with("panicked"), [""; 0]);
}

/// A question gets the whole answer or an error, never a part.
#[tokio::test]
async fn an_answer_is_whole_or_an_error() {
    let faults = faults(5);
    let master = Master::start_with_faults(faults.clone());
    let web = Minion::signed_in(&master, "web1").await;
    let asker = Minion::signed_in(&master, "web2").await;
    let reply = master.ask_clear(publish(&master, "*", "glob")).await;
    let PublishReply::Accepted { jid, .. } = PublishReply::from_value(reply).unwrap() else {
        panic!("not accepted");
    };
    give(&web, &jid, "here").await;
    faults.set(true);
    let mine = Map::from([("address", "10.0.0.1")]);
    let mut is_kept = Value::from("");
    for _ in 0..TRIES_MAX {
        is_kept = web
            .ask(MinionRequest::Mine(MineStore {
                data: mine.clone(),
                clear: false,
            }))
            .await;
        if is_kept == true.into() {
            break;
        }
        assert_eq!(is_kept, "".into());
    }
    assert_eq!(is_kept, true.into());
    let whole = Value::from(Map::from([("web1", "10.0.0.1")]));
    let mut failed = [0, 0];
    for _ in 0..40 {
        let get = MineGet {
            tgt: "web1".into(),
            fun: "address".into(),
            tgt_type: Some("glob".to_owned()),
        };
        match asker.ask(MinionRequest::MineGet(get)).await {
            answer if answer == whole => {}
            refused => {
                assert_eq!(refused, "".into());
                failed[0] += 1;
            }
        }
        let why = match returned(&master, "jobs.lookup_jid", &[jid.as_str()], &[]).await {
            Ok(told) if told.get("success") == Some(&true.into()) => {
                let whole = Value::from(Map::from([("web1", "here")]));
                assert_eq!(told.get("return"), Some(&whole));
                continue;
            }
            Ok(told) => format!("{told:?}"),
            Err(refused) => format!("{refused:?}"),
        };
        assert!(why.contains("the faulty store"), "{why}");
        failed[1] += 1;
    }
    assert!(
        failed.iter().all(|times| (1..40).contains(times)),
        "{failed:?}"
    );
    master.stop().await;
}

/// While nothing comes back from the store, minions sign in: what they would
/// do instead is to knock again and again.
#[tokio::test]
async fn who_signs_in_does_not_wait_for_a_store_that_stands_still() {
    let faults = Faults::new(9, 1, SOON);
    faults.set(false);
    let master = Master::start_with_faults(faults.clone());
    let web = Minion::signed_in(&master, "web1").await;
    faults.set(true);
    let mut stuck = Vec::new();
    for number in 0..20 {
        let jid = Jid::parse(format!("2026010101010100{number:04}")).unwrap();
        let load = web.load(return_of(&jid, "late"));
        let (client, bytes) = (master.client(), web.envelope(&load));
        stuck.push(tokio::spawn(
            async move { client.request(bytes, SOON).await },
        ));
    }
    let second = Minion::signed_in(&master, "web2");
    tokio::time::timeout(SOON / 2, second).await.unwrap();
    faults.set(false);
    for request in stuck {
        request.abort();
    }
}
