//! The dialling side of a link: tells the peer everything, in order, and hears
//! what it has handled.

use std::net::SocketAddr;
use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, BufReader, BufWriter, split};
use tokio::time::{sleep, timeout};

use crate::error::MeshError;
use crate::frame::{Frame, Hello, data_head};
use crate::limits::{
    BATCH_BYTES_MAX, BATCH_MESSAGES_MAX, HANDSHAKE_MAX, HELLO_BYTES_MAX, PING_EVERY, REDIAL_MAX,
    REDIAL_MIN, SILENCE_MAX,
};
use crate::peer::{PeerAddress, PeerId};
use crate::shared::Shared;
use crate::tls::Secured;
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

/// Dials an address again and again.
pub(crate) async fn keep_dialling(
    mesh: Arc<Shared>,
    address: PeerAddress,
    listens: Option<SocketAddr>,
) {
    let mut pause = REDIAL_MIN;
    let mut was_said = false;
    loop {
        let error = match dial(&mesh, &address, listens).await {
            Ok(Dialled::Link(link)) if mesh.link_up(&link.peer, &address, link.heard) => {
                pause = REDIAL_MIN;
                was_said = false;
                tracing::info!(peer = %link.peer, "linked to the peer at {address}");
                let peer = link.peer.clone();
                let error = tell_all(&mesh, link).await;
                mesh.link_down(&peer);
                tracing::warn!(%peer, "the link to the peer at {address} has ended: {error}");
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
        if !was_said {
            was_said = true;
            tracing::warn!("no link to the peer at {address}: {}", chain(&error));
        }
        let is_own = matches!(error, MeshError::Own);
        sleep(if is_own { REDIAL_MAX * 60 } else { pause }).await;
        pause = (pause * 2).min(REDIAL_MAX);
    }
}

async fn dial(
    mesh: &Arc<Shared>,
    address: &PeerAddress,
    listens: Option<SocketAddr>,
) -> Result<Dialled, MeshError> {
    let done = timeout(HANDSHAKE_MAX, async {
        let stream = connect(address).await?;
        let mut secured = mesh.tls.connect(stream).await?;
        let peer = owner(mesh, &secured).await?;
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
            heard: welcome.heard,
        }))
    });
    done.await.map_err(|_| MeshError::Silent)?
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
    let ended = tokio::select! {
        ended = hear_acknowledgements(mesh, &peer, BufReader::new(reader)) => ended,
        ended = tell(mesh, &peer, &key, heard, BufWriter::new(writer)) => ended,
    };
    ended.err().unwrap_or(MeshError::Silent)
}

async fn hear_acknowledgements(
    mesh: &Arc<Shared>,
    peer: &PeerId,
    mut reader: impl AsyncRead + Unpin,
) -> Result<(), MeshError> {
    loop {
        match read_frame(&mut reader, HELLO_BYTES_MAX, SILENCE_MAX).await? {
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

/// An error with its causes, in one line.
pub(crate) fn chain(error: &MeshError) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}

const _: () = assert!(PING_EVERY.as_millis() * 3 < SILENCE_MAX.as_millis());
