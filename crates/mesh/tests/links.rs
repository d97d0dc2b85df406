//! Links between masters in one process, over real sockets.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use halite_crypto::PrivateKey;
use halite_mesh::limits::{MESSAGE_BYTES_MAX, PEERS_MAX};
use halite_mesh::{Incarnation, Listener, Mesh, MeshOptions, PeerAddress, PeerId, Pins, Receiver};
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::timeout;

const LONG: Duration = Duration::from_secs(20);

/// Keys take their time; each test uses the same.
static KEYS: LazyLock<Vec<PrivateKey>> = LazyLock::new(|| {
    (0..4)
        .map(|_| PrivateKey::generate(2048).unwrap())
        .collect()
});

#[derive(Debug, PartialEq, Eq)]
enum Heard {
    Up(String),
    Down(String),
    Told(String, Vec<u8>),
    Missed(String),
}

struct RecordingReceiver(mpsc::UnboundedSender<Heard>);

impl RecordingReceiver {
    fn record(&self, heard: Heard) {
        let _ = self.0.send(heard);
    }
}

impl Receiver for RecordingReceiver {
    fn peer_is_up(&self, peer: &PeerId, _: Incarnation) {
        self.record(Heard::Up(peer.to_string()));
    }

    fn peer_is_down(&self, peer: &PeerId) {
        self.record(Heard::Down(peer.to_string()));
    }

    fn receive(&self, peer: &PeerId, _: Duration, message: &[u8]) {
        self.record(Heard::Told(peer.to_string(), message.to_vec()));
    }

    fn has_missed(&self, peer: &PeerId) {
        self.record(Heard::Missed(peer.to_string()));
    }
}

/// A master: its side of the links, and what it has heard.
struct Master {
    mesh: Mesh,
    heard: mpsc::UnboundedReceiver<Heard>,
    task: JoinHandle<()>,
}

impl Master {
    /// The next message of a peer.
    async fn next_told(&mut self) -> (String, Vec<u8>) {
        loop {
            let heard = timeout(LONG, self.heard.recv()).await.unwrap().unwrap();
            match heard {
                Heard::Told(peer, message) => return (peer, message),
                Heard::Missed(peer) => panic!("{peer} has forgotten something"),
                _ => {}
            }
        }
    }

    async fn wait_for(&mut self, wanted: Heard) {
        while timeout(LONG, self.heard.recv()).await.unwrap().unwrap() != wanted {}
    }

    async fn stop(self) {
        self.task.abort();
        let _ = self.task.await;
    }
}

/// A shared directory, and where each master listens.
struct Place {
    dir: tempfile::TempDir,
    addresses: Vec<SocketAddr>,
}

