//! Large returns that come piece by piece.

use halite_crypto::{HashType, hash_hex};
use halite_proto::msgpack::pack_wire;
use halite_proto::request::{MinionRequest, PieceAnswer, ReturnPiece};
use halite_proto::{Jid, Map, MinionId, Value};

use crate::support::{Master, Minion, wait_event};

const JID: &str = "20261120141841939742";

/// A return of so many bytes, as it travels, and its name.
fn large_return(id: &str, jid: &str, bytes: usize) -> (Vec<u8>, String) {
    let load = Map::from([
        ("cmd", Value::from("_return")),
        ("id", id.into()),
        ("jid", jid.into()),
        ("fun", "cmd.run".into()),
        ("fun_args", Value::List(Vec::new())),
        ("return", "x".repeat(bytes).into()),
        ("retcode", 0.into()),
        ("success", true.into()),
    ]);
    let packed = pack_wire(&load.into()).unwrap();
    let name = hash_hex(HashType::Sha256, &packed);
    (packed, name)
}

/// Sends what lies between two places of it.
async fn send(minion: &Minion, whole: &(Vec<u8>, String), from: usize, to: usize) -> PieceAnswer {
    let piece = MinionRequest::ReturnPiece(ReturnPiece {
        parcel: whole.1.clone(),
        bytes: whole.0.len() as u64,
        at: from as u64,
        data: whole.0[from..to].to_vec(),
    });
    PieceAnswer::from_value(minion.ask(piece).await)
}

fn stored(master: &Master, jid: &str, id: &str) -> Option<Value> {
    let (jid, id) = (Jid::parse(jid).unwrap(), MinionId::parse(id).unwrap());
    let found = master.store().jobs.return_of(&jid, &id).unwrap()?;
    Some(found.ret().clone())
}

#[tokio::test]
async fn a_large_return_goes_on_where_it_stopped() {
    let master = Master::start("");
    let mut web1 = Minion::signed_in(&master, "web1").await;
    let mut events = master.events().await;
    let whole = large_return("web1", JID, 100_000);
    let end = whole.0.len();
    assert_eq!(send(&web1, &whole, 0, 0).await, PieceAnswer::Has(0));
    assert_eq!(
        send(&web1, &whole, 0, 60_000).await,
        PieceAnswer::Has(60_000)
    );
    // It begins anew, over another session.
    web1.sign_in().await;
    assert_eq!(send(&web1, &whole, 0, 0).await, PieceAnswer::Has(60_000));
    assert_eq!(stored(&master, JID, "web1"), None);
    let done = PieceAnswer::Answered(Value::Nil);
    assert_eq!(send(&web1, &whole, 60_000, end).await, done);
    let told = wait_event(&mut events, &format!("salt/job/{JID}/ret/web1")).await;
    let value = Value::from("x".repeat(100_000));
    assert_eq!(told.get("return"), Some(&value));
    assert_eq!(stored(&master, JID, "web1"), Some(value));
    // The answer was lost: nothing is sent twice.
    assert_eq!(send(&web1, &whole, 0, 0).await, done);
    master.stop().await;
}

#[tokio::test]
async fn pieces_belong_to_who_has_sent_them() {
    let master = Master::start("");
    let web1 = Minion::signed_in(&master, "web1").await;
    let web2 = Minion::signed_in_with(&master, "web2", "other.pem").await;
    let whole = large_return("web1", JID, 100_000);
    let end = whole.0.len();
    assert_eq!(
        send(&web1, &whole, 0, 60_000).await,
        PieceAnswer::Has(60_000)
    );
    assert_eq!(send(&web2, &whole, 60_000, end).await, PieceAnswer::Has(0));
    assert_eq!(
        send(&web2, &whole, 0, 60_000).await,
        PieceAnswer::Has(60_000)
    );
    // Whose return it is stands in no field of it.
    let done = PieceAnswer::Answered(Value::Nil);
    assert_eq!(send(&web2, &whole, 60_000, end).await, done);
    assert_eq!(stored(&master, JID, "web1"), None);
    assert_eq!(send(&web1, &whole, 60_000, end).await, done);
    assert!(stored(&master, JID, "web1").is_some());
    master.stop().await;
}

#[tokio::test]
async fn pieces_that_make_no_return_are_refused_and_forgotten() {
    let master = Master::start("");
    let web1 = Minion::signed_in(&master, "web1").await;
    let packed = pack_wire(&Map::from([("cmd", "_pillar")]).into()).unwrap();
    let other = (packed.clone(), hash_hex(HashType::Sha256, &packed));
    let refused = PieceAnswer::Answered(false.into());
    assert_eq!(send(&web1, &other, 0, other.0.len()).await, refused);
    let (packed, _) = large_return("web1", JID, 1000);
    let misnamed = (packed, "0".repeat(64));
    let end = misnamed.0.len();
    assert_eq!(send(&web1, &misnamed, 0, end).await, PieceAnswer::Has(0));
    assert_eq!(stored(&master, JID, "web1"), None);
    let endless = MinionRequest::ReturnPiece(ReturnPiece {
        parcel: "0".repeat(64),
        bytes: u64::MAX,
        at: 0,
        data: vec![0; 10],
    });
    let answer = PieceAnswer::from_value(web1.ask(endless).await);
    assert_eq!(answer, PieceAnswer::NoRoom);
    master.stop().await;
}

#[tokio::test]
async fn pieces_must_be_signed_where_returns_must() {
    let master = Master::start("require_minion_sign_messages: true");
    let web1 = Minion::signed_in(&master, "web1").await;
    let whole = large_return("web1", JID, 1000);
    let refused = PieceAnswer::Answered(false.into());
    assert_eq!(send(&web1, &whole, 0, 500).await, refused);
    assert_eq!(send(&web1, &whole, 0, whole.0.len()).await, refused);
    assert_eq!(stored(&master, JID, "web1"), None);
    master.stop().await;
}
