//! Masters in one process, and the carrier of their messages.

use std::fs;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use halite_crypto::{PrivateKey, Secret};
use halite_mesh::{
    BusCredentials, BusOptions, BusServer, Incarnation, Listener, Mesh, MeshOptions, PeerAddress,
    PeerId, Pins, Receiver,
};
use halite_test_services::{Nats, Wanted};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::timeout;

pub(crate) const LONG: Duration = Duration::from_secs(20);

/// Keys take their time; each test uses the same.
static KEYS: LazyLock<Vec<PrivateKey>> = LazyLock::new(|| {
    (0..3)
        .map(|_| PrivateKey::generate(2048).unwrap())
        .collect()
});

/// What carries what masters tell.
pub(crate) enum Carrier {
    Direct,
    /// One engine, or several that are one.
    Nats(Vec<Nats>),
}

impl Carrier {
    /// An engine with TLS and a password.
    pub(crate) fn nats() -> Option<Self> {
        Self::nats_with(&Wanted::default().password("secret").tls())
    }

    pub(crate) fn nats_with(wanted: &Wanted) -> Option<Self> {
        Nats::for_test(wanted).map(|nats| Self::Nats(vec![nats]))
    }

    /// The engine; the first of several.
    pub(crate) fn engine(&self) -> &Nats {
        &self.engines()[0]
    }

    pub(crate) fn engines(&self) -> &[Nats] {
        match self {
            Self::Nats(engines) => engines,
            Self::Direct => panic!("there is no engine"),
        }
    }

    fn options(&self, own: &str) -> Option<BusOptions> {
        let Self::Nats(engines) = self else {
            return None;
        };
        let nats = self.engine();
        let server = |nats: &Nats| BusServer {
            host: nats.address.ip().to_string(),
            port: nats.address.port(),
        };
        let credentials = match (&nats.credentials, nats.login()) {
            (Some(file), _) => BusCredentials::File(file.clone()),
            (None, Some((user, password))) => {
                BusCredentials::Password(user.to_owned(), Secret::new(password.to_owned()))
            }
            (None, None) => BusCredentials::None,
        };
        let tls = nats.tls.as_ref();
        Some(BusOptions {
            own: PeerId::parse(own).unwrap(),
            servers: engines.iter().map(server).collect(),
            tls: tls.is_some(),
            ca: tls.map(|tls| tls.ca.clone()),
            certificate: tls.map(|tls| (tls.cert.clone(), tls.key.clone())),
            credentials,
        })
    }
}

/// The receiver fails at this message.
pub(crate) const POISON: &[u8] = b"poison";

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Heard {
    Up(String),
    Down(String),
    Told(String, Vec<u8>),
    Missed(String),
}

struct RecordingReceiver {
    heard: mpsc::UnboundedSender<(Heard, Duration)>,
    gate: Arc<Mutex<bool>>,
}

impl RecordingReceiver {
    fn record(&self, heard: Heard, age: Duration) {
        let _ = self.heard.send((heard, age));
    }
}

impl Receiver for RecordingReceiver {
    fn peer_is_up(&self, peer: &PeerId, _: Incarnation) {
        self.record(Heard::Up(peer.to_string()), Duration::ZERO);
    }

    fn peer_is_down(&self, peer: &PeerId) {
        self.record(Heard::Down(peer.to_string()), Duration::ZERO);
    }

    fn receive(&self, peer: &PeerId, age: Duration, message: &[u8]) {
        while *self.gate.lock().unwrap() {
            std::thread::sleep(Duration::from_millis(5));
        }
        assert!(message != POISON, "as the receiver may fail");
        self.record(Heard::Told(peer.to_string(), message.to_vec()), age);
    }

    fn has_missed(&self, peer: &PeerId) {
        self.record(Heard::Missed(peer.to_string()), Duration::ZERO);
    }
}

/// What a master has heard.
pub(crate) struct HeardQueue(mpsc::UnboundedReceiver<(Heard, Duration)>);

impl HeardQueue {
    /// What a peer told next, unless it has told nothing.
    pub(crate) fn try_recv(&mut self) -> Result<Heard, mpsc::error::TryRecvError> {
        loop {
            match self.0.try_recv()?.0 {
                Heard::Up(_) | Heard::Down(_) => {}
                heard => return Ok(heard),
            }
        }
    }
}

/// A master: its side of the links, and what it has heard.
pub(crate) struct Master {
    pub(crate) mesh: Mesh,
    pub(crate) heard: HeardQueue,
    gate: Arc<Mutex<bool>>,
    task: JoinHandle<()>,
}

impl Master {
    /// The next message of a peer.
    pub(crate) async fn next_told(&mut self) -> (String, Vec<u8>) {
        let (peer, message, _) = self.next().await;
        (peer, message)
    }