impl Place {
    fn of(masters: usize) -> (Self, Vec<Listener>) {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("peers")).unwrap();
        let listen = |_| Listener::bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let listeners: Vec<Listener> = (0..masters).map(listen).collect();
        let addresses = listeners.iter().filter_map(Listener::address).collect();
        let place = Self { dir, addresses };
        for n in 0..masters {
            place.pin(n, &name(n));
        }
        (place, listeners)
    }

    fn peers(&self) -> std::path::PathBuf {
        self.dir.path().join("peers")
    }

    fn pin(&self, key: usize, name: &str) {
        let pem = KEYS[key].public().unwrap().to_pem().unwrap();
        fs::write(self.peers().join(format!("{name}.pub")), pem).unwrap();
    }

    /// Waits until a master has written down that it has heard the message of a number,
    /// as it does within a second.
    async fn until_written(&self, n: usize, number: u64) {
        let file = self.dir.path().join(format!("heard-{n}"));
        let last = u8::try_from(number).unwrap();
        let written = async {
            while !fs::read(&file).is_ok_and(|bytes| bytes.ends_with(&[last])) {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        timeout(LONG, written).await.unwrap();
    }

    fn begin(&self, n: usize, listener: Listener, life: u64, cluster: &str) -> Master {
        let others = self
            .addresses
            .iter()
            .enumerate()
            .filter(|(other, _)| *other != n);
        let peers = others.map(|(_, at)| PeerAddress::parse(&at.to_string(), 1).unwrap());
        begin(n, listener, life, cluster, (&self.peers(), peers.collect()))
    }
}

fn begin(
    n: usize,
    listener: Listener,
    life: u64,
    cluster: &str,
    (pins, peers): (&Path, Vec<PeerAddress>),
) -> Master {
    let mesh = Mesh::new(MeshOptions {
        cluster: cluster.to_owned(),
        incarnation: Incarnation(life),
        key: KEYS[n].clone(),
        pins: Pins::open(pins.to_owned()).unwrap(),
        peers,
        heard: pins.with_file_name(format!("heard-{n}")),
        bus: None,
    })
    .unwrap();
    let (record, heard) = mpsc::unbounded_channel();
    let running = mesh.clone();
    let task = tokio::spawn(async move {
        running
            .run(listener, Arc::new(RecordingReceiver(record)))
            .await
    });
    Master { mesh, heard, task }
}

fn name(n: usize) -> String {
    format!("127.0.0.{}", n + 1)
}

/// An address that leads to another one, and word of each connection that has
/// ended.
async fn watched(to: SocketAddr) -> (PeerAddress, mpsc::UnboundedReceiver<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let (ended, ends) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Ok((mut from, _)) = listener.accept().await {
            let ended = ended.clone();
            tokio::spawn(async move {
                let mut to = TcpStream::connect(to).await.unwrap();
                let _ = copy_bidirectional(&mut from, &mut to).await;
                let _ = ended.send(());
            });
        }
    });
    (PeerAddress::parse(&address, 1).unwrap(), ends)
}

fn start(masters: usize) -> (Place, Vec<Master>) {
    let (place, listeners) = Place::of(masters);
    let started = listeners.into_iter().enumerate();
    let all = started.map(|(n, listener)| place.begin(n, listener, n as u64 + 1, "c"));
    let all = all.collect();
    (place, all)
}

#[tokio::test]
async fn all_hear_all_in_order_and_once() {
    let (_place, mut masters) = start(3);
    for master in &masters {
        assert!(master.mesh.linked(LONG).await);
    }
    for round in 0..100u8 {
        for master in &masters {
            master.mesh.tell(&[round]);
        }
    }
    let large = vec![7; 3_000_000];
    let number = masters[0].mesh.tell(&large).unwrap();
    assert!(masters[0].mesh.acknowledged(number, LONG).await);
    for (n, master) in masters.iter_mut().enumerate() {
        let mut next = [0u8; 3];
        let others = 200 + usize::from(n != 0);
        for _ in 0..others {
            let (peer, message) = master.next_told().await;
            let of = (0..3).find(|of| name(*of) == peer).unwrap();
            assert_ne!(of, n);
            if message.len() > 1 {
                assert_eq!((of, next[0], message == large), (0, 100, true));
            } else {
                assert_eq!(message, [next[of]]);
                next[of] += 1;
            }
        }
        assert!(master.heard.try_recv().is_err());
    }
    let status = masters[0].mesh.peers();
    assert!(
        status
            .iter()
            .all(|peer| peer.dialled.is_some() && peer.heard.is_some())
    );
    assert_eq!(status.len(), 2);
}

#[tokio::test]
async fn addresses_at_which_nobody_is_keep_no_master_away() {
    let (place, listeners) = Place::of(2);
    let masters = listeners.into_iter().enumerate();
    let mut masters: Vec<Master> = masters
        .map(|(n, listener)| begin(n, listener, 1, "c", (&place.peers(), Vec::new())))
        .collect();
    for n in 0..PEERS_MAX {
        let gone = format!("127.7.{}.{}:1", n / 200, n % 200 + 1);
        masters[0]
            .mesh
            .also_dial(PeerAddress::parse(&gone, 1).unwrap());
    }
    let there = place.addresses[1].to_string();
    masters[0]
        .mesh
        .also_dial(PeerAddress::parse(&there, 1).unwrap());
    masters[1].wait_for(Heard::Up(name(0))).await;
    masters[0].wait_for(Heard::Up(name(1))).await;
}

