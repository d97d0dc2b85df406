use halite_crypto::{HashType, PrivateKey, Secret, SharedSecret, hash_hex};
use halite_proto::{Map, Value};

use super::*;

struct Pair {
    joiner: PrivateKey,
    cluster: PrivateKey,
    link: Link,
}

fn pem(key: &PrivateKey) -> String {
    key.public().unwrap().to_pem().unwrap()
}

fn peer(name: &str) -> PeerId {
    PeerId::parse(name).unwrap()
}

fn secret(text: &str) -> Option<SharedSecret> {
    SharedSecret::new(&Secret::new(text.to_owned()), "join")
}

fn pair() -> Pair {
    let key = || PrivateKey::generate(2048).unwrap();
    let (joiner, cluster) = (key(), key());
    let link = Link {
        joiner_key: pem(&joiner),
        member_key: "the member's".to_owned(),
        binding: vec![7; 32],
    };
    Pair {
        joiner,
        cluster,
        link,
    }
}

impl Pair {
    fn joiner(&self, secret: SharedSecret, pin: Option<&str>) -> (Joiner, Value) {
        Joiner::begin(
            peer("m4"),
            self.joiner.clone(),
            secret,
            "house".to_owned(),
            "10.0.0.4".to_owned(),
            pin.map(str::to_owned),
            self.link.clone(),
        )
    }

    fn member(&self, secret: Option<SharedSecret>, link: Link) -> Member {
        Member::new(
            peer("m1"),
            self.cluster.clone(),
            pem(&self.cluster),
            secret,
            "house".to_owned(),
            link,
        )
    }
}

/// Runs a join to its end.
fn run(
    (mut joiner, hello): (Joiner, Value),
    member: &mut Member,
) -> Result<(Asks, Box<Joined>), JoinError> {
    let mut said = hello;
    let mut asks = None;
    loop {
        let answer = match member.heard(said)? {
            Heard::Say(value) | Heard::Refuse(_, value) => value,
            Heard::Proven(who) => {
                asks = Some(who);
                member.welcome(&Map::from([("publish", 5)]).into())?
            }
        };
        match joiner.heard(answer)? {
            Step::Say(value) => said = value,
            Step::Joined(joined) => return Ok((asks.unwrap(), joined)),
        }
    }
}

#[test]
fn who_knows_the_secret_is_taken_in_and_told_what_members_have() {
    let pair = pair();
    let pin = hash_hex(HashType::Sha256, pem(&pair.cluster).as_bytes()).to_uppercase();
    let joiner = pair.joiner(secret("swordfish").unwrap(), Some(&pin));
    let mut member = pair.member(secret("swordfish"), pair.link.clone());
    let (asks, joined) = run(joiner, &mut member).unwrap();
    assert_eq!(asks.id, peer("m4"));
    assert_eq!(asks.key, pem(&pair.joiner));
    assert_eq!(asks.address, "10.0.0.4");
    assert_eq!(joined.member, peer("m1"));
    assert_eq!(joined.cluster_key, pem(&pair.cluster));
    assert_eq!(joined.given.get("publish"), Some(&Value::from(5)));
}

#[test]
fn another_secret_is_refused_with_the_reason() {
    let pair = pair();
    let joiner = pair.joiner(secret("catfish").unwrap(), None);
    let mut member = pair.member(secret("swordfish"), pair.link.clone());
    let refused = run(joiner, &mut member);
    assert!(matches!(
        refused,
        Err(JoinError::Refused(Refusal::WrongSecret))
    ));
    // It may not guess again on this link.
    assert!(
        member
            .heard(messages::Message::Proof(vec![1; 128]).to_value())
            .is_err()
    );
}

#[test]
fn a_member_without_a_secret_takes_nobody_in() {
    let pair = pair();
    let joiner = pair.joiner(secret("x").unwrap(), None);
    let mut member = pair.member(secret(""), pair.link.clone());
    let refused = run(joiner, &mut member);
    assert!(matches!(
        refused,
        Err(JoinError::Refused(Refusal::NoSecret))
    ));
}

#[test]
fn a_cluster_of_another_key_is_not_even_shown_the_proof() {
    let pair = pair();
    let joiner = pair.joiner(secret("swordfish").unwrap(), Some("00ff"));
    let mut member = pair.member(secret("swordfish"), pair.link.clone());
    let refused = run(joiner, &mut member);
    assert!(matches!(refused, Err(JoinError::OtherCluster { .. })));
}

#[test]
fn a_proof_is_of_one_link() {
    let pair = pair();
    // Somebody in the middle has a link to each side.
    let other = Link {
        binding: vec![8; 32],
        ..pair.link.clone()
    };
    let joiner = pair.joiner(secret("swordfish").unwrap(), None);
    let mut member = pair.member(secret("swordfish"), other);
    let refused = run(joiner, &mut member);
    assert!(matches!(
        refused,
        Err(JoinError::Refused(Refusal::WrongSecret))
    ));
}

#[test]
fn a_member_that_does_not_know_the_secret_is_found_out() {
    let pair = pair();
    let (mut joiner, hello) = pair.joiner(secret("swordfish").unwrap(), None);
    let mut member = pair.member(secret("catfish"), pair.link.clone());
    let Heard::Say(challenge) = member.heard(hello).unwrap() else {
        panic!("no challenge");
    };
    joiner.heard(challenge).unwrap();
    let welcome = member.welcome(&Value::Nil).unwrap();
    assert!(matches!(
        joiner.heard(welcome),
        Err(JoinError::MemberUnproven)
    ));
}

#[test]
fn what_does_not_belong_there_is_an_error() {
    let pair = pair();
    let mut member = pair.member(secret("x"), pair.link.clone());
    for value in [
        Value::Nil,
        Value::List(vec![]),
        Value::List(vec![1.into(), 9.into()]),
    ] {
        assert!(member.heard(value).is_err());
    }
    let other = member.heard(Value::List(vec![2.into(), 0.into()])).unwrap();
    assert!(matches!(other, Heard::Refuse(Refusal::OtherVersion, _)));
}
