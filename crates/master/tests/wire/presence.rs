//! Who is connected, and who proves it.

use std::time::Duration;

use halite_proto::auth::AuthRequest;
use halite_proto::clear::{Connection, Credentials, StandingReply, StandingRequest};
use halite_proto::request::MinionRequest;
use halite_proto::{Capabilities, presence};
use tokio::time::{Instant, sleep};

use crate::stranger::Stranger;
use crate::support::{Master, Minion, SOON};

/// Longer than what is said twice in it is looked at once only.
const APART: Duration = Duration::from_millis(150);

async fn connection(master: &Master, id: &str) -> Connection {
    let question = StandingRequest {
        minions: vec![id.to_owned()],
        jids: Vec::new(),
        about: None,
        user: Some("root".to_owned()),
        credentials: Credentials {
            key: Some(master.root_key()),
            ..Credentials::default()
        },
    };
    let reply = master.ask_clear(question.to_map()).await;
    let reply = StandingReply::from_value(reply).unwrap().unwrap();
    let mut minions = reply.minions.into_iter();
    let standing = minions.find(|(of, _)| of.as_str() == id);
    standing.unwrap().1.connection
}

/// Waits until a minion is here, or away.
async fn wait_until(master: &Master, id: &str, is_here: bool) {
    let deadline = Instant::now() + SOON;
    loop {
        let connection = connection(master, id).await;
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
    assert!(is_unknown(connection(&master, "web1").await));
    drop(stranger);
    sleep(APART).await;
    assert!(is_unknown(connection(&master, "web1").await));
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
        connection(&master, "web1").await,
        Connection::Here(_)
    ));

    drop(subscription);
    wait_until(&master, "web1", false).await;
    let mut stranger = subscriber(&master).await;
    stranger.say(&sign).await;
    sleep(APART).await;
    other.sign_in().await;
    assert!(matches!(
        connection(&master, "web1").await,
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
        connection(&master, "web1").await,
        Connection::Away(_)
    ));

    let mut of_salt = Minion::new(&master, "web1");
    of_salt.sign_in().await;
    assert!(matches!(
        connection(&master, "web1").await,
        Connection::Away(_)
    ));
    of_salt.ask(MinionRequest::FileEnvs).await;
    assert!(is_unknown(connection(&master, "web1").await));
    master.stop().await;
}
