//! The cost of strangers for others.

use std::fs;
use std::net::TcpListener;
use std::time::Duration;

use halite_crypto::{PrivateKey, SigAlgo, random_bytes};
use halite_master::limits::{
    LOGIN_THREADS_PER_ORIGIN_MAX, REFUSALS_PER_ORIGIN_MAX, SIGN_IN_BYTES_MAX, SLOW_ANSWERS_MAX,
};
use halite_proto::auth::{AuthAnswer, AuthRefusal, AuthReply, AuthRequest};
use halite_proto::clear::ComparisonRequest;
use halite_proto::envelope::RequestEnvelope;
use halite_proto::msgpack::pack_wire;
use halite_proto::{Map, MinionId, Nonce, Refusal, Value};

use tokio::time::{sleep, timeout};

use crate::stranger::Stranger;
use crate::support::{Master, Minion, fixture, now};

/// A sign-in whose envelope is written in an order that no honest peer uses.
fn sign_in_backwards(like: &AuthRequest, number: usize) -> Vec<u8> {
    let request = AuthRequest {
        id: MinionId::parse(format!("x{}", number % 10)).unwrap(),
        nonce: Some(Nonce::from_random(random_bytes())),
        ..like.clone()
    };
    let envelope = Map::from([
        ("version", Value::from(3)),
        ("load", request.to_map().into()),
        ("enc", "clear".into()),
    ]);
    pack_wire(&envelope.into()).unwrap()
}

/// However a sign-in is written, it waits among sign-ins.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_burst_of_oddly_written_sign_ins_holds_up_nobody_else() {
    const BURST: usize = 1_500;
    let master = Master::start("");
    let like = Minion::new(&master, "x").auth_request();
    let ping = || Map::from([("cmd", "ping")]);
    let mut stranger = Stranger::connect(&master.requests, [127, 0, 0, 9], "DEALER").await;
    stranger.send_all(&[sign_in_backwards(&like, 0)]).await;
    let answer_bytes = stranger.answer().await.len();
    let burst: Vec<_> = (0..BURST).map(|n| sign_in_backwards(&like, n)).collect();
    stranger.send_all(&burst).await;
    assert_eq!(master.ask_clear(ping()).await, ping().into());
    let answered = stranger.unread() / answer_bytes;
    assert!(answered < BURST / 2, "{answered} sign-ins came first");
    master.stop().await;
}

/// A sign-in with the stranger's key.
fn sign_in(like: &AuthRequest, id: &str) -> Vec<u8> {
    let request = AuthRequest {
        id: MinionId::parse(id).unwrap(),
        nonce: Some(Nonce::from_random(random_bytes())),
        ..like.clone()
    };
    RequestEnvelope::clear(request.to_map()).encode().unwrap()
}

/// A minion that signs in waits behind one request of each address, not behind
/// all of one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sign_ins_of_one_address_hold_up_those_of_no_other() {
    const BURST: usize = 1_500;
    let master = Master::start("");
    let mut minion = Minion::signed_in(&master, "web1").await;
    let like = Minion::new(&master, "x").auth_request();
    let mut stranger = Stranger::connect(&master.requests, [127, 0, 0, 9], "DEALER").await;
    stranger.send_all(&[sign_in(&like, "x0")]).await;
    let answer_bytes = stranger.answer().await.len();
    let burst: Vec<_> = (0..BURST)
        .map(|n| sign_in(&like, &format!("x{}", n % 5)))
        .collect();
    stranger.send_all(&burst).await;
    minion.sign_in().await;
    let answered = stranger.unread() / answer_bytes;
    assert!(answered < BURST / 2, "{answered} sign-ins came first");
    master.stop().await;
}

/// A refusal is signed. One address gets so many of them a minute; nobody else
/// gets fewer for it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn refused_sign_ins_of_one_address_are_answered_a_bounded_number_of_times() {
    let master = Master::start("");
    let minion = Minion::signed_in(&master, "web1").await;
    let other = Minion::with_key(&master, "web1", "other.pem").auth_request();
    let mut stranger = Stranger::connect(&master.requests, [127, 0, 0, 9], "DEALER").await;
    stranger.send_all(&[sign_in(&other, "web1")]).await;
    let answer_bytes = stranger.answer().await.len();
    let burst: Vec<_> = (0..500).map(|_| sign_in(&other, "web1")).collect();
    stranger.send_all(&burst).await;
    let mut second = Stranger::connect(&master.requests, [127, 0, 0, 8], "DEALER").await;
    second.send_all(&[sign_in(&other, "web1")]).await;
    second.answer().await;
    // What waits until all of these are through is behind them in their turn.
    let last = sign_in(&minion.auth_request(), "web2");
    for _ in 0..3 {
        stranger.send_all(std::slice::from_ref(&last)).await;
        stranger.answer().await;
    }
    sleep(Duration::from_millis(500)).await;
    let answered = stranger.unread() / answer_bytes;
    assert!(
        answered <= REFUSALS_PER_ORIGIN_MAX,
        "{answered} were answered"
    );
    master.stop().await;
}

/// A question of another master that was recorded is not answered again, and
/// takes no turn from the other master.
#[tokio::test]
async fn a_question_of_another_master_is_answered_once() {
    let master = Master::start("");
    let key = PrivateKey::from_pem(&fs::read(fixture("master.pem")).unwrap(), None).unwrap();
    let question = || {
        let (nonce, ts) = (Nonce::from_random(random_bytes()), now());
        let signed = ComparisonRequest::signed(&nonce, ts, None);
        let sig = key.sign(SigAlgo::Pkcs1v15Sha224, &signed).unwrap();
        ComparisonRequest {
            nonce,
            ts,
            promotion: None,
            sig,
        }
        .to_map()
    };
    let is_answered = async |question: Map| master.ask_clear(question).await.get("data").is_some();
    let first = question();
    assert!(is_answered(first.clone()).await);
    // After the pause between two answers.
    sleep(Duration::from_millis(2_100)).await;
    assert!(!is_answered(first).await);
    assert!(is_answered(question()).await);
    master.stop().await;
}

