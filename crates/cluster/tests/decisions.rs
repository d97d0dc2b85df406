//! The effects of one master's decisions at all masters.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

use halite_cluster::{Decision, DecodeError, Delta, PeerId, Registers};
use halite_crypto::SymmetricKey;
use halite_proto::{MinionId, Value};

const WALL: u64 = 1_800_000_000_000_000;

fn id(text: &str) -> MinionId {
    MinionId::parse(text).unwrap()
}

fn registers(name: &str) -> Registers {
    Registers::new(PeerId::parse(name).unwrap())
}

#[test]
fn the_publish_key_is_spent_by_who_was_accepted_alone() {
    let mut registers = registers("m1");
    registers.rotate(SymmetricKey::generate(), WALL);
    let web = id("web1");
    let decide = |registers: &mut Registers, decision| {
        assert!(registers.decide(&web, decision, WALL).unwrap());
    };
    for decision in [Decision::Delete, Decision::Reject("key")] {
        decide(&mut registers, Decision::Pend("key"));
        decide(&mut registers, decision);
        assert!(!registers.is_publish_key_stale());
    }
    decide(&mut registers, Decision::Accept("key"));
    decide(&mut registers, Decision::Delete);
    // What follows under the same name does not hide it.
    decide(&mut registers, Decision::Pend("other"));
    decide(&mut registers, Decision::Delete);
    assert!(registers.is_publish_key_stale());
    registers.rotate(SymmetricKey::generate(), WALL);
    assert!(!registers.is_publish_key_stale());
}

#[test]
fn a_hidden_id_is_refused() {
    let mut registers = registers("m1");
    let web = id("web1");
    registers.decide(&web, Decision::Pend("key"), WALL).unwrap();
    let said = registers.some([&web], [], false).to_value();
    assert!(Delta::from_value(said.clone()).is_ok());
    let error = Delta::from_value(renamed(said, "web1", ".web1")).unwrap_err();
    assert!(matches!(error, DecodeError::Name(_)), "{error}");
}

fn renamed(value: Value, from: &str, to: &str) -> Value {
    match value {
        Value::Str(text) if text == from => to.into(),
        Value::List(items) => {
            let items = items.into_iter();
            Value::List(items.map(|item| renamed(item, from, to)).collect())
        }
        other => other,
    }
}

#[test]
fn everything_is_kept_in_parts_of_a_bounded_size() {
    let mut whole = registers("m1");
    let key = "k".repeat(8000);
    for number in 0..600 {
        let minion = id(&format!("minion{number}"));
        whole.decide(&minion, Decision::Accept(&key), WALL).unwrap();
    }
    let mut again = registers("m1");
    let mut parts = 0;
    for part in whole.all() {
        assert!(part.minions().count() < 200);
        again.restore(part);
        parts += 1;
    }
    assert!(parts >= 4, "{parts}");
    assert_eq!(again.key_counts(), (600, 0));
}
