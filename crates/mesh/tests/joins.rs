//! Masters that ask to become members, over real sockets.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::net::SocketAddr;
use std::sync::{Arc, LazyLock};

use halite_crypto::PrivateKey;
use halite_mesh::{
    Conversation, Incarnation, JoinLink, Joins, Listener, Mesh, MeshError, MeshOptions,
    PeerAddress, PeerId, Pins, Receiver, Turn, converse,
};
use tokio::net::TcpListener;

static KEYS: LazyLock<[PrivateKey; 2]> =
    LazyLock::new(|| [0; 2].map(|_| PrivateKey::generate(2048).unwrap()));

struct Deaf;

impl Receiver for Deaf {
    fn peer_is_up(&self, _: &PeerId, _: Incarnation) {}
    fn peer_is_down(&self, _: &PeerId) {}
    fn receive(&self, _: &PeerId, _: std::time::Duration, _: &[u8]) {}
    fn has_missed(&self, _: &PeerId) {}
}

/// Says what it knows of the link, and repeats what it hears.
struct Echo {
    link: JoinLink,
    heard: Vec<Vec<u8>>,
}

impl Conversation for Echo {
    fn heard(&mut self, message: &[u8]) -> Turn {
        self.heard.push(message.to_vec());
        match message {
            b"who" => Turn::Say(self.link.binding.clone()),
            b"bye" => Turn::Last(self.link.other_key.clone().into_bytes()),
            _ => Turn::End,
        }
    }
}

/// Asks, and hears two answers.
struct Asks(Echo);

impl Conversation for Asks {
    fn heard(&mut self, message: &[u8]) -> Turn {
        self.0.heard.push(message.to_vec());
        match self.0.heard.len() {
            1 => Turn::Say(b"bye".to_vec()),
            _ => Turn::End,
        }
    }
}

struct Takes;

impl Joins for Takes {
    fn begin(&self, _: SocketAddr, link: JoinLink) -> Box<dyn Conversation> {
        let heard = Vec::new();
        Box::new(Echo { link, heard })
    }
}

async fn member(joins: Option<Arc<Takes>>) -> (tempfile::TempDir, PeerAddress) {
    let dir = tempfile::tempdir().unwrap();
    let mesh = Mesh::new(MeshOptions {
        cluster: "house".to_owned(),
        incarnation: Incarnation(1),
        key: KEYS[0].clone(),
        pins: Pins::open(dir.path().join("peers")).unwrap(),
        peers: Vec::new(),
        heard: dir.path().join("heard"),
        bus: None,
    })
    .unwrap();
    if let Some(joins) = joins {
        mesh.let_join(joins);
    }
    let listener = Listener::bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let address = listener.address().unwrap().to_string();
    tokio::spawn(async move { mesh.run(listener, Arc::new(Deaf)).await });
    (dir, PeerAddress::parse(&address, 0).unwrap())
}

async fn ask(address: &PeerAddress) -> Result<Asks, MeshError> {
    let begin = |link: JoinLink| {
        let heard = Vec::new();
        (Asks(Echo { link, heard }), b"who".to_vec())
    };
    converse(&KEYS[1], address, begin).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_master_with_an_unknown_key_may_talk_and_both_know_the_link() {
    let (_dir, address) = member(Some(Arc::new(Takes))).await;
    let Asks(asked) = ask(&address).await.unwrap();
    let own = |key: &PrivateKey| key.public().unwrap().clean_pem().unwrap();
    assert_eq!(asked.heard[0], asked.link.binding);
    assert_eq!(asked.heard[0].len(), 32);
    assert_eq!(asked.heard[1], own(&KEYS[1]).into_bytes());
    assert_eq!(asked.link.other_key, own(&KEYS[0]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_member_that_takes_nobody_hears_nothing_of_them() {
    let (_dir, address) = member(None).await;
    let error = ask(&address).await.err().unwrap();
    assert!(!error.is_nobody_there(), "{error:?}");
}

#[tokio::test]
async fn only_where_nobody_listens_nobody_is_there() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let address = PeerAddress::parse(&address, 0).unwrap();
    // A member that has no room for another handshake does this.
    let closes = async { drop(listener.accept().await) };
    let (asked, ()) = tokio::join!(ask(&address), closes);
    let error = asked.err().unwrap();
    assert!(!error.is_nobody_there(), "{error:?}");
    drop(listener);
    let error = ask(&address).await.err().unwrap();
    assert!(error.is_nobody_there(), "{error:?}");
}

#[tokio::test]
async fn who_takes_connections_and_says_nothing_may_be_a_master_of_salt() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let address = PeerAddress::parse(&address, 0).unwrap();
    let taken = async { listener.accept().await.unwrap() };
    let (asked, _open) = tokio::join!(ask(&address), taken);
    let error = asked.err().unwrap();
    assert!(matches!(error, MeshError::NoAnswer), "{error:?}");
    assert!(!error.is_nobody_there());
}
