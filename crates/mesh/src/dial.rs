//! The dialling side of a link: sends the peer everything, in order, and receives
//! its acknowledgements.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use halite_proto::chain;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, BufReader, BufWriter, split};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use crate::error::MeshError;
use crate::frame::{Frame, Hello, data_head};
use crate::limits::{
    BATCH_BYTES_MAX, BATCH_MESSAGES_MAX, HANDSHAKE_MAX, HELLO_BYTES_MAX, LINK_BUFFER_BYTES,
    NO_LIMIT, PING_EVERY, REDIAL_MAX, REDIAL_MIN, SILENCE_MAX,
};
use crate::nats::tunnel;
use crate::overhear::note_said;
use crate::peer::{PeerAddress, PeerId, Way};
use crate::shared::Shared;
use crate::tell::tell_of_bus;
use crate::tls::{Secured, Wire};
use crate::wire::{connect, read_frame, write_frame};

/// A peer that is ready to be told.
struct Link {
    peer: PeerId,
    secured: Secured,
    /// The last message that it has handled.
    heard: u64,
}

/// Who has answered at an address.
enum Dialled {
    Link(Link),
    /// This peer, which is linked already.
    IsLinked(PeerId),
}

/// Dials a peer again and again, for as long as it is wanted.
pub(crate) async fn keep_dialling(mesh: Arc<Shared>, way: Way, listens: Option<SocketAddr>) {
    let mut pause = REDIAL_MIN;
    let mut was_said = false;
    while mesh.is_wanted(&way) {
        let error = match dial(&mesh, &way, listens).await {
            Ok(Dialled::Link(link)) if mesh.link_up(&link.peer, &way, link.heard) => {
                pause = REDIAL_MIN;
                was_said = false;
                tracing::info!(peer = %link.peer, "linked to the peer at {way}");
                let peer = link.peer.clone();
                let error = tell_all(&mesh, link).await;
                mesh.link_down(&peer);
                tracing::warn!(%peer, "the link to the peer at {way} has ended: {error}");
                error
            }
            // It is linked by another of its addresses, as long as that holds.
            Ok(Dialled::Link(Link { peer, .. }) | Dialled::IsLinked(peer)) => {
                while mesh.is_linked(&peer) {
                    sleep(REDIAL_MAX).await;
                }
                continue;
            }
            Err(error) => error,
        };
        // That the bus is away is said once, for all.
        if !was_said && !matches!(error, MeshError::BusAway) {
            was_said = true;
            tracing::warn!("no link to {}: {}", shown(&way), chain(&error));
        }
        let is_own = matches!(error, MeshError::Own);
        sleep(if is_own { REDIAL_MAX * 60 } else { pause }).await;
        pause = (pause * 2).min(REDIAL_MAX);
    }
}

fn shown(way: &Way) -> String {
    match way {
        Way::Direct(address) => format!("the peer at {address}"),
        Way::Bus(peer) => format!("{peer} through the bus"),
    }
}

async fn dial(
    mesh: &Arc<Shared>,
    way: &Way,
    listens: Option<SocketAddr>,
) -> Result<Dialled, MeshError> {
    let done = timeout(HANDSHAKE_MAX, async {
        let stream = reach(mesh, way).await?;
        let mut secured = mesh.tls.connect(stream).await?;
        let peer = owner(mesh, &secured).await?;
        if matches!(way, Way::Bus(wanted) if *wanted != peer) {
            return Err(MeshError::Frame {
                what: "the key of another peer",
            });
        }
        if mesh.is_linked(&peer) {
            return Ok(Dialled::IsLinked(peer));
        }
        let hello = Hello {
            cluster: mesh.cluster.clone(),
            incarnation: mesh.incarnation,
            listens: listens.and_then(|at| PeerAddress::parse(&at.to_string(), 0).ok()),
        };
        write_frame(&mut secured.stream, &Frame::Hello(hello)).await?;
        let answer = read_frame(&mut secured.stream, HELLO_BYTES_MAX, HANDSHAKE_MAX);
        let Frame::Welcome(welcome) = answer.await? else {
            return Err(MeshError::Frame {
                what: "no greeting",
            });
        };
        Ok(Dialled::Link(Link {
            peer,
            secured,
            // It cannot have heard what was not told.
            heard: welcome.heard.min(*mesh.last().borrow()),
        }))
    });
    done.await.map_err(|_| MeshError::Silent)?
}

