//! The listening side of a link: receives the peer's messages, hands them on, and
//! acknowledges what was handled.

mod bus;

use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use halite_proto::chain;
use tokio::io::{BufReader, split};
use tokio::net::TcpListener;
use tokio::sync::{mpsc, watch};
use tokio::task::{JoinSet, spawn_blocking};
use tokio::time::{sleep, timeout};

use crate::error::MeshError;
use crate::frame::{Frame, Hello, Welcome};
use crate::handshakes::{Handshake, Origin};
use crate::join::{Joins, answer};
use crate::limits::{
    BATCH_MESSAGES_MAX, FRAME_BYTES_MAX, HANDSHAKE_MAX, HELLO_BYTES_MAX, LINK_BUFFER_BYTES,
    PING_EVERY, REDIAL_MIN, SILENCE_MAX,
};
use crate::overhear::overhear;
use crate::peer::{Incarnation, PeerAddress, PeerId};
use crate::salt::check_tls;
use crate::shared::Shared;
use crate::tls::{Secured, Wire};
use crate::wire::{Receiver, Work, direct, read_frame, write_frame};

pub(crate) use self::bus::accept_from_bus;

/// The bound address for peers.
pub struct Listener(TcpListener);

impl Listener {
    /// Listens for peers.
    ///
    /// # Errors
    /// When the address is not ours or in use.
    pub fn bind(address: SocketAddr) -> Result<Self, MeshError> {
        let listen = |source| MeshError::Listen { address, source };
        let listener = std::net::TcpListener::bind(address).map_err(listen)?;
        listener.set_nonblocking(true).map_err(listen)?;
        TcpListener::from_std(listener).map(Self).map_err(listen)
    }

    /// Where it listens.
    pub fn address(&self) -> Option<SocketAddr> {
        self.0.local_addr().ok()
    }
}

/// A peer that has proven itself and said hello.
struct Inbound {
    peer: PeerId,
    life: Incarnation,
    /// Where it can be dialled.
    listens: Option<PeerAddress>,
    secured: Secured,
}

/// What a connection is for.
enum Greeted {
    Peer(Inbound),
    /// A master wants to join, and has said this.
    Joins(Secured, SocketAddr, Arc<dyn Joins>, Vec<u8>),
}

/// Takes connections, for as long as it is polled.
pub(crate) async fn accept_peers(
    mesh: Arc<Shared>,
    listener: Listener,
    receiver: Arc<dyn Receiver>,
) {
    let mut connections = JoinSet::new();
    loop {
        while connections.try_join_next().is_some() {}
        let (stream, from) = match listener.0.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::error!("could not accept a connection of a peer: {error}");
                sleep(REDIAL_MIN).await;
                continue;
            }
        };
        let place = mesh.handshakes.begin(Origin::Address(from.ip()));
        let (mesh, receiver) = (Arc::clone(&mesh), Arc::clone(&receiver));
        connections.spawn(async move {
            let proven = async {
                let begun = timeout(HANDSHAKE_MAX, check_tls(&stream)).await;
                let begun = begun.map_err(|_| MeshError::Silent).flatten();
                if matches!(begun, Err(MeshError::OfSalt)) && mesh.salt_seen.is_due(Instant::now())
                {
                    tracing::warn!(%from, "not a peer: {}", MeshError::OfSalt);
                }
                begun?;
                let wire = direct(stream)?;
                prove(&mesh, wire, Some(from), place).await
            };
            take(&mesh, proven.await, receiver).await;
        });
    }
}

/// Serves who has proven itself.
async fn take(
    mesh: &Arc<Shared>,
    proven: Result<Option<Inbound>, MeshError>,
    receiver: Arc<dyn Receiver>,
) {
    match proven {
        Ok(Some(inbound)) => serve(mesh, inbound, receiver).await,
        Ok(None) => {}
        // Anybody can connect: no more than a line for whoever looks.
        Err(error) => tracing::debug!("not a peer: {}", chain(&error)),
    }
}

/// Lets a peer prove itself, or hears out a master that wants to join, unless the
/// place is needed.
async fn prove(
    mesh: &Arc<Shared>,
    stream: Wire,
    from: Option<SocketAddr>,
    mut place: Handshake,
) -> Result<Option<Inbound>, MeshError> {
    let proven = async {
        let greeted = timeout(HANDSHAKE_MAX, greet(mesh, stream, from)).await;
        match greeted.map_err(|_| MeshError::Silent)?? {
            Greeted::Peer(inbound) => Ok(Some(inbound)),
            Greeted::Joins(secured, from, joins, first) => {
                answer(&mesh.tls, joins, secured, from, first).await?;
                Ok(None)
            }
        }
    };
    tokio::select! {
        proven = proven => proven,
        () = place.given_up() => Err(MeshError::Silent),
    }
}

