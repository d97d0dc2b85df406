//! Which minions are connected, and the proof of it.

use std::fs;
use std::time::Duration;

use halite_proto::auth::AuthRequest;
use halite_proto::clear::Connection;
use halite_proto::request::{MinionRequest, PillarRequest};
use halite_proto::{Capabilities, Map, SignAnswer, Value, presence};
use tempfile::TempDir;
use tokio::time::{Instant, sleep, timeout};

use crate::jobs::publish;
use crate::stranger::Stranger;
use crate::support::{Master, Minion, SOON, fixture};

/// Longer than what is said twice in it is looked at once only.
const APART: Duration = Duration::from_millis(150);

/// Waits until a minion is here, or away.
async fn wait_until(master: &Master, id: &str, is_here: bool) {
    let deadline = Instant::now() + SOON;
    loop {
        let connection = master.standing(id).await.connection;
        match (connection, is_here) {
            (Connection::Here(_), true) | (Connection::Away(_), false) => return,
            _ => assert!(Instant::now() < deadline, "{connection:?}"),
        }
        sleep(Duration::from_millis(20)).await;
    }
}

async fn subscriber(master: &Master) -> Stranger {
    let mut subscriber = Stranger::connect(&master.publications, [127, 0, 0, 9], "SUB").await;
    subscriber.say(b"\x01").await;
    subscriber
}

/// A minion that signs in as a Halite minion.
async fn showing(master: &Master, id: &str) -> Minion {
    let mut minion = Minion::signed_in(master, id).await;
    sign_in_as_halite(&mut minion).await;
    minion
}

async fn sign_in_as_halite(minion: &mut Minion) {
    let request = AuthRequest {
        extra: Capabilities::OURS.to_extra(),
        ..minion.auth_request()
    };
    minion.sign_in_with(request).await;
}

fn is_unknown(connection: Connection) -> bool {
    !matches!(connection, Connection::Here(_) | Connection::Away(_))
}

/// Whatever a stranger subscribes to and says, nobody is here or away for it.
#[tokio::test]
async fn a_stranger_shows_nobody_as_here_or_away() {
    let master = Master::start("");
    let minion = Minion::signed_in(&master, "web1").await;
    let halite = showing(&master, "web2").await;
    let mut stranger = subscriber(&master).await;
    let mut forged = halite.sign_of_life(1);
    *forged.last_mut().unwrap() = b'1';
    for said in [
        b"\x01halite/minion/web1",
        &b"halite/pulse/web1"[..],
        &forged,
    ] {
        stranger.say(said).await;
        sleep(APART).await;
    }
    assert!(is_unknown(master.standing("web1").await.connection));
    drop(minion);
    master.stop().await;
}

/// A minion proves that it is here, for as long as it does; what was recorded
/// of it proves nothing again, and who signs in under its name takes nothing
/// from it.
#[tokio::test]
async fn a_minion_proves_that_it_is_here_and_nobody_else_does() {
    let master = Master::start("");
    let mut minion = showing(&master, "web1").await;
    let mut subscription = subscriber(&master).await;
    let sign = minion.sign_of_life(7);
    subscription.say(&sign).await;
    wait_until(&master, "web1", true).await;

    // Anybody can ask for a sign-in with its public key.
    let mut other = Minion::new(&master, "web1");
    other.sign_in().await;
    assert!(matches!(
        master.standing("web1").await.connection,
        Connection::Here(_)
    ));

    drop(subscription);
    wait_until(&master, "web1", false).await;
    let mut stranger = subscriber(&master).await;
    stranger.say(&sign).await;
    sleep(APART).await;
    other.sign_in().await;
    assert!(matches!(
        master.standing("web1").await.connection,
        Connection::Away(_)
    ));

    // It comes back, after a new sign-in with a count that begins anew.
    sign_in_as_halite(&mut minion).await;
    let mut subscription = subscriber(&master).await;
    subscription.say(&minion.sign_of_life(1)).await;
    wait_until(&master, "web1", true).await;
    // Its cable is cut: nothing more comes over a connection that stands.
    wait_until(&master, "web1", false).await;
    master.stop().await;
}

/// The answer to a sign of life says whether there is something to ask for, and only who
/// wants one is answered.
#[tokio::test]
async fn a_sign_of_life_is_answered_with_what_may_be_missed() {
    let master = Master::start("");
    let minion = showing(&master, "web1").await;
    let mut subscription = subscriber(&master).await;
    let key = minion.session.as_ref().unwrap().presence_key();
    let grant = minion.grant.as_ref().unwrap();
    let sign_in = Capabilities::sign_in_of(&grant.extra).unwrap();
    subscription.say(&minion.sign(1, false)).await;
    wait_until(&master, "web1", true).await;

    sleep(APART).await;
    subscription.say(&minion.sign(2, true)).await;
    let frame = timeout(SOON, subscription.frame()).await.unwrap();
    let (answer, proof) = SignAnswer::decode(&frame).unwrap();
    assert!(key.is_proven(&answer.proven_part(), &proof));
    let wanted = SignAnswer {
        sign_in,
        count: 2,
        every_ms: 450,
        ask: false,
    };
    assert_eq!(answer, wanted);

    master.ask_clear(publish(&master, "web1", "list")).await;
    let published = timeout(SOON, subscription.frame()).await.unwrap();
    assert!(!SignAnswer::is_meant(&published));
    sleep(APART).await;
    subscription.say(&minion.sign(3, true)).await;
    let frame = timeout(SOON, subscription.frame()).await.unwrap();
    let (answer, proof) = SignAnswer::decode(&frame).unwrap();
    assert!(key.is_proven(&answer.proven_part(), &proof));
    let wanted = SignAnswer {
        count: 3,
        ask: true,
        ..wanted
    };
    assert_eq!(answer, wanted);
    drop(subscription);
    master.stop().await;
}

