//! What strangers cost others.

use halite_crypto::random_bytes;
use halite_proto::auth::{AuthRefusal, AuthReply, AuthRequest};
use halite_proto::msgpack::pack_wire;
use halite_proto::{Map, MinionId, Nonce, Value};

use crate::stranger::Stranger;
use crate::support::{Master, Minion};

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
