//! A master that gets more than it can serve: who waits behind whom, and who is told to
//! come again.

use std::time::Duration;

use halite_crypto::random_bytes;
use halite_master::limits::{COME_AGAIN_MAX, COME_AGAIN_MIN, REQUESTS_WAITING_MAX};
use halite_proto::auth::{AuthAnswer, AuthReply, AuthRequest};
use halite_proto::clear::PublishReply;
use halite_proto::envelope::RequestEnvelope;
use halite_proto::{Capabilities, ComeAgain, Jid, Map, MinionId, Nonce};
use halite_store::Faults;
use tokio::time::timeout;

use crate::faulty_store::{give, return_of};
use crate::jobs::publish;
use crate::stranger::Stranger;
use crate::support::{Master, Minion, SOON};

/// A sign-in like another one, under one of a few new names.
fn sign_in(like: &AuthRequest, number: usize, extra: Map) -> Vec<u8> {
    let request = AuthRequest {
        id: MinionId::parse(format!("x{}", number % 5)).unwrap(),
        nonce: Some(Nonce::from_random(random_bytes())),
        extra,
        ..like.clone()
    };
    RequestEnvelope::clear(request.to_map()).encode().unwrap()
}

/// Answers that have arrived at each, where one is so large.
fn answered(strangers: &mut [Stranger], answer_bytes: usize) -> usize {
    let unread = strangers.iter_mut().map(Stranger::unread);
    unread.sum::<usize>() / answer_bytes
}

/// Commands and returns have threads of their own.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sign_ins_of_many_addresses_hold_up_no_command_and_no_return() {
    const ADDRESSES: u8 = 40;
    const EACH: usize = 40;
    let master = Master::start("");
    let minion = Minion::signed_in(&master, "web1").await;
    let like = Minion::new(&master, "x").auth_request();
    let burst: Vec<_> = (0..EACH).map(|n| sign_in(&like, n, Map::new())).collect();
    let mut strangers = Vec::new();
    for n in 0..ADDRESSES {
        let from = [127, 0, 1, n + 1];
        strangers.push(Stranger::connect(&master.requests, from, "DEALER").await);
    }
    strangers[0].send_all(&burst[..1]).await;
    let answer_bytes = strangers[0].answer().await.len();
    for stranger in &mut strangers {
        stranger.send_all(&burst).await;
    }
    let reply = master.ask_clear(publish(&master, "web1", "glob")).await;
    let reply = PublishReply::from_value(reply).unwrap();
    let PublishReply::Accepted { jid, .. } = reply else {
        panic!("{reply:?}");
    };
    give(&minion, &jid, "done").await;
    let all = usize::from(ADDRESSES) * EACH;
    let first = answered(&mut strangers, answer_bytes);
    assert!(first < all / 2, "{first} of {all} sign-ins came first");
    master.stop().await;
}

/// However many minions wait for a store that is slow, a command that does not need it
/// waits for none of them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_of_minions_at_many_addresses_hold_up_no_command() {
    const ADDRESSES: usize = 60;
    const EACH: usize = 2;
    let faults = Faults::new(1, 1, Duration::from_millis(400));
    faults.set(false);
    let master = Master::start_with_faults(faults.clone());
    let minion = Minion::signed_in(&master, "web1").await;
    let mut strangers = Vec::new();
    for n in 0..ADDRESSES {
        let from = [127, 0, 1, u8::try_from(n).unwrap() + 1];
        strangers.push(Stranger::connect(&master.requests, from, "DEALER").await);
    }
    faults.set(true);
    for (n, stranger) in strangers.iter_mut().enumerate() {
        let request = |k: usize| {
            let jid = Jid::parse(format!("20260101000000{:06}", n * EACH + k)).unwrap();
            minion.envelope(&minion.load(return_of(&jid, "done")))
        };
        stranger
            .send_all(&(0..EACH).map(request).collect::<Vec<_>>())
            .await;
    }
    // The last one has had its first turn: all others have theirs behind them, too.
    let last = strangers.last_mut().unwrap();
    let answer_bytes = last.answer().await.len();
    let before = answered(&mut strangers, answer_bytes);
    let ping = Map::from([("cmd", "ping")]);
    assert_eq!(master.ask_clear(ping.clone()).await, ping.into());
    let meanwhile = answered(&mut strangers, answer_bytes);
    assert!(
        meanwhile < ADDRESSES / 2,
        "{meanwhile} of {ADDRESSES} came first, after {before}"
    );
    faults.set(false);
    master.stop().await;
}

/// One address sends more sign-ins than can be served in time. As a minion of ours it is
/// told when to come again, as one of Salt's it is not; others are served at once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_would_wait_too_long_and_understands_it_is_told_to_come_again() {
    let master = Master::start("auto_accept: True");
    let mut minion = Minion::new(&master, "web1");
    let like = Minion::new(&master, "x").auth_request();
    let ours = Capabilities::OURS.to_extra();
    let burst_of = |extra: &Map, count: usize| -> Vec<_> {
        (0..count)
            .map(|n| sign_in(&like, n, extra.clone()))
            .collect()
    };
    let mut salt = Stranger::connect(&master.requests, [127, 0, 1, 1], "DEALER").await;
    salt.send_all(&burst_of(&Map::new(), 200)).await;
    let mut herd = Stranger::connect(&master.requests, [127, 0, 1, 2], "DEALER").await;
    let burst = burst_of(&ours, REQUESTS_WAITING_MAX);
    let told = herd.answer_among(&burst, |answer| {
        matches!(AuthAnswer::decode(answer), Ok(AuthAnswer::ComeAgain(_)))
    });
    let told = timeout(SOON, told).await.unwrap();
    let Ok(AuthAnswer::ComeAgain(ComeAgain { wait, appointment })) = AuthAnswer::decode(&told)
    else {
        panic!("another answer");
    };
    assert!(
        appointment.is_some(),
        "the first one to be told has a time alone"
    );
    assert!(wait >= COME_AGAIN_MIN && wait <= COME_AGAIN_MAX, "{wait:?}");
    // A minion of ours at another address is behind one of each, and need not.
    let request = AuthRequest {
        extra: ours,
        ..minion.auth_request()
    };
    let reply = minion.sign_in_with(request).await;
    assert!(matches!(reply, AuthReply::Accepted(_)), "{reply:?}");
    for _ in 0..50 {
        let answer = AuthAnswer::decode(&salt.answer().await).unwrap();
        assert!(matches!(answer, AuthAnswer::Signed(_)), "{answer:?}");
    }
    drop((herd, salt));
    master.stop().await;
}