/// Hears who a peer is. Without an address it comes from the bus; beside a bus all
/// links do, and other connections are for masters that join.
async fn greet(
    mesh: &Arc<Shared>,
    stream: Wire,
    from: Option<SocketAddr>,
) -> Result<Greeted, MeshError> {
    let mut secured = mesh.tls.accept(stream).await?;
    if secured.key == mesh.tls.own() {
        return Err(MeshError::Own);
    }
    let owner = mesh.owner(&secured.key).await;
    let joins = from.and_then(|from| Some((from, mesh.joins.get()?)));
    let owner = match (owner, joins) {
        (Err(error), None) => return Err(error),
        (owner, _) => owner,
    };
    let first = read_frame(&mut secured.stream, HELLO_BYTES_MAX, HANDSHAKE_MAX).await?;
    let first = match (first, joins) {
        (Frame::Join(first), Some((from, joins))) => {
            return Ok(Greeted::Joins(secured, from, Arc::clone(joins), first));
        }
        (first, _) => first,
    };
    let peer = owner?;
    let Frame::Hello(hello) = first else {
        return Err(MeshError::Frame {
            what: "no greeting",
        });
    };
    if from.is_some() && mesh.bus.is_some() {
        return Err(MeshError::Frame {
            what: "a greeting, and there is a bus",
        });
    }
    if hello.cluster != mesh.cluster {
        let cluster: String = hello.cluster.chars().take(80).collect();
        tracing::error!(%peer, "refused a peer: its cluster_id is {cluster:?}");
        return Err(MeshError::OtherCluster { peer, cluster });
    }
    Ok(Greeted::Peer(Inbound {
        peer,
        life: hello.incarnation,
        listens: from.and_then(|from| place_of(&hello, from)),
        secured,
    }))
}

/// Where a peer can be dialled: the address it says, or the one it comes from if
/// it listens at all of its own.
fn place_of(hello: &Hello, from: SocketAddr) -> Option<PeerAddress> {
    let listens = hello.listens.as_ref()?;
    let is_any = matches!(listens.host(), "0.0.0.0" | "::");
    let host = match is_any {
        true => from.ip().to_string(),
        false => listens.host().to_owned(),
    };
    PeerAddress::parse(&host, listens.port()).ok()
}

/// Hears a peer until its connection ends.
async fn serve(mesh: &Arc<Shared>, inbound: Inbound, receiver: Arc<dyn Receiver>) {
    let peer = inbound.peer.clone();
    let ended = hear_out(mesh, inbound, &receiver).await;
    if let Err(error) = ended {
        tracing::info!(%peer, "the peer has disconnected: {}", chain(&error));
    }
    if !mesh.hears_no_more(&peer) {
        return;
    }
    let mesh = Arc::clone(mesh);
    let told = spawn_blocking(move || {
        let turn = mesh.turn(&peer);
        let _turn = turn.lock().unwrap_or_else(PoisonError::into_inner);
        // A connection that was made meanwhile says that it is up, or will.
        if !mesh.is_heard(&peer) {
            receiver.peer_is_down(&peer);
        }
    });
    let _ = told.await;
}

/// Welcomes a peer, and hands on what it tells.
async fn hear_out(
    mesh: &Arc<Shared>,
    inbound: Inbound,
    receiver: &Arc<dyn Receiver>,
) -> Result<(), MeshError> {
    let Inbound {
        peer,
        life,
        listens,
        secured: Secured { mut stream, key },
    } = inbound;
    let heard = mesh.hears(&peer, life, listens);
    let welcome = Frame::Welcome(Welcome {
        incarnation: mesh.incarnation,
        heard,
    });
    let written = timeout(HANDSHAKE_MAX, write_frame(&mut stream, &welcome)).await;
    written.map_err(|_| MeshError::Silent)??;
    let (reader, mut writer) = split(stream);
    let (work, queue) = mpsc::channel(BATCH_MESSAGES_MAX);
    let (handled, mut changes) = watch::channel(0);
    let handler = tokio::spawn(handle_all(
        Arc::clone(mesh),
        (peer.clone(), life),
        Arc::clone(receiver),
        queue,
        handled,
    ));
    // Also while nothing changes: a peer that sends something large on a slow
    // wire waits for a sign of life meanwhile.
    let lacks = watch::Sender::new(None);
    let mut lacked = lacks.subscribe();
    let acknowledge = async {
        loop {
            tokio::select! {
                _ = timeout(PING_EVERY, changes.changed()) => {}
                _ = lacked.changed() => {}
            }
            if let Some(number) = lacks.send_replace(None) {
                write_frame(&mut writer, &Frame::Lacks(number)).await?;
            }
            lacked.borrow_and_update();
            let number = *changes.borrow_and_update();
            write_frame(&mut writer, &Frame::Ack(number)).await?;
        }
    };
    let reader = BufReader::with_capacity(LINK_BUFFER_BYTES, reader);
    let heard = async {
        match &mesh.bus {
            None => hear(mesh, (&peer, &key), reader, &work).await,
            Some(bus) => {
                let of = (&peer, life, key.as_str());
                overhear((mesh, bus), of, heard, reader, (&work, &lacks)).await
            }
        }
    };
    let ended: Result<(), MeshError> = tokio::select! {
        ended = acknowledge => ended,
        ended = heard => ended,
    };
    drop(work);
    let _ = handler.await;
    ended
}