#[tokio::test]
async fn who_was_away_is_told_what_it_has_missed() {
    let (place, mut masters) = start(2);
    assert!(masters[0].mesh.linked(LONG).await);
    let number = masters[0].mesh.tell(b"before").unwrap();
    assert!(masters[0].mesh.acknowledged(number, LONG).await);
    let mut away = masters.pop().unwrap();
    assert_eq!(away.next_told().await.1, b"before");
    place.until_written(1, number).await;
    away.stop().await;
    masters[0].wait_for(Heard::Down(name(1))).await;
    masters[0].mesh.tell(b"one");
    masters[0]
        .mesh
        .tell_one(&PeerId::parse("somebody-else").unwrap(), b"not for it");
    masters[0].mesh.tell(b"two");
    let kept = masters[0].mesh.log();
    assert_eq!((kept.messages, kept.bytes, kept.skipped), (4, 22, 0));
    let status = masters[0].mesh.peers();
    let (waiting, oldest) = status[0].kept;
    assert_eq!((status.len(), waiting), (1, 4));
    assert!(oldest.is_some_and(|age| !age.is_zero()));
    let listener = Listener::bind(place.addresses[1]).unwrap();
    let mut back = place.begin(1, listener, 9, "c");
    back.mesh.tell(b"of a new life");
    assert_eq!(back.next_told().await.1, b"one");
    assert_eq!(back.next_told().await.1, b"two");
    assert_eq!(masters[0].next_told().await.1, b"of a new life");
    let last = masters[0].mesh.tell(b"three").unwrap();
    assert!(masters[0].mesh.acknowledged(last, LONG).await);
    assert_eq!(masters[0].mesh.peers()[0].kept, (0, None));
}

#[tokio::test]
async fn one_peer_is_enough_for_a_copy_and_nobody_waits_alone() {
    let (_place, mut masters) = start(3);
    for master in &masters {
        assert!(master.mesh.linked(LONG).await);
    }
    let number = masters[0].mesh.tell(b"a result").unwrap();
    assert!(masters[0].mesh.copied(number, LONG).await);
    // Which peer has it is heard, whoever it was.
    for _ in 0..2 {
        let other = masters.pop().unwrap();
        let gone = name(masters.len());
        other.stop().await;
        masters[0].wait_for(Heard::Down(gone)).await;
    }
    let begun = std::time::Instant::now();
    let number = masters[0]
        .mesh
        .tell(b"a result that nobody else has")
        .unwrap();
    assert!(!masters[0].mesh.copied(number, 2 * LONG).await);
    assert!(begun.elapsed() < LONG);
}

#[tokio::test]
async fn what_is_forgotten_before_a_peer_hears_it_is_no_copy() {
    let (place, mut masters) = start(2);
    assert!(masters[0].mesh.linked(LONG).await);
    let heard = masters[0].mesh.tell(b"before").unwrap();
    assert!(masters[0].mesh.acknowledged(heard, LONG).await);
    place.until_written(1, heard).await;
    let away = masters.pop().unwrap();
    away.stop().await;
    masters[0].wait_for(Heard::Down(name(1))).await;
    let mesh = masters[0].mesh.clone();
    let lost = mesh.tell(b"a result").unwrap();
    let large = vec![0; MESSAGE_BYTES_MAX];
    let somebody = PeerId::parse("somebody-else").unwrap();
    for _ in 0..3 {
        mesh.tell_one(&somebody, &large).unwrap();
    }
    assert_eq!(mesh.tell(&vec![0; MESSAGE_BYTES_MAX + 1]), None);
    let listener = Listener::bind(place.addresses[1]).unwrap();
    let _back = place.begin(1, listener, 9, "c");
    masters[0].wait_for(Heard::Up(name(1))).await;
    assert!(mesh.linked(LONG).await);
    let told = mesh.tell(b"another one").unwrap();
    assert!(mesh.copied(told, LONG).await);
    assert!(mesh.is_copied(told) && !mesh.is_skipped(told));
    assert!(!mesh.is_copied(lost) && mesh.is_skipped(lost));
    // At least this one; the large ones are not for it, and count all the same.
    assert!((1..=4).contains(&mesh.log().skipped));
}