/// One with more in it than is looked at beforehand is decoded among all other
/// requests, and answered like every sign-in.
#[tokio::test]
async fn a_sign_in_with_many_grains_is_handed_to_its_lane() {
    let master = Master::start("");
    let mut minion = Minion::new(&master, "web1");
    let grains = (0..300).map(|n| (Value::from(format!("grain{n}")), Value::from(n)));
    let request = AuthRequest {
        autosign_grains: Some(grains.collect()),
        ..minion.auth_request()
    };
    let reply = minion.sign_in_with(request).await;
    assert!(
        matches!(reply, AuthReply::Refused(AuthRefusal::Pending, _)),
        "{reply:?}"
    );
    master.stop().await;
}

/// A server that is asked about passwords and never answers is waited for by few
/// threads of each address.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slow_logins_of_many_addresses_hold_up_nobody_elses() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", silent.local_addr().unwrap());
    let dir = tempfile::TempDir::new().unwrap();
    let passwords = dir.path().join("passwords");
    fs::write(&passwords, "bob:right\n").unwrap();
    let options = format!(
        "external_auth:\n  rest: {{^url: '{url}', bob: ['.*']}}\n  \
         file: {{^filename: {}, bob: ['.*']}}\n",
        passwords.display()
    );
    let master = Master::start_in(dir, &options);
    let login = |eauth: &str| {
        Map::from([
            ("cmd", "mk_token"),
            ("eauth", eauth),
            ("username", "bob"),
            ("password", "right"),
        ])
    };
    let slow = RequestEnvelope::clear(login("rest")).encode().unwrap();
    let mut strangers = Vec::new();
    for n in 0..15 {
        let from = [127, 0, 0, 30 + n];
        let mut stranger = Stranger::connect(&master.requests, from, "DEALER").await;
        stranger.send_all(&vec![slow.clone(); 8]).await;
        strangers.push(stranger);
    }
    // All of them have begun when this many wait for the server.
    silent.set_nonblocking(true).unwrap();
    let mut waiting = Vec::new();
    while waiting.len() < 15 * LOGIN_THREADS_PER_ORIGIN_MAX {
        match silent.accept() {
            Ok(connection) => waiting.push(connection),
            Err(_) => sleep(Duration::from_millis(20)).await,
        }
    }
    let answer = timeout(Duration::from_secs(5), master.ask_clear(login("file")));
    let answer = answer.await.unwrap();
    assert!(answer.get("token").is_some(), "{answer:?}");
    drop((waiting, strangers, silent));
    master.stop().await;
}

/// One address that guesses tokens and passwords, as fast as it can, keeps
/// nobody at another address from logging in.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn guesses_from_one_address_keep_nobody_else_from_logging_in() {
    let dir = tempfile::TempDir::new().unwrap();
    let passwords = dir.path().join("passwords");
    fs::write(&passwords, "bob:right\n").unwrap();
    let options = format!(
        "external_auth: {{file: {{^filename: {}, bob: ['.*']}}}}\n",
        passwords.display()
    );
    let master = Master::start_in(dir, &options);
    let login = |password: &str| {
        Map::from([
            ("cmd", Value::from("mk_token")),
            ("eauth", "file".into()),
            ("username", "bob".into()),
            ("password", password.into()),
        ])
    };
    let token = Map::from([
        ("cmd", "runner"),
        ("fun", "a.b"),
        ("token", "0123456789abcdef"),
    ]);
    let packed = |load: Map| RequestEnvelope::clear(load).encode().unwrap();
    let (token, wrong) = (packed(token), packed(login("wrong")));
    let burst: Vec<_> = (0..SLOW_ANSWERS_MAX)
        .flat_map(|_| [token.clone(), wrong.clone()])
        .collect();
    let mut stranger = Stranger::connect(&master.requests, [127, 0, 0, 9], "DEALER").await;
    stranger.send_all(&burst).await;
    // Its refusals are delayed: they hold their places meanwhile. Who has none
    // left gets no answer.
    stranger.answer().await;
    for n in 0..5 {
        stranger.send_all(&burst).await;
        for _ in 0..4 {
            let answer = timeout(Duration::from_secs(10), master.ask_clear(login("right")));
            let answer = answer
                .await
                .unwrap_or_else(|_| panic!("no answer, round {n}"));
            assert!(answer.get("token").is_some(), "{answer:?}");
        }
    }
    master.stop().await;
}

/// A sign-in that is larger than any is refused before it is decoded, and takes no room in
/// the queue.
#[tokio::test]
async fn a_sign_in_that_is_too_large_is_refused_as_it_arrives() {
    let master = Master::start("");
    let minion = Minion::new(&master, "web1");
    let asked = async |bytes: usize| {
        let grain = (Value::from("grain"), Value::from("x".repeat(bytes)));
        let request = AuthRequest {
            autosign_grains: Some([grain].into_iter().collect()),
            ..minion.auth_request()
        };
        minion.send_auth(&request, 3).await
    };
    let answer = asked(SIGN_IN_BYTES_MAX / 2).await;
    assert!(matches!(answer, AuthAnswer::Signed(_)), "{answer:?}");
    let answer = asked(SIGN_IN_BYTES_MAX).await;
    assert!(
        matches!(answer, AuthAnswer::Refused(Refusal::BadLoad)),
        "{answer:?}"
    );
    master.stop().await;
}