/// A minion of Salt that follows a Halite minion under one id is not away: its
/// first request shows it.
#[tokio::test]
async fn a_minion_that_shows_no_presence_is_not_away() {
    let master = Master::start("");
    let minion = showing(&master, "web1").await;
    let mut subscription = subscriber(&master).await;
    subscription.say(&minion.sign_of_life(1)).await;
    wait_until(&master, "web1", true).await;
    drop(subscription);
    wait_until(&master, "web1", false).await;

    // Its other programs ask while the minion itself is away.
    let mut load = minion.load(MinionRequest::FileEnvs);
    load.insert(presence::MARK, true);
    minion.send(minion.envelope(&load)).await;
    assert!(matches!(
        master.standing("web1").await.connection,
        Connection::Away(_)
    ));

    let mut of_salt = Minion::new(&master, "web1");
    of_salt.sign_in().await;
    assert!(matches!(
        master.standing("web1").await.connection,
        Connection::Away(_)
    ));
    let subscription = subscriber(&master).await;
    of_salt.ask(MinionRequest::FileEnvs).await;
    assert!(is_unknown(master.standing("web1").await.connection));
    drop(subscription);
    master.stop().await;
}

/// A failover minion that is with another master, one that refuses this one, and
/// one of Salt's that is connecting again.
#[tokio::test]
async fn who_is_in_no_connection_is_not_there_while_all_are_known() {
    let master = Master::start("");
    let shown = showing(&master, "web1").await;
    let mut subscription = subscriber(&master).await;
    let elsewhere = Minion::signed_in(&master, "web2").await;
    subscription.say(&shown.sign_of_life(1)).await;
    wait_until(&master, "web1", true).await;
    // Not since a moment that is another minion's, nor so that nobody waits for
    // it: it may be one of Salt's that connects again.
    wait_until_connection(&master, "web2", Connection::PerhapsAway).await;
    // A connection that says nothing may be anybody's.
    let stranger = subscriber(&master).await;
    wait_until_connection(&master, "web2", Connection::Unknown).await;
    drop(stranger);
    wait_until_connection(&master, "web2", Connection::PerhapsAway).await;

    sign_in_for_another_master(&elsewhere).await;
    assert!(master.standing("web2").await.distrusts_since.is_some());
    drop(subscription);
    master.stop().await;
}

/// A minion of Salt behind a balancer comes from the balancer's address, or is at another
/// master: its own address says nothing then.
#[tokio::test]
async fn a_master_of_a_cluster_does_not_infer_from_addresses_who_is_away() {
    for (options, wanted) in [
        ("", Connection::PerhapsAway),
        ("cluster_id: c", Connection::Unknown),
    ] {
        let dir = TempDir::new().unwrap();
        fs::create_dir_all(dir.path().join("pki")).unwrap();
        for name in ["m1.pem", "cluster.pem"] {
            fs::copy(fixture("master.pem"), dir.path().join("pki").join(name)).unwrap();
        }
        let master = Master::start_in(dir, options);
        let minion = Minion::signed_in(&master, "web1").await;
        let address = Value::List(vec!["192.0.2.7".into()]);
        let grains = Map::from([("ipv4", address)]);
        let pillar = MinionRequest::Pillar(Box::new(PillarRequest::new(grains)));
        minion.send(minion.envelope(&minion.load(pillar))).await;
        wait_until_connection(&master, "web1", wanted).await;
        master.stop().await;
    }
}

/// Whoever has a minion's public key can sign in for another master's key; what
/// the minion proves after that says that it takes this one's.
#[tokio::test]
async fn who_is_heard_again_does_not_distrust_this_master() {
    let master = Master::start("");
    let of_salt = Minion::signed_in(&master, "web1").await;
    sign_in_for_another_master(&of_salt).await;
    assert!(master.standing("web1").await.distrusts_since.is_some());
    of_salt.ask(MinionRequest::FileEnvs).await;
    assert_eq!(master.standing("web1").await.distrusts_since, None);

    let shown = showing(&master, "web2").await;
    let mut subscription = subscriber(&master).await;
    subscription.say(&shown.sign_of_life(1)).await;
    wait_until(&master, "web2", true).await;
    sign_in_for_another_master(&shown).await;
    assert!(master.standing("web2").await.distrusts_since.is_some());
    let deadline = Instant::now() + SOON;
    let mut count = 1;
    while master.standing("web2").await.distrusts_since.is_some() {
        assert!(Instant::now() < deadline);
        count += 1;
        subscription.say(&shown.sign_of_life(count)).await;
        sleep(APART).await;
    }
    drop(subscription);
    master.stop().await;
}

/// Signs in with a token that this master's key does not open.
async fn sign_in_for_another_master(minion: &Minion) {
    let mut request = minion.auth_request();
    request.token = Some(vec![7; 256]);
    minion.send_auth(&request, 3).await;
}

async fn wait_until_connection(master: &Master, id: &str, wanted: Connection) {
    let deadline = Instant::now() + SOON;
    loop {
        let connection = master.standing(id).await.connection;
        if connection == wanted {
            return;
        }
        assert!(Instant::now() < deadline, "{connection:?}");
        sleep(Duration::from_millis(20)).await;
    }
}