#[tokio::test]
async fn a_key_that_is_no_peers_is_refused_and_one_that_goes_is_cut_off() {
    let (place, mut masters) = start(2);
    assert!(masters[0].mesh.linked(LONG).await);
    // Somebody who believes that the two are his peers.
    let own = tempfile::tempdir().unwrap();
    let pins = own.path().join("peers");
    fs::create_dir(&pins).unwrap();
    for n in 0..2 {
        let file = format!("{}.pub", name(n));
        fs::copy(place.peers().join(&file), pins.join(&file)).unwrap();
    }
    let listener = Listener::bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let mut peers = Vec::new();
    let mut refusals = Vec::new();
    for at in &place.addresses {
        let (address, ended) = watched(*at).await;
        peers.push(address);
        refusals.push(ended);
    }
    let stranger = begin(2, listener, 5, "c", (&pins, peers));
    for ended in &mut refusals {
        timeout(LONG, ended.recv()).await.unwrap().unwrap();
    }
    let dialled = stranger.mesh.peers();
    assert_eq!(dialled.len(), 2);
    assert!(dialled.iter().all(|peer| peer.dialled.is_none()));
    stranger.stop().await;
    for (n, master) in masters.iter_mut().enumerate() {
        // Nobody but the other one has come.
        while let Ok(heard) = master.heard.try_recv() {
            assert_eq!(heard, Heard::Up(name(1 - n)));
        }
    }

    fs::remove_file(place.peers().join(format!("{}.pub", name(1)))).unwrap();
    masters[0].wait_for(Heard::Down(name(1))).await;
    masters[1].mesh.tell(b"not heard");
    place.pin(1, &name(1));
    masters[0].wait_for(Heard::Up(name(1))).await;
}

#[tokio::test]
async fn another_cluster_is_refused() {
    let (place, listeners) = Place::of(2);
    let mut masters = Vec::new();
    let mut refusals = Vec::new();
    for (n, listener) in listeners.into_iter().enumerate() {
        let (other, ended) = watched(place.addresses[1 - n]).await;
        let peers = (place.peers(), vec![other]);
        let cluster = ["one", "other"][n];
        masters.push(begin(n, listener, 1, cluster, (&peers.0, peers.1)));
        refusals.push(ended);
    }
    for ended in &mut refusals {
        timeout(LONG, ended.recv()).await.unwrap().unwrap();
    }
    for master in &mut masters {
        let peers = master.mesh.peers();
        assert_eq!(peers.len(), 1);
        assert!(peers[0].dialled.is_none() && peers[0].heard.is_none());
        assert!(master.heard.try_recv().is_err());
    }
}

#[tokio::test]
async fn what_is_no_tls_gets_nothing() {
    let (place, masters) = start(2);
    let mut stream = TcpStream::connect(place.addresses[0]).await.unwrap();
    stream
        .write_all(&[0, 0, 0, 5, b'H', 1, 2, 3, 4])
        .await
        .unwrap();
    let mut answer = Vec::new();
    let _ = timeout(LONG, stream.read_to_end(&mut answer))
        .await
        .unwrap();
    // At most an alert.
    assert!(answer.len() < 16, "{answer:?}");
    assert!(masters[0].mesh.linked(LONG).await);
}