async fn reach(mesh: &Arc<Shared>, way: &Way) -> Result<Wire, MeshError> {
    match (way, &mesh.bus) {
        (Way::Direct(address), _) => connect(address).await,
        (Way::Bus(peer), Some(bus)) => Ok(Box::new(tunnel::dial(bus, peer).await?)),
        (Way::Bus(_), None) => Err(MeshError::BusAway),
    }
}

/// Whose connection it is.
async fn owner(mesh: &Arc<Shared>, secured: &Secured) -> Result<PeerId, MeshError> {
    if secured.key == mesh.tls.own() {
        return Err(MeshError::Own);
    }
    mesh.owner(&secured.key).await
}

/// Tells the peer what there is to tell, until the link ends.
async fn tell_all(mesh: &Arc<Shared>, link: Link) -> MeshError {
    let Link {
        peer,
        secured: Secured { stream, key },
        heard,
    } = link;
    let (reader, writer) = split(stream);
    let reader = BufReader::new(reader);
    let writer = BufWriter::with_capacity(LINK_BUFFER_BYTES, writer);
    let lacks = watch::Sender::new(None);
    let lacked = lacks.subscribe();
    let told = async {
        match &mesh.bus {
            None => tell(mesh, &peer, &key, heard, writer).await,
            Some(bus) => tell_of_bus(mesh, bus, (&peer, &key), heard, (writer, lacked)).await,
        }
    };
    let ended = tokio::select! {
        ended = hear_acknowledgements(mesh, &peer, reader, lacks) => ended,
        ended = told => ended,
    };
    ended.err().unwrap_or(MeshError::Silent)
}

async fn hear_acknowledgements(
    mesh: &Arc<Shared>,
    peer: &PeerId,
    reader: impl AsyncRead + Unpin,
    lacks: watch::Sender<Option<u64>>,
) -> Result<(), MeshError> {
    let Some(bus) = &mesh.bus else {
        return read_acknowledgements(mesh, peer, reader, SILENCE_MAX, |_| false).await;
    };
    let said = Mutex::new(Instant::now());
    let read = read_acknowledgements(mesh, peer, reader, NO_LIMIT, |frame| {
        note_said(bus, peer, &said);
        if let Frame::Lacks(number) = frame {
            lacks.send_replace(Some(*number));
        }
        matches!(frame, Frame::Lacks(_))
    });
    tokio::select! {
        ended = read => ended,
        () = bus.signs.silence(peer, &said) => Err(MeshError::Silent),
    }
}

/// Reads what a peer has handled. `takes` says whether something else is taken.
async fn read_acknowledgements(
    mesh: &Shared,
    peer: &PeerId,
    mut reader: impl AsyncRead + Unpin,
    silence_max: Duration,
    takes: impl Fn(&Frame) -> bool,
) -> Result<(), MeshError> {
    loop {
        let frame = read_frame(&mut reader, HELLO_BYTES_MAX, silence_max).await?;
        match frame {
            frame if takes(&frame) => {}
            Frame::Ack(number) => mesh.record_acknowledged(peer, number),
            _ => {
                return Err(MeshError::Frame {
                    what: "something else than an acknowledgement",
                });
            }
        }
    }
}

async fn tell(
    mesh: &Arc<Shared>,
    peer: &PeerId,
    key: &str,
    heard: u64,
    mut writer: impl AsyncWrite + Unpin,
) -> Result<(), MeshError> {
    let mut last = mesh.last();
    let mut told = heard;
    loop {
        last.borrow_and_update();
        let (messages, is_gap) = mesh.after(told, BATCH_MESSAGES_MAX, BATCH_BYTES_MAX);
        if !mesh.is_pinned(key, peer) {
            return Err(MeshError::Unpinned {
                dir: mesh.pins.dir().to_owned(),
            });
        }
        let Some(first) = messages.first() else {
            writer.flush().await?;
            if timeout(PING_EVERY, last.changed()).await.is_err() {
                write_frame(&mut writer, &Frame::Ping(told)).await?;
            }
            continue;
        };
        if is_gap {
            mesh.record_skipped(peer, told, first.number - 1);
            write_frame(&mut writer, &Frame::Gap(first.number - 1)).await?;
        }
        for message in messages {
            told = message.number;
            if message.to.as_ref().is_none_or(|to| to == peer) {
                let head = data_head(told, message.at.elapsed(), message.message.len());
                writer.write_all(&head).await?;
                writer.write_all(&message.message).await?;
            } else {
                writer.write_all(&Frame::Ping(told).encode()).await?;
            }
        }
    }
}

const _: () = assert!(PING_EVERY.as_millis() * 3 < SILENCE_MAX.as_millis());