    /// The next message of a peer, and how old it is.
    pub(crate) async fn next_aged(&mut self) -> (Vec<u8>, Duration) {
        let (_, message, age) = self.next().await;
        (message, age)
    }

    async fn next(&mut self) -> (String, Vec<u8>, Duration) {
        loop {
            let (heard, age) = timeout(LONG, self.heard.0.recv()).await.unwrap().unwrap();
            match heard {
                Heard::Told(peer, message) => return (peer, message, age),
                Heard::Missed(peer) => panic!("{peer} has forgotten something"),
                _ => {}
            }
        }
    }

    pub(crate) async fn wait_for(&mut self, wanted: Heard) {
        while timeout(LONG, self.heard.0.recv()).await.unwrap().unwrap().0 != wanted {}
    }

    /// Handles nothing that it is told.
    pub(crate) fn hold(&self) {
        *self.lock() = true;
    }

    pub(crate) fn let_go(&self) {
        *self.lock() = false;
    }

    fn lock(&self) -> MutexGuard<'_, bool> {
        self.gate.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) async fn stop(self) {
        self.task.abort();
        let _ = self.task.await;
    }
}

/// A shared directory, and where each master listens.
pub(crate) struct Place {
    dir: tempfile::TempDir,
    pub(crate) carrier: Carrier,
    addresses: Vec<SocketAddr>,
    listeners: Mutex<Vec<Option<Listener>>>,
}

impl Place {
    /// Of so many masters, none of which runs.
    pub(crate) fn new(carrier: Carrier, masters: usize) -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("peers")).unwrap();
        let listen = |_| Listener::bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let listeners: Vec<Listener> = (0..masters).map(listen).collect();
        let place = Self {
            carrier,
            addresses: listeners.iter().filter_map(Listener::address).collect(),
            listeners: Mutex::new(listeners.into_iter().map(Some).collect()),
            dir,
        };
        for n in 0..masters {
            let pem = KEYS[n].public().unwrap().to_pem().unwrap();
            fs::write(place.pin(n), pem).unwrap();
        }
        place
    }

    /// Starts all, and waits until they are linked.
    pub(crate) async fn begin_all(&self, cluster: &str) -> Vec<Master> {
        let count = self.addresses.len();
        let masters: Vec<Master> = (0..count)
            .map(|n| self.begin(n, n as u64 + 1, cluster))
            .collect();
        for master in &masters {
            assert!(master.mesh.linked(LONG).await);
        }
        masters
    }

    /// Starts a master in this life.
    pub(crate) fn begin(&self, n: usize, life: u64, cluster: &str) -> Master {
        let others = self.addresses.iter().enumerate();
        let others = others.filter(|(other, _)| *other != n);
        let peers = others.map(|(_, at)| PeerAddress::parse(&at.to_string(), 1).unwrap());
        let mesh = Mesh::new(MeshOptions {
            cluster: cluster.to_owned(),
            incarnation: Incarnation(life),
            key: KEYS[n].clone(),
            pins: Pins::open(self.dir.path().join("peers")).unwrap(),
            peers: peers.collect(),
            heard: self.heard(n),
            bus: self.carrier.options(&name(n)),
        })
        .unwrap();
        let listener = self.listeners.lock().unwrap()[n].take();
        let listener = listener.unwrap_or_else(|| Listener::bind(self.addresses[n]).unwrap());
        let (record, heard) = mpsc::unbounded_channel();
        let gate = Arc::default();
        let receiver = RecordingReceiver {
            heard: record,
            gate: Arc::clone(&gate),
        };
        let running = mesh.clone();
        let task = tokio::spawn(async move { running.run(listener, Arc::new(receiver)).await });
        Master {
            mesh,
            heard: HeardQueue(heard),
            gate,
            task,
        }
    }

    /// Takes the key of a master away.
    pub(crate) fn unpin(&self, n: usize) {
        fs::remove_file(self.pin(n)).unwrap();
    }

    /// Waits until it is written down that a master has heard a number.
    pub(crate) async fn wait_written(&self, n: usize, number: u64) {
        let is_written = |bytes: &[u8]| bytes.ends_with(&[u8::try_from(number).unwrap()]);
        let written = async {
            while !fs::read(self.heard(n)).is_ok_and(|bytes| is_written(&bytes)) {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        timeout(LONG, written).await.unwrap();
    }

    fn heard(&self, n: usize) -> PathBuf {
        self.dir.path().join(format!("heard-{n}"))
    }

    fn pin(&self, n: usize) -> PathBuf {
        self.dir.path().join(format!("peers/{}.pub", name(n)))
    }
}

pub(crate) fn name(n: usize) -> String {
    format!("127.0.0.{}", n + 1)
}