/// Reads what the peer tells.
async fn hear(
    mesh: &Arc<Shared>,
    (peer, key): (&PeerId, &str),
    mut reader: impl tokio::io::AsyncRead + Unpin,
    work: &mpsc::Sender<Work>,
) -> Result<(), MeshError> {
    loop {
        let frame = read_frame(&mut reader, FRAME_BYTES_MAX, SILENCE_MAX).await?;
        if !mesh.is_pinned(key, peer) {
            return Err(MeshError::Unpinned {
                dir: mesh.pins.dir().to_owned(),
            });
        }
        let next = match frame {
            Frame::Data(number, age, message) => Work::Message(number, age, message),
            Frame::Gap(number) => Work::Missed(number),
            Frame::Ping(number) => Work::Skip(number),
            _ => {
                return Err(MeshError::Frame {
                    what: "something else than a message",
                });
            }
        };
        if work.send(next).await.is_err() {
            return Ok(());
        }
    }
}

/// Hands on what a peer tells, in its order.
async fn handle_all(
    mesh: Arc<Shared>,
    (peer, life): (PeerId, Incarnation),
    receiver: Arc<dyn Receiver>,
    mut queue: mpsc::Receiver<Work>,
    handled: watch::Sender<u64>,
) {
    let (up, to, of) = (Arc::clone(&receiver), peer.clone(), Arc::clone(&mesh));
    let told = spawn_blocking(move || {
        let turn = of.turn(&to);
        let _turn = turn.lock().unwrap_or_else(PoisonError::into_inner);
        up.peer_is_up(&to, life);
    });
    let _ = told.await;
    let mut batch = Vec::new();
    while queue.recv_many(&mut batch, BATCH_MESSAGES_MAX).await > 0 {
        let (mesh, receiver, peer) = (Arc::clone(&mesh), Arc::clone(&receiver), peer.clone());
        let messages = std::mem::take(&mut batch);
        let done = spawn_blocking(move || {
            let turn = mesh.turn(&peer);
            let _turn = turn.lock().unwrap_or_else(PoisonError::into_inner);
            let mut last = 0;
            for work in messages {
                last = handle(&mesh, (&peer, life), &*receiver, work);
            }
            last
        });
        match done.await {
            Ok(last) => handled.send_modify(|number| *number = last.max(*number)),
            // What made the receiver fail would do so again.
            Err(error) => return tracing::error!("a message of a peer cannot be handled: {error}"),
        }
    }
}

/// Hands one message on. One at which the receiver fails would have it fail again and
/// again, and hold up all that stands behind it: it counts as missed.
fn tell(peer: &PeerId, receiver: &dyn Receiver, age: Duration, message: &[u8]) {
    let told = catch_unwind(AssertUnwindSafe(|| receiver.receive(peer, age, message)));
    if told.is_err() {
        let bytes = message.len();
        tracing::error!(%peer, "a message of {bytes} bytes cannot be handled, and is left out");
        receiver.has_missed(peer);
    }
}

fn handle(
    mesh: &Arc<Shared>,
    (peer, life): (&PeerId, Incarnation),
    receiver: &dyn Receiver,
    work: Work,
) -> u64 {
    let number = match work {
        Work::Message(number, age, message) => {
            if mesh.is_new(peer, life, number) {
                tell(peer, receiver, age, &message);
            }
            number
        }
        Work::Missed(number) => {
            if mesh.is_new(peer, life, number) {
                receiver.has_missed(peer);
            }
            number
        }
        Work::Skip(number) => number,
    };
    mesh.record_handled(peer, life, number);
    number
}
